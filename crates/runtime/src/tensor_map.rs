//! The matrices that a kernel's bulk copies must be told of, for the arguments of one launch.
//!
//! ```text
//! plan: matrix at argument 0, rows of argument 5, stride of argument 6     (tegula_gpu::TensorMap)
//! arguments: 0x7f..00, ..., 4096, 4096                                     -> addresses and numbers (Matrix)
//! ```
//!
//! Where the hardware cannot describe a matrix, or the arguments break a condition, there are none, and the launch takes another of the
//! kernel's [versions](crate::versions).

use tegula_gpu::{Condition, HostExpression, TensorMap};
use tegula_ir::{Function, Scalar};

/// Where a matrix ends along an axis of which nothing is known: coordinates are 32-bit numbers.
const ENDLESS: i64 = 1 << 31;

/// Rows must be so far apart, in bytes, that 2^31 of them are more than any memory, and no coordinate overflows.
const LEAST_STRIDE: i64 = 128;

/// The strides that the hardware knows are below this (CUDA Driver API, `cuTensorMapEncodeTiled`).
const STRIDE_LIMIT: i64 = 1 << 40;

/// A matrix in memory that the hardware can describe, and the boxes of it that are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    pub address: u64,
    /// 1, 2, 4 or 8.
    pub element_bytes: u32,
    /// Columns and rows.
    pub extents: [u64; 2],
    /// Bytes from a row to the next.
    pub stride: u64,
    pub box_extents: [u32; 2],
    /// 32, 64 or 128.
    pub swizzle_bytes: u32,
}

/// What makes the matrices of a kernel's launches.
#[derive(Debug)]
pub struct Plan {
    maps: Vec<TensorMap>,
    conditions: Vec<Condition>,
    /// The types of the function's parameters, `None` for pointers.
    parameters: Box<[Option<Scalar>]>,
}

impl Plan {
    pub fn new(function: &Function, maps: Vec<TensorMap>, conditions: Vec<Condition>) -> Plan {
        let parameters = function.params.iter().map(|param| param.ty.element.as_scalar()).collect();
        Plan { maps, conditions, parameters }
    }

    /// Whether launches need no maps.
    pub fn is_empty(&self) -> bool {
        self.maps.is_empty()
    }

    /// The integer parameters that the maps and the conditions depend on.
    pub fn integer_parameters(&self) -> Vec<usize> {
        let of_maps = self.maps.iter().flat_map(|map| map.extents.iter().flatten().chain([&map.stride]));
        let expressions = of_maps.chain(self.conditions.iter().map(|condition| &condition.value));
        let mut parameters: Vec<usize> =
            expressions.flat_map(HostExpression::arguments).map(|number| number as usize).collect();
        parameters.sort_unstable();
        parameters.dedup();
        parameters
    }

    /// The matrices for some arguments, a word each; `None` if there are none for these.
    pub fn matrices(&self, arguments: &[u64]) -> Option<Vec<Matrix>> {
        let integer = |number: u32| {
            let number = number as usize;
            self.parameters[number].map_or(0, |scalar| extended(arguments[number], scalar))
        };
        let holds = |condition: &Condition| {
            let value = condition.value.evaluate(integer);
            value.is_some_and(|value| value > 0 && value % i64::from(condition.multiple_of) == 0)
        };
        if !self.maps.is_empty() && !self.conditions.iter().all(holds) {
            return None;
        }
        self.maps.iter().map(|map| matrix(map, arguments[map.parameter as usize], integer)).collect()
    }
}

/// The number that the lowest bytes of a word are.
fn extended(word: u64, scalar: Scalar) -> i64 {
    let unused = 64 - 8 * scalar.bytes();
    let shifted = word << unused;
    if scalar.is_signed() { shifted as i64 >> unused } else { (shifted >> unused) as i64 }
}

/// The matrix of a map, if the hardware can describe it.
fn matrix(map: &TensorMap, address: u64, argument: impl Fn(u32) -> i64 + Copy) -> Option<Matrix> {
    let element_bytes = map.element.bytes();
    let extent = |extent: &Option<HostExpression>| {
        let extent = extent.as_ref().map_or(Some(ENDLESS), |extent| extent.evaluate(argument))?;
        (1..=ENDLESS).contains(&extent).then_some(extent as u64)
    };
    let extents = [extent(&map.extents[0])?, extent(&map.extents[1])?];
    let stride = map.stride.evaluate(argument)?.checked_mul(element_bytes.into())?;
    let fits = (LEAST_STRIDE..STRIDE_LIMIT).contains(&stride) && stride % 16 == 0;
    let is_known = matches!(element_bytes, 1 | 2 | 4 | 8) && matches!(map.swizzle_bytes, 32 | 64 | 128);
    if !fits || !is_known || address == 0 || !address.is_multiple_of(16) {
        return None;
    }
    Some(Matrix {
        address,
        element_bytes,
        extents,
        stride: stride as u64,
        box_extents: map.box_extents,
        swizzle_bytes: map.swizzle_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::extended;
    use tegula_ir::Scalar;

    #[test]
    fn words_are_numbers_of_their_type() {
        assert_eq!(extended(0xffff_ffff, Scalar::Int32), -1);
        assert_eq!(extended(0xdead_beef_ffff_ffff, Scalar::UInt32), 0xffff_ffff);
        assert_eq!(extended(u64::MAX, Scalar::Int64), -1);
        assert_eq!(extended(0x80, Scalar::Int8), -128);
    }
}

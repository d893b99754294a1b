//! Tensor maps of launches: what a kernel's bulk copies must be told of its arguments.
//!
//! ```text
//! plan: matrix at argument 0, rows of argument 5, stride of argument 6     (tegula_gpu::TensorMap)
//! arguments: 0x7f..00, ..., 4096, 4096                                     -> 128 bytes for the hardware
//! ```
//!
//! Where the hardware cannot describe the matrix, or the arguments break a condition, there are no maps, and the launch takes the kernel's
//! other version. Maps of arguments that have been seen are kept.

use cudarc::driver::sys::{
    self, CUresult, CUtensorMap, CUtensorMapDataType as DataType, CUtensorMapFloatOOBfill as Fill,
    CUtensorMapInterleave as Interleave, CUtensorMapL2promotion as Promotion, CUtensorMapSwizzle as Swizzle,
};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tegula_gpu::{Condition, HostExpression, TensorMap};
use tegula_ir::{Function, Scalar};

/// Launches whose maps are kept, of one kernel.
const KEPT: usize = 256;

/// Where a matrix ends along an axis of which nothing is known: coordinates are 32-bit numbers.
const ENDLESS: i64 = 1 << 31;

/// Rows must be so far apart, in bytes, that 2^31 of them are more than any memory, and no coordinate overflows.
const LEAST_STRIDE: i64 = 128;

/// The strides that the hardware knows are below this (CUDA Driver API, `cuTensorMapEncodeTiled`).
const STRIDE_LIMIT: i64 = 1 << 40;

/// The maps of a launch.
pub type Maps = Arc<[CUtensorMap]>;

/// Makes the maps of a kernel's launches.
#[derive(Debug)]
pub struct TensorMaps {
    maps: Vec<TensorMap>,
    conditions: Vec<Condition>,
    /// The types of the function's parameters, `None` for pointers.
    parameters: Box<[Option<Scalar>]>,
    known: Mutex<FxHashMap<Box<[u64]>, Option<Maps>>>,
}

impl TensorMaps {
    pub fn new(function: &Function, maps: Vec<TensorMap>, conditions: Vec<Condition>) -> TensorMaps {
        let parameters = function.params.iter().map(|param| param.ty.element.as_scalar()).collect();
        TensorMaps { maps, conditions, parameters, known: Mutex::default() }
    }

    /// Whether launches need no maps.
    pub fn is_empty(&self) -> bool {
        self.maps.is_empty()
    }

    /// The maps for some arguments, a word each; `None` if there are none for these.
    pub fn of(&self, arguments: &[u64]) -> Option<Maps> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(maps) = known.get(arguments) {
            return maps.clone();
        }
        let maps = self.make(arguments);
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(arguments.into(), maps.clone());
        maps
    }

    fn make(&self, arguments: &[u64]) -> Option<Maps> {
        let integer = |number: u32| {
            let number = number as usize;
            self.parameters[number].map_or(0, |scalar| extended(arguments[number], scalar))
        };
        let holds = |condition: &Condition| {
            let value = condition.value.evaluate(integer);
            value.is_some_and(|value| value > 0 && value % i64::from(condition.multiple_of) == 0)
        };
        if !self.conditions.iter().all(holds) {
            return None;
        }
        self.maps.iter().map(|map| encode(map, arguments[map.parameter as usize], integer)).collect()
    }
}

/// The number that the lowest bytes of a word are.
fn extended(word: u64, scalar: Scalar) -> i64 {
    let unused = 64 - 8 * scalar.bytes();
    let shifted = word << unused;
    if scalar.is_signed() { shifted as i64 >> unused } else { (shifted >> unused) as i64 }
}

/// A map, if the hardware can describe the matrix.
fn encode(map: &TensorMap, address: u64, argument: impl Fn(u32) -> i64 + Copy) -> Option<CUtensorMap> {
    let bytes = i64::from(map.element.bytes());
    let extent = |extent: &Option<HostExpression>| {
        let extent = extent.as_ref().map_or(Some(ENDLESS), |extent| extent.evaluate(argument))?;
        (1..=ENDLESS).contains(&extent).then_some(extent as u64)
    };
    let extents = [extent(&map.extents[0])?, extent(&map.extents[1])?];
    let stride = map.stride.evaluate(argument)?.checked_mul(bytes)?;
    let fits = (LEAST_STRIDE..STRIDE_LIMIT).contains(&stride) && stride % 16 == 0;
    if !fits || address == 0 || !address.is_multiple_of(16) {
        return None;
    }
    let element = match bytes {
        1 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT8,
        2 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        4 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT32,
        8 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT64,
        _ => return None,
    };
    let swizzle = match map.swizzle_bytes {
        32 => Swizzle::CU_TENSOR_MAP_SWIZZLE_32B,
        64 => Swizzle::CU_TENSOR_MAP_SWIZZLE_64B,
        128 => Swizzle::CU_TENSOR_MAP_SWIZZLE_128B,
        _ => return None,
    };
    let mut encoded = CUtensorMap { opaque: [0; 16] };
    let (strides, steps) = ([stride as u64], [1u32; 2]);
    // SAFETY: the arrays have as many numbers as the rank says, one fewer for strides; nothing is read at the address.
    let status = unsafe {
        sys::cuTensorMapEncodeTiled(
            &mut encoded,
            element,
            2,
            address as *mut std::ffi::c_void,
            extents.as_ptr(),
            strides.as_ptr(),
            map.box_extents.as_ptr(),
            steps.as_ptr(),
            Interleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle,
            Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    };
    (status == CUresult::CUDA_SUCCESS).then_some(encoded)
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

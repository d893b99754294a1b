//! Bulk tensor copies: which loads of a loop are boxes of a matrix in memory, that the hardware copies to a tile by itself.
//!
//! A load is one if its pointers are `base + row * stride + column` (see `affine`), and what its mask leaves out is what lies outside of
//! the matrix, which the hardware reads as zeros:
//!
//! ```text
//! load a_ptr + ((pid * 128 + i) % M) * stride + (n * 64 + j)   mask j < K - n * 64
//! -> matrix at a_ptr, rows of K elements, stride; box of 128 rows of 64 at (column n * 64, row pid * 128 % M); if M % 128 == 0
//! ```
//!
//! The matrix is described to the hardware by a *tensor map*, which the host makes of a launch's arguments ([`TensorMap`]). What must
//! hold of the arguments is checked there, too: where it does not, the kernel is launched in another version.

mod affine;
mod polynomial;
mod tensor_map;

pub(crate) use affine::Wrap;
pub(crate) use polynomial::{Polynomial, Symbol};
pub use tensor_map::{Condition, HostExpression, TensorMap};

use crate::layouts::SharedTile;
use affine::{Affine, Forms};
use tegula_ir::{BinaryOp, Function, Literal, Op, OpId, Predicate, RegionId, Scalar, Value, ValueDef};
use tegula_layout::Dim;
use tegula_passes::AxisAnalysis;

/// The most rows of one box (CUDA Driver API, `cuTensorMapEncodeTiled`).
const BOX_ROWS: u64 = 256;

/// How a load is made by bulk copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TensorCopy {
    pub map: TensorMap,
    pub conditions: Vec<Condition>,
    /// The column and the row of the box's first element.
    pub start: [Polynomial; 2],
    /// The indices that wrap around, by number.
    pub wraps: Vec<Wrap>,
    /// Each box: what is added to the column and the row, and its place in the tile, in bytes.
    pub boxes: Vec<([u32; 2], u32)>,
    pub bytes: u32,
}

/// The copy that a load is, in a loop; `None` if it is none that the hardware can make.
pub(crate) fn tensor_copy(
    function: &Function,
    axis: &AxisAnalysis,
    (op, body): (OpId, RegionId),
    load: OpId,
    tile: &SharedTile,
) -> Option<TensorCopy> {
    let Op::Load { pointer, mask, .. } = &function.op(load).op else { return None };
    let ty = function.ty(*pointer);
    let tegula_ir::Element::Pointer(tegula_ir::Pointer { pointee: element, depth: 1, .. }) = ty.element
    else {
        return None;
    };
    let (rank, element_bytes) = (ty.shape.rank(), element.bytes());
    if rank != 2 || ty.shape.iter().any(|extent| !extent.is_power_of_two()) {
        return None;
    }
    let mut forms = Forms::new(function, op, body);
    let form = forms.of(*pointer)?;
    let inner = (0..2).find(|&axis| form.axes[axis].as_constant() == Some(1))?;
    let outer = 1 - inner;
    let parameter = parameter_of(function, form.base?)?;
    let stride = &form.axes[outer];
    let (row, column) = form.start.divided_by(stride)?;
    let mut start = [Polynomial::default(), Polynomial::default()];
    start[inner] = column;
    start[outer] = row;
    if start.iter().any(|start| start.linear_in(Symbol::Iteration).is_none()) {
        return None;
    }
    // What the mask leaves of each axis, as the extent of the matrix.
    let mut extents: [Option<Polynomial>; 2] = [None, None];
    let mut begins = [false; 2];
    if let Some(mask) = mask {
        let mut limits = Vec::new();
        forms.limits(*mask, &mut limits)?;
        for limit in limits {
            match limit {
                Limit::Below { axis, end } => {
                    let extent = start[axis].plus(&end);
                    if extents[axis].as_ref().is_some_and(|known| *known != extent) {
                        return None;
                    }
                    extents[axis] = Some(extent);
                }
                // The matrix begins at 0.
                Limit::From { axis, first } => {
                    if start[axis].plus(&first).as_constant() != Some(0) {
                        return None;
                    }
                    begins[axis] = true;
                }
            }
        }
    }
    let host = |polynomial: &Polynomial| HostExpression::of(function, polynomial);
    let extent = |axis: usize| match &extents[axis] {
        Some(extent) => host(extent).map(Some),
        None => Some(None),
    };
    let stride = host(stride)?;
    let mut conditions = Vec::new();
    // What lies before the matrix reads as zeros, too: only a mask may ask for that.
    let signs = Signs { function, axis, wraps: &forms.wraps };
    for axis in 0..2 {
        if !begins[axis] {
            signs.never_negative(&start[axis], &mut conditions)?;
        }
    }
    if extents[inner].is_none() && !is_near(&start[inner]) {
        return None;
    }
    for wrap in &forms.wraps {
        let modulus = host(&Polynomial::symbol(Symbol::Value(wrap.modulus)))?;
        conditions.push(Condition { value: modulus, multiple_of: wrap.extent });
    }
    let row_elements = tile.swizzle.row_bytes()? / u64::from(element_bytes);
    let (columns, rows) = (u64::from(ty.shape[inner]), u64::from(ty.shape[outer]));
    let box_rows = rows.min(BOX_ROWS);
    let boxes = boxes(tile, [inner, outer], [row_elements, box_rows], [columns, rows], element_bytes)?;
    let map = TensorMap {
        parameter,
        element,
        extents: [extent(inner)?, extent(outer)?],
        stride,
        box_extents: [row_elements as u32, box_rows as u32],
        swizzle_bytes: tile.swizzle.row_bytes()? as u32,
    };
    let bytes = (columns * rows) as u32 * element_bytes;
    let [column, row] = [inner, outer].map(|axis| start[axis].clone());
    Some(TensorCopy { map, conditions, start: [column, row], wraps: forms.wraps, boxes, bytes })
}

/// What is known of the signs of polynomials.
struct Signs<'a> {
    function: &'a Function,
    axis: &'a AxisAnalysis,
    wraps: &'a [Wrap],
}

impl Signs<'_> {
    /// Whether a polynomial is never negative, if some conditions hold; `None` if it may be.
    fn never_negative(&self, polynomial: &Polynomial, conditions: &mut Vec<Condition>) -> Option<()> {
        for (monomial, coefficient) in polynomial.terms() {
            if coefficient < 0 {
                return None;
            }
            for &symbol in monomial {
                match symbol {
                    Symbol::Iteration => {}
                    Symbol::Wrapped(number) => {
                        self.never_negative(&self.wraps[number as usize].start, conditions)?;
                    }
                    Symbol::Value(value) => match parameter_of(self.function, value) {
                        Some(_) => {
                            let value = HostExpression::of(self.function, &Polynomial::symbol(symbol))?;
                            conditions.push(Condition { value, multiple_of: 1 });
                        }
                        None if self.axis.of(value).is_non_negative() => {}
                        None => return None,
                    },
                }
            }
        }
        Some(())
    }
}

/// Whether a column is near enough to a row's start to be a 32-bit coordinate, where no mask says so: it counts iterations, or wraps around.
/// Other offsets may be those of a further dimension, and large.
fn is_near(column: &Polynomial) -> bool {
    column
        .terms()
        .all(|(monomial, _)| matches!(monomial.as_slice(), [] | [Symbol::Iteration] | [Symbol::Wrapped(_)]))
}

/// The number of the parameter that a value is.
fn parameter_of(function: &Function, value: Value) -> Option<u32> {
    match function.value(value).def {
        ValueDef::Param(number) => Some(number),
        _ => None,
    }
}

/// Where the boxes of a tile go; `None` if the tile is not laid out as boxes are.
fn boxes(
    tile: &SharedTile,
    [inner, outer]: [usize; 2],
    [box_columns, box_rows]: [u64; 2],
    [columns, rows]: [u64; 2],
    element_bytes: u32,
) -> Option<Vec<([u32; 2], u32)>> {
    let inputs = tile.layout.inputs();
    let place = |column: u64, row: u64| {
        let index = inputs.put(Dim::Axis(inner as u8), column) | inputs.put(Dim::Axis(outer as u8), row);
        tile.layout.apply(index)
    };
    let in_box = (0..box_columns.ilog2()).all(|bit| place(1 << bit, 0) == 1 << bit)
        && (0..box_rows.ilog2()).all(|bit| place(0, 1 << bit) / box_columns == 1 << bit);
    if !in_box {
        return None;
    }
    let mut boxes = Vec::new();
    for column in (0..columns).step_by(box_columns as usize) {
        for row in (0..rows).step_by(box_rows as usize) {
            // Rows from the eighth on do not move what is in a row.
            let offset = place(column, row) * u64::from(element_bytes);
            boxes.push(([column as u32, row as u32], offset as u32));
        }
    }
    Some(boxes)
}

/// What a mask leaves of the indices of an axis.
enum Limit {
    /// Those below an end.
    Below { axis: usize, end: Polynomial },
    /// Those from a first on.
    From { axis: usize, first: Polynomial },
}

impl Forms<'_> {
    /// The limits that a mask is the conjunction of; `None` if it is something else.
    fn limits(&mut self, mask: Value, limits: &mut Vec<Limit>) -> Option<()> {
        let function = self.function();
        let ValueDef::Result { op, .. } = function.value(mask).def else { return None };
        match &function.op(op).op {
            Op::Broadcast { value } => self.limits(*value, limits),
            Op::Binary { op: BinaryOp::And, lhs, rhs } => {
                self.limits(*lhs, limits)?;
                self.limits(*rhs, limits)
            }
            Op::ExpandDims { value, axis } => {
                let mut inner = Vec::new();
                self.limits(*value, &mut inner)?;
                let moved = |place: usize| if place >= *axis as usize { place + 1 } else { place };
                limits.extend(inner.into_iter().map(|limit| match limit {
                    Limit::Below { axis, end } => Limit::Below { axis: moved(axis), end },
                    Limit::From { axis, first } => Limit::From { axis: moved(axis), first },
                }));
                Some(())
            }
            Op::Compare { predicate, lhs, rhs } => {
                let most = function.ty(*lhs).shape.iter().copied().max().unwrap_or(1);
                let (lhs, rhs) = (self.bound(*lhs, most)?, self.bound(*rhs, most)?);
                limits.push(limit(*predicate, &lhs, &rhs)?);
                Some(())
            }
            _ => None,
        }
    }

    /// The form of a side of a comparison with an index: bringing it into the range of the block's indices makes no difference.
    fn bound(&mut self, value: Value, most: u32) -> Option<Affine> {
        let function = self.function();
        let ValueDef::Result { op, .. } = function.value(value).def else { return self.of(value) };
        match &function.op(op).op {
            Op::Splat { value: scalar } => {
                let form = self.bound(*scalar, most)?;
                let axes = vec![Polynomial::default(); function.ty(value).shape.rank()];
                Some(Affine { axes, ..form })
            }
            Op::Cast { value: operand, .. } if function.ty(value).is_scalar() => {
                let is_int = [*operand, value].iter().all(|&value| {
                    let scalar: Option<Scalar> = function.ty(value).element.as_scalar();
                    scalar.is_some_and(Scalar::is_int)
                });
                if is_int && self.is_brought_into_range(*operand, most) {
                    self.bound(*operand, most)
                } else {
                    self.of(value)
                }
            }
            Op::Binary { op, lhs, rhs } if function.ty(value).is_scalar() => {
                let limit = integer(function, *rhs);
                match (op, limit) {
                    (BinaryOp::Min, Some(limit)) if limit >= i64::from(most) => self.bound(*lhs, most),
                    (BinaryOp::Max, Some(limit)) if limit <= 0 => self.bound(*lhs, most),
                    _ => self.of(value),
                }
            }
            _ => self.of(value),
        }
    }

    /// Whether a value is cut to a range that a narrower type holds.
    fn is_brought_into_range(&self, value: Value, most: u32) -> bool {
        let function = self.function();
        let ValueDef::Result { op, .. } = function.value(value).def else { return false };
        let Op::Binary { op: BinaryOp::Min, rhs, .. } = function.op(op).op else { return false };
        integer(function, rhs).is_some_and(|limit| limit >= i64::from(most) && limit <= i64::from(i32::MAX))
    }
}

/// `lhs predicate rhs` as a limit of an index.
fn limit(predicate: Predicate, lhs: &Affine, rhs: &Affine) -> Option<Limit> {
    let (lhs, rhs, predicate) = match predicate {
        Predicate::Gt => (rhs, lhs, Predicate::Lt),
        Predicate::Ge => (rhs, lhs, Predicate::Le),
        Predicate::Lt | Predicate::Le => (lhs, rhs, predicate),
        _ => return None,
    };
    // `index + start < 0`, or `<= 0`, which is `< 1`.
    let difference = lhs.minus(rhs)?;
    let mut varying = difference.axes.iter().enumerate().filter(|(_, axis)| !axis.is_zero());
    let ((axis, factor), None) = (varying.next()?, varying.next()) else { return None };
    let strict = i64::from(predicate == Predicate::Le);
    let one = Polynomial::constant(strict);
    match factor.as_constant()? {
        1 => Some(Limit::Below { axis, end: one.minus(&difference.start) }),
        // `start - index < 1` says that the index is at least the start.
        -1 => {
            let first = difference.start.minus(&one).plus(&Polynomial::constant(1));
            Some(Limit::From { axis, first })
        }
        _ => None,
    }
}

/// The integer that a value is.
fn integer(function: &Function, value: Value) -> Option<i64> {
    let ValueDef::Result { op, .. } = function.value(value).def else { return None };
    match &function.op(op).op {
        Op::Constant(Literal::Int(number)) => Some(*number),
        _ => None,
    }
}

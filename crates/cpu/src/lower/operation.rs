//! The instruction of each operation.

use super::Lowering;
use crate::program::{
    Action, AddPointer, Assert, AtomicRmw, Dot, Elementwise, ElementwiseKind, Fold, For, Functions, If, Load,
    Map, Operand, Place, Print, Reshape, ScalarOperation, ShapeChange, Store, While,
};
use smallvec::SmallVec;
use tegula_ir::{AtomicOp, BinaryOp, Diagnostic, Element, Op, OpData, OpId, Rounding, Scalar, Value};
use tegula_strip::{self as strip, Operands, StripFn};

type Result<T> = std::result::Result<T, Box<Diagnostic>>;

impl Lowering<'_> {
    /// The instruction of an operation whose results have their places.
    pub(super) fn action(&mut self, id: OpId, data: &OpData) -> Result<Action> {
        let operand = |lowering: &Self, value: Value| lowering.operand(value, id);
        let out = |lowering: &Self| lowering.place(data.results[0]);
        Ok(match &data.op {
            Op::Constant(_) => unreachable!("constants have no instruction"),
            Op::ProgramId { axis } => Action::ProgramId { axis: *axis, out: self.register(data.results[0]) },
            Op::NumPrograms { axis } => {
                Action::NumPrograms { axis: *axis, out: self.register(data.results[0]) }
            }
            Op::Arange { start, .. } => Action::Arange { start: i64::from(*start), out: out(self) },
            Op::Splat { value } | Op::Annotate { value, .. } => {
                Action::Move { value: operand(self, *value), out: out(self) }
            }
            Op::Bitcast { value } => Action::Bitcast { value: operand(self, *value), out: out(self) },
            Op::Broadcast { value } => self.reshape(id, data, *value, ShapeChange::Broadcast),
            Op::ExpandDims { value, axis } => {
                self.reshape(id, data, *value, ShapeChange::ExpandDims(*axis as usize))
            }
            Op::Reshape { value } => self.reshape(id, data, *value, ShapeChange::Reshape),
            Op::Transpose { value, permutation } => {
                self.reshape(id, data, *value, ShapeChange::Transpose(permutation.clone()))
            }
            Op::Split { value } => self.reshape(id, data, *value, ShapeChange::Split),
            Op::Slice { value, starts } => self.reshape(id, data, *value, ShapeChange::Slice(starts.clone())),
            Op::Index { value, axis, index } => {
                let index = self.register(*index);
                self.reshape(id, data, *value, ShapeChange::Index(*axis as usize, index))
            }
            Op::Join { lhs, rhs } => {
                Action::Join { lhs: operand(self, *lhs), rhs: operand(self, *rhs), out: out(self) }
            }
            Op::Concatenate { lhs, rhs, axis } => Action::Concatenate {
                lhs: operand(self, *lhs),
                rhs: operand(self, *rhs),
                axis: *axis as usize,
                out: out(self),
            },
            Op::Gather { source, indices, axis } => Action::Gather {
                source: operand(self, *source),
                indices: operand(self, *indices),
                axis: *axis as usize,
                out: out(self),
            },
            Op::Histogram { value, mask } => Action::Histogram {
                value: operand(self, *value),
                mask: mask.map(|mask| operand(self, mask)),
                out: out(self),
            },
            Op::Unary { op, value } => {
                let scalar = self.scalar(*value);
                let dense =
                    self.known(strip::unary(self.isa, *op, scalar), data, &format!("{op:?}"), scalar)?;
                let of_difference = strip::of_difference(self.isa, *op, scalar);
                let functions = Functions { of_difference, ..only(dense) };
                self.elementwise(id, data, ElementwiseKind::Unary, functions, &[*value])
            }
            Op::Binary { op, lhs, rhs } => {
                let scalar = self.scalar(*lhs);
                let dense = strip::binary(self.isa, *op, scalar, Operands::DenseDense);
                let functions = Functions {
                    dense: self.known(dense, data, &format!("{op:?}"), scalar)?,
                    last_splat: strip::binary(self.isa, *op, scalar, Operands::DenseSplat),
                    first_splat: strip::binary(self.isa, *op, scalar, Operands::SplatDense),
                    of_difference: None,
                };
                self.elementwise(id, data, ElementwiseKind::Binary(*op), functions, &[*lhs, *rhs])
            }
            Op::Compare { predicate, lhs, rhs } => {
                let scalar = self.scalar(*lhs);
                let dense = strip::compare(self.isa, *predicate, scalar, Operands::DenseDense);
                let functions = Functions {
                    dense: self.known(dense, data, &format!("{predicate:?}"), scalar)?,
                    last_splat: strip::compare(self.isa, *predicate, scalar, Operands::DenseSplat),
                    first_splat: strip::compare(self.isa, *predicate, scalar, Operands::SplatDense),
                    of_difference: None,
                };
                self.elementwise(id, data, ElementwiseKind::Compare(*predicate), functions, &[*lhs, *rhs])
            }
            Op::Select { condition, on_true, on_false } => {
                let functions = self.select_functions(*on_true);
                let inputs = [*condition, *on_true, *on_false];
                self.elementwise(id, data, ElementwiseKind::Select, functions, &inputs)
            }
            Op::Fma { a, b, c } => {
                let scalar = self.scalar(*a);
                let dense = self.known(strip::fma(self.isa, scalar), data, "Fma", scalar)?;
                self.elementwise(id, data, ElementwiseKind::Fma, only(dense), &[*a, *b, *c])
            }
            Op::Cast { value, rounding } => {
                let (from, to) = (self.scalar(*value), self.scalar(data.results[0]));
                if from == to {
                    Action::Move { value: operand(self, *value), out: out(self) }
                } else {
                    let dense = strip::cast(self.isa, from, to, *rounding);
                    let dense = self.known(dense, data, &format!("the conversion to {to}"), from)?;
                    self.elementwise(id, data, ElementwiseKind::Cast, only(dense), &[*value])
                }
            }
            Op::AddPointer { pointer, offset } => self.add_pointer(id, data, *pointer, *offset)?,
            Op::Load { pointer, mask, other, .. } => Action::Load(Box::new(Load {
                pointer: operand(self, *pointer),
                mask: mask.map(|mask| operand(self, mask)),
                other: other.map(|other| operand(self, other)),
                out: out(self),
            })),
            Op::Store { pointer, value, mask, .. } => Action::Store(Box::new(Store {
                pointer: operand(self, *pointer),
                value: operand(self, *value),
                mask: mask.map(|mask| operand(self, mask)),
            })),
            Op::AtomicRmw { op, pointer, value, mask, .. } => Action::AtomicRmw(Box::new(AtomicRmw {
                function: self.atomic_function(*op, data, self.scalar(*value))?,
                pointer: operand(self, *pointer),
                value: operand(self, *value),
                mask: mask.map(|mask| operand(self, mask)),
                out: out(self),
            })),
            Op::AtomicCas { pointer, expected, desired, .. } => Action::AtomicCas {
                pointer: operand(self, *pointer),
                expected: operand(self, *expected),
                desired: operand(self, *desired),
                out: out(self),
            },
            Op::Dot { lhs, rhs, accumulator, .. } => self.dot(id, data, *lhs, *rhs, *accumulator)?,
            Op::Reduce { values, axis, combine } => {
                let combine = self.combine(*combine)?;
                Action::Reduce(Box::new(self.fold(id, data, values, *axis, false, combine)))
            }
            Op::Scan { values, axis, reverse, combine } => {
                let combine = self.combine(*combine)?;
                Action::Scan(Box::new(self.fold(id, data, values, *axis, *reverse, combine)))
            }
            Op::MapElementwise { values, body } => Action::Map(Box::new(Map {
                body: self.map_body(*body)?,
                values: values.iter().map(|&value| operand(self, value)).collect(),
                outs: self.outs(data).into(),
            })),
            Op::For { lower, upper, step, inits, body, .. } => Action::For(Box::new(For {
                lower: self.register(*lower),
                upper: self.register(*upper),
                step: self.register(*step),
                scalar: self.scalar(*lower),
                inits: inits.iter().map(|&init| operand(self, init)).collect(),
                body: self.region(*body)?,
                outs: self.outs(data),
            })),
            Op::While { inits, condition, body } => Action::While(Box::new(While {
                inits: inits.iter().map(|&init| operand(self, init)).collect(),
                condition: self.region(*condition)?,
                body: self.region(*body)?,
                outs: self.outs(data),
            })),
            Op::If { condition, then, otherwise } => Action::If(Box::new(If {
                condition: self.register(*condition),
                then: self.region(*then)?,
                otherwise: self.region(*otherwise)?,
                outs: self.outs(data),
            })),
            Op::Print { prefix, hex, values } => Action::Print(Box::new(Print {
                prefix: prefix.clone(),
                hex: *hex,
                values: values.iter().map(|&value| operand(self, value)).collect(),
            })),
            Op::Assert { condition, message, mask } => Action::Assert(Box::new(Assert {
                condition: operand(self, *condition),
                message: message.clone(),
                mask: mask.map(|mask| operand(self, mask)),
            })),
            Op::InlineAssembly { .. } => {
                let message =
                    "inline assembly holds instructions of a GPU, and this kernel is compiled for the CPU";
                return Err(Box::new(Diagnostic::error(data.span, message)));
            }
            Op::Assume { .. } | Op::Barrier => Action::Nothing,
        })
    }

    fn outs(&self, data: &OpData) -> Vec<Place> {
        data.results.iter().map(|&result| self.place(result)).collect()
    }

    fn reshape(&self, id: OpId, data: &OpData, value: Value, change: ShapeChange) -> Action {
        Action::Reshape(Box::new(Reshape {
            change,
            value: self.operand(value, id),
            out: self.place(data.results[0]),
            second: data.results.get(1).map(|&result| self.place(result)),
        }))
    }

    /// The strip function of an operation, or the message that there is none.
    fn known(&self, function: Option<StripFn>, data: &OpData, name: &str, scalar: Scalar) -> Result<StripFn> {
        function.ok_or_else(|| {
            let name = name.to_lowercase();
            let message = format!("{name} is not defined for {}", scalar.language_name());
            Box::new(Diagnostic::error(data.span, message))
        })
    }

    /// The strip functions of a choice between values of the type of `value`.
    pub(super) fn select_functions(&self, value: Value) -> Functions {
        let bytes = self.scalar(value).bytes();
        let select = |operands| strip::select(self.isa, bytes, operands);
        Functions {
            dense: select(Operands::DenseDense).expect("every width of an element can be selected"),
            last_splat: select(Operands::DenseSplat),
            first_splat: select(Operands::SplatDense),
            of_difference: None,
        }
    }

    fn elementwise(
        &self,
        id: OpId,
        data: &OpData,
        kind: ElementwiseKind,
        functions: Functions,
        inputs: &[Value],
    ) -> Action {
        let computed = if kind == ElementwiseKind::Select { inputs[1] } else { inputs[0] };
        let scalar = self.scalar(computed);
        let result = self.scalar(data.results[0]);
        let out = self.place(data.results[0]);
        if let Place::Register(out) = out {
            let mut registers = [self.register(inputs[0]); 3];
            for (register, &input) in registers.iter_mut().zip(inputs) {
                *register = self.register(input);
            }
            let function = functions.dense;
            return Action::Scalar(Box::new(ScalarOperation {
                kind,
                scalar,
                result,
                function,
                inputs: registers,
                out,
            }));
        }
        let inputs = inputs.iter().map(|&input| self.operand(input, id)).collect();
        Action::Elementwise(Box::new(Elementwise { kind, scalar, result, functions, inputs, out }))
    }

    fn add_pointer(&self, id: OpId, data: &OpData, pointer: Value, offset: Value) -> Result<Action> {
        let Element::Pointer(element) = self.function.ty(pointer).element else {
            unreachable!("a verified function moves pointers")
        };
        let scalar = self.scalar(offset);
        let arithmetic = |op| -> Result<Functions> {
            let function = |operands| strip::binary(self.isa, op, Scalar::Int64, operands);
            Ok(Functions {
                dense: self.known(function(Operands::DenseDense), data, "arithmetic", Scalar::Int64)?,
                last_splat: function(Operands::DenseSplat),
                first_splat: function(Operands::SplatDense),
                of_difference: None,
            })
        };
        let extend = if scalar.bits() == 64 {
            None
        } else {
            let cast = strip::cast(self.isa, scalar, Scalar::Int64, Rounding::NearestEven);
            Some(self.known(cast, data, "the conversion to int64", scalar)?)
        };
        Ok(Action::AddPointer(Box::new(AddPointer {
            pointer: self.operand(pointer, id),
            offset: self.operand(offset, id),
            scalar,
            size: i64::from(element.target().bytes()),
            extend,
            multiply: arithmetic(BinaryOp::Mul)?,
            add: arithmetic(BinaryOp::Add)?,
            out: self.place(data.results[0]),
        })))
    }

    /// The strip function that makes the new value of an atomic operation.
    fn atomic_function(&self, op: AtomicOp, data: &OpData, scalar: Scalar) -> Result<Option<StripFn>> {
        let op = match op {
            AtomicOp::Add => BinaryOp::Add,
            AtomicOp::Min => BinaryOp::Min,
            AtomicOp::Max => BinaryOp::Max,
            AtomicOp::And => BinaryOp::And,
            AtomicOp::Or => BinaryOp::Or,
            AtomicOp::Xor => BinaryOp::Xor,
            AtomicOp::Exchange => return Ok(None),
        };
        let function = strip::binary(self.isa, op, scalar, Operands::DenseDense);
        self.known(function, data, &format!("atomic {op:?}"), scalar).map(Some)
    }

    fn dot(
        &self,
        id: OpId,
        data: &OpData,
        lhs: Value,
        rhs: Value,
        accumulator: Option<Value>,
    ) -> Result<Action> {
        let result = self.scalar(data.results[0]);
        let compute = match result {
            Scalar::Float64 => Scalar::Float64,
            result if result.is_float() => Scalar::Float32,
            Scalar::Int64 => Scalar::Int64,
            _ => Scalar::Int32,
        };
        let convert = |from: Scalar, to: Scalar| {
            if from == to {
                return Ok(None);
            }
            let cast = strip::cast(self.isa, from, to, Rounding::NearestEven);
            self.known(cast, data, &format!("the conversion to {to}"), from).map(Some)
        };
        Ok(Action::Dot(Box::new(Dot {
            convert_lhs: convert(self.scalar(lhs), compute)?,
            convert_rhs: convert(self.scalar(rhs), compute)?,
            convert_in: convert(result, compute)?,
            convert_out: convert(compute, result)?,
            lhs: self.operand(lhs, id),
            rhs: self.operand(rhs, id),
            accumulator: accumulator.map(|accumulator| self.operand(accumulator, id)),
            out: self.place(data.results[0]),
            compute,
        })))
    }

    fn fold(
        &self,
        id: OpId,
        data: &OpData,
        values: &[Value],
        axis: u8,
        reverse: bool,
        combine: crate::program::Combine,
    ) -> Fold {
        let values: SmallVec<[Operand; 2]> = values.iter().map(|&value| self.operand(value, id)).collect();
        Fold { values, axis: axis as usize, reverse, outs: self.outs(data).into(), combine }
    }
}

/// An operation whose operands must all be strips.
fn only(dense: StripFn) -> Functions {
    Functions { dense, last_splat: None, first_splat: None, of_difference: None }
}

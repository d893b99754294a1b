//! The types that each operation asks for and gives.

use crate::function::{Function, OpData, RegionId, Value};
use crate::op::{AtomicOp, BinaryOp, Literal, Op, UnaryOp};
use crate::types::{Element, Scalar, Shape, Type};

type Rule = Result<(), String>;

/// Checks an operation whose operands, results and regions are known to exist.
pub(super) fn check(function: &Function, data: &OpData) -> Rule {
    let check = Check { function, data };
    let expected = match &data.op {
        Op::Store { .. } | Op::Print { .. } | Op::Assert { .. } | Op::Assume { .. } | Op::Barrier => Some(0),
        Op::Split { .. } => Some(2),
        Op::Reduce { values, .. } | Op::Scan { values, .. } => Some(values.len()),
        Op::For { inits, .. } => Some(inits.len()),
        // Their regions say how many.
        Op::MapElementwise { .. } | Op::While { .. } | Op::If { .. } => None,
        // As many as the text has.
        Op::InlineAssembly { .. } => None,
        _ => Some(1),
    };
    if let Some(expected) = expected
        && data.results.len() != expected
    {
        return Err(format!("it has {} results, and should have {expected}", data.results.len()));
    }
    check.op()
}

struct Check<'f> {
    function: &'f Function,
    data: &'f OpData,
}

impl<'f> Check<'f> {
    fn ty(&self, value: Value) -> &'f Type {
        self.function.ty(value)
    }

    fn shape(&self, value: Value) -> &'f Shape {
        &self.ty(value).shape
    }

    fn element(&self, value: Value) -> Element {
        self.ty(value).element
    }

    /// The type of the only result.
    fn result(&self) -> &'f Type {
        self.ty(self.data.results[0])
    }

    fn types(&self, values: &[Value]) -> Vec<&'f Type> {
        values.iter().map(|&value| self.ty(value)).collect()
    }

    fn scalar(&self, what: &str, value: Value) -> Result<Scalar, String> {
        self.element(value)
            .as_scalar()
            .ok_or_else(|| format!("{what} is {}, and should be numbers", self.ty(value)))
    }

    fn int(&self, what: &str, value: Value) -> Result<Scalar, String> {
        match self.scalar(what, value)? {
            scalar if scalar.is_int() => Ok(scalar),
            _ => Err(format!("{what} is {}, and should be integers", self.ty(value))),
        }
    }

    fn float(&self, what: &str, value: Value) -> Result<Scalar, String> {
        match self.scalar(what, value)? {
            scalar if scalar.is_float() => Ok(scalar),
            _ => Err(format!("{what} is {}, and should be floats", self.ty(value))),
        }
    }

    /// An optional mask of the given shape.
    fn mask(&self, mask: Option<Value>, shape: &Shape) -> Rule {
        match mask {
            None => Ok(()),
            Some(mask) => {
                is(self.ty(mask), "the mask", &Type::block(Scalar::Int1, shape.clone()), "a mask here")
            }
        }
    }

    fn op(&self) -> Rule {
        match &self.data.op {
            Op::Constant(literal) => self.constant(*literal),
            Op::ProgramId { axis } | Op::NumPrograms { axis } => {
                require(*axis < 3, || format!("the grid has no axis {axis}"))?;
                is(self.result(), "the result", &Type::scalar(Scalar::Int32), "such an index")
            }
            Op::Arange { start, end } => {
                require(start < end, || format!("{start}..{end} is empty"))?;
                let extent = u32::try_from(i64::from(*end) - i64::from(*start)).expect("a difference of i32");
                is(
                    self.result(),
                    "the result",
                    &Type::block(Scalar::Int32, &[extent][..]),
                    "the range's type",
                )
            }

            Op::Splat { value } => {
                is_scalar(self.ty(*value), "the operand")?;
                require(!self.result().is_scalar(), || "the result is a scalar".to_owned())?;
                self.elements_kept(*value)
            }
            Op::Broadcast { value } => {
                let (from, to) = (self.shape(*value), &self.result().shape);
                let fits =
                    from.rank() == to.rank() && from.iter().zip(to.iter()).all(|(a, b)| a == b || *a == 1);
                require(fits, || format!("{} does not broadcast to {}", self.ty(*value), self.result()))?;
                self.elements_kept(*value)
            }
            Op::ExpandDims { value, axis } => {
                let ty = self.ty(*value);
                require(usize::from(*axis) <= ty.shape.rank(), || {
                    format!("{ty} has no place for axis {axis}")
                })?;
                let expected = ty.with_shape(ty.shape.with_inserted(usize::from(*axis), 1));
                is(self.result(), "the result", &expected, "the expanded type")
            }
            Op::Reshape { value } => {
                // What overflows was reported where it was defined.
                let elements =
                    |shape: &Shape| shape.iter().try_fold(1u64, |n, &e| n.checked_mul(u64::from(e)));
                require(elements(self.shape(*value)) == elements(&self.result().shape), || {
                    format!("{} and {} differ in number of elements", self.ty(*value), self.result())
                })?;
                self.elements_kept(*value)
            }
            Op::Transpose { value, permutation } => {
                let ty = self.ty(*value);
                let mut sorted: Vec<usize> = permutation.iter().map(|&axis| usize::from(axis)).collect();
                sorted.sort_unstable();
                require(sorted.iter().copied().eq(0..ty.shape.rank()), || {
                    format!("{permutation:?} is no permutation of the dimensions of {ty}")
                })?;
                let shape: Shape = permutation.iter().map(|&axis| ty.shape[usize::from(axis)]).collect();
                is(self.result(), "the result", &ty.with_shape(shape), "the transposed type")
            }
            Op::Join { lhs, rhs } => {
                let ty = self.same(*lhs, *rhs)?;
                let expected = ty.with_shape(ty.shape.with_inserted(ty.shape.rank(), 2));
                is(self.result(), "the result", &expected, "the joined type")
            }
            Op::Split { value } => {
                let ty = self.ty(*value);
                require(ty.shape.last() == Some(&2), || format!("the last extent of {ty} is not 2"))?;
                let expected = ty.with_shape(ty.shape.with_removed(ty.shape.rank() - 1));
                self.data
                    .results
                    .iter()
                    .try_for_each(|&r| is(self.ty(r), "a result", &expected, "half the operand"))
            }
            Op::Concatenate { lhs, rhs, axis } => self.concatenate(*lhs, *rhs, usize::from(*axis)),
            Op::Slice { value, starts } => {
                let (from, to) = (self.shape(*value), &self.result().shape);
                let fits = from.rank() == to.rank()
                    && starts.len() == to.rank()
                    && (0..to.rank()).all(|d| u64::from(starts[d]) + u64::from(to[d]) <= u64::from(from[d]));
                require(fits, || {
                    format!("{} has no part {} at {:?}", self.ty(*value), self.result(), starts.as_slice())
                })?;
                self.elements_kept(*value)
            }
            Op::Index { value, axis, index } => {
                let ty = self.has_axis(*value, *axis)?;
                self.int("the index", *index)?;
                is_scalar(self.ty(*index), "the index")?;
                let expected = ty.with_shape(ty.shape.with_removed(usize::from(*axis)));
                is(self.result(), "the result", &expected, "the operand without the axis")
            }
            Op::Gather { source, indices, axis } => {
                let ty = self.has_axis(*source, *axis)?;
                self.int("the indices", *indices)?;
                let shape = self.shape(*indices);
                let fits = shape.rank() == ty.shape.rank()
                    && (0..shape.rank()).all(|d| d == usize::from(*axis) || shape[d] == ty.shape[d]);
                require(fits, || format!("the source is {ty}, the indices are {}", self.ty(*indices)))?;
                is(self.result(), "the result", &ty.with_shape(shape.clone()), "the gathered type")
            }
            Op::Histogram { value, mask } => {
                self.int("the operand", *value)?;
                self.mask(*mask, self.shape(*value))?;
                let ty = self.result();
                require(ty.element == Element::Scalar(Scalar::Int32) && ty.shape.rank() == 1, || {
                    format!("the result is {ty}, and should be one dimension of i32")
                })
            }

            Op::Unary { op, value } => {
                match op {
                    UnaryOp::Abs => self.scalar("the operand", *value)?,
                    UnaryOp::Not | UnaryOp::Popcount | UnaryOp::LeadingZeros | UnaryOp::ReverseBits => {
                        self.int("the operand", *value)?
                    }
                    _ => self.float("the operand", *value)?,
                };
                is(self.result(), "the result", self.ty(*value), "the operand")
            }
            Op::Binary { op, lhs, rhs } => self.binary(*op, *lhs, *rhs),
            Op::Compare { lhs, rhs, .. } => {
                let ty = self.same(*lhs, *rhs)?;
                self.scalar("the left operand", *lhs)?;
                is(self.result(), "the result", &ty.with_element(Scalar::Int1), "a comparison's type")
            }
            Op::Select { condition, on_true, on_false } => {
                let ty = self.same(*on_true, *on_false)?;
                is(self.ty(*condition), "the condition", &ty.with_element(Scalar::Int1), "a condition here")?;
                is(self.result(), "the result", ty, "the choices")
            }
            Op::Fma { a, b, c } => {
                self.float("the first operand", *a)?;
                is(self.ty(*b), "the second operand", self.ty(*a), "the first")?;
                is(self.ty(*c), "the third operand", self.ty(*a), "the first")?;
                is(self.result(), "the result", self.ty(*a), "the operands")
            }
            Op::Cast { value, .. } => {
                self.scalar("the operand", *value)?;
                self.scalar("the result", self.data.results[0])?;
                self.shape_kept(*value)
            }
            Op::Bitcast { value } => {
                let bits = |element: Element| element.as_scalar().map_or(64, Scalar::bits);
                let (from, to) = (bits(self.element(*value)), bits(self.result().element));
                require(from == to, || {
                    format!("{} has {from} bits an element, {} has {to}", self.ty(*value), self.result())
                })?;
                self.shape_kept(*value)
            }
            Op::Annotate { value, hint } => {
                let ty = self.ty(*value);
                let integral = ty.element.as_scalar().is_none_or(Scalar::is_int);
                require(integral, || format!("the operand is {ty}, and should be integers or pointers"))?;
                let values = hint.values();
                require(values.len() == ty.shape.rank().max(1) && !values.contains(&0), || {
                    format!("{values:?} are no promises for the dimensions of {ty}")
                })?;
                is(self.result(), "the result", ty, "the operand")
            }

            Op::AddPointer { pointer, offset } => {
                self.pointer(*pointer)?;
                self.int("the offset", *offset)?;
                same_shape(self.ty(*pointer), "the pointer", self.ty(*offset), "the offset")?;
                is(self.result(), "the result", self.ty(*pointer), "the pointer")
            }
            Op::Load { pointer, mask, other, .. } => {
                let target = self.pointer(*pointer)?;
                is(self.result(), "the result", &target, "what the pointer points to")?;
                self.mask(*mask, &target.shape)?;
                other.map_or(Ok(()), |other| is(self.ty(other), "`other`", &target, "the result"))
            }
            Op::Store { pointer, value, mask, .. } => {
                let target = self.writable(*pointer)?;
                is(self.ty(*value), "the value", &target, "what the pointer points to")?;
                self.mask(*mask, &target.shape)
            }
            Op::AtomicRmw { op, pointer, value, mask, .. } => {
                let target = self.writable(*pointer)?;
                is(self.ty(*value), "the value", &target, "what the pointer points to")?;
                self.mask(*mask, &target.shape)?;
                match op {
                    AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => self.int("the value", *value)?,
                    _ => self.scalar("the value", *value)?,
                };
                is(self.result(), "the result", &target, "what the pointer points to")
            }
            Op::AtomicCas { pointer, expected, desired, .. } => {
                let target = self.writable(*pointer)?;
                self.scalar("the expected value", *expected)?;
                is(self.ty(*expected), "the expected value", &target, "what the pointer points to")?;
                is(self.ty(*desired), "the desired value", &target, "what the pointer points to")?;
                is(self.result(), "the result", &target, "what the pointer points to")
            }

            Op::Dot { lhs, rhs, accumulator, .. } => self.dot(*lhs, *rhs, *accumulator),
            Op::Reduce { values, axis, combine } => {
                self.combine(values, *axis, *combine)?;
                self.data.results.iter().zip(values).try_for_each(|(&result, &value)| {
                    let ty = self.ty(value);
                    let expected = ty.with_shape(ty.shape.with_removed(usize::from(*axis)));
                    is(self.ty(result), "the result", &expected, "the reduced type")
                })
            }
            Op::Scan { values, axis, combine, .. } => {
                self.combine(values, *axis, *combine)?;
                self.lists(&self.data.results, "results", values, "operands")
            }
            Op::MapElementwise { values, body } => self.map(values, *body),
            Op::InlineAssembly { assembly, values } => {
                require(assembly.pack > 0, || "it takes 0 elements at a time".to_owned())?;
                let all: Vec<Value> = self.data.results.iter().chain(values).copied().collect();
                let [first, rest @ ..] = all.as_slice() else {
                    return Err("it has no result".to_owned());
                };
                require(!self.data.results.is_empty(), || "it has no result".to_owned())?;
                rest.iter().try_for_each(|&other| {
                    same_shape(self.ty(*first), "the first result", self.ty(other), "another value")
                })
            }

            Op::For { lower, upper, step, inits, body, .. } => {
                let index = self.ty(*lower);
                is_scalar(index, "the lower bound")?;
                require(self.int("the lower bound", *lower)? != Scalar::Int1, || {
                    "the lower bound is a truth value".to_owned()
                })?;
                is(self.ty(*upper), "the upper bound", index, "the lower")?;
                is(self.ty(*step), "the step", index, "the lower bound")?;
                let args = self.types(&self.function.region(*body).args);
                let carried = self.types(inits);
                let expected: Vec<&Type> = std::iter::once(index).chain(carried.iter().copied()).collect();
                lists(&args, "arguments of the body", &expected, "index and initial values")?;
                self.yields(*body, &carried, "the initial values")?;
                lists(&self.types(&self.data.results), "results", &carried, "initial values")
            }
            Op::While { inits, condition, body } => {
                let carried = self.types(inits);
                let args = self.types(&self.function.region(*condition).args);
                lists(&args, "arguments of the condition", &carried, "initial values")?;
                let passed = self.types(&self.function.region(*body).args);
                let truth = Type::scalar(Scalar::Int1);
                let expected: Vec<&Type> = std::iter::once(&truth).chain(passed.iter().copied()).collect();
                self.yields(*condition, &expected, "a truth value and the arguments of the body")?;
                self.yields(*body, &carried, "the initial values")?;
                lists(&self.types(&self.data.results), "results", &passed, "arguments of the body")
            }
            Op::If { condition, then, otherwise } => {
                is(
                    self.ty(*condition),
                    "the condition",
                    &Type::scalar(Scalar::Int1),
                    "a branch's condition",
                )?;
                let results = self.types(&self.data.results);
                for branch in [*then, *otherwise] {
                    self.no_args(branch)?;
                    self.yields(branch, &results, "the results")?;
                }
                Ok(())
            }

            Op::Print { .. } | Op::Barrier => Ok(()),
            Op::Assert { condition, mask, .. } => {
                self.truth(*condition)?;
                self.mask(*mask, self.shape(*condition))
            }
            Op::Assume { condition } => self.truth(*condition),
        }
    }

    fn constant(&self, literal: Literal) -> Rule {
        let ty = self.result();
        is_scalar(ty, "the result")?;
        let holds = ty.element.as_scalar().is_some_and(|scalar| scalar.holds(literal));
        require(holds, || format!("{literal:?} is no value of {ty}"))
    }

    fn truth(&self, condition: Value) -> Rule {
        let ty = self.ty(condition);
        is(ty, "the condition", &ty.with_element(Scalar::Int1), "a condition here")
    }

    /// Two operands of one type, which is returned.
    fn same(&self, lhs: Value, rhs: Value) -> Result<&'f Type, String> {
        is(self.ty(rhs), "the right operand", self.ty(lhs), "the left")?;
        Ok(self.ty(lhs))
    }

    /// The result has the operand's elements, whatever its shape.
    fn elements_kept(&self, value: Value) -> Rule {
        let (from, to) = (self.element(value), self.result().element);
        require(from == to, || format!("the operand is {}, the result {}", self.ty(value), self.result()))
    }

    fn shape_kept(&self, value: Value) -> Rule {
        same_shape(self.ty(value), "the operand", self.result(), "the result")
    }

    fn has_axis(&self, value: Value, axis: u8) -> Result<&'f Type, String> {
        let ty = self.ty(value);
        require(usize::from(axis) < ty.shape.rank(), || format!("{ty} has no axis {axis}"))?;
        Ok(ty)
    }

    fn binary(&self, op: BinaryOp, lhs: Value, rhs: Value) -> Rule {
        let ty = self.same(lhs, rhs)?;
        use BinaryOp::*;
        match op {
            Add | Sub | Mul | Div | Rem | Min | Max | MinNan | MaxNan => {
                self.scalar("the left operand", lhs)?
            }
            And | Or | Xor | Shl | Shr | MulHigh => self.int("the left operand", lhs)?,
            DivRn | Pow | Atan2 | Hypot | CopySign | NextAfter | Remainder => {
                self.float("the left operand", lhs)?
            }
        };
        is(self.result(), "the result", ty, "the operands")
    }

    fn concatenate(&self, lhs: Value, rhs: Value, axis: usize) -> Rule {
        let (left, right) = (self.ty(lhs), self.ty(rhs));
        let fits = left.element == right.element
            && left.shape.rank() == right.shape.rank()
            && axis < left.shape.rank()
            && (0..left.shape.rank()).all(|d| d == axis || left.shape[d] == right.shape[d]);
        require(fits, || format!("{left} and {right} do not join along axis {axis}"))?;
        let extent = u64::from(left.shape[axis]) + u64::from(right.shape[axis]);
        let extent = u32::try_from(extent).map_err(|_| format!("the extent {extent} is too large"))?;
        let expected = left.with_shape(left.shape.with_extent(axis, extent));
        is(self.result(), "the result", &expected, "the concatenated type")
    }

    /// What a pointer (or a block of them) points to.
    fn pointer(&self, value: Value) -> Result<Type, String> {
        match self.element(value) {
            Element::Pointer(pointer) => Ok(self.ty(value).with_element(pointer.target())),
            Element::Scalar(_) => Err(format!("{} is no pointer", self.ty(value))),
        }
    }

    fn writable(&self, value: Value) -> Result<Type, String> {
        if let Element::Pointer(pointer) = self.element(value)
            && pointer.constant
        {
            return Err(format!("{} is a pointer to constants", self.ty(value)));
        }
        self.pointer(value)
    }

    fn dot(&self, lhs: Value, rhs: Value, accumulator: Option<Value>) -> Rule {
        let (a, b) = (self.scalar("the left operand", lhs)?, self.scalar("the right operand", rhs)?);
        let (left, right, result) = (self.ty(lhs), self.ty(rhs), self.result());
        let total = self.scalar("the result", self.data.results[0])?;
        let elements = a.is_float() == total.is_float() && (a == b || (a.is_float8() && b.is_float8()));
        require(elements, || format!("{left} and {right} do not multiply to {result}"))?;
        let rank = left.shape.rank();
        let ranks = (rank == 2 || rank == 3) && right.shape.rank() == rank && result.shape.rank() == rank;
        let fits = ranks && {
            let (l, r, o) = (&left.shape, &right.shape, &result.shape);
            let batches = rank == 2 || (l[0] == r[0] && l[0] == o[0]);
            batches && l[rank - 1] == r[rank - 2] && l[rank - 2] == o[rank - 2] && r[rank - 1] == o[rank - 1]
        };
        require(fits, || format!("{left} times {right} is not {result}"))?;
        accumulator.map_or(Ok(()), |acc| is(self.ty(acc), "the accumulator", result, "the result"))
    }

    /// Operands of a reduction or scan, and the region that combines their elements.
    fn combine(&self, values: &[Value], axis: u8, combine: RegionId) -> Rule {
        require(!values.is_empty(), || "it has no operands".to_owned())?;
        for &value in values {
            self.has_axis(value, axis)?;
            same_shape(self.ty(values[0]), "the first operand", self.ty(value), "another")?;
        }
        let elements: Vec<Type> = values.iter().map(|&value| Type::scalar(self.element(value))).collect();
        let twice: Vec<&Type> = elements.iter().chain(&elements).collect();
        let args = self.types(&self.function.region(combine).args);
        lists(&args, "arguments of the region", &twice, "elements, left and right")?;
        self.yields(combine, &twice[..elements.len()], "the elements")
    }

    fn map(&self, values: &[Value], body: RegionId) -> Rule {
        let &first = values.first().ok_or("it has no operands")?;
        for &value in values {
            same_shape(self.ty(first), "the first operand", self.ty(value), "another")?;
        }
        let elements: Vec<Type> = values.iter().map(|&value| Type::scalar(self.element(value))).collect();
        let args = self.types(&self.function.region(body).args);
        lists(&args, "arguments of the region", &elements.iter().collect::<Vec<_>>(), "elements")?;
        let yields = &self.function.region(body).yields;
        yields.iter().try_for_each(|&value| is_scalar(self.ty(value), "what the region yields"))?;
        let shape = self.shape(first);
        let expected: Vec<Type> = yields.iter().map(|&v| self.ty(v).with_shape(shape.clone())).collect();
        let results = self.types(&self.data.results);
        lists(&results, "results", &expected.iter().collect::<Vec<_>>(), "yields of the region")
    }

    fn no_args(&self, region: RegionId) -> Rule {
        require(self.function.region(region).args.is_empty(), || "a branch has arguments".to_owned())
    }

    fn yields(&self, region: RegionId, expected: &[&Type], what: &str) -> Rule {
        lists(&self.types(&self.function.region(region).yields), "yields of a region", expected, what)
    }

    fn lists(&self, values: &[Value], what: &str, expected: &[Value], of: &str) -> Rule {
        lists(&self.types(values), what, &self.types(expected), of)
    }
}

fn require(condition: bool, message: impl FnOnce() -> String) -> Rule {
    if condition { Ok(()) } else { Err(message()) }
}

fn is(actual: &Type, what: &str, expected: &Type, of: &str) -> Rule {
    require(actual == expected, || format!("{what} is {actual}, and should be {expected}, as {of}"))
}

fn is_scalar(ty: &Type, what: &str) -> Rule {
    require(ty.is_scalar(), || format!("{what} is {ty}, and should be a scalar"))
}

fn same_shape(left: &Type, what: &str, right: &Type, other: &str) -> Rule {
    require(left.shape == right.shape, || format!("{what} is {left}, {other} is {right}: the shapes differ"))
}

fn lists(actual: &[&Type], what: &str, expected: &[&Type], of: &str) -> Rule {
    let text = |types: &[&Type]| types.iter().map(|ty| ty.to_string()).collect::<Vec<_>>().join(", ");
    require(actual == expected, || {
        format!("the {what} are ({}), but {of} are ({})", text(actual), text(expected))
    })
}

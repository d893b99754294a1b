//! Atomic operations, with and without a result.

use smallvec::SmallVec;

use super::Form;
use super::memory::{Vector, hints, space_requirement};
use crate::parse::{Name, Parser, Result};
use crate::printer::Printer;
use crate::target::Requirement;
use crate::{Address, Operand, Ordering, Register, Scope, Space, Type};

modifier! {
    /// What is done to memory.
    AtomicOp {
        Add = "add",
        Min = "min",
        Max = "max",
        And = "and",
        Or = "or",
        Xor = "xor",
        Exchange = "exch",
        /// Replaced by the third operand if equal to the second.
        CompareExchange = "cas",
        /// Counted up, to zero after the operand.
        Increment = "inc",
        /// Counted down, to the operand after zero.
        Decrement = "dec",
    }
}

impl AtomicOp {
    fn of_floats(self, ty: Type) -> bool {
        matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2)
            && matches!(self, AtomicOp::Add | AtomicOp::Min | AtomicOp::Max)
    }
}

/// `atom`: an operation on memory that gives the value before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Atomic {
    /// The memory ordering; none is relaxed.
    pub ordering: Option<Ordering>,
    /// The threads among which it is atomic; none is the device.
    pub scope: Option<Scope>,
    /// The space; none for generic addresses.
    pub space: Option<Space>,
    /// The operation.
    pub op: AtomicOp,
    /// The type. Halves are never flushed (`.noftz`, which the hardware requires).
    pub ty: Type,
    /// The values before; their number is the vector's.
    pub dst: SmallVec<[Register; 4]>,
    /// The address.
    pub address: Address,
    /// The operand, one for each element.
    pub values: SmallVec<[Operand; 4]>,
    /// The replacement, for `CompareExchange`.
    pub replacement: Option<Operand>,
    /// The policy of the second-level cache.
    pub policy: Option<Register>,
}

impl Form for Atomic {
    const NAMES: &'static [&'static str] = &["atom"];

    fn print(&self, out: &mut Printer) {
        out.name("atom").optional(self.ordering).optional(self.scope).optional(self.space).modifier(self.op);
        out.flag(self.op.of_floats(self.ty), "noftz").flag(self.policy.is_some(), "L2::cache_hint");
        out.optional(Vector::of(self.dst.len())).modifier(self.ty);
        out.scalar_or_vector(&self.dst).address(&self.address).scalar_or_vector(&self.values);
        out.optional_operand(self.replacement).optional_operand(self.policy.map(Operand::Register));
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Atomic> {
        let (ordering, scope, space) = (name.take(), name.take(), name.take());
        let (op, ty, has_policy) = operation(name)?;
        let dst = operands.scalar_or_registers()?;
        let address = operands.address()?;
        let values = operands.scalar_or_vector()?;
        let replacement = operands.operand_when(op == AtomicOp::CompareExchange)?;
        let policy = if has_policy { Some(operands.register()?) } else { None };
        Ok(Atomic { ordering, scope, space, op, ty, dst, address, values, replacement, policy })
    }

    fn requirement(&self) -> Requirement {
        requirement(self.op, self.ty, self.values.len(), self.scope, self.space, self.policy.is_some())
    }
}

/// `red`: an operation on memory whose old value is not wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduce {
    /// The memory ordering; none is relaxed.
    pub ordering: Option<Ordering>,
    /// The threads among which it is atomic; none is the device.
    pub scope: Option<Scope>,
    /// The space; none for generic addresses.
    pub space: Option<Space>,
    /// The operation; neither exchange is one.
    pub op: AtomicOp,
    /// The type, as for [`Atomic`].
    pub ty: Type,
    /// The address.
    pub address: Address,
    /// The operand; the number of elements is the vector's.
    pub values: SmallVec<[Operand; 4]>,
    /// The policy of the second-level cache.
    pub policy: Option<Register>,
}

impl Form for Reduce {
    const NAMES: &'static [&'static str] = &["red"];

    fn print(&self, out: &mut Printer) {
        out.name("red").optional(self.ordering).optional(self.scope).optional(self.space).modifier(self.op);
        out.flag(self.op.of_floats(self.ty), "noftz").flag(self.policy.is_some(), "L2::cache_hint");
        out.optional(Vector::of(self.values.len())).modifier(self.ty);
        out.address(&self.address).scalar_or_vector(&self.values);
        out.optional_operand(self.policy.map(Operand::Register));
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Reduce> {
        let (ordering, scope, space) = (name.take(), name.take(), name.take());
        let (op, ty, has_policy) = operation(name)?;
        let address = operands.address()?;
        let values = operands.scalar_or_vector()?;
        let policy = if has_policy { Some(operands.register()?) } else { None };
        Ok(Reduce { ordering, scope, space, op, ty, address, values, policy })
    }

    fn requirement(&self) -> Requirement {
        requirement(self.op, self.ty, self.values.len(), self.scope, self.space, self.policy.is_some())
    }
}

/// The part of the name from the operation on: the operation, the type, and whether a policy follows.
fn operation(name: &mut Name<'_>) -> Result<(AtomicOp, Type, bool)> {
    let op: AtomicOp = name.require("an operation")?;
    name.flag("noftz");
    let has_policy = name.flag("L2::cache_hint");
    // The operands show how many elements there are.
    let _: Option<Vector> = name.take();
    Ok((op, name.require("a type")?, has_policy))
}

fn requirement(
    op: AtomicOp,
    ty: Type,
    elements: usize,
    scope: Option<Scope>,
    space: Option<Space>,
    policy: bool,
) -> Requirement {
    hints(false, policy)
        .and(space_requirement(space))
        .and(Requirement::from(90, 7, 8).when(scope == Some(Scope::Cluster)))
        .and(Requirement::from(90, 7, 8).when(ty.is_bf16() && op == AtomicOp::Add))
        .and(Requirement::from(90, 8, 1).when(elements > 1))
        .and(Requirement::from(90, 8, 3).when(ty == Type::B128))
}

//! Moves between registers, and addresses of other kinds.

use smallvec::SmallVec;

use super::Form;
use crate::parse::{Name, Parser, Result};
use crate::printer::Printer;
use crate::target::Requirement;
use crate::{Operand, Register, Space, Symbol, Type};

/// `mov`, whose operands decide what it does.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// A copy of a register, an immediate or a special register.
    Value {
        /// The type.
        ty: Type,
        /// The result.
        dst: Register,
        /// What is copied.
        source: Operand,
    },
    /// Several narrow values become one wide one, the first in the lowest bits.
    Pack {
        /// The type of the whole.
        ty: Type,
        /// The whole.
        dst: Register,
        /// The parts.
        parts: SmallVec<[Operand; 4]>,
    },
    /// A wide value becomes several narrow ones, the first from the lowest bits.
    Unpack {
        /// The type of the whole.
        ty: Type,
        /// The parts; those not wanted are absent.
        parts: SmallVec<[Option<Register>; 4]>,
        /// The whole.
        source: Register,
    },
    /// The address of a variable, in its own space.
    AddressOf {
        /// `U32` or `U64`.
        ty: Type,
        /// The address.
        dst: Register,
        /// The variable.
        symbol: Symbol,
    },
}

impl Form for Move {
    const NAMES: &'static [&'static str] = &["mov"];

    fn print(&self, out: &mut Printer) {
        out.name("mov");
        match self {
            Move::Value { ty, dst, source } => out.modifier(*ty).operand(*dst).operand(*source),
            Move::Pack { ty, dst, parts } => out.modifier(*ty).operand(*dst).vector(parts),
            Move::Unpack { ty, parts, source } => out.modifier(*ty).sinks(parts).operand(*source),
            Move::AddressOf { ty, dst, symbol } => out.modifier(*ty).operand(*dst).symbol(symbol),
        };
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<Move> {
        let ty = name.require("a type")?;
        if operands.operand_begins('{') {
            return Ok(Move::Unpack { ty, parts: operands.sinks()?, source: operands.register()? });
        }
        let dst = operands.register()?;
        if operands.operand_begins('{') {
            Ok(Move::Pack { ty, dst, parts: operands.vector()? })
        } else if operands.operand_is_symbol() {
            Ok(Move::AddressOf { ty, dst, symbol: operands.symbol()? })
        } else {
            Ok(Move::Value { ty, dst, source: operands.operand()? })
        }
    }

    fn requirement(&self) -> Requirement {
        let ty = match self {
            Move::Value { ty, .. }
            | Move::Pack { ty, .. }
            | Move::Unpack { ty, .. }
            | Move::AddressOf { ty, .. } => ty,
        };
        let special = match self {
            Move::Value { source: Operand::Special(special), .. } => special.requirement(),
            _ => Requirement::BASE,
        };
        special.and(Requirement::from(80, 8, 3).when(*ty == Type::B128))
    }
}

/// `cvta`: a generic address from one of a space, or the other way.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvertAddress {
    /// Whether the result is an address of the space, rather than a generic one.
    pub to_space: bool,
    /// The space.
    pub space: Space,
    /// `U32` or `U64`.
    pub ty: Type,
    /// The result.
    pub dst: Register,
    /// The address.
    pub source: Operand,
}

impl Form for ConvertAddress {
    const NAMES: &'static [&'static str] = &["cvta"];

    fn print(&self, out: &mut Printer) {
        out.name("cvta").flag(self.to_space, "to").modifier(self.space).modifier(self.ty);
        out.operand(self.dst).operand(self.source);
    }

    fn parse(name: &mut Name<'_>, operands: &mut Parser<'_>) -> Result<ConvertAddress> {
        let to_space = name.flag("to");
        let (space, ty) = (name.require("a space")?, name.require("a type")?);
        Ok(ConvertAddress { to_space, space, ty, dst: operands.register()?, source: operands.operand()? })
    }

    fn requirement(&self) -> Requirement {
        Requirement::from(80, 7, 7).when(self.space == Space::Param)
    }
}

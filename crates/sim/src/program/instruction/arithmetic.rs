//! Arithmetic, comparisons, conversions and moves.

use crate::program::build::Builder;
use crate::program::{Operation, PredicateOp, Slot, compare, convert, float, integer};
use smallvec::SmallVec;
use tegula_ptx::{
    Class, Convert, Instruction, Math, MathOp, Move, MulPart, Operand, Register, SetPredicate, Special, Type,
};

/// Bits of a register.
fn bits(register: Register) -> u32 {
    register.class.declared().bits()
}

impl Builder {
    pub(super) fn arithmetic(&mut self, instruction: &Instruction) -> Option<Operation> {
        match instruction {
            Instruction::Math(math) => self.math(math),
            Instruction::Lop3(lop3) => {
                let sources = lop3.sources.map(|source| (source, 32));
                Some(self.lanes(integer::lop3(lop3), &sources, lop3.dst))
            }
            Instruction::Permute(permute) => {
                let sources = permute.sources.map(|source| (source, 32));
                Some(self.lanes(integer::permute(permute), &sources, permute.dst))
            }
            Instruction::FunnelShift(shift) => {
                let sources = shift.sources.map(|source| (source, 32));
                Some(self.lanes(integer::funnel_shift(shift), &sources, shift.dst))
            }
            Instruction::DotProduct(product) => {
                let sources = product.sources.map(|source| (source, 32));
                Some(self.lanes(integer::dot_product(product), &sources, product.dst))
            }
            Instruction::TestProperty(test) => {
                let source = self.read(test.source, test.ty.bits());
                Some(Operation::Compare {
                    function: compare::test_property(test),
                    sources: [source; 2],
                    dst: self.write_predicate(test.dst),
                    second: None,
                    packed: false,
                    combine: None,
                })
            }
            Instruction::SetPredicate(compare) => self.set_predicate(compare),
            Instruction::Select(select) => {
                let sources = select.sources.map(|source| self.read(source, select.ty.bits()));
                let predicate = self.read_predicate(select.predicate.into());
                Some(Operation::Select { sources, predicate, dst: self.write(select.dst) })
            }
            Instruction::Convert(convert) => self.convert(convert),
            Instruction::ConvertPack(pack) => {
                let above = pack.above.unwrap_or(Operand::Integer(0));
                let sources = [(pack.sources[0], 32), (pack.sources[1], 32), (above, 32)];
                Some(self.lanes(convert::pack(pack), &sources, pack.dst))
            }
            Instruction::Move(copy) => self.copy(copy),
            Instruction::ConvertAddress(convert) => {
                let window = Builder::window(convert.space);
                let function = if convert.to_space {
                    integer::unary(move |address| address.wrapping_sub(window))
                } else {
                    integer::unary(move |address| address.wrapping_add(window))
                };
                Some(self.lanes(function, &[(convert.source, convert.ty.bits())], convert.dst))
            }
            _ => None,
        }
    }

    fn math(&mut self, math: &Math) -> Option<Operation> {
        if math.ty == Type::Pred {
            let op = match math.op {
                MathOp::And => PredicateOp::And,
                MathOp::Or => PredicateOp::Or,
                MathOp::Xor => PredicateOp::Xor,
                MathOp::Not => PredicateOp::Not,
                _ => return None,
            };
            let first = self.read_predicate(*math.sources.first()?);
            let second = math.sources.get(1).map_or(first, |&source| self.read_predicate(source));
            return Some(Operation::Predicate {
                op,
                sources: [first, second],
                dst: self.write_predicate(math.dst),
            });
        }
        let function = integer::math(math).or_else(|| float::math(math))?;
        let own = math.ty.bits();
        let width = |index: usize| match (math.op, index) {
            (MathOp::ShiftLeft | MathOp::ShiftRight, 1) => 32,
            (MathOp::ExtractBits, 1 | 2) | (MathOp::InsertBits, 2 | 3) => 32,
            (MathOp::Mad, 2) if math.part == Some(MulPart::Wide) => 2 * own,
            _ => own,
        };
        let sources: SmallVec<[(Operand, u32); 4]> =
            math.sources.iter().enumerate().map(|(index, &source)| (source, width(index))).collect();
        Some(self.lanes(function, &sources, math.dst))
    }

    fn set_predicate(&mut self, compare: &SetPredicate) -> Option<Operation> {
        let function = compare::set_predicate(compare)?;
        let sources = compare.sources.map(|source| self.read(source, compare.ty.bits()));
        let combine = compare.combine.map(|(op, predicate)| (op, self.condition(predicate)));
        Some(Operation::Compare {
            function,
            sources,
            combine,
            dst: self.write_predicate(compare.dst),
            second: compare.second.map(|second| self.write_predicate(second)),
            packed: matches!(compare.ty, Type::F16x2 | Type::Bf16x2),
        })
    }

    fn convert(&mut self, convert: &Convert) -> Option<Operation> {
        let function = convert::convert(convert, bits(convert.dst))?;
        let sources: SmallVec<[(Operand, u32); 2]> =
            convert.sources.iter().map(|&source| (source, convert.from.bits())).collect();
        Some(self.lanes(function, &sources, convert.dst))
    }

    fn copy(&mut self, copy: &Move) -> Option<Operation> {
        match copy {
            &Move::Value { ty: Type::Pred, dst, source } => {
                let source = self.read_predicate(source);
                let dst = self.write_predicate(dst);
                Some(Operation::Predicate { op: PredicateOp::Copy, sources: [source; 2], dst })
            }
            &Move::Value {
                dst,
                source: Operand::Special(Special::Clock | Special::Clock64 | Special::GlobalTimer),
                ..
            } => Some(Operation::Clock { dst: self.write(dst) }),
            &Move::Value { ty, dst, source } if ty.bits() <= 64 => {
                Some(self.lanes(integer::unary(|value| value), &[(source, ty.bits())], dst))
            }
            Move::Value { .. } => None,
            Move::Pack { ty, dst, parts } => {
                if *ty == Type::B128 || dst.class == Class::Bits128 {
                    return None;
                }
                let part = ty.bits() / parts.len() as u32;
                let sources: SmallVec<[(Operand, u32); 4]> =
                    parts.iter().map(|&source| (source, part)).collect();
                let keep = integer::mask(part);
                let function = integer::quaternary(move |a, b, c, d| {
                    // A part that is not there is zero; a shift of the whole width does not happen to one that is.
                    let place =
                        |value: u64, index: u32| (value & keep).checked_shl(index * part).unwrap_or(0);
                    place(a, 0) | place(b, 1) | place(c, 2) | place(d, 3)
                });
                Some(self.lanes(function, &sources, *dst))
            }
            Move::Unpack { ty, parts, source } => {
                if *ty == Type::B128 {
                    return None;
                }
                let bits = ty.bits() / parts.len() as u32;
                let source = self.read_register(*source);
                let parts: SmallVec<[Option<Slot>; 4]> =
                    parts.iter().map(|part| part.map(|part| self.write(part))).collect();
                Some(Operation::Unpack { source, parts, bits })
            }
            Move::AddressOf { dst, symbol, .. } => {
                let source = self.named(symbol);
                let zero = self.registers.constant(0);
                Some(Operation::Lanes {
                    function: integer::unary(|value| value),
                    sources: [source, zero, zero, zero],
                    dst: self.write(*dst),
                })
            }
        }
    }
}

//! Computations whose results nobody reads, found and dropped.
//!
//! ```text
//! mul.wide.s32 %d3, %r1, 4;       read by the next alone
//! add.s64 %d4, %d0, %d3;          read by nobody: both go
//! st.global.b32 [%d0], %r1;
//! ```
//!
//! Assemblers drop them, too, but only after they have read and expanded them.

use crate::printer::Printer;
use crate::{Function, Instruction, Move, Register, Statement};
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;

/// What one statement reads and computes.
struct Effects {
    reads: Vec<Register>,
    /// What it computes, if that is all that it does.
    computes: Option<SmallVec<[Register; 2]>>,
}

impl Function {
    /// Drops computations whose results nobody reads, those among them that only read one another.
    pub fn drop_unused(&mut self) {
        // Texts of the user name registers in their own way.
        if self.has_verbatim() {
            return;
        }
        let effects: Vec<Effects> = self.body.iter().map(Effects::new).collect();
        let mut makers: HashMap<Register, Vec<usize>> = HashMap::new();
        for (index, effect) in effects.iter().enumerate() {
            for &register in effect.computes.iter().flatten() {
                makers.entry(register).or_default().push(index);
            }
        }
        let mut needed: Vec<bool> = effects.iter().map(|effect| effect.computes.is_none()).collect();
        let mut open: Vec<usize> = (0..needed.len()).filter(|&index| needed[index]).collect();
        while let Some(index) = open.pop() {
            for register in &effects[index].reads {
                // Whatever may have set the register, once.
                for maker in makers.remove(register).unwrap_or_default() {
                    if !std::mem::replace(&mut needed[maker], true) {
                        open.push(maker);
                    }
                }
            }
        }
        let mut needed = needed.into_iter();
        self.body.retain(|_| needed.next().unwrap_or(true));
        // Of places in the source that follow one another, the last counts.
        self.body.dedup_by(|later, earlier| {
            let both =
                matches!((&*later, &*earlier), (Statement::Location { .. }, Statement::Location { .. }));
            if both {
                std::mem::swap(later, earlier);
            }
            both
        });
    }
}

impl Effects {
    fn new(statement: &Statement) -> Effects {
        let (guard, instruction) = match statement {
            Statement::Instruction { guard, instruction } => (guard, instruction),
            other => return Effects { reads: Printer::registers_of(|out| other.print(out)), computes: None },
        };
        let computes = computed(instruction);
        // Results are written before operands.
        let results = computes.as_ref().map_or(0, |results| results.len());
        let mut reads = Printer::registers_of(|out| instruction.print(out)).split_off(results);
        reads.extend(guard.map(|guard| guard.register));
        Effects { reads, computes }
    }
}

/// The results of an instruction that does nothing but compute them.
fn computed(instruction: &Instruction) -> Option<SmallVec<[Register; 2]>> {
    Some(match instruction {
        Instruction::Math(math) => smallvec![math.dst],
        Instruction::Lop3(logic) => smallvec![logic.dst],
        Instruction::Permute(permute) => smallvec![permute.dst],
        Instruction::FunnelShift(shift) => smallvec![shift.dst],
        Instruction::DotProduct(product) => smallvec![product.dst],
        Instruction::TestProperty(test) => smallvec![test.dst],
        Instruction::SetPredicate(set) => std::iter::once(set.dst).chain(set.second).collect(),
        Instruction::Select(select) => smallvec![select.dst],
        Instruction::Convert(convert) => smallvec![convert.dst],
        Instruction::ConvertPack(convert) => smallvec![convert.dst],
        Instruction::ConvertAddress(convert) => smallvec![convert.dst],
        Instruction::Move(Move::Value { dst, .. } | Move::Pack { dst, .. } | Move::AddressOf { dst, .. }) => {
            smallvec![*dst]
        }
        Instruction::Move(Move::Unpack { parts, .. }) => parts.iter().flatten().copied().collect(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::Module;

    /// The body that is left of one.
    fn left(body: &str) -> String {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry kernel(\n\t.param .u64 x\n)\n{{\n\
             \t.reg .pred %p<8>;\n\t.reg .b16 %h<8>;\n\t.reg .b32 %r<8>;\n\t.reg .b64 %d<8>;\n{body}}}\n"
        );
        let mut module = Module::parse(&text).unwrap();
        module.functions[0].drop_unused();
        let text = module.to_string();
        let begin = text.find("%d<8>;\n").unwrap() + "%d<8>;\n".len();
        text[begin..].trim_end_matches("}\n").to_owned()
    }

    #[test]
    fn what_only_the_unused_read_is_unused() {
        let kept = "\tld.param.u64 %d0, [x];\n\tmov.u32 %r1, %tid.x;\n\tst.global.b32 [%d0], %r1;\n";
        let unused = "\tmul.wide.s32 %d3, %r1, 4;\n\tadd.s64 %d4, %d0, %d3;\n\tmov.b32 {%h0, %h1}, %r1;\n";
        assert_eq!(left(&format!("{kept}{unused}")), kept);
    }

    #[test]
    fn variables_of_loops_are_used_if_anything_reads_them() {
        let body = |used: &str| {
            format!(
                "\tmov.b32 %r1, 0;\n\tmov.b32 %r2, 0;\n$L0:\n\tadd.s32 %r1, %r1, 1;\n{used}\tsetp.lt.s32 %p0, %r1, 9;\n\
                 \t@%p0 bra $L0;\n"
            )
        };
        let unused = left(&body("\tadd.s32 %r2, %r2, %r1;\n"));
        assert_eq!(unused, body("").replace("\tmov.b32 %r2, 0;\n", ""));
        let used = body("\tadd.s32 %r2, %r2, %r1;\n") + "\tst.shared.b32 [%r1], %r2;\n";
        assert_eq!(left(&used), used);
    }

    #[test]
    fn guards_are_read_and_both_branches_of_a_value_stay() {
        let body = "\tsetp.eq.s32 %p1, %r0, 0;\n\tmov.b32 %r3, 1;\n\t@%p1 mov.b32 %r3, 2;\n\tst.shared.b32 [%r0], %r3;\n";
        assert_eq!(left(body), body);
        let atomic = "\tatom.shared.add.u32 %r4, [%r0], 1;\n";
        assert_eq!(left(atomic), atomic);
    }

    #[test]
    fn the_last_place_in_the_source_counts() {
        let body = "\t.loc 1 1 1\n\tmov.b32 %r5, 1;\n\t.loc 1 2 1\n\tbar.sync 0;\n";
        assert_eq!(left(body), "\t.loc 1 2 1\n\tbar.sync 0;\n");
    }
}

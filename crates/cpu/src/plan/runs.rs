//! The runs of a program that plans stand for.

use super::build::Builder;
use super::form::{Definition, Definitions};
use crate::program::{Action, Instruction, Place, Program, ValueType};
use smallvec::SmallVec;
use std::collections::HashMap;

/// Replaces runs of instructions on rows by plans.
pub fn plan_rows(program: &mut Program) {
    let mut planner = Planner {
        definitions: Definitions::new(),
        constants: program.constants.iter().copied().collect(),
        registers: HashMap::new(),
    };
    planner.define(&program.prologue);
    let body = std::mem::take(&mut program.body);
    program.body = planner.code(program, body);
}

/// What is known of the whole program.
pub struct Planner {
    pub definitions: Definitions,
    /// The values of registers that hold constants.
    pub constants: HashMap<u32, u64>,
    /// The registers of constants that plans added.
    pub registers: HashMap<u64, u32>,
}

impl Planner {
    fn define(&mut self, code: &[Instruction]) {
        self.definitions.extend(code.iter().filter_map(Definition::of));
    }

    fn code(&mut self, program: &mut Program, code: Vec<Instruction>) -> Vec<Instruction> {
        self.define(&code);
        let mut planned = Vec::new();
        let mut run = Vec::new();
        for mut instruction in code {
            let regions: SmallVec<[&mut Vec<Instruction>; 2]> = match &mut instruction.action {
                Action::For(operation) => SmallVec::from_iter([&mut operation.body.code]),
                Action::While(operation) => {
                    SmallVec::from_iter([&mut operation.condition.code, &mut operation.body.code])
                }
                Action::If(operation) => {
                    SmallVec::from_iter([&mut operation.then.code, &mut operation.otherwise.code])
                }
                _ => {
                    run.push(instruction);
                    continue;
                }
            };
            planned.extend(self.run(program, std::mem::take(&mut run)));
            for region in regions {
                let code = std::mem::take(region);
                *region = self.code(program, code);
            }
            planned.push(instruction);
        }
        planned.extend(self.run(program, run));
        planned
    }

    /// A run without control flow: as plans if every instruction of it may be in one, which keeps blocks from going back and forth.
    fn run(&mut self, program: &mut Program, mut run: Vec<Instruction>) -> Vec<Instruction> {
        let Some(count) = common_count(program, &run) else { return run };
        let mut plans = Vec::new();
        let mut start = 0;
        while start < run.len() {
            let mut builder = Builder::new(self, program, count);
            let mut end = start;
            while end < run.len() && builder.add(&run[end]).is_some() {
                end += 1;
            }
            if end < run.len() && (end == start || !builder.split) {
                return run;
            }
            plans.push((end - start, builder.finish(&run[start..end])));
            start = end;
        }
        let mut planned = Vec::new();
        for (length, plan) in plans {
            let rest = run.split_off(length);
            let general = std::mem::replace(&mut run, rest);
            match plan {
                Some(mut plan) => {
                    let span = general[0].span;
                    plan.general = general;
                    planned.push(Instruction {
                        action: Action::Plan(Box::new(plan)),
                        ends: Box::new([]),
                        span,
                    });
                }
                None => planned.extend(general),
            }
        }
        planned
    }
}

/// The extent of the blocks that a run loads, stores or folds, if they have one axis and there is but one.
fn common_count(program: &Program, run: &[Instruction]) -> Option<usize> {
    let mut common = None;
    for instruction in run {
        let place = match &instruction.action {
            Action::Load(load) => load.out,
            Action::Store(store) => store.pointer.place,
            Action::Reduce(fold) => fold.values[0].place,
            _ => continue,
        };
        let Place::Block(_) = place else { continue };
        let count = row_count(program.ty(place))?;
        if *common.get_or_insert(count) != count {
            return None;
        }
    }
    common
}

pub fn row_count(ty: &ValueType) -> Option<usize> {
    ty.count.filter(|&count| ty.extents.len() == 1 && count > 1)
}

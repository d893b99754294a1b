//! Turns a function into a [`Program`].
//!
//! Each value gets a register (scalars) or a slot (blocks), each operation one instruction in the list of its
//! region. Pure operations on constants, parameters and the like go to the prologue, which each thread runs once
//! a launch instead of once a program.

mod combine;
mod lifetime;
mod operation;

use crate::plan::plan_rows;
use crate::program::{Instruction, Operand, Place, Program, Region, ValueType};
use crate::scalar;
use lifetime::Lifetimes;
use std::sync::Arc;
use tegula_ir::{Diagnostic, Function, Literal, Op, OpData, OpId, RegionId, Scalar, Value};
use tegula_strip::isa::{self, Isa};

/// Lowers a verified function.
pub fn lower(function: &Arc<Function>) -> Result<Program, Box<Diagnostic>> {
    let mut lowering = Lowering {
        function,
        isa: isa::selected(),
        lifetimes: Lifetimes::of(function),
        places: vec![None; function.value_count()],
        uniform: vec![false; function.value_count()],
        register_types: Vec::new(),
        block_types: Vec::new(),
        constants: Vec::new(),
        prologue: Vec::new(),
        tiles: false,
    };
    let mut parameters = Vec::new();
    for param in &function.params {
        let place = lowering.define(param.value);
        lowering.uniform[param.value.0 as usize] = matches!(place, Place::Register(_));
        parameters.push(place);
    }
    let body = lowering.code(function.body)?;
    let results = &function.region(function.body).yields;
    let results: Vec<Place> = results.iter().map(|&value| lowering.place(value)).collect();
    let mut program = Program {
        function: function.clone(),
        register_types: lowering.register_types,
        block_types: lowering.block_types,
        constants: lowering.constants,
        parameters,
        prologue: lowering.prologue,
        body,
        results,
    };
    // An operation of an interpreter is run once, and has blocks that are known only then.
    if program.parameters.iter().all(|place| matches!(place, Place::Register(_))) {
        plan_rows(&mut program);
    }
    Ok(program)
}

struct Lowering<'f> {
    function: &'f Function,
    isa: Isa,
    lifetimes: Lifetimes,
    places: Vec<Option<Place>>,
    /// Values that are the same for all programs of a launch.
    uniform: Vec<bool>,
    register_types: Vec<ValueType>,
    block_types: Vec<ValueType>,
    constants: Vec<(u32, u64)>,
    prologue: Vec<Instruction>,
    /// Whether scalars are being given slots, because a function of scalars is to run on tiles.
    tiles: bool,
}

impl Lowering<'_> {
    /// Gives a value its place.
    fn define(&mut self, value: Value) -> Place {
        let ty = self.function.ty(value);
        let place = if self.tiles {
            self.block_types.push(ValueType::tile(ty.element));
            Place::Block(self.block_types.len() as u32 - 1)
        } else if ty.is_scalar() {
            self.new_register(ValueType::new(ty))
        } else {
            self.block_types.push(ValueType::new(ty));
            Place::Block(self.block_types.len() as u32 - 1)
        };
        self.places[value.0 as usize] = Some(place);
        place
    }

    fn new_register(&mut self, ty: ValueType) -> Place {
        self.register_types.push(ty);
        Place::Register(self.register_types.len() as u32 - 1)
    }

    /// Where a value that is already defined lives.
    fn place(&self, value: Value) -> Place {
        self.places[value.0 as usize].expect("a verified function defines values before it uses them")
    }

    /// The register of a scalar.
    fn register(&self, value: Value) -> u32 {
        match self.place(value) {
            Place::Register(register) => register,
            Place::Block(_) => unreachable!("a verified function has a scalar here"),
        }
    }

    /// A value as an operand of `user`.
    fn operand(&self, value: Value, user: OpId) -> Operand {
        let place = self.place(value);
        let last = matches!(place, Place::Block(_))
            && !self.uniform[value.0 as usize]
            && self.lifetimes.ends_as_operand(value, user);
        Operand { place, last }
    }

    /// A value as a yield of its region.
    fn yielded(&self, value: Value, region: RegionId) -> Operand {
        let place = self.place(value);
        let last = matches!(place, Place::Block(_))
            && !self.uniform[value.0 as usize]
            && self.lifetimes.ends_as_yield(value, region);
        Operand { place, last }
    }

    /// The strip type of a value's elements.
    fn scalar(&self, value: Value) -> Scalar {
        crate::program::strip_scalar(self.function.ty(value).element)
    }

    /// The instructions of a region, whose arguments have their places already.
    fn code(&mut self, region: RegionId) -> Result<Vec<Instruction>, Box<Diagnostic>> {
        let mut code = Vec::new();
        for &op in &self.function.region(region).ops {
            self.lower_op(op, &mut code)?;
        }
        Ok(code)
    }

    /// A region as instructions with arguments and yields.
    fn region(&mut self, region: RegionId) -> Result<Region, Box<Diagnostic>> {
        let function = self.function;
        let data = function.region(region);
        let args = data.args.iter().map(|&arg| self.define(arg)).collect();
        let code = self.code(region)?;
        let yields = data.yields.iter().map(|&value| self.yielded(value, region)).collect();
        Ok(Region { args, code, yields })
    }

    /// Appends the instruction of an operation to `code`, or to the prologue.
    fn lower_op(&mut self, id: OpId, code: &mut Vec<Instruction>) -> Result<(), Box<Diagnostic>> {
        let function = self.function;
        let data = function.op(id);
        if let Op::Constant(literal) = &data.op {
            let result = data.results[0];
            let register = self.new_register(ValueType::new(function.ty(result)));
            self.places[result.0 as usize] = Some(register);
            self.uniform[result.0 as usize] = true;
            let Place::Register(register) = register else { unreachable!("just made") };
            self.constants.push((register, literal_bits(*literal, self.scalar(result), self.isa)));
            return Ok(());
        }
        let uniform = !self.tiles && self.is_uniform(&data.op);
        for &result in &data.results {
            self.define(result);
            self.uniform[result.0 as usize] = uniform;
        }
        let action = self.action(id, data)?;
        let ends = self.ends(id, data);
        let instruction = Instruction { action, ends, span: data.span };
        if uniform {
            self.prologue.push(instruction);
        } else {
            code.push(instruction);
        }
        Ok(())
    }

    /// Block slots that nothing reads after an operation, and that are not taken as operands of it.
    fn ends(&self, id: OpId, data: &OpData) -> Box<[u32]> {
        let taken = |value: Value| self.lifetimes.ends_as_operand(value, id);
        let unused = data.results.iter().copied().filter(|&result| self.lifetimes.is_unused(result));
        let ended = self.lifetimes.ended_by(id).iter().copied().filter(|&value| !taken(value));
        unused
            .chain(ended)
            .filter(|value| !self.uniform[value.0 as usize])
            .filter_map(|value| match self.places[value.0 as usize] {
                Some(Place::Block(slot)) => Some(slot),
                _ => None,
            })
            .collect()
    }

    /// Whether an operation computes the same in every program of a launch, at little cost and without any risk.
    fn is_uniform(&self, op: &Op) -> bool {
        let cheap = match op {
            Op::ProgramId { .. }
            | Op::Index { .. }
            | Op::Gather { .. }
            | Op::Histogram { .. }
            | Op::Dot { .. } => false,
            op => op.is_pure() && op.regions().is_empty(),
        };
        let mut uniform = cheap;
        op.for_each_operand(|value| uniform &= self.uniform[value.0 as usize]);
        uniform
    }
}

/// The bits of a constant of the given type, integers sign- or zero-extended.
fn literal_bits(literal: Literal, ty: Scalar, isa: Isa) -> u64 {
    match (literal, ty) {
        (Literal::Int(value), Scalar::Int1) => u64::from(value != 0),
        (Literal::Int(value), _) => scalar::canonical(value as u64, ty),
        (Literal::Float(value), Scalar::Float64) => value.to_bits(),
        (Literal::Float(value), Scalar::Float32) => u64::from((value as f32).to_bits()),
        (Literal::Float(value), _) => scalar::from_f64(value, ty, isa),
    }
}

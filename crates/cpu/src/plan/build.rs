//! A run of instructions as the steps of a plan.

use super::form::{Definition, Form};
use super::place::{Item, Use};
use super::runs::{Planner, row_count};
use super::{Access, Early, Export, MultiplyAdd, Node, Phase, Plan, Source, Step, place};
use crate::program::{
    Action, AddPointer, Combine, Elementwise, ElementwiseKind, Fold, Functions, Instruction, Load, Operand,
    Place, Program, ScalarOperation, Store, ValueType,
};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use tegula_ir::{BinaryOp, Scalar};

/// A plan in the making.
pub struct Builder<'a> {
    planner: &'a mut Planner,
    program: &'a mut Program,
    pub plan: Plan,
    /// The forms of slots, for those that have been asked for.
    pub forms: HashMap<u32, Option<Form>>,
    /// The nodes of slots.
    nodes: HashMap<u32, u32>,
    outers: HashMap<u32, u32>,
    /// Nodes that are differences of fp32: of what, and the register that is subtracted.
    differences: HashMap<u32, (Source, u32)>,
    /// Registers that elements decide, so that nothing early can read them.
    late: HashSet<u32>,
    /// Whether something early was to read such a register: another plan could.
    pub split: bool,
    phase: usize,
    items: Vec<(usize, Item)>,
    uses: Vec<Use>,
    /// Slots that the run defines.
    defined: Vec<u32>,
    /// Slots that nothing reads after the run.
    ended: HashSet<u32>,
}

impl<'a> Builder<'a> {
    pub fn new(planner: &'a mut Planner, program: &'a mut Program, count: usize) -> Builder<'a> {
        Builder {
            planner,
            program,
            plan: Plan::of(count),
            forms: HashMap::new(),
            nodes: HashMap::new(),
            outers: HashMap::new(),
            differences: HashMap::new(),
            late: HashSet::new(),
            split: false,
            phase: 0,
            items: Vec::new(),
            uses: Vec::new(),
            defined: Vec::new(),
            ended: HashSet::new(),
        }
    }

    /// The definition of a slot.
    pub fn definition(&self, slot: u32) -> Option<Definition> {
        self.planner.definitions.get(&slot).copied()
    }

    /// Whether a slot holds a block of the plan's extent.
    pub fn has_extent(&self, slot: u32) -> bool {
        row_count(self.program.ty(Place::Block(slot))) == Some(self.plan.count)
    }

    pub fn new_register(&mut self) -> u32 {
        self.program.register_types.push(ValueType::register(Scalar::Int64));
        self.program.register_types.len() as u32 - 1
    }

    /// A register that always holds a value.
    pub fn constant(&mut self, bits: u64) -> u32 {
        if let Some(&register) = self.planner.registers.get(&bits) {
            return register;
        }
        let register = self.new_register();
        self.program.constants.push((register, bits));
        self.planner.constants.insert(register, bits);
        self.planner.registers.insert(bits, register);
        register
    }

    pub fn constant_value(&self, register: u32) -> Option<u64> {
        self.planner.constants.get(&register).copied()
    }

    /// A register as an operand of something early.
    pub fn early_register(&mut self, register: u32) -> Option<u32> {
        if self.late.contains(&register) {
            self.split = true;
            return None;
        }
        Some(register)
    }

    /// Appends the steps of an instruction, or says that it cannot be in this plan.
    pub fn add(&mut self, instruction: &Instruction) -> Option<()> {
        self.split = false;
        match &instruction.action {
            Action::ProgramId { axis, out } => {
                self.plan.early.push(Early::ProgramId { axis: *axis, out: *out });
            }
            Action::NumPrograms { axis, out } => {
                self.plan.early.push(Early::NumPrograms { axis: *axis, out: *out });
            }
            Action::Scalar(operation) => {
                let inputs = operation.inputs;
                self.scalar(Early::Operation((**operation).clone()), &inputs, operation.out);
            }
            Action::Move { value, out } => self.move_value(*value, *out)?,
            Action::Arange { out, .. } => {
                let Place::Block(slot) = *out else { return None };
                self.form(slot)?;
                self.defined.push(slot);
            }
            Action::AddPointer(operation) => self.add_pointer(operation)?,
            Action::Elementwise(operation) => self.elementwise(operation)?,
            Action::Load(load) => self.load(load)?,
            Action::Store(store) => self.store(store)?,
            Action::Reduce(fold) => self.reduce(fold)?,
            Action::Nothing => {}
            _ => return None,
        }
        self.ended.extend(instruction.ends.iter().copied());
        for operand in operands(&instruction.action) {
            if let (Place::Block(slot), true) = (operand.place, operand.last) {
                self.ended.insert(slot);
            }
        }
        Some(())
    }

    /// A step on registers: early where its inputs are.
    fn scalar(&mut self, step: Early, inputs: &[u32], out: u32) {
        if inputs.iter().any(|input| self.late.contains(input)) {
            self.late.insert(out);
            self.push_phase(Item::Scalar(step));
        } else {
            self.plan.early.push(step);
        }
    }

    fn move_value(&mut self, value: Operand, out: Place) -> Option<()> {
        match (value.place, out) {
            (Place::Register(from), Place::Register(out)) => {
                let b = self.constant(0);
                let step = Early::MultiplyAdd(MultiplyAdd { a: from, b, factor: 0, out });
                self.scalar(step, &[from], out);
            }
            (Place::Register(from), Place::Block(slot)) => {
                self.has_extent(slot).then_some(())?;
                self.forms.insert(slot, Some(Form::Splat(from)));
                self.defined.push(slot);
            }
            (Place::Block(from), Place::Block(slot)) => {
                self.has_extent(slot).then_some(())?;
                match self.form(from) {
                    Some(form) => {
                        self.forms.insert(slot, Some(form));
                    }
                    None => match self.source(from) {
                        Source::Node(node) => {
                            self.nodes.insert(slot, node);
                        }
                        Source::Outer(outer) => {
                            self.outers.insert(slot, outer);
                        }
                        _ => return None,
                    },
                }
                self.defined.push(slot);
            }
            (Place::Block(_), Place::Register(_)) => return None,
        }
        Some(())
    }

    fn add_pointer(&mut self, operation: &AddPointer) -> Option<()> {
        match operation.out {
            Place::Register(out) => {
                let (Place::Register(a), Place::Register(b)) =
                    (operation.pointer.place, operation.offset.place)
                else {
                    return None;
                };
                let step = Early::MultiplyAdd(MultiplyAdd { a, b, factor: operation.size, out });
                self.scalar(step, &[a, b], out);
            }
            Place::Block(slot) => {
                self.form(slot)?;
                self.defined.push(slot);
            }
        }
        Some(())
    }

    fn elementwise(&mut self, operation: &Elementwise) -> Option<()> {
        let Place::Block(slot) = operation.out else { return None };
        self.has_extent(slot).then_some(())?;
        self.defined.push(slot);
        if self.form(slot).is_some() {
            return Some(());
        }
        let mut inputs: SmallVec<[Source; 3]> = SmallVec::new();
        for operand in &operation.inputs {
            inputs.push(match operand.place {
                Place::Register(register) => Source::Register(register),
                Place::Block(slot) => {
                    self.has_extent(slot).then_some(())?;
                    self.source(slot)
                }
            });
        }
        if inputs.iter().all(|input| matches!(input, Source::Register(_))) {
            return self.splat_operation(operation, &inputs, slot);
        }
        let width = self.program.ty(operation.out).width;
        if operation.kind == ElementwiseKind::Select
            && let Place::Block(condition) = operation.inputs[0].place
            && let Some(Form::Interval(interval)) = self.form(condition)
        {
            let out = self.new_node(slot, width);
            let (on_true, on_false) = (inputs[1], inputs[2]);
            self.push(Step::Choose { interval, on_true, on_false, out });
            return Some(());
        }
        if let (Some(function), &Source::Node(input)) = (operation.functions.of_difference, &inputs[0])
            && let Some(&(minuend, subtrahend)) = self.differences.get(&input)
        {
            let out = self.new_node(slot, width);
            let inputs = [minuend, Source::Register(subtrahend), Source::None];
            self.push(Step::Apply { function, inputs, out, direct: None });
            return Some(());
        }
        let mut widths = [0; 3];
        for (width, operand) in widths.iter_mut().zip(&operation.inputs) {
            *width = self.program.ty(operand.place).width as u8;
        }
        let out = self.apply(&operation.functions, &inputs, widths, width, slot);
        if let (ElementwiseKind::Binary(BinaryOp::Sub), Scalar::Float32) = (operation.kind, operation.scalar)
            && let [minuend @ (Source::Node(_) | Source::Outer(_)), Source::Register(subtrahend)] = inputs[..]
        {
            self.differences.insert(out, (minuend, subtrahend));
        }
        Some(())
    }

    /// An operation whose operands are all the same everywhere.
    fn splat_operation(&mut self, operation: &Elementwise, inputs: &[Source], slot: u32) -> Option<()> {
        let register = |source: &Source| match *source {
            Source::Register(register) => Some(register),
            _ => None,
        };
        let mut registers = [register(&inputs[0])?; 3];
        for (register_of, input) in registers.iter_mut().zip(inputs) {
            *register_of = register(input)?;
        }
        let out = self.new_register();
        let step = Early::Operation(ScalarOperation {
            kind: operation.kind,
            scalar: operation.scalar,
            result: operation.result,
            function: operation.functions.dense,
            inputs: registers,
            out,
        });
        self.scalar(step, &registers[..inputs.len()], out);
        self.forms.insert(slot, Some(Form::Splat(out)));
        Some(())
    }

    /// The node of a strip function; splats that it has no variant for become strips.
    fn apply(
        &mut self,
        functions: &Functions,
        inputs: &[Source],
        widths: [u8; 3],
        width: usize,
        slot: u32,
    ) -> u32 {
        let count = inputs.len();
        let splat = |source: Source| matches!(source, Source::Register(_));
        let (function, spared) = match functions {
            Functions { last_splat: Some(function), .. } if splat(inputs[count - 1]) => {
                (*function, Some(count - 1))
            }
            Functions { first_splat: Some(function), .. } if count > 1 && splat(inputs[count - 2]) => {
                (*function, Some(count - 2))
            }
            _ => (functions.dense, None),
        };
        let mut sources = [Source::None; 3];
        for (index, &input) in inputs.iter().enumerate() {
            sources[index] = match input {
                Source::Register(register) if Some(index) != spared => {
                    self.filled(register, widths[index] as usize)
                }
                input => input,
            };
        }
        let out = self.new_node(slot, width);
        self.push(Step::Apply { function, inputs: sources, out, direct: None });
        out
    }

    fn load(&mut self, load: &Load) -> Option<()> {
        let other = match load.other.map(|other| other.place) {
            None => None,
            Some(Place::Register(register)) => Some(register),
            Some(Place::Block(slot)) => match self.form(slot)? {
                Form::Splat(register) => Some(register),
                _ => return None,
            },
        };
        match load.out {
            Place::Register(out) => {
                let (pointer, mask) = scalar_access(load.pointer, load.mask)?;
                let scalar = self.program.ty(load.out).scalar;
                let access = self.scalar_access(pointer, self.program.ty(load.out).width);
                self.late.insert(out);
                self.push_phase(Item::LoadScalar { access, other, mask, scalar, out });
            }
            Place::Block(slot) => {
                let width = self.program.ty(load.out).width;
                let access = self.access(load.pointer, load.mask, width)?;
                self.defined.push(slot);
                let out = self.new_node(slot, width);
                self.push(Step::Load { access, other, out });
            }
        }
        Some(())
    }

    fn store(&mut self, store: &Store) -> Option<()> {
        let width = self.program.ty(store.value.place).width;
        match (store.pointer.place, store.value.place) {
            (Place::Register(_), Place::Register(value)) => {
                let (pointer, mask) = scalar_access(store.pointer, store.mask)?;
                let access = self.scalar_access(pointer, width);
                self.push_phase(Item::StoreScalar { access, mask, value });
            }
            (Place::Block(_), value) => {
                let access = self.access(store.pointer, store.mask, width)?;
                let value = match value {
                    Place::Register(register) => self.filled(register, width),
                    Place::Block(slot) => self.strip_source(slot),
                };
                self.push(Step::Store { access, value });
            }
            _ => return None,
        }
        Some(())
    }

    fn reduce(&mut self, fold: &Fold) -> Option<()> {
        let Combine::Binary(functions) = &fold.combine else { return None };
        let (Place::Block(slot), &[Place::Register(out)]) = (fold.values[0].place, &fold.outs[..]) else {
            return None;
        };
        self.has_extent(slot).then_some(())?;
        let value = self.strip_source(slot);
        self.late.insert(out);
        self.push_phase(Item::Reduce { function: functions.reduce, value, out });
        Some(())
    }

    /// The memory of consecutive elements.
    fn access(&mut self, pointer: Operand, mask: Option<Operand>, width: usize) -> Option<usize> {
        let Place::Block(pointer) = pointer.place else { return None };
        let Some(Form::Numbers { base, stride }) = self.form(pointer) else { return None };
        if stride != width as i64 {
            return None;
        }
        let mask = match mask.map(|mask| mask.place) {
            None => None,
            Some(Place::Block(mask)) => match self.form(mask)? {
                Form::Interval(interval) => Some(interval),
                _ => return None,
            },
            Some(Place::Register(_)) => return None,
        };
        self.plan.accesses.push(Access { base, mask, count: self.plan.count, width });
        Some(self.plan.accesses.len() - 1)
    }

    fn scalar_access(&mut self, base: u32, width: usize) -> usize {
        self.plan.accesses.push(Access { base, mask: None, count: 1, width });
        self.plan.accesses.len() - 1
    }

    /// Where the elements of a block come from.
    fn source(&mut self, slot: u32) -> Source {
        if let Some(&node) = self.nodes.get(&slot) {
            return Source::Node(node);
        }
        if let Some(&outer) = self.outers.get(&slot) {
            return Source::Outer(outer);
        }
        let width = self.program.ty(Place::Block(slot)).width;
        match self.form(slot) {
            Some(Form::Splat(register)) => Source::Register(register),
            Some(Form::Numbers { base, stride }) => {
                let out = self.new_unnamed_node(width);
                self.push(Step::Numbers { base, stride, out });
                Source::Node(out)
            }
            Some(Form::Interval(interval)) => {
                let out = self.new_unnamed_node(width);
                self.push(Step::Truth { interval, out });
                Source::Node(out)
            }
            None => {
                let outer = self.plan.outers.len() as u32;
                self.plan.outers.push(slot);
                self.outers.insert(slot, outer);
                Source::Outer(outer)
            }
        }
    }

    /// The same, with the elements in memory.
    fn strip_source(&mut self, slot: u32) -> Source {
        match self.source(slot) {
            Source::Register(register) => {
                let width = self.program.ty(Place::Block(slot)).width;
                self.filled(register, width)
            }
            source => source,
        }
    }

    fn filled(&mut self, register: u32, width: usize) -> Source {
        let out = self.new_unnamed_node(width);
        self.push(Step::Splat { register, out });
        Source::Node(out)
    }

    fn new_unnamed_node(&mut self, width: usize) -> u32 {
        self.plan.nodes.push(Node { width, offset: 0, whole: false, exported: false });
        self.uses.push(Use::default());
        self.plan.nodes.len() as u32 - 1
    }

    fn new_node(&mut self, slot: u32, width: usize) -> u32 {
        let node = self.new_unnamed_node(width);
        self.nodes.insert(slot, node);
        node
    }

    fn push(&mut self, step: Step) {
        self.items.push((self.phase, Item::Step(step)));
    }

    /// Appends what is a phase of its own.
    fn push_phase(&mut self, item: Item) {
        self.items.push((self.phase + 1, item));
        self.phase += 2;
    }

    /// The plan of a run, if there is something for it to do.
    pub fn finish(mut self, run: &[Instruction]) -> Option<Plan> {
        let works = self.items.iter().any(|(_, item)| {
            matches!(item, Item::Reduce { .. } | Item::Step(Step::Store { .. } | Step::Apply { .. }))
        });
        if !works || run.is_empty() {
            return None;
        }
        let defined: HashSet<u32> = self.defined.iter().copied().collect();
        for slot in std::mem::take(&mut self.defined) {
            if self.ended.contains(&slot) {
                continue;
            }
            let export = if let Some(&node) = self.nodes.get(&slot) {
                self.plan.nodes[node as usize].exported = true;
                Export::Node { node, slot }
            } else if let Some(&outer) = self.outers.get(&slot) {
                Export::Outer { outer, slot }
            } else {
                match self.form(slot)? {
                    Form::Splat(register) => Export::Splat { register, slot },
                    Form::Numbers { base, stride } => Export::Numbers { base, stride, slot },
                    Form::Interval(interval) => Export::Interval { interval, slot },
                }
            };
            self.plan.exports.push(export);
        }
        self.plan.ends = self.ended.iter().copied().filter(|slot| !defined.contains(slot)).collect();
        place::place(&mut self.plan, self.items, self.uses);
        Some(self.plan)
    }
}

impl Plan {
    fn of(count: usize) -> Plan {
        Plan {
            count,
            strip: count,
            early: Vec::new(),
            checks: Vec::new(),
            accesses: Vec::new(),
            stores: Vec::new(),
            conflicts: Vec::new(),
            outers: Vec::new(),
            nodes: Vec::new(),
            phases: Vec::new(),
            exports: Vec::new(),
            ends: Vec::new(),
            scratch: 0,
            general: Vec::new(),
        }
    }
}

/// The registers of a scalar's pointer and mask.
fn scalar_access(pointer: Operand, mask: Option<Operand>) -> Option<(u32, Option<u32>)> {
    let Place::Register(pointer) = pointer.place else { return None };
    match mask.map(|mask| mask.place) {
        None => Some((pointer, None)),
        Some(Place::Register(mask)) => Some((pointer, Some(mask))),
        Some(Place::Block(_)) => None,
    }
}

/// The operands of an action that may be in a plan.
fn operands(action: &Action) -> SmallVec<[Operand; 3]> {
    match action {
        Action::Move { value, .. } => SmallVec::from_iter([*value]),
        Action::AddPointer(operation) => SmallVec::from_iter([operation.pointer, operation.offset]),
        Action::Elementwise(operation) => operation.inputs.clone(),
        Action::Load(load) => [Some(load.pointer), load.mask, load.other].into_iter().flatten().collect(),
        Action::Store(store) => {
            [Some(store.pointer), Some(store.value), store.mask].into_iter().flatten().collect()
        }
        Action::Reduce(fold) => fold.values.iter().copied().collect(),
        _ => SmallVec::new(),
    }
}

/// A phase of a plan from an item that is one.
pub fn phase_of(item: Item) -> Phase {
    match item {
        Item::Step(step) => Phase::Strips(vec![step]),
        Item::Scalar(step) => Phase::Scalar(step),
        Item::Reduce { function, value, out } => Phase::Reduce { function, value, out },
        Item::LoadScalar { access, other, mask, scalar, out } => {
            Phase::LoadScalar { access, other, mask, scalar, out }
        }
        Item::StoreScalar { access, mask, value } => Phase::StoreScalar { access, mask, value },
    }
}

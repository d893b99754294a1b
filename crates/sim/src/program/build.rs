//! From a parsed kernel to a program.

use super::registers::Registers;
use super::{
    Access, AccessSpace, BuildError, Condition, LOCAL_WINDOW, LaneFunction, Operation, PARAMETER_WINDOW,
    ParameterPlace, Place, PredicateSlot, Program, SHARED_BASE, Slot, SourcePlace, Step, Strength,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tegula_ptx::{
    Address, Base, Call, Extent, Function, Label, Modifier, Module, Operand, Ordering, Predicate, Register,
    Space, Statement, Type, Variable,
};

impl Program {
    /// Makes a kernel of a module's text ready to run.
    ///
    /// # Errors
    /// [`BuildError`]: the text is not PTX, has no such kernel, or has an instruction that the simulator does not know.
    pub fn new(ptx: &str, name: &str) -> Result<Program, BuildError> {
        let (module, lines) = Module::parse_with_lines(ptx)?;
        let functions = module.functions.iter().zip(&lines);
        let (function, lines) = functions
            .into_iter()
            .find(|(function, _)| function.is_kernel && *function.name == *name)
            .ok_or_else(|| BuildError::NoKernel(name.to_owned()))?;
        let (function, lines) = function.with_texts_read(lines)?;
        Builder::new(&module, &function).program(&module, &function, &lines)
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
enum Named {
    Shared(u32),
    Local(u32),
    Parameter(u32),
    Data(u64),
}

/// A program being put together.
pub(super) struct Builder {
    pub registers: Registers,
    names: FxHashMap<String, Named>,
    labels: FxHashMap<Label, u32>,
    steps: Vec<Step>,
    parameters: Vec<ParameterPlace>,
    parameter_bytes: u32,
    local_bytes: u32,
    shared_bytes: u32,
    data: Vec<u8>,
    /// What the step in hand reads and writes.
    reads: SmallVec<[Slot; 4]>,
    writes: SmallVec<[Slot; 2]>,
    predicate_reads: SmallVec<[PredicateSlot; 2]>,
    predicate_writes: SmallVec<[PredicateSlot; 2]>,
    /// The first name that nothing declares.
    undeclared: Option<String>,
}

impl Builder {
    fn new(module: &Module, function: &Function) -> Builder {
        let mut builder = Builder {
            registers: Registers::new(function),
            names: FxHashMap::default(),
            labels: FxHashMap::default(),
            steps: Vec::new(),
            parameters: Vec::new(),
            parameter_bytes: 0,
            local_bytes: 0,
            shared_bytes: 0,
            data: Vec::new(),
            reads: SmallVec::new(),
            writes: SmallVec::new(),
            predicate_reads: SmallVec::new(),
            predicate_writes: SmallVec::new(),
            undeclared: None,
        };
        for parameter in &function.parameters {
            let element = parameter.ty.bits().div_ceil(8);
            let bytes = element * parameter.array.unwrap_or(1) as u32;
            let offset = builder.parameter_bytes.next_multiple_of(parameter.align.unwrap_or(element).max(1));
            builder.parameters.push(ParameterPlace { offset, bytes });
            builder.parameter_bytes = offset + bytes;
            builder.names.insert(parameter.name.to_string(), Named::Parameter(offset));
        }
        for variable in module.variables.iter().chain(&function.variables) {
            builder.declare(variable);
        }
        builder
    }

    fn declare(&mut self, variable: &Variable) {
        let element = u64::from(variable.ty.bits().div_ceil(8));
        let bytes = match variable.extent {
            Extent::One => element,
            Extent::Array(count) => element * count,
            Extent::Unsized => 0,
        };
        let align = variable.align.max(1);
        let named = match variable.space {
            Space::Shared | Space::SharedCta | Space::SharedCluster => {
                let offset = self.shared_bytes.next_multiple_of(align);
                // What has no size of its own is dynamic memory, which begins behind the rest.
                self.shared_bytes = offset + bytes as u32;
                Named::Shared(SHARED_BASE + offset)
            }
            Space::Local => {
                let offset = self.local_bytes.next_multiple_of(align);
                self.local_bytes = offset + bytes as u32;
                Named::Local(offset)
            }
            _ => {
                let offset = self.data.len().next_multiple_of(align as usize);
                self.data.resize(offset + bytes as usize, 0);
                let given = variable.bytes.len().min(bytes as usize);
                self.data[offset..offset + given].copy_from_slice(&variable.bytes[..given]);
                Named::Data(offset as u64)
            }
        };
        self.names.insert(variable.name.to_string(), named);
    }

    fn program(mut self, module: &Module, function: &Function, lines: &[u32]) -> Result<Program, BuildError> {
        let mut index = 0;
        for statement in &function.body {
            match statement {
                Statement::Label(label) => {
                    self.labels.insert(*label, index);
                }
                Statement::Location { .. } => {}
                _ => index += 1,
            }
        }
        let mut source = None;
        for (statement, &line) in function.body.iter().zip(lines) {
            let unknown = |instruction: String, reason: &str| BuildError::Unknown {
                line,
                instruction,
                reason: reason.to_owned(),
            };
            let (guard, operation, name) = match statement {
                Statement::Label(_) => continue,
                &Statement::Location { file, line, column } => {
                    source = Some(SourcePlace { file, line, column });
                    continue;
                }
                Statement::Verbatim(text) => {
                    let first = text.trim().lines().next().unwrap_or_default().to_owned();
                    return Err(unknown(first, ", which is inline assembly"));
                }
                Statement::Call(call) => (None, self.call(call, line)?, format!("call {}", call.function)),
                Statement::Instruction { guard, instruction } => {
                    let text = instruction.to_string();
                    let operation = self.operation(instruction).ok_or_else(|| unknown(text.clone(), ""))?;
                    let name = text.split_whitespace().next().unwrap_or_default().to_owned();
                    (*guard, operation, name)
                }
            };
            if let Some(name) = self.undeclared.take() {
                return Err(BuildError::Undeclared { line, name });
            }
            if let Some(guard) = guard {
                self.predicate_reads.push(guard.register.index);
            }
            self.steps.push(Step {
                guard: guard.map(|guard| (guard.register.index, guard.negated)),
                operation,
                reads: std::mem::take(&mut self.reads),
                writes: std::mem::take(&mut self.writes),
                predicate_reads: std::mem::take(&mut self.predicate_reads),
                predicate_writes: std::mem::take(&mut self.predicate_writes),
                name: name.into(),
                ptx_line: line,
                source,
            });
        }
        // Whoever runs past the end leaves.
        self.steps.push(Step {
            guard: None,
            operation: Operation::Exit,
            reads: SmallVec::new(),
            writes: SmallVec::new(),
            predicate_reads: SmallVec::new(),
            predicate_writes: SmallVec::new(),
            name: "ret".into(),
            ptx_line: lines.last().copied().unwrap_or(1),
            source,
        });
        let has_wgmma = self
            .steps
            .iter()
            .any(|step| matches!(step.operation, Operation::Wgmma(_) | Operation::WgmmaControl(_)));
        Ok(Program {
            name: function.name.to_string(),
            slots: self.registers.slots(),
            predicates: self.registers.predicates(),
            constants: self.registers.constants(),
            constant_predicates: self.registers.constant_predicates(),
            specials: self.registers.specials(),
            data_addresses: self.registers.data_addresses(),
            shared_addresses: self.registers.shared_addresses(),
            steps: self.steps,
            parameters: self.parameters,
            parameter_bytes: self.parameter_bytes,
            local_bytes: self.local_bytes,
            static_shared_bytes: self.shared_bytes,
            data: self.data,
            files: module.files.clone(),
            required_threads: function.bounds.required_threads,
            cluster: function.bounds.cluster.map_or(1, |extents| extents.iter().product::<u32>().max(1)),
            architecture: module.architecture,
            has_wgmma,
        })
    }

    fn call(&mut self, call: &Call, line: u32) -> Result<Operation, BuildError> {
        let (&[(_, format), (_, arguments)], "vprintf") = (&call.arguments[..], &*call.function) else {
            return Err(BuildError::Unknown {
                line,
                instruction: format!("call {}", call.function),
                reason: ": there is `vprintf` alone".to_owned(),
            });
        };
        let (format, arguments) = (self.read(format, 64), self.read(arguments, 64));
        let result = call.result.map(|(_, register)| self.write(register));
        Ok(Operation::Print { format, arguments, result })
    }

    /// The row of an operand of so many bits, which the step reads.
    pub fn read(&mut self, operand: Operand, bits: u32) -> Slot {
        if let Operand::Register(register) = operand {
            let slot = self.word(register);
            self.reads.push(slot);
            return slot;
        }
        self.registers.operand(operand, bits)
    }

    /// The row of a register, which the step reads.
    pub fn read_register(&mut self, register: Register) -> Slot {
        self.read(register.into(), 64)
    }

    /// The row of a register, which the step writes.
    pub fn write(&mut self, register: Register) -> Slot {
        let slot = self.word(register);
        self.writes.push(slot);
        slot
    }

    /// The row of a register, if it is declared.
    fn word(&mut self, register: Register) -> Slot {
        if self.registers.knows(register) {
            return self.registers.word(register);
        }
        self.undeclared.get_or_insert_with(|| format!("%{}{}", register.class.text(), register.index));
        0
    }

    /// A predicate register, which the step writes.
    pub fn write_predicate(&mut self, register: Register) -> PredicateSlot {
        self.predicate_writes.push(register.index);
        register.index
    }

    /// A predicate that the step reads.
    pub fn read_predicate(&mut self, operand: Operand) -> PredicateSlot {
        let slot = self.registers.predicate(operand);
        if matches!(operand, Operand::Register(_)) {
            self.predicate_reads.push(slot);
        }
        slot
    }

    /// A predicate that the step reads, perhaps negated.
    pub fn condition(&mut self, predicate: Predicate) -> Condition {
        let slot = self.read_predicate(predicate.register.into());
        Condition { predicate: slot, negated: predicate.negated }
    }

    /// Where a branch goes.
    pub fn target(&mut self, label: Label) -> u32 {
        match self.labels.get(&label) {
            Some(&target) => target,
            None => {
                self.undeclared.get_or_insert_with(|| format!("$L{}", label.0));
                0
            }
        }
    }

    /// The address of a name, in its own space.
    pub fn named(&mut self, name: &str) -> Slot {
        match self.names.get(name) {
            Some(&Named::Shared(offset)) => self.registers.shared(offset),
            Some(&Named::Local(offset)) => self.registers.constant(u64::from(offset)),
            Some(&Named::Parameter(offset)) => self.registers.constant(u64::from(offset)),
            Some(&Named::Data(offset)) => self.registers.data(offset),
            None => {
                self.undeclared.get_or_insert_with(|| name.to_owned());
                0
            }
        }
    }

    /// An address, whose base the step reads.
    pub fn place(&mut self, address: &Address) -> Place {
        let base = match &address.base {
            Base::Register(register) => self.read_register(*register),
            Base::Symbol(symbol) => self.named(symbol),
            Base::Zero => self.registers.constant(0),
        };
        Place { base, offset: i64::from(address.offset) }
    }

    /// Sources padded to four.
    fn sources(&mut self, given: &[Slot]) -> [Slot; 4] {
        let zero = self.registers.constant(0);
        std::array::from_fn(|index| given.get(index).copied().unwrap_or(zero))
    }

    /// Arithmetic on operands of given widths.
    pub fn lanes(&mut self, function: LaneFunction, given: &[(Operand, u32)], dst: Register) -> Operation {
        let slots: SmallVec<[Slot; 4]> =
            given.iter().map(|&(operand, bits)| self.read(operand, bits)).collect();
        let sources = self.sources(&slots);
        Operation::Lanes { function, sources, dst: self.write(dst) }
    }
}

/// The space of an access; none for those that are not modelled.
pub(super) fn access_space(space: Option<Space>) -> AccessSpace {
    match space {
        None => AccessSpace::Generic,
        Some(Space::Global | Space::Const) => AccessSpace::Global,
        Some(Space::Shared | Space::SharedCta | Space::SharedCluster) => AccessSpace::Shared,
        Some(Space::Local) => AccessSpace::Local,
        Some(Space::Param) => AccessSpace::Parameter,
    }
}

/// How an access orders others.
pub(super) fn strength(ordering: Option<Ordering>, atomic: bool) -> Strength {
    let acquire = matches!(ordering, Some(Ordering::Acquire | Ordering::AcquireRelease));
    let release = matches!(ordering, Some(Ordering::Release | Ordering::AcquireRelease));
    let strong = atomic || !matches!(ordering, None | Some(Ordering::Weak));
    Strength { strong, acquire, release }
}

impl Builder {
    /// The access of a load or store.
    pub fn access(
        &mut self,
        space: Option<Space>,
        ordering: Option<Ordering>,
        ty: Type,
        address: &Address,
    ) -> Option<Access> {
        if ty == Type::B128 || ty == Type::Pred {
            return None;
        }
        Some(Access {
            space: access_space(space),
            place: self.place(address),
            bytes: ty.bits() / 8,
            values: SmallVec::new(),
            sign_extend: None,
            strength: strength(ordering, false),
        })
    }

    /// The first generic address of a space.
    pub fn window(space: Space) -> u64 {
        match access_space(Some(space)) {
            AccessSpace::Shared => super::SHARED_WINDOW,
            AccessSpace::Local => LOCAL_WINDOW,
            AccessSpace::Parameter => PARAMETER_WINDOW,
            AccessSpace::Global | AccessSpace::Generic => 0,
        }
    }
}

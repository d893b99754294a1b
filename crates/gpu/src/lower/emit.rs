//! Appends instructions: each function makes a register and the instruction that sets it.

use rustc_hash::FxHashMap;
use tegula_ptx::{
    BoolOp, Class, Comparison, Convert, Function, Instruction, Label, Math, MathOp, Move, MulPart, Operand,
    Predicate, Register, Rounding, Select, SetPredicate, Special, Statement, Type,
};

/// The code of a kernel while it is written.
pub(crate) struct Emitter {
    pub function: Function,
    /// What is computed once, before the body, from the number of the thread.
    pub prologue: Vec<Statement>,
    next_label: u32,
    /// Instructions that follow are executed only where this holds.
    guard: Option<Predicate>,
    /// The lower halves of products whose upper halves were wanted, by their factors: one instruction makes both. Known as far as control
    /// only goes straight on, and no register changes.
    lower_halves: FxHashMap<[Register; 2], Register>,
}

/// The guard "where the register is true".
pub(crate) fn holds(register: Register) -> Predicate {
    Predicate { register, negated: false }
}

/// The guard "where the register is false".
pub(crate) fn fails(register: Register) -> Predicate {
    Predicate { register, negated: true }
}

impl Emitter {
    pub fn new(function: Function) -> Emitter {
        let lower_halves = FxHashMap::default();
        Emitter { function, prologue: Vec::new(), next_label: 0, guard: None, lower_halves }
    }

    pub fn fresh(&mut self, class: Class) -> Register {
        self.function.fresh(class)
    }

    pub fn push(&mut self, instruction: impl Into<Instruction>) {
        let statement = Statement::Instruction { guard: self.guard, instruction: instruction.into() };
        self.function.body.push(statement);
    }

    pub fn push_if(&mut self, guard: Option<Predicate>, instruction: impl Into<Instruction>) {
        self.function.body.push(Statement::Instruction { guard, instruction: instruction.into() });
    }

    /// Writes to the prologue instead of the body.
    pub fn in_prologue<T>(&mut self, write: impl FnOnce(&mut Emitter) -> T) -> T {
        let guard = self.guard.take();
        std::mem::swap(&mut self.prologue, &mut self.function.body);
        let result = write(self);
        std::mem::swap(&mut self.prologue, &mut self.function.body);
        self.guard = guard;
        result
    }

    pub fn label(&mut self) -> Label {
        self.next_label += 1;
        Label(self.next_label - 1)
    }

    pub fn place(&mut self, label: Label) {
        self.lower_halves.clear();
        self.function.body.push(Statement::Label(label));
    }

    pub fn branch(&mut self, guard: Option<Predicate>, target: Label, uniform: bool) {
        self.push_if(guard, tegula_ptx::Branch { uniform, target });
    }

    /// An operation without modifiers.
    pub fn math(&mut self, op: MathOp, ty: Type, sources: &[Operand]) -> Register {
        self.math_with(Math::new(op, ty, self.placeholder(ty), sources.iter().copied()))
    }

    /// An operation whose result has the operands' type; the register of the result is made here.
    pub fn math_with(&mut self, mut math: Math) -> Register {
        let class = match (math.op, math.part) {
            (_, Some(MulPart::Wide)) => Class::Bits64,
            (MathOp::PopulationCount | MathOp::LeadingZeros | MathOp::FindLeading, _) => Class::Bits32,
            _ => Class::of(math.ty),
        };
        math.dst = self.fresh(class);
        let dst = math.dst;
        self.push(math);
        dst
    }

    /// An operation of floats, rounded to nearest.
    pub fn rounded(&mut self, op: MathOp, ty: Type, sources: &[Operand]) -> Register {
        let math = Math::new(op, ty, self.placeholder(ty), sources.iter().copied());
        self.math_with(math.rounding(Rounding::Nearest))
    }

    fn placeholder(&self, ty: Type) -> Register {
        Register { class: Class::of(ty), index: 0 }
    }

    /// `sources[0] * sources[1]`, the low half.
    pub fn multiply(&mut self, ty: Type, a: Operand, b: Operand) -> Register {
        let math = Math::new(MathOp::Mul, ty, self.placeholder(ty), [a, b]);
        self.math_with(math.part(MulPart::Low))
    }

    /// The upper half of a product of 32-bit numbers.
    pub fn upper_half(&mut self, ty: Type, a: Register, b: Register) -> Register {
        let wide = self.fresh(Class::Bits64);
        let math = Math::new(MathOp::Mul, ty, wide, [a.into(), b.into()]).part(MulPart::Wide);
        self.push(Math { dst: wide, ..math });
        let [low, high] = self.unpack(wide);
        if self.guard.is_none() {
            self.lower_halves.insert([a, b], low);
        }
        high
    }

    /// The lower half of a product of 32-bit numbers.
    pub fn lower_half(&mut self, ty: Type, a: Register, b: Register) -> Register {
        match self.lower_halves.get(&[a, b]) {
            Some(&low) if self.guard.is_none() => low,
            _ => self.multiply(ty, a.into(), b.into()),
        }
    }

    /// A register that holds an operand.
    pub fn copy(&mut self, ty: Type, source: impl Into<Operand>) -> Register {
        let dst = self.fresh(Class::of(ty));
        self.push(Move::Value { ty, dst, source: source.into() });
        dst
    }

    /// Sets a register that exists.
    pub fn assign(&mut self, dst: Register, source: impl Into<Operand>) {
        self.lower_halves.clear();
        self.push(Move::Value { ty: dst.class.declared(), dst, source: source.into() });
    }

    pub fn special(&mut self, special: Special) -> Register {
        self.copy(Type::U32, special)
    }

    pub fn compare(&mut self, comparison: Comparison, ty: Type, a: Operand, b: Operand) -> Register {
        let dst = self.fresh(Class::Pred);
        self.push(SetPredicate::new(comparison, ty, dst, [a, b]));
        dst
    }

    /// `on_true` where the predicate holds.
    pub fn select(&mut self, ty: Type, predicate: Register, on_true: Operand, on_false: Operand) -> Register {
        if ty == Type::Pred {
            return self.select_predicate(predicate, on_true, on_false);
        }
        let dst = self.fresh(Class::of(ty));
        self.push(Select { ty, dst, sources: [on_true, on_false], predicate });
        dst
    }

    fn select_predicate(&mut self, predicate: Register, on_true: Operand, on_false: Operand) -> Register {
        let yes = self.math(MathOp::And, Type::Pred, &[predicate.into(), on_true]);
        let opposite = self.math(MathOp::Not, Type::Pred, &[predicate.into()]);
        let no = self.math(MathOp::And, Type::Pred, &[opposite.into(), on_false]);
        self.math(MathOp::Or, Type::Pred, &[yes.into(), no.into()])
    }

    pub fn both(&mut self, a: Option<Register>, b: Option<Register>) -> Option<Register> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.math(MathOp::And, Type::Pred, &[a.into(), b.into()])),
            (a, b) => a.or(b),
        }
    }

    /// A predicate that is known.
    pub fn truth(&mut self, value: bool) -> Register {
        let comparison = if value { Comparison::Equal } else { Comparison::NotEqual };
        self.compare(comparison, Type::U32, Operand::Integer(0), Operand::Integer(0))
    }

    /// 1 where the predicate holds, else 0.
    pub fn number_of(&mut self, predicate: Register) -> Register {
        self.select(Type::B32, predicate, Operand::Integer(1), Operand::Integer(0))
    }

    /// Whether a 32-bit register is not zero.
    pub fn is_set(&mut self, register: Register) -> Register {
        self.compare(Comparison::NotEqual, Type::U32, register.into(), Operand::Integer(0))
    }

    pub fn convert(
        &mut self,
        to: Type,
        from: Type,
        rounding: Option<Rounding>,
        source: Register,
    ) -> Register {
        let dst = self.fresh(Class::of(to));
        self.push(Convert { rounding, ..Convert::new(to, from, dst, source.into()) });
        dst
    }

    /// One register of 32 or 64 bits from two or four narrower ones, the first lowest.
    pub fn pack(&mut self, ty: Type, parts: &[Register]) -> Register {
        let dst = self.fresh(Class::of(ty));
        self.push(Move::Pack { ty, dst, parts: parts.iter().map(|&part| part.into()).collect() });
        dst
    }

    /// The parts of a register, of half its width.
    pub fn unpack(&mut self, source: Register) -> [Register; 2] {
        let (ty, class) = match source.class {
            Class::Bits64 => (Type::B64, Class::Bits32),
            _ => (Type::B32, Class::Bits16),
        };
        let parts = [self.fresh(class), self.fresh(class)];
        self.push(Move::Unpack { ty, parts: parts.iter().map(|&part| Some(part)).collect(), source });
        parts
    }

    /// A comparison joined with a predicate.
    pub fn compare_and(
        &mut self,
        comparison: Comparison,
        ty: Type,
        sources: [Operand; 2],
        and: Option<Register>,
    ) -> Register {
        let dst = self.fresh(Class::Pred);
        let combine = and.map(|register| (BoolOp::And, holds(register)));
        self.push(SetPredicate { combine, ..SetPredicate::new(comparison, ty, dst, sources) });
        dst
    }
}

//! Atomic operations.
//!
//! Each element is operated on once: by the thread that owns it, where others hold copies, which then learn the old value
//! through shared memory. What the hardware lacks (8-bit types aside, which are refused) is a loop of compare-and-exchange.

use super::element::{bits_type, class_of};
use super::emit::{fails, holds};
use super::memory::scope_of;
use super::{Lowering, Result};
use tegula_ir::{AtomicOp, AtomicOrdering, AtomicScope, BinaryOp, Element, Op, OpId, Scalar, Value};
use tegula_passes::Uses;
use tegula_ptx::{
    Address, Atomic, AtomicOp as PtxOp, Class, Comparison, Load, Operand, Ordering, Register, Space, Type,
};

/// What is done to one element.
#[derive(Clone, Copy)]
enum Action {
    Update(AtomicOp),
    CompareExchange,
}

struct Request {
    action: Action,
    element: Element,
    ordering: AtomicOrdering,
    scope: AtomicScope,
}

impl Lowering<'_> {
    pub(super) fn atomic(&mut self, id: OpId) -> Result<()> {
        let function = self.function;
        let data = function.op(id);
        let result = data.results[0];
        let element = self.element(result);
        let (action, pointer, operands, mask, ordering, scope) = match &data.op {
            Op::AtomicRmw { op, pointer, value, mask, ordering, scope } => {
                (Action::Update(*op), *pointer, vec![*value], *mask, *ordering, *scope)
            }
            Op::AtomicCas { pointer, expected, desired, ordering, scope } => {
                (Action::CompareExchange, *pointer, vec![*expected, *desired], None, *ordering, *scope)
            }
            _ => unreachable!("called for atomics"),
        };
        if element.bytes() == 1 {
            return self.refuse("an atomic operation on 8-bit elements");
        }
        let request = Request { action, element, ordering, scope };
        let is_used = Uses::new(function).count(result) > 0;
        // What other threads of the program wrote before is written before.
        if ordering != AtomicOrdering::Relaxed {
            self.barrier();
        }
        if self.is_scalar(result) {
            self.atomic_scalar(&request, result, pointer, &operands, mask, is_used)?;
        } else {
            self.atomic_block(id, &request, result, pointer, &operands, mask, is_used)?;
        }
        if ordering != AtomicOrdering::Relaxed {
            self.barrier();
        }
        Ok(())
    }

    fn atomic_scalar(
        &mut self,
        request: &Request,
        result: Value,
        pointer: Value,
        operands: &[Value],
        mask: Option<Value>,
        is_used: bool,
    ) -> Result<()> {
        let arguments: Vec<Register> = operands.iter().map(|&value| self.scalar(value)).collect();
        let first = self.is_first_thread();
        let mask = mask.map(|mask| self.scalar(mask));
        let guard = self.code.both(Some(first), mask);
        let address = self.scalar(pointer);
        let old = self.atomic_element(request, address, &arguments, guard)?;
        if !is_used {
            self.scalars.insert(result, old);
            return Ok(());
        }
        let base = self.begin_scratch(8)?;
        let element = request.element;
        self.store_vector(Space::Shared, element, base.into(), &[old], Some(holds(first)), |store| store);
        self.publish_scratch();
        let old = self.load_vector(Space::Shared, element, base.into(), 1, None, |load| load)[0];
        self.scalars.insert(result, old);
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn atomic_block(
        &mut self,
        id: OpId,
        request: &Request,
        result: Value,
        pointer: Value,
        operands: &[Value],
        mask: Option<Value>,
        is_used: bool,
    ) -> Result<()> {
        let function = self.function;
        let layout = self.layouts.work[&id];
        let shape = function.ty(result).shape.clone();
        let pointers = self.block(pointer, layout);
        let operands: Vec<_> = operands.iter().map(|&value| self.block(value, layout)).collect();
        let masks = mask.map(|mask| self.block(mask, layout));
        let inside = self.inside(layout, &shape);
        let owner = self.is_owner(layout);
        let mut olds = Vec::new();
        for (register, &address) in pointers.iter().enumerate() {
            let guard = self.code.both(masks.as_ref().map(|masks| masks[register]), inside[register]);
            let guard = self.code.both(guard, owner);
            let arguments: Vec<Register> = operands.iter().map(|operand| operand[register]).collect();
            olds.push(self.atomic_element(request, address, &arguments, guard)?);
        }
        if is_used && let Some(owner) = owner {
            let element = request.element;
            let base = self.begin_scratch(shape.elements() as u64 * u64::from(element.bytes()))?;
            let positions = self.positions(layout, &shape);
            for (register, &position) in positions.iter().enumerate() {
                let guard = self.code.both(inside[register], Some(owner)).map(holds);
                let address = self.scratch_address(base, position, element.bytes().into()).into();
                self.store_vector(Space::Shared, element, address, &[olds[register]], guard, |store| store);
            }
            self.publish_scratch();
            let last = Operand::Integer(shape.elements() as i64 - 1);
            for (old, position) in olds.iter_mut().zip(positions) {
                let position = self.code.math(tegula_ptx::MathOp::Min, Type::U32, &[position.into(), last]);
                *old = self.fetch(base, position, element);
            }
        }
        self.define_block(result, layout, olds)
    }

    /// The old value, where the guard holds; elsewhere 0.
    fn atomic_element(
        &mut self,
        request: &Request,
        address: Register,
        arguments: &[Register],
        guard: Option<Register>,
    ) -> Result<Register> {
        let element = request.element;
        let scalar = element.as_scalar().unwrap_or(Scalar::UInt64);
        let narrow = scalar.is_int() && scalar.bits() == 16;
        let class = if narrow { Class::Bits16 } else { class_of(element) };
        let old = self.code.copy(class.declared(), Operand::Integer(0));
        let to_memory = |lowering: &mut Self, register| {
            if narrow { lowering.code.convert(Type::U16, Type::U32, None, register) } else { register }
        };
        let (op, ty) = match request.action {
            Action::CompareExchange => {
                (PtxOp::CompareExchange, if narrow { Type::B16 } else { bits_type(element) })
            }
            Action::Update(op) => match self.native(op, scalar) {
                Some(native) => native,
                None => {
                    self.update_loop(request, op, scalar, address, arguments[0], (old, narrow), guard)?;
                    return Ok(self.widened(scalar, narrow, old));
                }
            },
        };
        let values: Vec<Register> = arguments.iter().map(|&one| to_memory(self, one)).collect();
        let atomic = Atomic {
            ordering: Some(ordering_of(request.ordering)),
            scope: Some(scope_of(request.scope)),
            space: Some(Space::Global),
            op,
            ty,
            dst: [old].into_iter().collect(),
            address: address.into(),
            values: [Operand::from(values[0])].into_iter().collect(),
            replacement: values.get(1).map(|&value| value.into()),
            policy: None,
        };
        self.code.push_if(guard.map(holds), atomic);
        Ok(self.widened(scalar, narrow, old))
    }

    fn widened(&mut self, scalar: Scalar, narrow: bool, old: Register) -> Register {
        if !narrow {
            return old;
        }
        let (to, from) = if scalar.is_signed() { (Type::S32, Type::S16) } else { (Type::U32, Type::U16) };
        self.code.convert(to, from, None, old)
    }

    /// The instruction of an update, if there is one.
    fn native(&self, op: AtomicOp, scalar: Scalar) -> Option<(PtxOp, Type)> {
        let ordered = match (scalar.bits(), scalar.is_signed()) {
            (32, true) => Type::S32,
            (32, false) => Type::U32,
            (64, true) => Type::S64,
            _ => Type::U64,
        };
        let unordered = if scalar.bits() == 64 { Type::B64 } else { Type::B32 };
        if scalar.bits() >= 32 && scalar.is_int() {
            return Some(match op {
                AtomicOp::Add => (PtxOp::Add, if scalar.bits() == 64 { Type::U64 } else { Type::U32 }),
                AtomicOp::Min => (PtxOp::Min, ordered),
                AtomicOp::Max => (PtxOp::Max, ordered),
                AtomicOp::And => (PtxOp::And, unordered),
                AtomicOp::Or => (PtxOp::Or, unordered),
                AtomicOp::Xor => (PtxOp::Xor, unordered),
                AtomicOp::Exchange => (PtxOp::Exchange, unordered),
            });
        }
        match (op, scalar) {
            (AtomicOp::Add, Scalar::Float64) => Some((PtxOp::Add, Type::F64)),
            (AtomicOp::Add, Scalar::Float32) => Some((PtxOp::Add, Type::F32)),
            (AtomicOp::Add, Scalar::Float16) => Some((PtxOp::Add, Type::F16)),
            (AtomicOp::Add, Scalar::BFloat16) if self.target.architecture >= 90 => {
                Some((PtxOp::Add, Type::Bf16))
            }
            (AtomicOp::Exchange, _) if scalar.bits() >= 32 => Some((PtxOp::Exchange, unordered)),
            _ => None,
        }
    }

    /// Computes the new value and tries to exchange it for the old one, until nobody came between.
    #[allow(clippy::too_many_arguments)]
    fn update_loop(
        &mut self,
        request: &Request,
        op: AtomicOp,
        scalar: Scalar,
        address: Register,
        value: Register,
        (old, narrow): (Register, bool),
        guard: Option<Register>,
    ) -> Result<()> {
        let (start, end) = (self.code.label(), self.code.label());
        if let Some(guard) = guard {
            self.code.branch(Some(fails(guard)), end, false);
        }
        let bits = if scalar.bits() == 16 { Type::B16 } else { bits_type(scalar.into()) };
        let ordering = Some(Ordering::Relaxed);
        let scope = Some(scope_of(request.scope));
        let load = Load::new(Space::Global, bits, &[old], Address::from(address));
        self.code.push(Load { ordering, scope, ..load });
        self.code.place(start);
        let current = self.widened(scalar, narrow, old);
        let new = match op {
            AtomicOp::Exchange => value,
            AtomicOp::Add => self.binary(BinaryOp::Add, scalar, current, value)?,
            AtomicOp::Min => self.binary(BinaryOp::Min, scalar, current, value)?,
            AtomicOp::Max => self.binary(BinaryOp::Max, scalar, current, value)?,
            AtomicOp::And => self.binary(BinaryOp::And, scalar, current, value)?,
            AtomicOp::Or => self.binary(BinaryOp::Or, scalar, current, value)?,
            AtomicOp::Xor => self.binary(BinaryOp::Xor, scalar, current, value)?,
        };
        let new = if narrow { self.code.convert(Type::U16, Type::U32, None, new) } else { new };
        let expected = self.code.copy(bits, old);
        let exchange = Atomic {
            ordering: Some(ordering_of(request.ordering)),
            scope,
            space: Some(Space::Global),
            op: PtxOp::CompareExchange,
            ty: bits,
            dst: [old].into_iter().collect(),
            address: address.into(),
            values: [Operand::from(expected)].into_iter().collect(),
            replacement: Some(new.into()),
            policy: None,
        };
        self.code.push(exchange);
        let failed = self.code.compare(Comparison::NotEqual, bits, old.into(), expected.into());
        self.code.branch(Some(holds(failed)), start, false);
        self.code.place(end);
        Ok(())
    }
}

fn ordering_of(ordering: AtomicOrdering) -> Ordering {
    match ordering {
        AtomicOrdering::Relaxed => Ordering::Relaxed,
        AtomicOrdering::Acquire => Ordering::Acquire,
        AtomicOrdering::Release => Ordering::Release,
        AtomicOrdering::AcquireRelease => Ordering::AcquireRelease,
    }
}

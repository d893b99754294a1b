//! Conversions between layouts, as `tegula_layout::Conversion` plans them.

use super::element::bits_type;
use super::emit::Emitter;
use super::{Lowering, Registers, Result};
use crate::layouts::LayoutId;
use rustc_hash::FxHashMap;
use std::ops::Range;
use tegula_ir::Element;
use tegula_layout::span::{Span, multiply};
use tegula_layout::{
    Conversion, Layout, SharedAccess, SharedExchange, ShufflePlan, ThreadFunction, VectorAccess,
};
use tegula_ptx::{Address, Class, MathOp, Operand, Register, Shuffle, ShuffleMode, Space, Type};

/// Registers that are being loaded from shared memory.
pub(super) struct Reading {
    vector: VectorAccess,
    element: Element,
    /// Where the vectors are that have not been loaded.
    addresses: Vec<Option<Address>>,
    pub registers: Vec<Option<Register>>,
}

impl Lowering<'_> {
    /// The registers of a block in another layout.
    pub(super) fn convert(
        &mut self,
        registers: &Registers,
        element: Element,
        from: LayoutId,
        to: LayoutId,
    ) -> Result<Registers> {
        let (source, target) = (self.layouts.set.get(from).clone(), self.layouts.set.get(to).clone());
        match Conversion::plan(&source, &target, element.bytes() * 8) {
            Ok(Conversion::Nothing) => Ok(registers.clone()),
            Ok(Conversion::Registers(permutation)) => {
                Ok(permutation.sources().into_iter().map(|source| registers[source as usize]).collect())
            }
            Ok(Conversion::Shuffles(plan)) => Ok(self.shuffle(registers, element, &plan)),
            Ok(Conversion::SharedMemory(exchange)) => self.exchange(registers, element, &exchange),
            Err(error) => self.refuse(&format!("a conversion between layouts ({error})")),
        }
    }

    fn shuffle(&mut self, registers: &Registers, element: Element, plan: &ShufflePlan) -> Registers {
        let movable: Vec<Register> = registers.iter().map(|&one| self.movable(element, one)).collect();
        // What arrives in each round, by the constant of the register that it is for and the element of the vector.
        let mut arrived: FxHashMap<u64, Register> = FxHashMap::default();
        let Some(first) = plan.rounds.first() else { return registers.clone() };
        for round in &plan.rounds {
            let lane = (!round.stays()).then(|| self.thread_function_register(&round.source_lane));
            for index in 0..1u64 << plan.vector.len() {
                let (from, to) = vector_offsets(&plan.vector, index);
                let sent = self.choose(&round.send, from, |register| movable[register as usize]);
                let value = match lane {
                    Some(lane) => self.shuffle_register(sent, ShuffleMode::Index, lane.into()),
                    None => sent,
                };
                arrived.insert(round.receive.constant ^ to, value);
            }
        }
        let count = 1u64 << plan.canonical.len();
        let mut chosen: FxHashMap<u64, Register> = FxHashMap::default();
        let mut result = Vec::new();
        for target in 0..count {
            let register = multiply(&plan.canonical, target);
            let value = match chosen.get(&register) {
                Some(&value) => value,
                None => {
                    let place = ThreadFunction { constant: 0, ..first.receive.clone() };
                    let value = self.choose(&place, register, |constant| arrived[&constant]);
                    let value = self.regained(element, value);
                    chosen.insert(register, value);
                    value
                }
            };
            result.push(value);
        }
        result.into()
    }

    fn thread_function_register(&mut self, function: &ThreadFunction) -> Register {
        let terms: Vec<u64> = function.lane_bits.iter().chain(&function.outer_bits).copied().collect();
        let varying = self.of_thread(&terms);
        let constant = Operand::Integer(function.constant as i64);
        self.code.math(MathOp::Xor, Type::B32, &[varying.into(), constant])
    }

    /// The register whose number is the function's value for the thread, exclusive or `offset`.
    fn choose(
        &mut self,
        function: &ThreadFunction,
        offset: u64,
        register: impl Fn(u64) -> Register,
    ) -> Register {
        let terms: Vec<u64> = function.lane_bits.iter().chain(&function.outer_bits).copied().collect();
        let mut span = Span::default();
        let basis: Vec<u64> = terms.iter().copied().filter(|&term| span.insert(term)).collect();
        let coordinates = Span::of(&basis);
        let constant = function.constant ^ offset;
        let mut candidates: Vec<Register> =
            (0..1u64 << basis.len()).map(|index| register(constant ^ multiply(&basis, index))).collect();
        for bit in 0..basis.len() {
            let parity: Vec<u64> =
                terms.iter().map(|&term| coordinates.express(term).unwrap_or(0) >> bit & 1).collect();
            let odd = self.of_thread(&parity);
            let pairs: Vec<[Register; 2]> = candidates.chunks(2).map(|pair| [pair[0], pair[1]]).collect();
            if pairs.iter().all(|pair| pair[0] == pair[1]) {
                candidates = pairs.iter().map(|pair| pair[0]).collect();
                continue;
            }
            let predicate = self.code.is_set(odd);
            let select = |code: &mut Emitter, [even, odd]: [Register; 2]| {
                code.select(even.class.declared(), predicate, odd.into(), even.into())
            };
            candidates = pairs.into_iter().map(|pair| select(&mut self.code, pair)).collect();
        }
        candidates[0]
    }

    /// A register of another lane, of any class but predicates.
    pub(super) fn shuffle_register(
        &mut self,
        source: Register,
        mode: ShuffleMode,
        lane: Operand,
    ) -> Register {
        match source.class {
            Class::Bits64 => {
                let [low, high] = self.code.unpack(source);
                let low = self.shuffle_word(low, mode, lane);
                let high = self.shuffle_word(high, mode, lane);
                self.code.pack(Type::B64, &[low, high])
            }
            Class::Bits16 => {
                let wide = self.code.convert(Type::U32, Type::U16, None, source);
                let moved = self.shuffle_word(wide, mode, lane);
                self.code.convert(Type::U16, Type::U32, None, moved)
            }
            _ => self.shuffle_word(source, mode, lane),
        }
    }

    fn shuffle_word(&mut self, source: Register, mode: ShuffleMode, lane: Operand) -> Register {
        let dst = self.code.fresh(Class::Bits32);
        self.code.push(Shuffle {
            mode,
            dst,
            in_range: None,
            source: source.into(),
            lane,
            clamp: Operand::Integer(31),
            members: Operand::Integer(0xffff_ffff),
        });
        dst
    }

    fn exchange(
        &mut self,
        registers: &Registers,
        element: Element,
        exchange: &SharedExchange,
    ) -> Result<Registers> {
        let bytes = u64::from(element.bytes());
        let base = self.begin_scratch(exchange.elements() * bytes)?;
        self.store_shared(base, &exchange.store, element, registers);
        self.publish_scratch();
        Ok(self.load_shared(base, &exchange.load, element))
    }

    /// Stores a thread's registers to shared memory.
    pub(super) fn store_shared(
        &mut self,
        base: Register,
        access: &SharedAccess,
        element: Element,
        registers: &Registers,
    ) {
        let addresses = self.shared_addresses(base, access, element);
        for (instruction, address) in addresses.into_iter().enumerate() {
            let first = access.vector.base(instruction as u64);
            let elements: Vec<Register> = (0..access.vector.elements())
                .map(|index| registers[(first ^ access.vector.element(index)) as usize])
                .collect();
            self.store_vector(Space::Shared, element, address, &elements, None, |store| store);
        }
    }

    /// Loads a thread's registers from shared memory.
    pub(super) fn load_shared(
        &mut self,
        base: Register,
        access: &SharedAccess,
        element: Element,
    ) -> Registers {
        let mut reading = self.begin_reading(base, access, element);
        let count = reading.registers.len();
        self.read_shared(&mut reading, 0..count);
        let zero = reading.registers.iter().any(Option::is_none).then(|| self.zero(element));
        reading.registers.into_iter().map(|one| one.or(zero).expect("a zero where one is missing")).collect()
    }

    /// Prepares to load a thread's registers from shared memory, some at a time.
    pub(super) fn begin_reading(
        &mut self,
        base: Register,
        access: &SharedAccess,
        element: Element,
    ) -> Reading {
        let count = 1usize << access.to_offset.inputs().bits_of(tegula_layout::Dim::Register);
        let addresses = self.shared_addresses(base, access, element).into_iter().map(Some).collect();
        Reading { vector: access.vector.clone(), element, addresses, registers: vec![None; count] }
    }

    /// Loads the vectors that have elements among these registers, unless they have been.
    pub(super) fn read_shared(&mut self, reading: &mut Reading, registers: Range<usize>) {
        let Reading { vector, element, addresses, registers: known } = reading;
        let width = vector.elements();
        for (instruction, address) in addresses.iter_mut().enumerate() {
            let first = vector.base(instruction as u64);
            let place = |index: u64| (first ^ vector.element(index)) as usize;
            if !(0..width).any(|index| registers.contains(&place(index))) {
                continue;
            }
            let Some(address) = address.take() else { continue };
            let loaded =
                self.load_vector(Space::Shared, *element, address, width as usize, None, |load| load);
            for (index, &value) in loaded.iter().enumerate() {
                known[place(index as u64)] = Some(value);
            }
        }
    }

    fn shared_addresses(&mut self, base: Register, access: &SharedAccess, element: Element) -> Vec<Address> {
        self.shared_addresses_of(base, &access.to_offset, &access.vector, element)
    }

    /// The address of each instruction of an access, given the offset of each element of each thread.
    pub(super) fn shared_addresses_of(
        &mut self,
        base: Register,
        layout: &Layout,
        vector: &VectorAccess,
        element: Element,
    ) -> Vec<Address> {
        let bytes = u64::from(element.bytes());
        let terms: Vec<u64> = Self::thread_columns(layout).into_iter().map(|column| column * bytes).collect();
        let union = terms.iter().fold(0, |union, &term| union | term);
        let thread = self.of_thread(&terms);
        let mut bases: FxHashMap<u64, Register> = FxHashMap::default();
        let mut addresses = Vec::new();
        for instruction in 0..vector.instructions() {
            let offset = layout.apply(vector.base(instruction)) * bytes;
            // Bits that no thread touches are added; the others are exclusive or.
            let (mixed, apart) = (offset & union, offset & !union);
            let register = match bases.get(&mixed) {
                Some(&register) => register,
                None => {
                    let sources = [thread.into(), Operand::Integer(mixed as i64)];
                    let place = self.code.math(MathOp::Xor, Type::B32, &sources);
                    let register = self.code.math(MathOp::Add, Type::U32, &[base.into(), place.into()]);
                    bases.insert(mixed, register);
                    register
                }
            };
            addresses.push(Address::register(register, apart as i32));
        }
        addresses
    }

    /// One of two values of an element's class.
    pub(super) fn select_element(
        &mut self,
        element: Element,
        predicate: Register,
        on_true: Register,
        on_false: Register,
    ) -> Register {
        if on_true == on_false {
            return on_true;
        }
        self.code.select(bits_type(element), predicate, on_true.into(), on_false.into())
    }
}

/// What an element of a vector adds to the registers of the source and of the target.
fn vector_offsets(vector: &[(u64, u64)], index: u64) -> (u64, u64) {
    let set = vector.iter().enumerate().filter(|(bit, _)| index >> bit & 1 != 0);
    set.fold((0, 0), |(from, to), (_, &(source, target))| (from ^ source, to ^ target))
}

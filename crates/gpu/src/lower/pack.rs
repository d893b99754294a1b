//! Elements joined in words: what vector accesses and shuffles move.

use super::Lowering;
use super::element::{bits_type, class_of, memory_type};
use tegula_ir::Element;
use tegula_ptx::{
    Address, Class, Load, Math, MathOp, Operand, Permute, Predicate, Register, Space, Store, Type,
};

/// The words of a vector: their type and number.
pub(super) fn words_of(bytes: u64) -> (Type, usize) {
    match bytes {
        1 => (Type::B8, 1),
        2 => (Type::B16, 1),
        4 => (Type::B32, 1),
        bytes => (Type::B32, bytes as usize / 4),
    }
}

impl Lowering<'_> {
    /// A predicate as a number that can be moved; anything else as it is.
    pub(super) fn movable(&mut self, element: Element, register: Register) -> Register {
        if class_of(element) == Class::Pred { self.code.number_of(register) } else { register }
    }

    /// The inverse of [`Lowering::movable`].
    pub(super) fn regained(&mut self, element: Element, register: Register) -> Register {
        if class_of(element) == Class::Pred { self.code.is_set(register) } else { register }
    }

    /// 32-bit words of consecutive elements that fill them.
    pub(super) fn pack_words(&mut self, element: Element, elements: &[Register]) -> Vec<Register> {
        match element.bytes() {
            8 => elements.iter().flat_map(|&register| self.code.unpack(register)).collect(),
            4 => elements.to_vec(),
            2 => elements.chunks(2).map(|pair| self.pack_pair(pair)).collect(),
            _ => elements.chunks(4).map(|bytes| self.pack_bytes(element, bytes)).collect(),
        }
    }

    fn pack_pair(&mut self, pair: &[Register]) -> Register {
        if pair[0].class == Class::Bits16 {
            return self.code.pack(Type::B32, pair);
        }
        self.permute(pair[0], pair[1], 0x5410)
    }

    fn pack_bytes(&mut self, element: Element, bytes: &[Register]) -> Register {
        let bytes: Vec<Register> = bytes.iter().map(|&byte| self.movable(element, byte)).collect();
        let low = self.permute(bytes[0], bytes[1], 0x0040);
        let high = self.permute(bytes[2], bytes[3], 0x0040);
        self.permute(low, high, 0x5410)
    }

    fn permute(&mut self, low: Register, high: Register, selector: i64) -> Register {
        let dst = self.code.fresh(Class::Bits32);
        let sources = [low.into(), high.into(), Operand::Integer(selector)];
        self.code.push(Permute { mode: None, dst, sources });
        dst
    }

    /// The elements of 32-bit words.
    pub(super) fn unpack_words(&mut self, element: Element, words: &[Register]) -> Vec<Register> {
        match element.bytes() {
            8 => words.chunks(2).map(|pair| self.code.pack(Type::B64, pair)).collect(),
            4 => words.to_vec(),
            bytes => {
                let mut elements = Vec::new();
                for &word in words {
                    if class_of(element) == Class::Bits16 {
                        elements.extend(self.code.unpack(word));
                        continue;
                    }
                    let bits = i64::from(bytes * 8);
                    for index in 0..32 / bits {
                        let field = self.extract(element, word, index * bits, bits);
                        elements.push(self.regained(element, field));
                    }
                }
                elements
            }
        }
    }

    fn extract(&mut self, element: Element, word: Register, start: i64, bits: i64) -> Register {
        let signed = element.as_scalar().is_some_and(|scalar| scalar.is_signed());
        let ty = if signed { Type::S32 } else { Type::U32 };
        let sources = [word.into(), Operand::Integer(start), Operand::Integer(bits)];
        let placeholder = word;
        self.code.math_with(Math::new(MathOp::ExtractBits, ty, placeholder, sources))
    }

    /// Stores consecutive elements, at most 16 bytes, as one access that `store` completes.
    pub(super) fn store_vector(
        &mut self,
        space: Space,
        element: Element,
        address: Address,
        elements: &[Register],
        guard: Option<Predicate>,
        complete: impl Fn(Store) -> Store,
    ) {
        let (ty, words) = if elements.len() == 1 || element.bytes() * (elements.len() as u32) < 4 {
            // Two bytes have no word of their own.
            let movable: Vec<Register> = elements.iter().map(|&one| self.movable(element, one)).collect();
            (narrow_type(element), movable)
        } else {
            (Type::B32, self.pack_words(element, elements))
        };
        let values: Vec<Operand> = words.into_iter().map(Operand::from).collect();
        self.code.push_if(guard, complete(Store::new(space, ty, address, &values)));
    }

    /// Loads consecutive elements. Where the guard fails they are `other`, of which there are as many, or undefined.
    pub(super) fn load_vector(
        &mut self,
        space: Space,
        element: Element,
        address: Address,
        count: usize,
        guard: Option<(Predicate, Option<&[Register]>)>,
        complete: impl Fn(Load) -> Load,
    ) -> Vec<Register> {
        let single = count == 1 || element.bytes() * (count as u32) < 4;
        let (ty, class) = match (single, class_of(element)) {
            (true, Class::Pred) => (Type::U8, Class::Bits32),
            (true, class) => (memory_type(element), class),
            (false, _) => (Type::B32, Class::Bits32),
        };
        let number = if single { count } else { words_of(u64::from(element.bytes()) * count as u64).1 };
        let words: Vec<Register> = (0..number).map(|_| self.code.fresh(class)).collect();
        if let Some((_, other)) = guard {
            let initial: Vec<Operand> = match other {
                None => vec![Operand::Integer(0); number],
                Some(other) if single => {
                    other.iter().map(|&one| Operand::from(self.movable(element, one))).collect()
                }
                Some(other) => self.pack_words(element, other).into_iter().map(Operand::from).collect(),
            };
            for (&word, value) in words.iter().zip(initial) {
                self.code.assign(word, value);
            }
        }
        let load = complete(Load::new(space, ty, &words, address));
        self.code.push_if(guard.map(|(predicate, _)| predicate), load);
        if single {
            words.into_iter().map(|word| self.regained(element, word)).collect()
        } else {
            self.unpack_words(element, &words)
        }
    }

    /// A register of the element's class that holds zero.
    pub(super) fn zero(&mut self, element: Element) -> Register {
        match class_of(element) {
            Class::Pred => self.code.truth(false),
            _ => self.code.copy(bits_type(element), Operand::Integer(0)),
        }
    }
}

/// The type of a single element's access: predicates are bytes.
fn narrow_type(element: Element) -> Type {
    match memory_type(element) {
        Type::S8 => Type::U8,
        Type::S16 => Type::U16,
        ty => ty,
    }
}

//! How elements are held in registers.
//!
//! | element | register |
//! |---|---|
//! | `i1` | a predicate |
//! | integers of 8 and 16 bits | 32 bits, sign- or zero-extended by the type |
//! | 8-bit floats | 32 bits, the upper 24 zero |
//! | fp16, bf16 | 16 bits |
//! | the rest, and pointers | their own width |

use tegula_ir::{Element, Scalar};
use tegula_ptx::{Class, Type};

/// The register class of an element.
pub(crate) fn class_of(element: Element) -> Class {
    match element {
        Element::Pointer(_) => Class::Bits64,
        Element::Scalar(Scalar::Int1) => Class::Pred,
        Element::Scalar(Scalar::Float16 | Scalar::BFloat16) => Class::Bits16,
        Element::Scalar(scalar) if scalar.bits() == 64 => Class::Bits64,
        Element::Scalar(_) => Class::Bits32,
    }
}

/// The type under which an element's register is moved and selected.
pub(crate) fn bits_type(element: Element) -> Type {
    class_of(element).declared()
}

/// The type under which integers and pointers are computed.
pub(crate) fn integer_type(element: Element) -> Type {
    match element {
        Element::Pointer(_) => Type::U64,
        Element::Scalar(scalar) => match (scalar.bits() == 64, scalar.is_signed()) {
            (true, true) => Type::S64,
            (true, false) => Type::U64,
            (false, true) => Type::S32,
            (false, false) => Type::U32,
        },
    }
}

/// The type under which a single element is loaded and stored.
pub(crate) fn memory_type(element: Element) -> Type {
    match element {
        Element::Pointer(_) => Type::U64,
        Element::Scalar(scalar) => match scalar {
            Scalar::Int8 => Type::S8,
            Scalar::Int16 => Type::S16,
            Scalar::UInt16 => Type::U16,
            Scalar::Float16 | Scalar::BFloat16 => Type::B16,
            scalar if scalar.bits() <= 8 => Type::U8,
            scalar if scalar.bits() == 32 => Type::B32,
            _ => Type::B64,
        },
    }
}

//! Types of values: a scalar or a pointer, or a block of either.

use smallvec::SmallVec;
use std::fmt;

/// The numeric types of the Triton language.
///
/// Signedness is part of the type, so one operation (a division, say) serves both and is selected
/// by the type of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scalar {
    /// A truth value, stored in memory as one byte that is 0 or 1.
    Int1,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    /// `fp8e4nv`: 4 exponent bits, bias 7, no infinity, one NaN pattern a sign (OCP E4M3).
    Float8E4M3,
    /// `fp8e5`: 5 exponent bits, bias 15, infinities and NaNs as IEEE 754 (OCP E5M2).
    Float8E5M2,
    /// `fp8e4b15`: 4 exponent bits, bias 15, no infinity and no NaN.
    Float8E4B15,
    /// `fp8e4b8`: 4 exponent bits, bias 8, one NaN (0x80), no negative zero.
    Float8E4B8,
    /// `fp8e5b16`: 5 exponent bits, bias 16, one NaN (0x80), no negative zero.
    Float8E5B16,
    Float16,
    BFloat16,
    Float32,
    Float64,
}

impl Scalar {
    /// Every scalar type, in the order of the declaration.
    pub const ALL: [Scalar; 18] = [
        Scalar::Int1,
        Scalar::Int8,
        Scalar::Int16,
        Scalar::Int32,
        Scalar::Int64,
        Scalar::UInt8,
        Scalar::UInt16,
        Scalar::UInt32,
        Scalar::UInt64,
        Scalar::Float8E4M3,
        Scalar::Float8E5M2,
        Scalar::Float8E4B15,
        Scalar::Float8E4B8,
        Scalar::Float8E5B16,
        Scalar::Float16,
        Scalar::BFloat16,
        Scalar::Float32,
        Scalar::Float64,
    ];

    /// The name in signatures and in the text form: `i32`, `u8`, `fp8e4nv`, `bf16`.
    pub const fn name(self) -> &'static str {
        match self {
            Scalar::Int1 => "i1",
            Scalar::Int8 => "i8",
            Scalar::Int16 => "i16",
            Scalar::Int32 => "i32",
            Scalar::Int64 => "i64",
            Scalar::UInt8 => "u8",
            Scalar::UInt16 => "u16",
            Scalar::UInt32 => "u32",
            Scalar::UInt64 => "u64",
            Scalar::Float8E4M3 => "fp8e4nv",
            Scalar::Float8E5M2 => "fp8e5",
            Scalar::Float8E4B15 => "fp8e4b15",
            Scalar::Float8E4B8 => "fp8e4b8",
            Scalar::Float8E5B16 => "fp8e5b16",
            Scalar::Float16 => "fp16",
            Scalar::BFloat16 => "bf16",
            Scalar::Float32 => "fp32",
            Scalar::Float64 => "fp64",
        }
    }

    /// The name that the Triton language prints: `int32`, `uint8`, `fp8e4nv`, `bf16`.
    pub const fn language_name(self) -> &'static str {
        match self {
            Scalar::Int1 => "int1",
            Scalar::Int8 => "int8",
            Scalar::Int16 => "int16",
            Scalar::Int32 => "int32",
            Scalar::Int64 => "int64",
            Scalar::UInt8 => "uint8",
            Scalar::UInt16 => "uint16",
            Scalar::UInt32 => "uint32",
            Scalar::UInt64 => "uint64",
            other => other.name(),
        }
    }

    /// The inverse of [`Scalar::name`].
    pub fn from_name(name: &str) -> Option<Scalar> {
        Scalar::ALL.into_iter().find(|scalar| scalar.name() == name)
    }

    /// Width in bits; 1 for [`Scalar::Int1`].
    pub const fn bits(self) -> u32 {
        match self {
            Scalar::Int1 => 1,
            Scalar::Int8 | Scalar::UInt8 => 8,
            Scalar::Float8E4M3
            | Scalar::Float8E5M2
            | Scalar::Float8E4B15
            | Scalar::Float8E4B8
            | Scalar::Float8E5B16 => 8,
            Scalar::Int16 | Scalar::UInt16 | Scalar::Float16 | Scalar::BFloat16 => 16,
            Scalar::Int32 | Scalar::UInt32 | Scalar::Float32 => 32,
            Scalar::Int64 | Scalar::UInt64 | Scalar::Float64 => 64,
        }
    }

    /// Bytes that one element occupies in memory.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether this is any floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            Scalar::Float8E4M3
                | Scalar::Float8E5M2
                | Scalar::Float8E4B15
                | Scalar::Float8E4B8
                | Scalar::Float8E5B16
                | Scalar::Float16
                | Scalar::BFloat16
                | Scalar::Float32
                | Scalar::Float64
        )
    }

    /// Whether this is one of the 8-bit floating-point types.
    pub const fn is_float8(self) -> bool {
        self.is_float() && self.bits() == 8
    }

    /// Whether this is an integer type, [`Scalar::Int1`] included.
    pub const fn is_int(self) -> bool {
        !self.is_float()
    }

    /// Whether this is a signed integer type. [`Scalar::Int1`] is not.
    pub const fn is_signed(self) -> bool {
        matches!(self, Scalar::Int8 | Scalar::Int16 | Scalar::Int32 | Scalar::Int64)
    }

    /// Whether this is an unsigned integer type, [`Scalar::Int1`] included.
    pub const fn is_unsigned(self) -> bool {
        self.is_int() && !self.is_signed()
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A pointer to memory that holds scalars, or pointers to scalars, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pointer {
    /// What lies at the end of the chain of pointers.
    pub pointee: Scalar,
    /// How many loads lead to the pointee: 1 for a pointer to scalars.
    pub depth: u8,
    /// Whether a store through it is refused (`*k` in signatures).
    pub constant: bool,
}

impl Pointer {
    /// A writable pointer to scalars.
    pub const fn to(pointee: Scalar) -> Pointer {
        Pointer { pointee, depth: 1, constant: false }
    }

    /// The type of what is loaded through this pointer.
    pub const fn target(self) -> Element {
        if self.depth == 1 {
            Element::Scalar(self.pointee)
        } else {
            Element::Pointer(Pointer { depth: self.depth - 1, ..self })
        }
    }
}

/// The type of one element of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    Scalar(Scalar),
    Pointer(Pointer),
}

impl Element {
    /// Bytes that one element occupies in memory; pointers take 8.
    pub const fn bytes(self) -> u32 {
        match self {
            Element::Scalar(scalar) => scalar.bytes(),
            Element::Pointer(_) => 8,
        }
    }

    /// The scalar type, unless this is a pointer.
    pub const fn as_scalar(self) -> Option<Scalar> {
        match self {
            Element::Scalar(scalar) => Some(scalar),
            Element::Pointer(_) => None,
        }
    }
}

impl From<Scalar> for Element {
    fn from(scalar: Scalar) -> Element {
        Element::Scalar(scalar)
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Scalar(scalar) => scalar.fmt(f),
            Element::Pointer(pointer) => {
                for _ in 0..pointer.depth {
                    f.write_str("*")?;
                }
                if pointer.constant {
                    f.write_str("k")?;
                }
                pointer.pointee.fmt(f)
            }
        }
    }
}

/// The extents of a block, outermost first. The empty shape is that of a scalar.
///
/// Extents are positive and need not be powers of two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shape(SmallVec<[u32; 4]>);

impl Shape {
    /// The shape of a scalar.
    pub fn scalar() -> Shape {
        Shape::default()
    }

    /// Number of elements; 1 for a scalar.
    pub fn elements(&self) -> usize {
        self.0.iter().map(|&extent| extent as usize).product()
    }

    /// Number of dimensions; 0 for a scalar.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The same extents with `extent` inserted before dimension `axis`.
    pub fn with_inserted(&self, axis: usize, extent: u32) -> Shape {
        let mut extents = self.0.clone();
        extents.insert(axis, extent);
        Shape(extents)
    }

    /// The same extents without dimension `axis`.
    pub fn with_removed(&self, axis: usize) -> Shape {
        let mut extents = self.0.clone();
        extents.remove(axis);
        Shape(extents)
    }

    /// The same extents with dimension `axis` replaced.
    pub fn with_extent(&self, axis: usize, extent: u32) -> Shape {
        let mut extents = self.0.clone();
        extents[axis] = extent;
        Shape(extents)
    }
}

impl std::ops::Deref for Shape {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.0
    }
}

impl From<&[u32]> for Shape {
    fn from(extents: &[u32]) -> Shape {
        Shape(extents.into())
    }
}

impl FromIterator<u32> for Shape {
    fn from_iter<I: IntoIterator<Item = u32>>(extents: I) -> Shape {
        Shape(extents.into_iter().collect())
    }
}

/// The type of a value: one element, or a block of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    pub element: Element,
    pub shape: Shape,
}

impl Type {
    /// A single element.
    pub fn scalar(element: impl Into<Element>) -> Type {
        Type { element: element.into(), shape: Shape::scalar() }
    }

    /// A block with the given extents.
    pub fn block(element: impl Into<Element>, shape: impl Into<Shape>) -> Type {
        Type { element: element.into(), shape: shape.into() }
    }

    /// The same shape with other elements.
    pub fn with_element(&self, element: impl Into<Element>) -> Type {
        Type { element: element.into(), shape: self.shape.clone() }
    }

    /// The same elements in another shape.
    pub fn with_shape(&self, shape: impl Into<Shape>) -> Type {
        Type { element: self.element, shape: shape.into() }
    }

    /// Whether this is a single element.
    pub fn is_scalar(&self) -> bool {
        self.shape.rank() == 0
    }
}

impl From<Pointer> for Element {
    fn from(pointer: Pointer) -> Element {
        Element::Pointer(pointer)
    }
}

/// Prints `fp32` for a scalar and `<16x64xfp32>` for a block.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_scalar() {
            return self.element.fmt(f);
        }
        f.write_str("<")?;
        for extent in self.shape.iter() {
            write!(f, "{extent}x")?;
        }
        write!(f, "{}>", self.element)
    }
}

//! A kernel in the form that is executed: flat lists of instructions over numbered registers and slots.
//!
//! Everything that does not depend on the launch is decided when a [`Program`] is made: where each value lives,
//! which strip functions compute it, and where it is used for the last time, so that executing an
//! instruction is a match and a few loads.

use crate::plan::Plan;
use crate::strided::Extents;
use smallvec::SmallVec;
use std::sync::Arc;
use tegula_ir::{BinaryOp, Element, Function, Predicate, Scalar, Span, Type};
use tegula_strip::{ReduceFn, StripFn};

/// A kernel made ready to run.
#[derive(Debug)]
pub struct Program {
    pub(crate) function: Arc<Function>,
    /// Types of the values in registers and in block slots.
    pub(crate) register_types: Vec<ValueType>,
    pub(crate) block_types: Vec<ValueType>,
    /// Registers that hold constants, with their bits.
    pub(crate) constants: Vec<(u32, u64)>,
    /// Where each parameter lives: registers, but in operations of an interpreter.
    pub(crate) parameters: Vec<Place>,
    /// What is the same for all programs of a launch: run once by each thread.
    pub(crate) prologue: Vec<Instruction>,
    pub(crate) body: Vec<Instruction>,
    /// Where the results of an operation of an interpreter live; a kernel has none.
    pub(crate) results: Vec<Place>,
}

impl Program {
    /// What is known of the value in a place.
    pub(crate) fn ty(&self, place: Place) -> &ValueType {
        match place {
            Place::Register(register) => &self.register_types[register as usize],
            Place::Block(slot) => &self.block_types[slot as usize],
        }
    }
}

/// What an instruction needs to know of a type.
#[derive(Clone, Debug)]
pub struct ValueType {
    /// How strips see an element: pointers are `UInt64`.
    pub scalar: Scalar,
    /// Bytes of an element.
    pub width: usize,
    pub extents: Extents,
    /// Number of elements; `None` in a combine function that is executed on tiles of any size.
    pub count: Option<usize>,
}

impl ValueType {
    /// The type of a value with a fixed shape.
    pub fn new(ty: &Type) -> ValueType {
        ValueType {
            scalar: strip_scalar(ty.element),
            width: ty.element.bytes() as usize,
            extents: ty.shape.iter().copied().collect(),
            count: Some(ty.shape.elements()),
        }
    }

    /// The type of a scalar.
    pub fn register(scalar: Scalar) -> ValueType {
        ValueType { scalar, width: scalar.bytes() as usize, extents: Extents::new(), count: Some(1) }
    }

    /// The type of as many elements as a tile has.
    pub fn tile(element: Element) -> ValueType {
        let scalar = strip_scalar(element);
        ValueType { scalar, width: element.bytes() as usize, extents: Extents::new(), count: None }
    }
}

/// How strips see an element.
pub fn strip_scalar(element: Element) -> Scalar {
    element.as_scalar().unwrap_or(Scalar::UInt64)
}

/// Where a value lives: scalars in registers, blocks in slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Register(u32),
    Block(u32),
}

/// A value that an instruction reads.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    pub place: Place,
    /// Whether nothing reads the value afterwards, so that it may be taken.
    pub last: bool,
}

/// An action, and what it ends.
#[derive(Debug)]
pub struct Instruction {
    pub action: Action,
    /// Block slots that nothing reads afterwards, other than operands marked `last`.
    pub ends: Box<[u32]>,
    pub span: Span,
}

/// What an instruction does.
#[derive(Debug)]
pub enum Action {
    ProgramId {
        axis: u8,
        out: u32,
    },
    NumPrograms {
        axis: u8,
        out: u32,
    },
    Arange {
        start: i64,
        out: Place,
    },
    /// The same value under another name or shape: splats of scalars, annotations.
    Move {
        value: Operand,
        out: Place,
    },
    /// The bits of a block as another type of the same width.
    Bitcast {
        value: Operand,
        out: Place,
    },
    Scalar(Box<ScalarOperation>),
    Elementwise(Box<Elementwise>),
    AddPointer(Box<AddPointer>),
    Reshape(Box<Reshape>),
    Join {
        lhs: Operand,
        rhs: Operand,
        out: Place,
    },
    Concatenate {
        lhs: Operand,
        rhs: Operand,
        axis: usize,
        out: Place,
    },
    Gather {
        source: Operand,
        indices: Operand,
        axis: usize,
        out: Place,
    },
    Histogram {
        value: Operand,
        mask: Option<Operand>,
        out: Place,
    },
    Load(Box<Load>),
    Store(Box<Store>),
    AtomicRmw(Box<AtomicRmw>),
    AtomicCas {
        pointer: Operand,
        expected: Operand,
        desired: Operand,
        out: Place,
    },
    Dot(Box<Dot>),
    Reduce(Box<Fold>),
    Scan(Box<Fold>),
    Map(Box<Map>),
    For(Box<For>),
    While(Box<While>),
    If(Box<If>),
    Print(Box<Print>),
    Assert(Box<Assert>),
    /// Several instructions at once.
    Plan(Box<Plan>),
    /// Barriers and promises: program order holds anyway.
    Nothing,
}

/// What an elementwise operation computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementwiseKind {
    Unary,
    Binary(BinaryOp),
    Compare(Predicate),
    Select,
    Fma,
    Cast,
}

/// An elementwise operation on scalars.
#[derive(Clone, Debug)]
pub struct ScalarOperation {
    pub kind: ElementwiseKind,
    /// Type of the operands that are computed with.
    pub scalar: Scalar,
    /// Type of the result.
    pub result: Scalar,
    pub function: StripFn,
    /// Registers; unused ones repeat the first.
    pub inputs: [u32; 3],
    pub out: u32,
}

/// An elementwise operation on blocks.
#[derive(Debug)]
pub struct Elementwise {
    pub kind: ElementwiseKind,
    /// Type of the operands that are computed with.
    pub scalar: Scalar,
    /// Type of the result.
    pub result: Scalar,
    pub functions: Functions,
    pub inputs: SmallVec<[Operand; 3]>,
    pub out: Place,
}

/// The strip functions of one operation.
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    /// All operands are strips.
    pub dense: StripFn,
    /// The last operand is a splat.
    pub last_splat: Option<StripFn>,
    /// The last operand but one is a splat.
    pub first_splat: Option<StripFn>,
    /// The only operand is the difference of a strip and a splat, which are the operands.
    pub of_difference: Option<StripFn>,
}

/// Pointers moved by numbers of elements.
#[derive(Debug)]
pub struct AddPointer {
    pub pointer: Operand,
    pub offset: Operand,
    /// Type of the offset.
    pub scalar: Scalar,
    /// Bytes of an element.
    pub size: i64,
    /// From the offset's type to `Int64`; `None` if it is 64 bits wide.
    pub extend: Option<StripFn>,
    pub multiply: Functions,
    pub add: Functions,
    pub out: Place,
}

/// A change of shape that most representations follow without touching an element.
#[derive(Debug)]
pub struct Reshape {
    pub change: ShapeChange,
    pub value: Operand,
    pub out: Place,
    /// The second result of a split.
    pub second: Option<Place>,
}

#[derive(Debug)]
pub enum ShapeChange {
    Broadcast,
    ExpandDims(usize),
    Reshape,
    Transpose(SmallVec<[u8; 4]>),
    Split,
    Slice(SmallVec<[u32; 4]>),
    /// The axis, and the register of the index.
    Index(usize, u32),
}

#[derive(Debug)]
pub struct Load {
    pub pointer: Operand,
    pub mask: Option<Operand>,
    pub other: Option<Operand>,
    pub out: Place,
}

#[derive(Debug)]
pub struct Store {
    pub pointer: Operand,
    pub value: Operand,
    pub mask: Option<Operand>,
}

#[derive(Debug)]
pub struct AtomicRmw {
    /// What is made of the old value and the operand; `None` for an exchange.
    pub function: Option<StripFn>,
    pub pointer: Operand,
    pub value: Operand,
    pub mask: Option<Operand>,
    pub out: Place,
}

#[derive(Debug)]
pub struct Dot {
    pub lhs: Operand,
    pub rhs: Operand,
    pub accumulator: Option<Operand>,
    pub out: Place,
    /// The type that products are computed and summed in.
    pub compute: Scalar,
    /// From the operands' types to that of the computation, if they differ.
    pub convert_lhs: Option<StripFn>,
    pub convert_rhs: Option<StripFn>,
    /// Between the result's type and that of the computation, if they differ.
    pub convert_in: Option<StripFn>,
    pub convert_out: Option<StripFn>,
}

/// A reduction or a scan.
#[derive(Debug)]
pub struct Fold {
    pub values: SmallVec<[Operand; 2]>,
    pub axis: usize,
    pub reverse: bool,
    pub outs: SmallVec<[Place; 2]>,
    pub combine: Combine,
}

/// How two elements, or two tuples of them, are combined.
#[derive(Debug)]
pub enum Combine {
    /// By one operation that strips know.
    Binary(FoldFunctions),
    /// By a function without loops, executed on tiles.
    Tiles(TileRegion),
    /// By a function executed on one pair at a time.
    Scalars(Region),
}

/// The strips of a recognised combine function.
#[derive(Debug)]
pub struct FoldFunctions {
    pub reduce: ReduceFn,
    pub scan: StripFn,
    pub binary: StripFn,
}

/// A function of scalars made ready to run on tiles: each of its values is a block of as many elements as the tile has.
#[derive(Debug)]
pub struct TileRegion {
    pub args: Vec<Place>,
    pub code: Vec<Instruction>,
    pub yields: Vec<Operand>,
    /// The slots of all its values.
    pub slots: std::ops::Range<u32>,
}

#[derive(Debug)]
pub struct Map {
    pub values: SmallVec<[Operand; 2]>,
    pub outs: SmallVec<[Place; 2]>,
    pub body: MapBody,
}

#[derive(Debug)]
pub enum MapBody {
    Tiles(TileRegion),
    Scalars(Region),
}

/// Instructions with arguments and yielded values.
#[derive(Debug)]
pub struct Region {
    pub args: Vec<Place>,
    pub code: Vec<Instruction>,
    pub yields: Vec<Operand>,
}

#[derive(Debug)]
pub struct For {
    pub lower: u32,
    pub upper: u32,
    pub step: u32,
    /// Type of the index.
    pub scalar: Scalar,
    pub inits: Vec<Operand>,
    pub body: Region,
    pub outs: Vec<Place>,
}

#[derive(Debug)]
pub struct While {
    pub inits: Vec<Operand>,
    pub condition: Region,
    pub body: Region,
    pub outs: Vec<Place>,
}

#[derive(Debug)]
pub struct If {
    pub condition: u32,
    pub then: Region,
    pub otherwise: Region,
    pub outs: Vec<Place>,
}

#[derive(Debug)]
pub struct Print {
    pub prefix: String,
    pub hex: bool,
    pub values: Vec<Operand>,
}

#[derive(Debug)]
pub struct Assert {
    pub condition: Operand,
    pub message: String,
    pub mask: Option<Operand>,
}

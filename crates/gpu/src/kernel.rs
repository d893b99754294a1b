//! What is asked of a compilation, and what comes of it.

use crate::bulk::{Condition, TensorMap};
use tegula_ir::{Diagnostic, Element, Scalar, Span, Type};
use tegula_ptx::{LaunchBounds, Target};

/// How a kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Warps of 32 threads that run one program of the grid: a power of two up to 32.
    pub num_warps: u32,
    /// Stages of a software-pipelined loop.
    pub num_stages: u32,
    /// At most this many registers a thread; `None` leaves it to the assembler.
    pub max_registers: Option<u32>,
    /// Whether a product and a sum of fp32 numbers become one instruction that rounds once.
    pub contracts: bool,
    /// Whether loads may be made by bulk tensor copies, which a launch must make tensor maps for.
    pub bulk_copies: bool,
    /// Whether instructions name the source line they come from (`.loc`).
    pub line_info: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            num_warps: 4,
            num_stages: 3,
            max_registers: None,
            contracts: true,
            bulk_copies: false,
            line_info: true,
        }
    }
}

impl Options {
    /// Whether loads become bulk tensor copies where that can be.
    pub(crate) fn copies_in_bulk(&self, target: Target) -> bool {
        self.bulk_copies && target.architecture == 90
    }

    /// Whether the target can be compiled for like this.
    pub(crate) fn check(&self, target: Target) -> Result<(), Box<Diagnostic>> {
        if target.architecture < 80 {
            let message = format!("{target} is not supported: the oldest GPU that is has sm_80");
            return Err(Box::new(Diagnostic::error(Span::default(), message)));
        }
        if !self.num_warps.is_power_of_two() || self.num_warps > 32 {
            let message = format!("num_warps is {}, and must be a power of two up to 32", self.num_warps);
            return Err(Box::new(Diagnostic::error(Span::default(), message)));
        }
        Ok(())
    }
}

/// The most shared memory that a thread block may have, in bytes (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability").
pub(crate) fn shared_limit(target: Target) -> u32 {
    let kibibytes = match target.architecture {
        80 | 87 => 163,
        90 | 100 | 101 | 103 | 110 => 227,
        _ => 99,
    };
    kibibytes * 1024
}

/// A compiled kernel, for an assembler and a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The name of the entry in the PTX.
    pub name: String,
    /// The module's text.
    pub ptx: String,
    /// Bytes of dynamic shared memory that a launch must give.
    pub shared_bytes: u32,
    /// The thread blocks that a multiprocessor is asked to hold at once, at the cost of registers.
    pub resident: Option<u32>,
    /// Warps of a thread block: blocks are of `32 * num_warps` threads along x.
    pub num_warps: u32,
    /// The parameters of the entry, in order; they are those of the function.
    pub parameters: Vec<ParameterKind>,
    /// The tensor maps that the entry takes after its parameters, 128 bytes each by value.
    pub tensor_maps: Vec<TensorMap>,
    /// What must hold of the arguments of a launch.
    pub conditions: Vec<Condition>,
    /// The layout of every block, for people: what `--emit layouts` prints.
    pub layouts: String,
    /// Where in the source each text of inline assembly comes from, in the order of the PTX.
    pub texts: Vec<Span>,
}

impl Kernel {
    /// The same kernel with all the registers that the assembler likes: for one that did not fit the fewer.
    pub fn with_free_registers(self) -> Kernel {
        let bound = self.resident.map(LaunchBounds::min_blocks_text);
        let ptx = bound.map_or(self.ptx.clone(), |bound| self.ptx.replacen(&bound, "", 1));
        Kernel { ptx, resident: None, ..self }
    }
}

/// How an argument is passed to a kernel: by value, at its natural alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParameterKind {
    /// A number of the type's bytes; an `i1` is a byte that is 0 or 1.
    Scalar(Scalar),
    /// A 64-bit address of global memory.
    Pointer,
}

impl ParameterKind {
    /// The kind of a parameter of a type.
    pub fn of(ty: &Type) -> ParameterKind {
        match ty.element {
            Element::Scalar(scalar) => ParameterKind::Scalar(scalar),
            Element::Pointer(_) => ParameterKind::Pointer,
        }
    }

    /// The bytes of an argument, which are also its alignment.
    pub fn bytes(self) -> u32 {
        match self {
            ParameterKind::Scalar(scalar) => scalar.bytes(),
            ParameterKind::Pointer => 8,
        }
    }
}

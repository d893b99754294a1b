//! What a kernel asks of the machine it is compiled for: `tl.target_info`.
//!
//! The answers are constants, so that a kernel may choose between two texts and only one of them is compiled:
//!
//! ```python
//! if tl.target_info.is_cuda():
//!     y = tl.inline_asm_elementwise("ex2.approx.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)
//! else:
//!     y = tl.exp2(x)
//! ```

use super::Builtin;
use crate::lower::{Lowering, Result};
use crate::machine::Machine;
use crate::value::Value;

/// An entry for a question.
macro_rules! question {
    ($name:literal, $signature:literal, $doc:literal, $answer:expr) => {
        Builtin {
            name: $name,
            modules: &["target_info"],
            signature: $signature,
            method: false,
            doc: $doc,
            lower: $answer,
        }
    };
}

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[
    question!("is_cuda", "", "Whether the kernel is compiled for an NVIDIA GPU.", |cx, _| {
        Ok(Value::Bool(matches!(cx.machine, Machine::Cuda { .. })))
    }),
    question!(
        "cuda_capability_geq",
        "major, minor=0",
        "Whether the kernel is compiled for an NVIDIA GPU of this compute capability or a later one.",
        capability
    ),
    question!("is_hip", "", "Whether the kernel is compiled for an AMD GPU.", no),
    question!(
        "is_hip_cdna3",
        "",
        "Whether the kernel is compiled for an AMD GPU of the architecture CDNA 3.",
        no
    ),
    question!(
        "is_hip_cdna4",
        "",
        "Whether the kernel is compiled for an AMD GPU of the architecture CDNA 4.",
        no
    ),
    question!(
        "is_hip_gfx1250",
        "",
        "Whether the kernel is compiled for an AMD GPU of the architecture gfx1250.",
        no
    ),
];

fn capability(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let (major, minor) = (cx.integer("major", &args[0])?, cx.integer("minor", &args[1])?);
    Ok(Value::Bool(match cx.machine {
        Machine::Cpu => false,
        Machine::Cuda { architecture, .. } => {
            (i128::from(architecture / 10), i128::from(architecture % 10)) >= (major, minor)
        }
    }))
}

/// There are no kernels for AMD's GPUs.
fn no(_: &mut Lowering<'_, '_>, _: &[Value]) -> Result<Value> {
    Ok(Value::Bool(false))
}

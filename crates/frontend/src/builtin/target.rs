//! What a kernel asks of the machine it is compiled for (`tl.target_info`), and what only one kind of machine has
//! (`tl.inline_asm_elementwise`).
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
use crate::value::Value;

/// An entry for a question that the CPU answers with no.
macro_rules! question {
    ($name:literal, $signature:literal, $doc:literal) => {
        Builtin {
            name: $name,
            modules: &["target_info"],
            signature: $signature,
            method: false,
            doc: $doc,
            lower: |_, _| Ok(Value::Bool(false)),
        }
    };
}

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[
    Builtin {
        name: "inline_asm_elementwise",
        modules: &["", "core"],
        signature: "asm, constraints, args, dtype, is_pure, pack",
        method: false,
        doc: "Applies instructions of a GPU to each element of blocks.\n\nThe CPU refuses it, and says so: it has none of these \
              instructions.",
        lower: inline_assembly,
    },
    question!("is_cuda", "", "Whether the kernel is compiled for an NVIDIA GPU."),
    question!(
        "cuda_capability_geq",
        "major, minor=0",
        "Whether the kernel is compiled for an NVIDIA GPU of this compute capability or a later one."
    ),
    question!("is_hip", "", "Whether the kernel is compiled for an AMD GPU."),
    question!(
        "is_hip_cdna3",
        "",
        "Whether the kernel is compiled for an AMD GPU of the architecture CDNA 3."
    ),
    question!(
        "is_hip_cdna4",
        "",
        "Whether the kernel is compiled for an AMD GPU of the architecture CDNA 4."
    ),
    question!(
        "is_hip_gfx1250",
        "",
        "Whether the kernel is compiled for an AMD GPU of the architecture gfx1250."
    ),
];

fn inline_assembly(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    cx.string("asm", &args[0])?;
    let message =
        "`tl.inline_asm_elementwise` holds instructions of a GPU, and this kernel is compiled for the CPU";
    Err(Box::new(cx.error(message).with_help(
        "pass tensors of a GPU, or give the CPU functions of the language instead: `if tl.target_info.is_cuda(): ... else: ...`",
    )))
}

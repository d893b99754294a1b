//! What only one kind of machine has: its instructions (`tl.inline_asm_elementwise`), and what they tell of it (`tl.extra.cuda`).

use super::{Builtin, broadcast, window};
use crate::lower::{Lowering, Result};
use crate::machine::Machine;
use crate::value::Value;
use smallvec::SmallVec;
use tegula_ir::{Assembly, Element, Op, Scalar, Type, Value as Tensor};

/// The first architecture with programmatic dependent launches.
const FIRST_DEPENDENT: u32 = 90;

/// An entry for a function of `tl.extra.cuda` without parameters.
macro_rules! of_cuda {
    ($name:literal, $doc:literal, $lower:expr) => {
        Builtin {
            name: $name,
            modules: &["extra.cuda"],
            signature: "",
            method: false,
            doc: $doc,
            lower: $lower,
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
        doc: "Applies instructions of a GPU, in PTX, to each element of blocks, which broadcast to one shape.\n\n`$0`, `$1`, ... in the \
              text are registers, those of the results first; `$$` is a `$`. The constraints say what each one is, separated by commas: \
              `r` and `f` have 32 bits, `h` 16, `l` and `d` 64, and results have a `=` before; a number instead ties an operand to the register of \
              that result. The text takes `pack` elements at a time, in as many registers, but of types below 32 bits as many elements as fit share a \
              register of 32 bits, the first in its lowest bits; `tl.int1` is a byte that is 0 or 1.\n\n`dtype` is the type of the result, or a tuple \
              of types for as many results. A text that is not pure (`is_pure=False`) is neither dropped nor moved nor merged with an equal one. Threads that \
              hold copies of an element run the text for theirs, and without `args` every thread does.\n\nThe CPU refuses it, and says so: it has none of \
              these instructions.",
        lower: inline_assembly,
    },
    of_cuda!("globaltimer", "The time in nanoseconds, as the GPU counts it, int64.", |cx, _| {
        instruction(cx, "mov.u64 $0, %globaltimer;", "=l", Scalar::Int64, false)
    }),
    of_cuda!("smid", "The number of the multiprocessor on which the program runs, int32.", |cx, _| {
        instruction(cx, "mov.u32 $0, %smid;", "=r", Scalar::Int32, true)
    }),
    of_cuda!("num_threads", "How many threads run one program, a constant.", |cx, _| {
        let num_warps = num_warps(cx)?;
        Ok(Value::Int(32 * i128::from(num_warps)))
    }),
    of_cuda!("num_warps", "How many warps of 32 threads run one program, a constant.", |cx, _| {
        Ok(Value::Int(num_warps(cx)?.into()))
    }),
    of_cuda!(
        "gdc_wait",
        "Waits for the end of the launches before this one, if this one began early (`launch_pdl=True`).\n\nWhere kernels \
         do not begin before the launch before them has ended, there is nothing to wait for: on the CPU, and before sm_90.",
        |cx, _| dependent(cx, "griddepcontrol.wait;")
    ),
    of_cuda!(
        "gdc_launch_dependents",
        "Lets the launch after this one begin, if it may begin early (`launch_pdl=True`), once all programs have come here or ended.",
        |cx, _| dependent(cx, "griddepcontrol.launch_dependents;")
    ),
];

fn inline_assembly(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let [text, constraints, operands, dtype, pure, pack] = args else {
        unreachable!("arguments are bound to the signature")
    };
    let (text, constraints) =
        (cx.string("asm", text)?.to_owned(), cx.string("constraints", constraints)?.to_owned());
    let pure = cx.truth("is_pure", pure)?;
    let pack = match cx.integer("pack", pack)? {
        pack @ 1..=64 => pack as u32,
        other => {
            let message = format!("`pack` of `tl.inline_asm_elementwise` is {other}, but it is from 1 to 64");
            return Err(cx.error(message));
        }
    };
    let Value::Tuple(operands, _) = operands else {
        return Err(cx.parameter_error("args", "a list of blocks and numbers", operands));
    };
    let mut tensors = Vec::with_capacity(operands.len());
    for operand in operands.iter() {
        tensors.push(cx.to_tensor(operand)?);
    }
    let several = matches!(dtype, Value::Tuple(..));
    let types: Vec<Element> = match dtype {
        Value::Tuple(types, _) => types.iter().map(|ty| element(cx, ty)).collect::<Result<_>>()?,
        single => vec![element(cx, single)?],
    };
    if types.is_empty() {
        return Err(cx.parameter_error("dtype", "at least one type: the text has a result", dtype));
    }
    let values = broadcast::all(cx, &tensors)?;
    let results = apply(cx, Assembly { text, constraints, pack, pure }, &values, &types)?;
    Ok(if several { window::tuple_of(results) } else { Value::Tensor(results[0]) })
}

fn element(cx: &Lowering<'_, '_>, dtype: &Value) -> Result<Element> {
    match dtype {
        Value::PointerType(pointer) => Ok(Element::Pointer(*pointer)),
        other => cx.scalar_type("dtype", other).map(Element::Scalar),
    }
}

/// Applies a text to values of one shape; without values the results are scalars.
fn apply(
    cx: &mut Lowering<'_, '_>,
    assembly: Assembly,
    values: &[Tensor],
    types: &[Element],
) -> Result<Vec<Tensor>> {
    check_machine(cx)?;
    let shaped = |&element: &Element| match values.first() {
        Some(&value) => Type { element, shape: cx.ty(value).shape.clone() },
        None => Type::scalar(element),
    };
    let types: Vec<Type> = types.iter().map(shaped).collect();
    let values: SmallVec<[Tensor; 2]> = SmallVec::from_slice(values);
    Ok(cx.builder.values(Op::InlineAssembly { assembly: Box::new(assembly), values }, types).to_vec())
}

/// An instruction with a scalar result and no operands.
fn instruction(
    cx: &mut Lowering<'_, '_>,
    text: &str,
    constraints: &str,
    ty: Scalar,
    pure: bool,
) -> Result<Value> {
    let assembly = Assembly { text: text.to_owned(), constraints: constraints.to_owned(), pack: 1, pure };
    Ok(Value::Tensor(apply(cx, assembly, &[], &[ty.into()])?[0]))
}

/// An instruction that orders this launch and its neighbours; nothing where launches follow each other anyway.
fn dependent(cx: &mut Lowering<'_, '_>, text: &str) -> Result<Value> {
    if matches!(cx.machine, Machine::Cuda { architecture: FIRST_DEPENDENT.., .. }) {
        // Nobody needs the result, without which a text cannot be.
        instruction(cx, text, "=r", Scalar::Int32, false)?;
    }
    Ok(Value::None)
}

fn num_warps(cx: &Lowering<'_, '_>) -> Result<u32> {
    match cx.machine {
        Machine::Cuda { num_warps, .. } => Ok(num_warps),
        Machine::Cpu => Err(no_gpu(cx)),
    }
}

fn check_machine(cx: &Lowering<'_, '_>) -> Result<()> {
    match cx.machine {
        Machine::Cuda { .. } => Ok(()),
        Machine::Cpu => Err(no_gpu(cx)),
    }
}

fn no_gpu(cx: &Lowering<'_, '_>) -> Box<tegula_ir::Diagnostic> {
    let message = match cx.builtin_name() {
        Some("inline_asm_elementwise") | None => {
            "`tl.inline_asm_elementwise` holds instructions of a GPU, and this kernel is compiled for the CPU"
                .to_owned()
        }
        Some(name) => {
            format!("`tl.extra.cuda.{name}` asks a GPU, and this kernel is compiled for the CPU")
        }
    };
    Box::new(cx.error(message).with_help(
        "pass tensors of a GPU, or give the CPU functions of the language instead: `if tl.target_info.is_cuda(): ... else: ...`",
    ))
}

//! `tl.load` and `tl.store` through pointers, blocks of pointers, and block pointers.

use super::broadcast::{self, shape_text};
use super::{Builtin, block_pointer, conversion};
use crate::lower::{Lowering, Result, type_text};
use crate::value::{RecordKind, Value};
use tegula_ir::{CacheModifier, Element, EvictionPolicy, Op, Pointer, Scalar, Value as Tensor};

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[
    Builtin {
        name: "load",
        modules: &["", "core"],
        signature: "pointer, mask=None, other=None, boundary_check=(), padding_option=\"\", cache_modifier=\"\", \
                    eviction_policy=\"\", volatile=False",
        method: false,
        doc: "Reads memory: a scalar through a pointer, a block through a block of pointers or a block pointer.\n\n\
              Where `mask` is false nothing is read, and the result is `other` (0 if it is not given). `mask` and `other` broadcast \
              to the shape of the pointers.\n\n\
              Through a block pointer, `boundary_check` lists the dimensions along which elements outside of the tensor are left out; \
              `padding_option` says what they are: `\"zero\"` (also without it) or `\"nan\"`.\n\n\
              `cache_modifier` (`\".ca\"`, `\".cg\"`, `\".cs\"`, `\".cv\"`) and `eviction_policy` (`\"evict_first\"`, `\"evict_last\"`) are hints; \
              `volatile` forbids to merge or to move the access.",
        lower: load,
    },
    Builtin {
        name: "store",
        modules: &["", "core"],
        signature: "pointer, value, mask=None, boundary_check=(), cache_modifier=\"\", eviction_policy=\"\"",
        method: true,
        doc: "Writes memory: a scalar through a pointer, a block through a block of pointers or a block pointer.\n\n\
              The value is converted to the pointer's element type and broadcast to the shape of the pointers. Where `mask` is false \
              nothing is written. Through a block pointer, `boundary_check` lists the dimensions along which elements outside of the \
              tensor are left out. `cache_modifier` (`\".wb\"`, `\".cg\"`, `\".cs\"`, `\".wt\"`) and `eviction_policy` are hints.",
        lower: store,
    },
];

/// The pointer type of an operand that must hold pointers.
pub fn pointer_of(cx: &Lowering<'_, '_>, parameter: &str, value: &Value) -> Result<(Tensor, Pointer)> {
    if let Value::Tensor(tensor) = value
        && let Element::Pointer(pointer) = cx.ty(*tensor).element
    {
        return Ok((*tensor, pointer));
    }
    Err(cx.parameter_error(parameter, "a pointer or a block of pointers", value))
}

/// Refuses to write through a pointer to constant memory.
pub fn check_writable(cx: &Lowering<'_, '_>, pointer: Tensor, ty: Pointer) -> Result<()> {
    if !ty.constant {
        return Ok(());
    }
    let message =
        format!("cannot write through {}, which points to constant memory", type_text(cx.ty(pointer)));
    Err(Box::new(cx.error(message).with_help("remove `tl.const` from the annotation of the parameter")))
}

/// A mask: a truth value, or a block of them.
///
/// # Errors
/// If it is anything else.
pub fn mask_operand(cx: &mut Lowering<'_, '_>, mask: &Value) -> Result<Tensor> {
    let mask = match mask {
        Value::Int(number @ (0 | 1)) => Value::Bool(*number == 1),
        other => other.clone(),
    };
    let tensor = cx.to_tensor(&mask)?;
    match cx.ty(tensor).element {
        Element::Scalar(Scalar::Int1) => Ok(tensor),
        _ => {
            let message =
                format!("`mask` must be a truth value or a block of them, but it is {}", cx.describe(&mask));
            Err(Box::new(cx.error(message).with_help("compare it, as in `mask=x != 0`")))
        }
    }
}

/// The mask of an access, unless there is none or it is the constant `True`.
pub fn optional_mask(cx: &mut Lowering<'_, '_>, mask: &Value) -> Result<Option<Tensor>> {
    match mask {
        Value::None | Value::Bool(true) => Ok(None),
        mask => mask_operand(cx, mask).map(Some),
    }
}

fn load(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let cache = load_cache(cx, &args[5])?;
    let eviction = eviction_policy(cx, &args[6])?;
    let volatile = cx.truth("volatile", &args[7])?;
    if let Value::Record(record) = &args[0]
        && record.kind == RecordKind::BlockPointer
    {
        for (parameter, value) in [("mask", &args[1]), ("other", &args[2])] {
            if !matches!(value, Value::None) {
                return Err(masked_block_pointer(cx, parameter));
            }
        }
        return block_pointer::load(cx, record, &args[3], &args[4], (cache, eviction, volatile));
    }
    let (pointer, ty) = pointer_of(cx, "pointer", &args[0])?;
    refuse_boundaries(cx, &[("boundary_check", &args[3]), ("padding_option", &args[4])])?;
    if matches!(args[1], Value::None) && !matches!(args[2], Value::None) {
        return Err(Box::new(
            cx.error("`other` of `tl.load` says what stands where `mask` is false, and there is no `mask`")
                .with_help("give a `mask`, or leave `other` out"),
        ));
    }
    let mask = optional_mask(cx, &args[1])?;
    let (pointer, mask) = match mask {
        Some(mask) => {
            let (pointer, mask) = masked_pointer(cx, pointer, mask)?;
            (pointer, Some(mask))
        }
        None => (pointer, None),
    };
    let other = match &args[2] {
        // Nothing is left out without a mask.
        Value::None => None,
        _ if mask.is_none() => None,
        other => Some(other_operand(cx, other, pointer, ty.target())?),
    };
    Ok(Value::Tensor(read(cx, pointer, mask, other, (cache, eviction, volatile))))
}

/// What stands where the mask is false: converted to the type that is loaded, in the shape of the pointers.
fn other_operand(
    cx: &mut Lowering<'_, '_>,
    other: &Value,
    pointer: Tensor,
    target: Element,
) -> Result<Tensor> {
    let other = cx.to_tensor(other)?;
    let other = match target {
        Element::Scalar(scalar) => match cx.ty(other).element {
            Element::Scalar(_) => conversion::convert(cx, other, scalar),
            Element::Pointer(_) => {
                return Err(cx.parameter_error("other", "a number", &Value::Tensor(other)));
            }
        },
        Element::Pointer(target) => match cx.ty(other).element {
            Element::Pointer(_) => cx.builder.bitcast(other, target),
            Element::Scalar(_) => {
                let address = conversion::convert(cx, other, Scalar::Int64);
                cx.builder.bitcast(address, target)
            }
        },
    };
    let shape = cx.ty(pointer).shape.clone();
    broadcast::parameter_to(cx, "other", other, &shape, "the pointers")
}

/// The hints of a load: cache modifier, eviction policy, and whether it is volatile.
pub type LoadHints = (CacheModifier, EvictionPolicy, bool);

/// Appends a load; mask and other have the shape of the pointer.
pub fn read(
    cx: &mut Lowering<'_, '_>,
    pointer: Tensor,
    mask: Option<Tensor>,
    other: Option<Tensor>,
    (cache, eviction, volatile): LoadHints,
) -> Tensor {
    let ty = cx.ty(pointer);
    let target = match ty.element {
        Element::Pointer(pointer) => pointer.target(),
        Element::Scalar(_) => unreachable!("the callers load through pointers only"),
    };
    let result = ty.with_element(target);
    cx.builder.value(Op::Load { pointer, mask, other, cache, eviction, volatile }, result)
}

/// A pointer and a mask in one shape. A block of pointers and its mask broadcast together; a single pointer takes a single mask.
fn masked_pointer(cx: &mut Lowering<'_, '_>, pointer: Tensor, mask: Tensor) -> Result<(Tensor, Tensor)> {
    let (pointers, masks) = (cx.ty(pointer).shape.clone(), cx.ty(mask).shape.clone());
    if pointers.rank() == 0 && masks.rank() > 0 {
        let message = format!("`mask` is {}, but the pointer is a single one", type_text(cx.ty(mask)));
        return Err(Box::new(cx.error(message).with_help("add a block of offsets to the pointer")));
    }
    match broadcast::common_shape(&pointers, &masks) {
        Some(shape) => Ok((broadcast::spread(cx, pointer, &shape), broadcast::spread(cx, mask, &shape))),
        None => {
            let mask = broadcast::parameter_to(cx, "mask", mask, &pointers, "the pointers")?;
            Ok((pointer, mask))
        }
    }
}

fn store(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let cache = store_cache(cx, &args[4])?;
    let eviction = eviction_policy(cx, &args[5])?;
    if let Value::Record(record) = &args[0]
        && record.kind == RecordKind::BlockPointer
    {
        if !matches!(args[2], Value::None) {
            return Err(masked_block_pointer(cx, "mask"));
        }
        return block_pointer::store(cx, record, &args[1], &args[3], (cache, eviction));
    }
    let (pointer, ty) = pointer_of(cx, "pointer", &args[0])?;
    check_writable(cx, pointer, ty)?;
    refuse_boundaries(cx, &[("boundary_check", &args[3])])?;
    let value = cx.to_tensor(&args[1])?;
    let shape = cx.ty(pointer).shape.clone();
    let value = value_operand(cx, value, ty.target())?;
    let value = broadcast::parameter_to(cx, "value", value, &shape, "the pointers")?;
    let mask = match optional_mask(cx, &args[2])? {
        Some(mask) => Some(broadcast::parameter_to(cx, "mask", mask, &shape, "the pointers")?),
        None => None,
    };
    cx.builder.effect(Op::Store { pointer, value, mask, cache, eviction });
    Ok(Value::None)
}

/// A value converted to the type that a pointer points to.
///
/// # Errors
/// If a number is to be stored where pointers are, or the other way round.
pub fn value_operand(cx: &mut Lowering<'_, '_>, value: Tensor, target: Element) -> Result<Tensor> {
    match (cx.ty(value).element, target) {
        (Element::Scalar(_), Element::Scalar(scalar)) => Ok(conversion::convert(cx, value, scalar)),
        (Element::Pointer(_), Element::Pointer(pointer)) => Ok(cx.builder.bitcast(value, pointer)),
        (Element::Pointer(_), Element::Scalar(scalar @ (Scalar::Int64 | Scalar::UInt64))) => {
            Ok(cx.builder.bitcast(value, scalar))
        }
        (_, target) => {
            let message = format!(
                "cannot store {} through a pointer to {}",
                type_text(cx.ty(value)),
                conversion::element_text(target)
            );
            Err(Box::new(cx.error(message).with_help("convert the value with `.to(...)` first")))
        }
    }
}

fn masked_block_pointer(cx: &Lowering<'_, '_>, parameter: &str) -> Box<tegula_ir::Diagnostic> {
    Box::new(
        cx.error(format!("`{parameter}` does not apply to an access through a block pointer"))
            .with_help("use `boundary_check` and `padding_option`, or a block of pointers with a mask"),
    )
}

fn refuse_boundaries(cx: &Lowering<'_, '_>, arguments: &[(&str, &Value)]) -> Result<()> {
    for (parameter, value) in arguments {
        let given = match value {
            Value::None => false,
            Value::Str(text) => !text.is_empty(),
            Value::Tuple(items, _) => !items.is_empty(),
            _ => true,
        };
        if given {
            return Err(Box::new(
                cx.error(format!(
                    "`{parameter}` applies to block pointers, and this is a plain pointer or a block of them"
                ))
                .with_help("use `mask`, or make a block pointer with `tl.make_block_ptr`"),
            ));
        }
    }
    Ok(())
}

/// One of several words that an argument may be.
///
/// # Errors
/// If it is none of them; the message lists them.
pub fn choice<T: Copy>(
    cx: &Lowering<'_, '_>,
    parameter: &str,
    value: &Value,
    choices: &[(&str, T)],
) -> Result<T> {
    let text = cx.optional_string(parameter, value)?.unwrap_or("");
    if let Some((_, choice)) = choices.iter().find(|(word, _)| *word == text) {
        return Ok(*choice);
    }
    let words: Vec<String> =
        choices.iter().filter(|(word, _)| !word.is_empty()).map(|(word, _)| format!("{word:?}")).collect();
    Err(Box::new(
        cx.error(format!("`{parameter}` is {text:?}, which is not one of its values"))
            .with_help(format!("use one of {}", words.join(", "))),
    ))
}

fn load_cache(cx: &Lowering<'_, '_>, value: &Value) -> Result<CacheModifier> {
    choice(
        cx,
        "cache_modifier",
        value,
        &[
            ("", CacheModifier::Default),
            (".ca", CacheModifier::All),
            (".cg", CacheModifier::Global),
            (".cs", CacheModifier::Streaming),
            (".cv", CacheModifier::Volatile),
        ],
    )
}

fn store_cache(cx: &Lowering<'_, '_>, value: &Value) -> Result<CacheModifier> {
    choice(
        cx,
        "cache_modifier",
        value,
        &[
            ("", CacheModifier::Default),
            (".wb", CacheModifier::WriteBack),
            (".cg", CacheModifier::Global),
            (".cs", CacheModifier::Streaming),
            (".wt", CacheModifier::WriteThrough),
        ],
    )
}

fn eviction_policy(cx: &Lowering<'_, '_>, value: &Value) -> Result<EvictionPolicy> {
    choice(
        cx,
        "eviction_policy",
        value,
        &[
            ("", EvictionPolicy::Normal),
            ("evict_normal", EvictionPolicy::Normal),
            ("evict_first", EvictionPolicy::First),
            ("evict_last", EvictionPolicy::Last),
        ],
    )
}

/// The error for a value whose shape is not the one that a block pointer or a descriptor moves.
pub fn shape_mismatch(
    cx: &Lowering<'_, '_>,
    value: Tensor,
    shape: &tegula_ir::Shape,
    whose: &str,
) -> Box<tegula_ir::Diagnostic> {
    let message = format!(
        "`value` is {}, but {whose} moves blocks of shape {}",
        type_text(cx.ty(value)),
        shape_text(shape)
    );
    cx.error(message)
}

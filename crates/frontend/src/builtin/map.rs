//! A scalar function with control flow, applied to each element: `tl.map_elementwise`.

use super::shape::{concatenated, expand_dims, reshaped};
use super::subscript::part;
use super::{Builtin, broadcast};
use crate::lower::{Lowering, Result, type_text};
use crate::value::Value;
use smallvec::SmallVec;
use tegula_ir::{Op, Shape, Type, Value as Tensor};

/// The functions of this file.
pub static FUNCTIONS: &[Builtin] = &[Builtin {
    name: "map_elementwise",
    modules: &["", "core"],
    signature: "scalar_fn, *args, pack=1",
    method: false,
    doc: "Applies a jitted function of scalars to each element of blocks, which broadcast to one shape.\n\nUnlike `tl.where`, an `if` in the \
          function runs one side only. A function that returns a tuple gives a tuple of blocks. With `pack=n` the function takes n \
          neighbouring elements of each block at a time, all of the first block before those of the second, and returns n of each result.",
    lower: map,
}];

fn map(cx: &mut Lowering<'_, '_>, args: &[Value]) -> Result<Value> {
    let pack = match cx.integer("pack", &args[2])? {
        pack @ 1..=64 => pack as u32,
        other => {
            return Err(
                cx.error(format!("`pack` of `tl.map_elementwise` is {other}, but it is from 1 to 64"))
            );
        }
    };
    let Value::Tuple(inputs, _) = &args[1] else {
        return Err(cx.parameter_error("args", "blocks", &args[1]));
    };
    let mut tensors = Vec::with_capacity(inputs.len());
    for input in inputs.iter() {
        tensors.push(cx.to_tensor(input)?);
    }
    if tensors.is_empty() {
        return Err(cx.error("`tl.map_elementwise` takes at least one block"));
    }
    let tensors = broadcast::all(cx, &tensors)?;
    let shape = cx.ty(tensors[0]).shape.clone();
    let elements = shape.elements() as u32;
    if !elements.is_multiple_of(pack) {
        let message = format!(
            "`pack` is {pack}, which does not divide the {elements} elements of {}",
            type_text(cx.ty(tensors[0]))
        );
        return Err(cx.error(message));
    }
    let mut operands: SmallVec<[Tensor; 2]> = SmallVec::new();
    for tensor in tensors {
        operands.extend(unpacked(cx, tensor, pack));
    }
    let types: Vec<Type> = operands.iter().map(|&operand| Type::scalar(cx.ty(operand).element)).collect();
    let mut single = false;
    let body = cx.region_of_call(&args[0], &types, |cx, result| {
        let one = [result.clone()];
        single = !matches!(result, Value::Tuple(..));
        let items: &[Value] = match &result {
            Value::Tuple(items, _) => items,
            _ => &one,
        };
        items.iter().map(|item| scalar_result(cx, item)).collect()
    })?;
    let operand_shape = cx.ty(operands[0]).shape.clone();
    let yields = cx.builder.function().region(body).yields.clone();
    if yields.is_empty() || yields.len() % pack as usize != 0 {
        let message = format!(
            "the function must return a multiple of `pack`, {pack} results, and it returns {}",
            yields.len()
        );
        return Err(cx.error(message));
    }
    let results: Vec<Type> =
        yields.iter().map(|&value| cx.ty(value).with_shape(operand_shape.clone())).collect();
    let results = cx.builder.values(Op::MapElementwise { values: operands, body }, results);
    let mut blocks = Vec::new();
    for group in results.chunks(pack as usize) {
        if group.iter().any(|&part| cx.ty(part).element != cx.ty(group[0]).element) {
            return Err(cx.error("the results that are packed together must have one type"));
        }
        blocks.push(packed(cx, group, &shape));
    }
    Ok(if single { Value::Tensor(blocks[0]) } else { super::window::tuple_of(blocks) })
}

fn scalar_result(cx: &mut Lowering<'_, '_>, item: &Value) -> Result<Tensor> {
    let value = cx.to_tensor(item)?;
    if cx.ty(value).is_scalar() {
        return Ok(value);
    }
    let message = format!("the function must return scalars, and it returns {}", type_text(cx.ty(value)));
    Err(cx.error(message))
}

/// A block as `pack` blocks of every pack-th element.
fn unpacked(cx: &mut Lowering<'_, '_>, block: Tensor, pack: u32) -> Vec<Tensor> {
    if pack == 1 {
        return vec![block];
    }
    let groups = cx.ty(block).shape.elements() as u32 / pack;
    let rows = reshaped(cx, block, [groups, pack].into_iter().collect());
    let line: Shape = [groups].into_iter().collect();
    (0..pack)
        .map(|place| {
            let column = part(cx, rows, 1, place, 1);
            reshaped(cx, column, line.clone())
        })
        .collect()
}

/// The inverse of [`unpacked`], in a shape.
fn packed(cx: &mut Lowering<'_, '_>, parts: &[Tensor], shape: &Shape) -> Tensor {
    let [first, rest @ ..] = parts else { unreachable!("a chunk is not empty") };
    if rest.is_empty() {
        return *first;
    }
    let mut rows = expand_dims(cx, *first, 1);
    for &part in rest {
        let column = expand_dims(cx, part, 1);
        rows = concatenated(cx, rows, column, 1);
    }
    reshaped(cx, rows, shape.clone())
}

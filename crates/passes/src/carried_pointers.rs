//! Blocks of pointers that a loop moves on by the same distance become one pointer that it moves on.
//!
//! ```text
//! %1 = splat %x : <64x*fp32>                    for %i = ... carry %q = %x {
//! %2 = add_pointer %1, %offsets                   %1 = splat %q : <64x*fp32>
//! for %i = ... carry %p = %2 {             =>     %2 = add_pointer %1, %offsets
//!   %3 = load %p                                  %3 = load %2
//!   %4 = splat %step                              %4 = add_pointer %q, %step
//!   %5 = add_pointer %p, %4                       yield %4
//!   yield %5                                    }
//! }
//! ```
//!
//! A thread of a GPU then holds its offsets, of 32 bits and often few, instead of an address of 64 bits for every element. For targets
//! that want it; not one of the passes of [`crate::optimise`], which drops what is left over.

use tegula_ir::{Function, Op, OpId, RegionId, Span, Type, Value, ValueDef};

/// Carries single pointers wherever that serves. Returns whether it did.
pub fn carry_single_pointers(function: &mut Function) -> bool {
    let body = function.body;
    region(function, body)
}

fn region(function: &mut Function, id: RegionId) -> bool {
    let mut changed = false;
    let mut position = 0;
    while let Some(&op) = function.region(id).ops.get(position) {
        for inner in function.op(op).op.regions() {
            changed |= region(function, inner);
        }
        position += 1;
        if let Op::For { body, inits, .. } = &function.op(op).op {
            let (body, count) = (*body, inits.len());
            for place in 0..count {
                if let Some(after) = carry(function, op, body, place) {
                    function.region_mut(id).ops.splice(position..position, after.iter().copied());
                    // What comes after the loop may use the block that it ends with.
                    let result = function.op(op).results[place];
                    let made = after.last().map(|&last| function.op(last).results[0]);
                    if let Some(made) = made {
                        replace(function, id, position + after.len(), result, made);
                    }
                    position += after.len();
                    changed = true;
                }
            }
        }
    }
    changed
}

/// Carries a pointer instead of the block of pointers at a place, if it moves on by the same distance everywhere. Returns the operations
/// that make the block that the loop ends with.
fn carry(function: &mut Function, op: OpId, body: RegionId, place: usize) -> Option<Vec<OpId>> {
    let Op::For { inits, .. } = &function.op(op).op else { return None };
    let init = inits[place];
    let argument = function.region(body).args[place + 1];
    let yielded = function.region(body).yields[place];
    if function.ty(argument).shape.rank() == 0 {
        return None;
    }
    let step = step(function, argument, yielded)?;
    let mut chain = Vec::new();
    let base = base(function, init, &mut chain)?;
    let span = function.op(op).span;
    let ty = function.ty(base).clone();

    let carried = function.add_region_arg(body, ty.clone(), span);
    let (inside, block) = rebuilt(function, &chain, base, carried, span);
    let count = inside.len();
    function.region_mut(body).ops.splice(0..0, inside);
    replace(function, body, count, argument, block);
    let moved = function.add_op(Op::AddPointer { pointer: carried, offset: step }, [ty.clone()], span);
    let next = function.op(moved).results[0];
    let data = function.region_mut(body);
    data.ops.push(moved);
    data.yields.push(next);
    // The block stays as it was: what does not change is dropped.
    data.yields[place] = argument;
    if let Op::For { inits, .. } = &mut function.op_mut(op).op {
        inits.push(base);
    }
    let last = function.add_result(op, ty);
    let (after, _) = rebuilt(function, &chain, base, last, span);
    Some(after)
}

/// By how much all pointers of a block move on.
fn step(function: &Function, argument: Value, yielded: Value) -> Option<Value> {
    let &Op::AddPointer { pointer, offset } = &function.defining_op(yielded)?.op else { return None };
    let &Op::Splat { value } = &function.defining_op(offset)?.op else { return None };
    (pointer == argument).then_some(value)
}

/// The pointer that a block of pointers is computed from, with the operations from it to the block.
fn base(function: &Function, block: Value, chain: &mut Vec<OpId>) -> Option<Value> {
    let ValueDef::Result { op, .. } = function.value(block).def else { return None };
    let base = match function.op(op).op {
        Op::Splat { value } => Some(value),
        Op::Broadcast { value } | Op::ExpandDims { value, .. } => base(function, value, chain),
        Op::AddPointer { pointer, .. } => base(function, pointer, chain),
        _ => None,
    };
    chain.push(op);
    base
}

/// Copies of the operations from a pointer to a block, from another pointer.
fn rebuilt(
    function: &mut Function,
    chain: &[OpId],
    base: Value,
    other: Value,
    span: Span,
) -> (Vec<OpId>, Value) {
    let (mut old, mut new) = (base, other);
    let mut made = Vec::new();
    for &id in chain {
        let data = function.op(id);
        let (mut op, result) = (data.op.clone(), data.results[0]);
        op.for_each_operand_mut(|operand| {
            if *operand == old {
                *operand = new;
            }
        });
        let ty: Type = function.ty(result).clone();
        let copy = function.add_op(op, [ty], span);
        (old, new) = (result, function.op(copy).results[0]);
        made.push(copy);
    }
    (made, new)
}

/// Uses another value from an operation of a region on.
fn replace(function: &mut Function, id: RegionId, from: usize, old: Value, new: Value) {
    for position in from..function.region(id).ops.len() {
        let op = function.region(id).ops[position];
        function.op_mut(op).op.for_each_operand_mut(|operand| {
            if *operand == old {
                *operand = new;
            }
        });
        for inner in function.op(op).op.regions() {
            replace(function, inner, 0, old, new);
        }
    }
    for value in &mut function.region_mut(id).yields {
        if *value == old {
            *value = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_moves_on_becomes_a_pointer() {
        let mut function = Function::parse(
            "kernel @sum(%x: *fp32, %y: *fp32, %n: i32) {
               %0 = arange 0..64 : <64xi32>
               %1 = splat %x : <64x*fp32>
               %2 = add_pointer %1, %0 : <64x*fp32>
               %3 = constant 0.0 : fp32
               %4 = splat %3 : <64xfp32>
               %5 = constant 0 : i32
               %6 = constant 64 : i32
               %7, %8 = for %9 = %5 to %n step %6 carry (%10 = %2, %11 = %4) {
                 %12 = load %10 : <64xfp32>
                 %13 = add %11, %12 : <64xfp32>
                 %14 = splat %6 : <64xi32>
                 %15 = add_pointer %10, %14 : <64x*fp32>
                 yield %15, %13
               } : <64x*fp32>, <64xfp32>
               store %7, %8
             }",
        )
        .expect("the kernel is read");
        assert!(carry_single_pointers(&mut function));
        tegula_ir::verify(&function).expect("it is right");
        crate::optimise(&mut function);
        let text = function.to_string();
        let carried = "for %7 = %3 to %n step %4 carry (%8 = %2, %9 = %x) {";
        assert!(text.contains(carried) && text.contains("%14 = add_pointer %9, %4 : *fp32"), "{text}");
        // Nothing is left to do.
        assert!(!carry_single_pointers(&mut function));
    }
}

//! An example of each function: what documentation shows, and what tests run.

/// A line or two of a kernel, and what comes of them.
///
/// Where it is run there are `p`, a pointer to the fp32 numbers 1, 2, 3, 4; `q`, one to the int32 numbers 3, 1, 2, 0; `i`, which is
/// `tl.arange(0, 4)`; `x` and `n`, what `p` and `q` point to; `m`, the fp32 matrix `[[1, 2, 3], [4, 5, 6]]`; and `add`, a jitted
/// function that adds two numbers.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The text. Its last line is an expression if `result` is a value.
    pub text: &'static str,
    /// The value of the last line as a literal of Python, a tuple for several; or `NAME: value`, that of a name afterwards (of what
    /// the pointer `p` or `q` points to); or `prints: TEXT`; or nothing.
    pub result: &'static str,
}

/// The example of the function `name`.
pub fn example(name: &str) -> Option<Example> {
    EXAMPLES.iter().find(|(known, ..)| *known == name).map(|(_, text, result)| Example { text, result })
}

static EXAMPLES: &[(&str, &str, &str)] = &[
    ("program_id", "tl.program_id(0)", "0"),
    ("num_programs", "tl.num_programs(0)", "1"),
    ("arange", "tl.arange(0, 3) * 2", "[0, 2, 4]"),
    ("full", "tl.full((2, 2), 7, tl.int32)", "[[7, 7], [7, 7]]"),
    ("zeros", "tl.zeros((3,), tl.float32)", "[0, 0, 0]"),
    ("zeros_like", "tl.zeros_like(x)", "[0, 0, 0, 0]"),
    ("to_tensor", "tl.to_tensor(3) + i", "[3, 4, 5, 6]"),
    ("cast", "tl.cast(x / 2, tl.int32)", "[0, 1, 1, 2]"),
    ("load", "tl.load(p + i, mask=i < 3, other=0.0)", "[1, 2, 3, 0]"),
    ("store", "tl.store(p + i, -x, mask=i > 0)", "p: [1, -2, -3, -4]"),
    (
        "make_block_ptr",
        "block = tl.make_block_ptr(p, (4,), (1,), (2,), (2,), (0,))\ntl.load(block)",
        "[3, 4]",
    ),
    (
        "advance",
        "block = tl.make_block_ptr(p, (4,), (1,), (0,), (2,), (0,))\ntl.load(tl.advance(block, (1,)))",
        "[2, 3]",
    ),
    (
        "make_tensor_descriptor",
        "rows = tl.make_tensor_descriptor(p, (4,), (1,), (4,))\nrows.load((2,))",
        "[3, 4, 0, 0]",
    ),
    (
        "load_tensor_descriptor",
        "rows = tl.make_tensor_descriptor(p, (4,), (1,), (4,))\ntl.load_tensor_descriptor(rows, (0,))",
        "[1, 2, 3, 4]",
    ),
    (
        "store_tensor_descriptor",
        "rows = tl.make_tensor_descriptor(p, (4,), (1,), (4,))\ntl.store_tensor_descriptor(rows, (2,), -x)",
        "p: [1, 2, -1, -2]",
    ),
    ("atomic_add", "tl.atomic_add(p + i, 10.0)", "p: [11, 12, 13, 14]"),
    ("atomic_max", "tl.atomic_max(q + i, 1)", "q: [3, 1, 2, 1]"),
    ("atomic_min", "tl.atomic_min(q + i, 1)", "q: [1, 1, 1, 0]"),
    ("atomic_and", "tl.atomic_and(q + i, 1)", "q: [1, 1, 0, 0]"),
    ("atomic_or", "tl.atomic_or(q + i, 4)", "q: [7, 5, 6, 4]"),
    ("atomic_xor", "tl.atomic_xor(q + i, 1)", "q: [2, 0, 3, 1]"),
    ("atomic_xchg", "tl.atomic_xchg(q + i, 5)", "[3, 1, 2, 0]"),
    ("atomic_cas", "tl.atomic_cas(q + i, 2, 9)", "q: [3, 1, 9, 0]"),
    ("atomic_load", "tl.atomic_load(q + i)", "[3, 1, 2, 0]"),
    ("atomic_store", "tl.atomic_store(q + i, i)", "q: [0, 1, 2, 3]"),
    ("atomic_poll", "tl.atomic_poll(q + i, n)", "[True, True, True, True]"),
    ("add", "tl.add(x, 1.0)", "[2, 3, 4, 5]"),
    ("sub", "tl.sub(x, 1.0)", "[0, 1, 2, 3]"),
    ("mul", "tl.mul(x, x)", "[1, 4, 9, 16]"),
    ("fdiv", "tl.fdiv(x, 2.0)", "[0.5, 1, 1.5, 2]"),
    ("div_rn", "tl.div_rn(x, 4.0)", "[0.25, 0.5, 0.75, 1]"),
    ("cdiv", "tl.cdiv(n, 2)", "[2, 1, 1, 0]"),
    ("fma", "tl.fma(x, x, 1.0)", "[2, 5, 10, 17]"),
    ("umulhi", "tl.umulhi(n.to(tl.uint32), 1 << 31)", "[1, 0, 1, 0]"),
    ("maximum", "tl.maximum(x, 2.5)", "[2.5, 2.5, 3, 4]"),
    ("minimum", "tl.minimum(x, 2.5)", "[1, 2, 2.5, 2.5]"),
    ("clamp", "tl.clamp(x, 2.0, 3.0)", "[2, 2, 3, 3]"),
    ("where", "tl.where(x > 2, x, 0.0)", "[0, 0, 3, 4]"),
    ("expect_zero", "tl.expect_zero(x - x, x > 0)", "[0, 0, 0, 0]"),
    ("swizzle2d", "tl.swizzle2d(i // 2, i % 2, 2, 2, 2)", "([0, 1, 0, 1], [0, 0, 1, 1])"),
    ("abs", "tl.abs(-x)", "[1, 2, 3, 4]"),
    ("ceil", "tl.ceil(x / 2)", "[1, 1, 2, 2]"),
    ("floor", "tl.floor(x / 2)", "[0, 1, 1, 2]"),
    ("cos", "tl.cos(x - 1)", "[1, 0.5403023, -0.4161468, -0.9899925]"),
    ("sin", "tl.sin(x - 1)", "[0, 0.841471, 0.9092974, 0.14112]"),
    ("exp", "tl.exp(x - 1)", "[1, 2.7182818, 7.389056, 20.085537]"),
    ("exp2", "tl.exp2(x)", "[2, 4, 8, 16]"),
    ("log", "tl.log(x)", "[0, 0.6931472, 1.0986123, 1.3862944]"),
    ("log2", "tl.log2(x)", "[0, 1, 1.5849625, 2]"),
    ("sqrt", "tl.sqrt(x)", "[1, 1.4142136, 1.7320508, 2]"),
    ("sqrt_rn", "tl.sqrt_rn(x)", "[1, 1.4142136, 1.7320508, 2]"),
    ("rsqrt", "tl.rsqrt(x)", "[1, 0.70710677, 0.57735026, 0.5]"),
    ("erf", "tl.erf(x - 1)", "[0, 0.8427008, 0.9953223, 0.9999779]"),
    ("sigmoid", "tl.sigmoid(x - 1)", "[0.5, 0.7310586, 0.8807971, 0.95257413]"),
    ("softmax", "tl.softmax(x - x)", "[0.25, 0.25, 0.25, 0.25]"),
    ("reshape", "tl.reshape(m, 3, 2)", "[[1, 2], [3, 4], [5, 6]]"),
    ("view", "tl.view(m, 3, 2)", "[[1, 2], [3, 4], [5, 6]]"),
    ("ravel", "tl.ravel(m)", "[1, 2, 3, 4, 5, 6]"),
    ("item", "tl.full((1, 1), 5, tl.int32).item()", "5"),
    ("expand_dims", "tl.expand_dims(x, 0)", "[[1, 2, 3, 4]]"),
    ("squeeze", "tl.squeeze(x[None, :], 0)", "[1, 2, 3, 4]"),
    ("unsqueeze", "tl.unsqueeze(x, 0)", "[[1, 2, 3, 4]]"),
    (
        "broadcast",
        "tl.broadcast(m, tl.arange(0, 2)[:, None])",
        "([[1, 2, 3], [4, 5, 6]], [[0, 0, 0], [1, 1, 1]])",
    ),
    ("broadcast_to", "tl.broadcast_to(x, 2, 4)", "[[1, 2, 3, 4], [1, 2, 3, 4]]"),
    ("trans", "tl.trans(m)", "[[1, 4], [2, 5], [3, 6]]"),
    ("permute", "tl.permute(m, 1, 0)", "[[1, 4], [2, 5], [3, 6]]"),
    ("join", "tl.join(x, -x)", "[[1, -1], [2, -2], [3, -3], [4, -4]]"),
    ("split", "tl.split(tl.join(x, -x))", "([1, 2, 3, 4], [-1, -2, -3, -4])"),
    ("interleave", "tl.interleave(x, -x)", "[1, -1, 2, -2, 3, -3, 4, -4]"),
    ("cat", "tl.cat(x, -x)", "[1, 2, 3, 4, -1, -2, -3, -4]"),
    ("flip", "tl.flip(x)", "[4, 3, 2, 1]"),
    ("gather", "tl.gather(x, n, 0)", "[4, 2, 3, 1]"),
    ("sum", "tl.sum(m, 1)", "[6, 15]"),
    ("max", "tl.max(n, 0, return_indices=True)", "(3, 0)"),
    ("min", "tl.min(m, 0)", "[1, 2, 3]"),
    ("argmax", "tl.argmax(n, 0)", "0"),
    ("argmin", "tl.argmin(n, 0)", "3"),
    ("xor_sum", "tl.xor_sum(n, 0)", "0"),
    ("reduce_or", "tl.reduce_or(n, 0)", "3"),
    ("reduce", "tl.reduce(m, 1, add)", "[6, 15]"),
    ("cumsum", "tl.cumsum(x)", "[1, 3, 6, 10]"),
    ("cumprod", "tl.cumprod(x, reverse=True)", "[24, 24, 12, 4]"),
    ("associative_scan", "tl.associative_scan(m, 1, add)", "[[1, 3, 6], [4, 9, 15]]"),
    ("histogram", "tl.histogram(n % 2, 2)", "[2, 2]"),
    ("sort", "tl.sort(n, descending=True)", "[3, 2, 1, 0]"),
    ("topk", "tl.topk(n, 2)", "[3, 2]"),
    ("bitonic_merge", "tl.bitonic_merge(tl.flip(x))", "[1, 2, 3, 4]"),
    ("map_elementwise", "tl.map_elementwise(add, x, n)", "[4, 3, 5, 4]"),
    ("dot", "tl.dot(m, tl.trans(m))", "[[14, 32], [32, 77]]"),
    (
        "dot_scaled",
        "ones, twos = tl.full((2, 32), 1.0, tl.float8e4nv), tl.full((2, 1), 128, tl.uint8)\ntl.dot_scaled(ones, twos, \"e4m3\", tl.trans(ones), None, \"e4m3\")",
        "[[64, 64], [64, 64]]",
    ),
    ("rand", "tl.rand(42, i) < 1", "[True, True, True, True]"),
    ("rand4x", "a, b, c, d = tl.rand4x(42, i)\na == tl.rand(42, i)", "[True, True, True, True]"),
    ("randint", "tl.randint(42, i) == tl.randint(42, i)", "[True, True, True, True]"),
    ("randint4x", "a, b, c, d = tl.randint4x(42, i)\na == tl.randint(42, i)", "[True, True, True, True]"),
    ("randn", "tl.abs(tl.randn(42, i)) < 10", "[True, True, True, True]"),
    ("randn4x", "a, b, c, d = tl.randn4x(42, i)\na == tl.randn(42, i)", "[True, True, True, True]"),
    ("philox", "a, b, c, d = tl.philox(42, i, i, i, i)\na.dtype == tl.uint32", "True"),
    ("philox_impl", "u = n.to(tl.uint32)\ntl.philox_impl(u, u, u, u, u, u, n_rounds=0)[0]", "[3, 1, 2, 0]"),
    ("uint_to_uniform_float", "tl.uint_to_uniform_float(n) < 0.001", "[True, True, True, True]"),
    (
        "pair_uniform_to_normal",
        "tl.pair_uniform_to_normal(x / 4, x - x)",
        "([1.6651093, 1.17741, 0.7585276, 0], [0, 0, 0, 0])",
    ),
    ("multiple_of", "tl.multiple_of(i, 4)", "[0, 1, 2, 3]"),
    ("max_contiguous", "tl.max_contiguous(i, 4)", "[0, 1, 2, 3]"),
    ("max_constancy", "tl.max_constancy(i // 2, 2)", "[0, 0, 1, 1]"),
    ("assume", "tl.assume(tl.max(n) < 4)", ""),
    ("debug_barrier", "tl.debug_barrier()", ""),
    ("device_print", r#"tl.device_print("x", x)"#, "prints: x"),
    ("device_assert", r#"tl.device_assert(x > 0, "x is positive")"#, ""),
    ("static_print", r#"tl.static_print("the shape is", x.shape)"#, "prints: the shape is (4,)"),
    ("static_assert", r#"tl.static_assert(x.shape[0] == 4, "four elements")"#, ""),
    ("range", "for k in tl.range(3, num_stages=2):\n    x += k", "x: [4, 5, 6, 7]"),
    ("static_range", "for k in tl.static_range(3):\n    x += k", "x: [4, 5, 6, 7]"),
    ("condition", "while tl.condition(tl.sum(x) < 16):\n    x += 1", "x: [3, 4, 5, 6]"),
    (
        "inline_asm_elementwise",
        "if tl.target_info.is_cuda():\n    x = tl.inline_asm_elementwise(\"abs.f32 $0, $1;\", \"=f,f\", [x], tl.float32, True, 1)",
        "x: [1, 2, 3, 4]",
    ),
    ("is_cuda", "not tl.target_info.is_cuda()", "True"),
    ("cuda_capability_geq", "tl.target_info.cuda_capability_geq(9, 0)", "False"),
    ("is_hip", "tl.target_info.is_hip()", "False"),
    ("is_hip_cdna3", "tl.target_info.is_hip_cdna3()", "False"),
    ("is_hip_cdna4", "tl.target_info.is_hip_cdna4()", "False"),
    ("is_hip_gfx1250", "tl.target_info.is_hip_gfx1250()", "False"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;
    use crate::host::HostValue;
    use std::collections::HashSet;

    #[test]
    fn every_function_has_an_example_and_no_other_name_has() {
        let places = ["", "math", "standard", "random", "core", "target_info"];
        let is_function = |module: &str, name: &str| {
            matches!(builtin::find(module, name), Some(HostValue::Builtin(_) | HostValue::Function(_)))
        };
        let functions =
            |module| builtin::names(module).into_iter().filter(move |name| is_function(module, name));
        let known: HashSet<&str> = places.into_iter().flat_map(functions).collect();
        for name in &known {
            assert!(example(name).is_some(), "`{name}` has no example");
        }
        for (name, ..) in EXAMPLES {
            assert!(known.contains(name), "there is no function `{name}`");
        }
    }
}

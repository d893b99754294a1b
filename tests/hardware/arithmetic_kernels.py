"""Elementwise kernels: arithmetic of every type, conversions between all, roundings, libdevice, inline assembly."""

import torch
from agreement import Launch, case

import tegula as triton
import tegula.language as tl

libdevice = tl.extra.libdevice
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
NARROW = (torch.float8_e4m3fn, torch.float8_e5m2)
INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64)
#: Elements of a block: more than a warp has lanes, and no multiple of the warps' share.
BLOCK = 1000


def each(dtypes):
    return [(str(dtype).removeprefix("torch."), dtype) for dtype in dtypes]


def any_bits(rng, dtype, count=BLOCK):
    """Random bits: numbers of all magnitudes, infinities and NaNs among them."""
    size = torch.empty((), dtype=dtype).element_size()
    return torch.randint(0, 256, (count * size,), dtype=torch.uint8, generator=rng).view(dtype)


def numbers(rng, dtype, count=BLOCK, scale=1.0):
    """Numbers of order 1, with zeros, infinities, NaN, the smallest and the largest in front."""
    x = (scale * torch.randn(count, generator=rng, dtype=torch.float64)).to(dtype)
    limits = torch.finfo(dtype)
    special = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), limits.tiny, limits.max, -limits.max, 1.0, -1.0]
    special = torch.tensor(special, dtype=torch.float64).to(dtype)
    x[: len(special)] = special[torch.randperm(len(special), generator=rng)]
    return x


def results(rows, dtype, count=BLOCK):
    """Where `rows` blocks are stored, poisoned."""
    return torch.full((rows, count), 77, dtype=torch.float64).to(dtype)


@triton.jit
def float_kernel(x_ptr, y_ptr, z_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x, y, z = tl.load(x_ptr + i), tl.load(y_ptr + i), tl.load(z_ptr + i)
    tl.store(out_ptr + i, x + y)
    tl.store(out_ptr + B + i, x - y)
    tl.store(out_ptr + 2 * B + i, x * y)
    tl.store(out_ptr + 3 * B + i, tl.fma(x, y, z))
    tl.store(out_ptr + 4 * B + i, tl.maximum(x, y))
    tl.store(out_ptr + 5 * B + i, tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out_ptr + 6 * B + i, tl.abs(x))
    tl.store(out_ptr + 7 * B + i, -x)
    tl.store(out_ptr + 8 * B + i, tl.where(x < y, x, z))
    tl.store(out_ptr + 9 * B + i, tl.clamp(x, -0.5, 0.5))
    tl.store(out_ptr + 10 * B + i, (x == y).to(tl.int32) + 2 * (x != z).to(tl.int32) + 4 * (x >= y).to(tl.int32))


@case(*each(FLOATS))
def float_arithmetic(rng, dtype):
    x, y, z = (numbers(rng, dtype) for _ in range(3))
    return Launch(float_kernel, (1,), (x, y, z, results(11, dtype)), {"B": BLOCK})


@triton.jit
def quotient_kernel(x_ptr, y_ptr, out_ptr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out_ptr + i, tl.load(x_ptr + i) / tl.load(y_ptr + i))


@case(*each(FLOATS))
def quotients(rng, dtype):
    x, y = (torch.randn(BLOCK, generator=rng, dtype=torch.float64).to(dtype) for _ in range(2))
    return Launch(quotient_kernel, (2,), (x, y, results(1, dtype)), {"B": BLOCK // 2})


@triton.jit
def integer_kernel(x_ptr, y_ptr, shift_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x, y, shift = tl.load(x_ptr + i), tl.load(y_ptr + i), tl.load(shift_ptr + i)
    tl.store(out_ptr + i, x + y)
    tl.store(out_ptr + B + i, x - y)
    tl.store(out_ptr + 2 * B + i, x * y)
    tl.store(out_ptr + 3 * B + i, x // y)
    tl.store(out_ptr + 4 * B + i, x % y)
    tl.store(out_ptr + 5 * B + i, (x & y) | (x ^ ~y))
    tl.store(out_ptr + 6 * B + i, x << shift)
    tl.store(out_ptr + 7 * B + i, x >> shift)
    tl.store(out_ptr + 8 * B + i, tl.maximum(x, y) - tl.minimum(x, y))
    tl.store(out_ptr + 9 * B + i, tl.abs(x))
    tl.store(out_ptr + 10 * B + i, tl.where(x < y, x, y // 7) + x % 10)


@case(*each(INTEGERS))
def integer_arithmetic(rng, dtype):
    x, y = any_bits(rng, dtype), any_bits(rng, dtype)
    divisors = y.numpy()
    divisors[divisors == 0] = 1
    shift = torch.randint(0, 8 * x.element_size(), (BLOCK,), generator=rng).to(dtype)
    return Launch(integer_kernel, (1,), (x, y, shift, results(11, dtype)), {"B": BLOCK})


@triton.jit
def conversion_kernel(x_ptr, out_ptrs, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    for n in tl.static_range(len(out_ptrs)):
        tl.store(out_ptrs[n] + i, x.to(out_ptrs[n].dtype.element_ty))


@case(*each(INTEGERS + FLOATS))
def conversions_from(rng, dtype):
    outs = tuple(results(1, to) for to in INTEGERS + FLOATS + (NARROW if dtype.is_floating_point else ()))
    return Launch(conversion_kernel, (1,), (any_bits(rng, dtype), outs), {"B": BLOCK})


@case(*each(NARROW))
def conversions_from_every(rng, dtype):
    x = torch.arange(256, dtype=torch.uint8).view(dtype)
    return Launch(conversion_kernel, (1,), (x, tuple(results(1, to, 256) for to in FLOATS + NARROW)), {"B": 256})


@triton.jit
def cut_kernel(x_ptr, half_ptr, bfloat_ptr, bits_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    tl.store(half_ptr + i, x.to(tl.float16, fp_downcast_rounding="rtz"))
    tl.store(bfloat_ptr + i, x.to(tl.bfloat16, fp_downcast_rounding="rtz"))
    tl.store(bits_ptr + i, x.to(tl.uint32, bitcast=True) >> 3)


@case()
def conversions_towards_zero(rng):
    outs = results(1, torch.float16), results(1, torch.bfloat16), results(1, torch.int32)
    return Launch(cut_kernel, (1,), (any_bits(rng, torch.float32), *outs), {"B": BLOCK})


@triton.jit
def functions_kernel(operands, out_ptr, FUNCTIONS: tl.constexpr, B: tl.constexpr):
    """Several functions of the same operands, a row of results for each."""
    i = tl.arange(0, B)
    for n in tl.static_range(len(FUNCTIONS)):
        if len(operands) == 1:
            result = FUNCTIONS[n](tl.load(operands[0] + i))
        elif len(operands) == 2:
            result = FUNCTIONS[n](tl.load(operands[0] + i), tl.load(operands[1] + i))
        else:
            result = FUNCTIONS[n](tl.load(operands[0] + i), tl.load(operands[1] + i), tl.load(operands[2] + i))
        tl.store(out_ptr + n * B + i, result)


def functions(names, operands, out, **options):
    """A launch that stores functions of libdevice in the rows of `out`."""
    chosen = tuple(getattr(libdevice, name) for name in names)
    count = operands[0].numel()
    arguments = (tuple(operands), results(len(names), out, count))
    return Launch(functions_kernel, (1,), arguments, {"FUNCTIONS": chosen, "B": count}, **options)


def directed(*stems):
    return [f"{stem}_{rounding}" for stem in stems for rounding in ("rd", "rn", "ru", "rz")]


@case(*each((torch.float32, torch.float64)))
def directed_roundings_of_pairs(rng, dtype):
    return functions(directed("add", "sub", "mul", "div"), [numbers(rng, dtype), numbers(rng, dtype)], dtype)


@case(*each((torch.float32, torch.float64)))
def directed_roundings_of_three(rng, dtype):
    return functions(directed("fma"), [numbers(rng, dtype) for _ in range(3)], dtype)


@case(*each((torch.float32, torch.float64)))
def directed_roundings_of_one(rng, dtype):
    return functions(directed("rcp", "sqrt"), [numbers(rng, dtype)], dtype)


@case(*each((torch.float32, torch.float64)))
def whole_numbers(rng, dtype):
    names = "floor", "ceil", "trunc", "rint", "round", "nearbyint", "ilogb", "logb", "signbit", "isnan", "isinf"
    return functions(names, [numbers(rng, dtype, scale=1e3)], dtype)


@case(*each((torch.float32, torch.float64)))
def floats_to_integers(rng, dtype):
    kind = "float2" if dtype == torch.float32 else "double2"
    names = directed(*(kind + to for to in ("int", "uint", "ll", "ull")))
    return functions(names, [any_bits(rng, dtype)], torch.int64)


@case(*each((torch.int32, torch.int64)))
def integers_to_floats(rng, dtype):
    names = directed("int2float") if dtype == torch.int32 else directed("ll2float", "ll2double")
    return functions(names, [any_bits(rng, dtype)], torch.float64)


@case(*each((torch.int32, torch.int64)))
def bits_of_integers(rng, dtype):
    return functions(["brev", "clz", "popc", "ffs"], [any_bits(rng, dtype)], dtype)


@case(*each((torch.int32, torch.int64)))
def pairs_of_integers(rng, dtype):
    names = ["mulhi", "hadd", "rhadd"] + (["mul24"] if dtype == torch.int32 else [])
    return functions(names, [any_bits(rng, dtype), any_bits(rng, dtype)], dtype)


@case()
def three_integers(rng):
    return functions(["sad", "byte_perm"], [any_bits(rng, torch.int32) for _ in range(3)], torch.int32)


@case(*each((torch.float32, torch.float64)))
def remainders_and_neighbours(rng, dtype):
    names = "copysign", "fdim", "fmod", "remainder", "nextafter"
    return functions(names, [numbers(rng, dtype, scale=30), numbers(rng, dtype)], dtype)


#: The largest argument of functions that magnify errors as it grows.
SPREAD = 3.0
SMOOTH = "exp", "exp2", "exp10", "expm1", "erf", "erfc", "tanh", "sinh", "cosh", "asinh", "atan", "cbrt", "normcdf"
OF_POSITIVE = "log", "log2", "log10", "log1p", "rsqrt", "sqrt", "tgamma"
OF_ANGLES = "sin", "cos", "tan", "sinpi", "cospi"
FAST = "fast_expf", "fast_exp10f", "fast_sinf", "fast_cosf", "fast_tanhf"


def positive(rng, dtype):
    return torch.rand(BLOCK, generator=rng, dtype=torch.float64).mul(SPREAD).add(0.01).to(dtype)


def spread(rng, dtype):
    return torch.randn(BLOCK, generator=rng, dtype=torch.float64).clamp(-SPREAD, SPREAD).to(dtype)


@case(*each((torch.float32, torch.float64)))
def smooth_functions(rng, dtype):
    return functions(SMOOTH, [spread(rng, dtype)], dtype, magnified=8, floor=1e-6)


@case(*each((torch.float32, torch.float64)))
def functions_of_positive_numbers(rng, dtype):
    return functions(OF_POSITIVE, [positive(rng, dtype)], dtype, magnified=8, floor=1e-6)


@case(*each((torch.float32, torch.float64)))
def functions_of_angles(rng, dtype):
    return functions(OF_ANGLES, [spread(rng, dtype)], dtype, magnified=8, floor=1e-6)


@case(*each((torch.float32, torch.float64)))
def functions_of_two(rng, dtype):
    return functions(["pow", "atan2", "hypot"], [positive(rng, dtype), spread(rng, dtype)], dtype, magnified=8)


@case()
def approximate_functions(rng):
    # tanh.approx is within 2^-11, and sin.approx within 2^-20.5 of 1, not of the result.
    return functions(FAST, [spread(rng, torch.float32)], torch.float32, magnified=2**9, floor=2**-19)


@triton.jit
def high_product_kernel(x_ptr, y_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    tl.store(out_ptr + i, tl.umulhi(x, y))
    tl.store(out_ptr + B + i, x * y + (x >> 7))


@case(*each((torch.uint32, torch.uint64)))
def high_halves_of_products(rng, dtype):
    return Launch(high_product_kernel, (1,), (any_bits(rng, dtype), any_bits(rng, dtype), results(2, dtype)),
                  {"B": BLOCK})


@triton.jit
def assembly_kernel(x_ptr, y_ptr, half_ptr, low_ptr, high_ptr, doubled_ptr, bits_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x, y, half = tl.load(x_ptr + i), tl.load(y_ptr + i), tl.load(half_ptr + i)
    low, high = tl.inline_asm_elementwise("{ min.f32 $0, $2, $3; max.f32 $1, $2, $3; }", "=f,=f,f,f", [x, y],
                                          (tl.float32, tl.float32), is_pure=True, pack=1)
    doubled = tl.inline_asm_elementwise("add.rn.f16x2 $0, $1, $1;", "=r,r", [half], tl.float16, is_pure=True, pack=2)
    bits = tl.inline_asm_elementwise("lop3.b32 $0, $1, $2, 0x5a5a, 0x96;", "=r,r,r",
                                     [x.to(tl.int32, bitcast=True), y.to(tl.int32, bitcast=True)], tl.int32,
                                     is_pure=True, pack=1)
    tl.store(low_ptr + i, low)
    tl.store(high_ptr + i, high)
    tl.store(doubled_ptr + i, doubled)
    tl.store(bits_ptr + i, bits)


@case()
def inline_assembly(rng):
    x, y, half = numbers(rng, torch.float32), numbers(rng, torch.float32), numbers(rng, torch.float16)
    outs = [results(1, dtype) for dtype in (torch.float32, torch.float32, torch.float16, torch.int32)]
    return Launch(assembly_kernel, (1,), (x, y, half, *outs), {"B": BLOCK})

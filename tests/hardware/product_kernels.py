"""Products of matrices: by `mma.sync` and by `wgmma`, of every type and precision, with exact sums and with others."""

import torch
from agreement import Launch, case
from arithmetic_kernels import each

import tegula as triton
import tegula.language as tl

HALVES = (torch.float16, torch.bfloat16)
NARROW = (torch.float8_e4m3fn, torch.float8_e5m2)
#: The largest part of a term that hardware cuts off when it adds; fp8 is added with 14 bits.
CUT = {torch.float8_e4m3fn: 2.0**-12, torch.float8_e5m2: 2.0**-12}
SHAPES = {"mma": (16, 32, 64, 1), "wgmma": (64, 64, 128, 4)}


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, PRECISION: tl.constexpr, OUT: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
                   K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    tl.store(c_ptr + m[:, None] * N + n[None, :], tl.dot(a, b, input_precision=PRECISION, out_dtype=OUT))


def small_integers(rng, dtype, *shape):
    """Whole numbers whose products have exact sums in every format that hardware adds in."""
    low = 0 if dtype == torch.uint8 else -2
    return torch.randint(low, 3, shape, generator=rng).to(dtype)


def normal(rng, dtype, *shape):
    return torch.randn(shape, generator=rng, dtype=torch.float64).to(dtype)


def product(rng, make, left, right, out, instructions, precision=None):
    m, n, k, warps = SHAPES[instructions]
    a, b = make(rng, left, m, k), make(rng, right, k, n)
    name = {torch.float16: tl.float16, torch.int32: tl.int32, torch.float64: tl.float64}.get(out, tl.float32)
    bounds = {}
    if make is normal:
        # Each of the K terms of a sum loses at most `cut` of the largest partial sum, which is K ** 0.5 times a term.
        cut = 2.0**-10 if out == torch.float16 else CUT.get(left, 2.0**-23)
        bounds = {2: 2 * cut * k**0.5 * (a.double().abs() @ b.double().abs())}
    constants = {"PRECISION": precision, "OUT": name, "M": m, "N": n, "K": k, "num_warps": warps}
    return Launch(product_kernel, (1,), (a, b, torch.full((m, n), 77).to(out)), constants, bounds=bounds)


def by(instructions, items):
    return [(f"{label} {kind}", (value, kind)) for label, value in items for kind in instructions]


BOTH = ("mma", "wgmma")
FLOATING = [(label, (dtype, dtype)) for label, dtype in each((*HALVES, *NARROW))]
MIXED = [("float8_e4m3fn float8_e5m2", NARROW), ("float8_e5m2 float8_e4m3fn", NARROW[::-1])]
PRECISIONS = ("tf32", "tf32x3", "bf16x3", "bf16x6", "ieee")


@case(*by(BOTH, FLOATING + MIXED))
def exact_products(rng, chosen):
    (left, right), instructions = chosen
    return product(rng, small_integers, left, right, torch.float32, instructions)


@case(*by(BOTH, FLOATING))
def products(rng, chosen):
    (left, right), instructions = chosen
    return product(rng, normal, left, right, torch.float32, instructions)


@case(*by(BOTH, [(precision, precision) for precision in PRECISIONS]))
def exact_products_of_float32(rng, chosen):
    precision, instructions = chosen
    return product(rng, small_integers, torch.float32, torch.float32, torch.float32, instructions, precision)


@case(*by(BOTH, [(precision, precision) for precision in PRECISIONS]))
def products_of_float32(rng, chosen):
    precision, instructions = chosen
    return product(rng, normal, torch.float32, torch.float32, torch.float32, instructions, precision)


@case(*by(BOTH, [("float16", torch.float16)]))
def exact_products_in_float16(rng, chosen):
    dtype, instructions = chosen
    return product(rng, small_integers, dtype, dtype, torch.float16, instructions)


@case(*by(BOTH, each((torch.int8, torch.uint8))))
def products_of_integers(rng, chosen):
    dtype, instructions = chosen

    def bytes_of(rng, dtype, *shape):
        return torch.randint(0, 256, shape, dtype=torch.uint8, generator=rng).view(dtype)

    return product(rng, bytes_of, dtype, dtype, torch.int32, instructions)


@case(("", "mma"))
def products_of_float64(rng, instructions):
    # mma.sync of fp64 adds as fma does, one product after another.
    return product(rng, normal, torch.float64, torch.float64, torch.float64, instructions)


@triton.jit
def looped_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Operands that are copied ahead: in bulk where they are boxes of a matrix, else by threads."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


LOOPS = [("bulk copies", (128, 128, 256, 64)), ("bulk copies with edges", (120, 136, 232, 64)),
         ("copies by threads", (61, 67, 131, 32))]


@case(*LOOPS)
def exact_loops_with(rng, chosen):
    m, n, k, tile = chosen
    a, b = (small_integers(rng, torch.bfloat16, *shape) for shape in ((m, k), (k, n)))
    constants = {"BM": 64, "BN": 64, "BK": tile, "num_warps": 4}
    return Launch(looped_kernel, (triton.cdiv(m, 64), triton.cdiv(n, 64)), (a, b, torch.full((m, n), 77.0), m, n, k),
                  constants)


@triton.jit
def described_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, (M, K), (K, 1), (BM, BK))
    b = tl.make_tensor_descriptor(b_ptr, (N, K), (K, 1), (BN, BK))
    c = tl.make_tensor_descriptor(c_ptr, (M, N), (N, 1), (BM, BN))
    row, col = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a.load((row, k)), b.load((col, k)).T, total)
    c.store((row, col), total)


@case(*each((torch.float16, torch.float8_e4m3fn)))
def exact_products_through_descriptors(rng, dtype):
    a, b = (small_integers(rng, dtype, *shape) for shape in ((128, 192), (64, 192)))
    return Launch(described_kernel, (2, 1), (a, b, torch.full((128, 64), 77.0), 128, 64, 192),
                  {"BM": 64, "BN": 64, "BK": 64})


@triton.jit
def scaled_kernel(a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, FORMAT: tl.constexpr, M: tl.constexpr,
                  N: tl.constexpr, K: tl.constexpr):
    inner: tl.constexpr = K // 2 if FORMAT == "e2m1" else K
    m, n, k, group = tl.arange(0, M), tl.arange(0, N), tl.arange(0, inner), tl.arange(0, K // 32)
    a = tl.load(a_ptr + m[:, None] * inner + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    a_scale = tl.load(a_scale_ptr + m[:, None] * (K // 32) + group[None, :])
    b_scale = tl.load(b_scale_ptr + n[:, None] * (K // 32) + group[None, :])
    tl.store(c_ptr + m[:, None] * N + n[None, :], tl.dot_scaled(a, a_scale, FORMAT, b, b_scale, FORMAT))


@case(("e2m1", "e2m1"), ("e4m3", "e4m3"))
def exact_scaled_products(rng, name):
    m, n, k = 64, 64, 64
    if name == "e2m1":
        a, b = (torch.randint(0, 256, shape, dtype=torch.uint8, generator=rng) for shape in ((m, k // 2), (k // 2, n)))
    else:
        a, b = (small_integers(rng, torch.float8_e4m3fn, *shape) for shape in ((m, k), (k, n)))
    scales = [torch.randint(126, 129, (extent, k // 32), generator=rng).to(torch.uint8) for extent in (m, n)]
    return Launch(scaled_kernel, (1,), (a, scales[0], b, scales[1], torch.full((m, n), 77.0)),
                  {"FORMAT": name, "M": m, "N": n, "K": k})

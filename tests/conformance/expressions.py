"""Expressions of the language to kernels: values of every type in, results of a type and a shape out.

`evaluate("x + y", x, y, into="int32")` launches a kernel that loads its operands, computes the expression, proves the
type and the shape of the result when it is compiled, and stores it. It runs where launches of the process run: on the
CPU, in the simulator that TEGULA_TARGET names, or on a GPU if torch has one.
"""

import functools
import linecache
import math

import numpy as np
import torch

import tegula as triton
import tegula.language as tl
from tegula import knobs

DEVICE = "cuda" if torch.cuda.is_available() and knobs.runtime.target is None else "cpu"
#: Whether kernels are compiled for a GPU, of which functions may be approximations.
ON_GPU = DEVICE == "cuda" or (knobs.runtime.target or "cpu") != "cpu"

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("float16", "bfloat16", "float32", "float64")
WIDE_FLOATS = ("float32", "float64")
NARROW_FLOATS = ("float8e4nv", "float8e5")
NUMBERS = INTEGERS + FLOATS
#: The types of torch, by the names of the language.
TORCH = {name: getattr(torch, name) for name in NUMBERS} | {
    "int1": torch.bool, "float8e4nv": torch.float8_e4m3fn, "float8e5": torch.float8_e5m2
}
NAMES = {dtype: name for name, dtype in TORCH.items()}
OPERANDS = "xyzw"


@functools.cache
def module_of(text):
    """The names that a text defines, as if it were a file."""
    file = f"<kernel {hash(text):x}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"triton": triton, "tl": tl, "libdevice": tl.extra.libdevice, "__name__": file}
    exec(compile(text, file, "exec"), names)
    return names


def kernel_text(expression, shapes, results, given, before=""):
    """A kernel that loads blocks of `shapes`, and stores the values of a tuple as `results`, (type, shape) each."""
    parameters = [f"{name}_ptr" for name in OPERANDS[: len(shapes)]] + [f"r{n}_ptr" for n in range(len(results))]
    parameters += [f"{name}: tl.constexpr" for name in given]
    lines = [before, "@triton.jit", f"def kernel({', '.join(parameters)}):"]
    for name, shape in zip(OPERANDS, shapes, strict=False):
        load = f"tl.reshape(tl.load({name}_ptr + tl.arange(0, {math.prod(shape)})), {shape})"
        lines.append(f"    {name} = {load if shape else f'tl.load({name}_ptr)'}")
    targets = "".join(f"r{n}, " for n in range(len(results)))
    lines.append(f"    {targets}= {expression if len(results) > 1 else f'({expression},)'}")
    for n, (dtype, shape) in enumerate(results):
        size = math.prod(shape)
        lines.append(f"    tl.static_assert(r{n}.dtype == tl.{dtype}, 'the result is not {dtype}')")
        lines.append(f"    tl.static_assert(r{n}.shape == {shape}, 'the shape is not {shape}')")
        place, value = (f" + tl.arange(0, {size})", f"tl.reshape(r{n}, ({size},))") if shape else ("", f"r{n}")
        lines.append(f"    tl.store(r{n}_ptr{place}, {value})")
    return "\n".join(lines) + "\n"


class Poisoned:
    """A result that nobody has written yet, between guards that nobody may write."""

    GUARD = 64

    def __init__(self, dtype, shape):
        self.size = math.prod(shape) * TORCH[dtype].itemsize
        self.bytes = torch.full((self.size + 2 * self.GUARD,), 0xA5, dtype=torch.uint8).to(DEVICE)
        self.tensor = self.bytes[self.GUARD : self.GUARD + self.size].view(TORCH[dtype]).reshape(shape)

    def checked(self):
        """The result on the CPU; the guards are as they were."""
        everything = self.bytes.cpu()
        assert (everything[: self.GUARD] == 0xA5).all() and (everything[self.GUARD + self.size :] == 0xA5).all()
        return self.tensor.cpu()


def evaluate(expression, *operands, into, shape=None, before="", num_warps=4, **given):
    """The value of an expression in `x`, `y`, `z`, `w`; of a tuple, if `into` has several types, several values.

    `into` names types, or pairs a type with a shape; `shape` is that of results without one, the operands' if it is
    not given. `before` is text of the module, for functions; `given` are constants.
    """
    operands = [torch.as_tensor(operand) for operand in operands]
    shape = tuple(torch.broadcast_shapes(*(x.shape for x in operands)) if shape is None else shape)
    several = isinstance(into, list)
    results = [(item, shape) if isinstance(item, str) else item for item in (into if several else [into])]
    text = kernel_text(expression, [tuple(x.shape) for x in operands], results, given, before)
    outs = [Poisoned(*result) for result in results]
    inputs = [x.contiguous().to(DEVICE) for x in operands]
    module_of(text)["kernel"][(1,)](*inputs, *(out.tensor for out in outs), **given, num_warps=num_warps)
    values = [out.checked() for out in outs]
    return values if several else values[0]


def tensor(values, dtype):
    """Numbers as a tensor of a type."""
    values = np.asarray(values)
    if dtype in INTEGERS:
        return torch.from_numpy(np.array(values, dtype))
    return torch.from_numpy(np.array(values)).to(TORCH[dtype])


def draw(rng, dtype, shape, low=None, high=None):
    """Random numbers: of integers the whole range, its ends among them, or from `low` to `high`; of floats normal
    ones, or from `low` to `high`."""
    if dtype == "int1":
        return torch.from_numpy(np.asarray(rng.integers(0, 2, shape)).astype(bool))
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        first, last = limits.min if low is None else low, limits.max if high is None else high
        values = np.asarray(rng.integers(first, last, shape, dtype, endpoint=True))
        flat = values.reshape(-1)
        ends = np.array([first, last, 0, 1], dtype)[: flat.size]
        flat[rng.choice(flat.size, ends.size, replace=False)] = np.clip(ends, first, last)
        return torch.from_numpy(values)
    return tensor(rng.standard_normal(shape) if low is None else rng.uniform(low, high, shape), dtype)


def any_bits(rng, dtype, shape):
    """Random bits of a type: all its values are as likely, NaN and infinities too."""
    x = torch.empty(shape, dtype=TORCH[dtype])
    x.reshape(-1).view(torch.uint8).numpy()[:] = rng.integers(0, 256, x.numel() * x.itemsize, np.uint8)
    return x


def octets(x):
    """The bytes of a tensor's elements, along a last dimension."""
    # A copy of truth values is of zeros and ones.
    x = x.view(torch.uint8) if x.itemsize == 1 else x
    return x.clone(memory_format=torch.contiguous_format).view(torch.uint8).reshape(*x.shape, x.itemsize)


def exact(x):
    """The numbers of a tensor in numpy: integers in their type, floats in float64."""
    return x.double().numpy() if x.dtype.is_floating_point else x.numpy()


def rounded(values, dtype):
    """Numbers rounded to a type, as a tensor; integers wrap, truth values are whether they differ from 0."""
    values = np.asarray(values)
    if dtype == "int1":
        return torch.from_numpy(np.asarray(values != 0))
    if dtype in INTEGERS:
        return tensor(values, dtype)
    if dtype in ("float16", "bfloat16", *NARROW_FLOATS) and values.dtype != np.float32:
        values = odd_rounded(values)
    return tensor(values, dtype)


def odd_rounded(values):
    """Numbers of 64 bits as float32 ones that round to narrower types as they do: what is cut off leaves an odd bit."""
    with np.errstate(over="ignore", invalid="ignore"):
        single = np.array(values.astype(np.float32))
    exactly = np.vectorize(int, [object]) if values.dtype.kind in "iu" else np.float64
    finite = np.isfinite(single)
    error = np.zeros(single.shape)
    error[finite] = np.sign((exactly(np.abs(single[finite])) - exactly(np.abs(values[finite]))).astype(float))
    bits = single.view(np.uint32)
    bits[error > 0] -= np.uint32(1)
    bits[error != 0] |= np.uint32(1)
    return single


def units(dtype):
    """The distance from 1 to the next number, and the distance of the smallest numbers."""
    limits = torch.finfo(TORCH[dtype])
    return limits.eps, limits.tiny * limits.eps


def check(result, expected, ulps=0.0, floor=0.0):
    """Compares with numbers of float64 or exact integers.

    Without `ulps` every number is the expected one, rounded, with its sign; with it, results are as many units in
    the last place away, of the expected number or of `floor`, if it is smaller. NaN is where NaN is expected.
    """
    dtype = NAMES[result.dtype]
    expected = np.broadcast_to(np.asarray(expected), tuple(result.shape))
    want = rounded(expected, dtype)
    assert want.shape == result.shape
    got, wanted = exact(result), exact(want)
    if not result.dtype.is_floating_point:
        got = got.view(np.uint8) if dtype == "int1" else got
        assert np.array_equal(got, wanted), describe(got, wanted, got != wanted)
        return
    nan = np.isnan(wanted)
    if np.any(ulps):
        eps, least = units(dtype)
        ideal = np.asarray(expected, np.float64)
        with np.errstate(all="ignore"):
            size = np.maximum(np.abs(ideal), floor)
            step = np.maximum(2.0 ** np.floor(np.log2(np.where(size > 0, size, 1.0))) * eps, least)
            near = np.abs(got - ideal) <= ulps * step
        good = near | (got == wanted)
    else:
        good = (got == wanted) & (np.signbit(got) == np.signbit(wanted))
    good |= nan & np.isnan(got)
    assert good.all(), describe(got, np.asarray(expected), ~good)


def describe(got, wanted, bad):
    first = tuple(int(i) for i in np.argwhere(bad)[0]) if bad.shape else ()
    return f"{int(bad.sum())} of {bad.size} differ, first at {first}: {got[first]!r}, and not {wanted[first]!r}"

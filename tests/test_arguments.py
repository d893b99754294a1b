"""What may be passed to a kernel, and what is refused before anything runs."""

import collections
import enum

import numpy as np
import pytest

import tegula
import tegula.language as tl

torch = pytest.importorskip("torch")


@tegula.jit
def scale(x_ptr, out_ptr, factor, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x * factor, mask=i < n)


@tegula.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
]


@pytest.mark.parametrize("name", DTYPES)
def test_torch_tensors_of_every_type(name):
    dtype = getattr(torch, name)
    bits = torch.arange(40, dtype=torch.uint8) % 2
    bytes_per_element = torch.empty(0, dtype=dtype).element_size()
    x = bits.repeat_interleave(bytes_per_element).view(dtype)
    out = torch.zeros_like(x.view(torch.uint8)).view(dtype)
    copy[(1,)](x, out, 40, BLOCK=64)
    assert torch.equal(out.view(torch.uint8), x.view(torch.uint8))


@pytest.mark.parametrize("name", [name for name in DTYPES if name not in ("bfloat16",) and "float8" not in name])
def test_numpy_arrays_of_every_type(name):
    x = (np.arange(40) % 2).astype(name)
    out = np.full(40, 7).astype(name)
    copy[(1,)](x, out, 40, BLOCK=64)
    np.testing.assert_array_equal(out, x)


def test_arrays_that_are_not_contiguous_are_the_kernels_business():
    x = torch.arange(64.0).reshape(8, 8)
    out = torch.full((64,), float("nan"))
    copy[(1,)](x.t(), out, 64, BLOCK=64)
    assert torch.equal(out, torch.arange(64.0))
    reverse = np.arange(8, dtype=np.int32)[::-1]
    first = np.zeros(1, np.int32)
    copy[(1,)](reverse, first, 1, BLOCK=1)
    assert first[0] == 7


class Interface:
    """Has `__array_interface__` and nothing else."""

    def __init__(self, array):
        self.__array_interface__ = array.__array_interface__


class DLPack:
    """Has DLPack's two methods and nothing else."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **_):
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_array_interface_and_dlpack():
    x, out = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    copy[(1,)](Interface(x), Interface(out), 10, BLOCK=16)
    np.testing.assert_array_equal(out, x)
    for dtype in (torch.float32, torch.bfloat16, torch.int16, torch.bool):
        x, out = torch.arange(10).to(dtype), torch.zeros(10, dtype=dtype)
        copy[(1,)](DLPack(x[2:]), DLPack(out), 8, BLOCK=8)
        assert torch.equal(out[:8], x[2:])


def test_tensors_that_require_gradients_and_parameters():
    x, out = torch.nn.Parameter(torch.ones(8)), torch.zeros(8, requires_grad=True)
    copy[(1,)](x, out, 8, BLOCK=8)
    assert out.detach().tolist() == [1.0] * 8


REFUSED = {
    "on the device meta": lambda: torch.zeros(8, device="meta"),
    "torch.complex64": lambda: torch.zeros(8, dtype=torch.complex64),
    "doesn't have storage": lambda: torch.zeros(8).to_sparse(),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_tensors_that_no_pointer_describes(reason):
    with pytest.raises(Exception, match=f"argument `x_ptr` of `copy` is of type torch.Tensor.*{reason}"):
        copy[(1,)](REFUSED[reason](), torch.zeros(8), 8, BLOCK=8)


NUMBERS = [2, 2.0, True, np.int32(2), np.float32(2), np.float64(2), np.bool_(True), np.uint8(2)]


@pytest.mark.parametrize("factor", NUMBERS, ids=repr)
def test_numbers(factor):
    x, out = torch.arange(10.0), torch.full((10,), float("nan"))
    scale[(1,)](x, out, factor, 10, BLOCK=16)
    assert torch.equal(out, x * float(factor))


class Mode(enum.IntEnum):
    DOUBLE = 2


class Kind(enum.Enum):
    LINEAR = "linear"
    SQUARE = "square"


def test_enumerations():
    x, out = torch.arange(10.0), torch.full((10,), float("nan"))
    scale[(1,)](x, out, Mode.DOUBLE, 10, BLOCK=16)
    assert torch.equal(out, x * 2)


@tegula.jit
def describe(out_ptr, item, T: tl.constexpr):
    tl.store(out_ptr, item[0] + item[1])
    tl.store(out_ptr + 1, T[0] if T[1] == "first" else T[2])


Pair = collections.namedtuple("Pair", ["a", "b"])


@tegula.jit
def describe_pair(out_ptr, pair):
    tl.store(out_ptr, pair.a - pair.b)


def test_tuples_and_named_tuples():
    out = torch.zeros(2, dtype=torch.int32)
    describe[(1,)](out, (3, 4), T=(5, "first", 6))
    assert out.tolist() == [7, 5]
    describe[(1,)](out, (3, 1), T=[5, "second", 6])
    assert out.tolist() == [4, 6]
    describe_pair[(1,)](out, Pair(10, 1))
    assert out[0] == 9
    describe_pair[(1,)](out, Pair(b=10, a=1))
    assert out[0] == -9


@tegula.jit
def typed(out_ptr, small: tl.int8, wide: "tl.int64", flag: tl.int1, x: tl.float64):
    tl.static_assert(small.dtype == tl.int8)
    tl.static_assert(wide.dtype == tl.int64)
    tl.static_assert(flag.dtype == tl.int1)
    tl.static_assert(x.dtype == tl.float64)
    tl.store(out_ptr, small.to(tl.float64))
    tl.store(out_ptr + 1, wide.to(tl.float64))
    tl.store(out_ptr + 2, x)


def test_parameters_with_declared_types():
    out = torch.zeros(3, dtype=torch.float64)
    typed[(1,)](out, 1, 1, 1, 0.1)
    assert out.tolist() == [1.0, 1.0, 0.1]


@tegula.jit
def pick(out_ptr, *, low=3, HIGH: tl.constexpr = 4):
    tl.store(out_ptr, low * 10 + HIGH)


def test_keyword_only_parameters():
    out = torch.zeros(1, dtype=torch.int32)
    pick[(1,)](out)
    assert out.item() == 34
    pick[(1,)](out, HIGH=2, low=5)
    assert out.item() == 52
    with pytest.raises(TypeError, match="positional"):
        pick[(1,)](out, 5)


# --- what is refused ------------------------------------------------------------------------------------------------


def refused(match, *args, error=TypeError, kernel=scale, **kwargs):
    before = [arg.clone() for arg in args if isinstance(arg, torch.Tensor) and arg.device.type == "cpu"]
    with pytest.raises(error, match=match):
        kernel[(1,)](*args, **kwargs)
    after = [arg for arg in args if isinstance(arg, torch.Tensor) and arg.device.type == "cpu"]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_calls_that_python_would_refuse():
    x = torch.zeros(8)
    refused(r"missing the arguments `factor`, `n`", x, x, BLOCK=8)
    refused(r"missing the argument `BLOCK` \(a constexpr\)", x, x, 1.0, 8)
    refused(r"no parameter `BLOK`.*did you mean `BLOCK`", x, x, 1.0, 8, BLOCK=8, BLOK=8)
    refused(r"two values for the argument `n`", x, x, 1.0, 8, n=8, BLOCK=8)
    refused(r"takes 5 positional arguments, but 6", x, x, 1.0, 8, 8, 8)


def test_objects_that_are_no_arguments():
    x = torch.zeros(8)
    refused(r"`x_ptr`.*list", [1.0], x, 1.0, 8, BLOCK=8)
    refused(r"`factor`.*dict", x, x, {}, 8, BLOCK=8)
    refused(r"`BLOCK`.*torch.Tensor", x, x, 1.0, 8, BLOCK=x)
    refused(r"`x_ptr`.*complex64", torch.zeros(8, dtype=torch.complex64), x, 1.0, 8, BLOCK=8)
    refused(r"`x_ptr`.*U1", np.array(["a", "b"]), x, 1.0, 8, BLOCK=8)
    refused(r"`x_ptr`.*>f4", np.zeros(8, ">f4"), x, 1.0, 8, BLOCK=8)
    refused(r"`n`.*neither int64 nor uint64", x, x, 1.0, 2**70, BLOCK=8, error=ValueError)


def test_arrays_of_other_devices():
    x = torch.zeros(8)
    refused(r"`x_ptr`.*device meta.*CPU", torch.zeros(8, device="meta"), x, 1.0, 8, BLOCK=8, error=ValueError)

    class OnGpu:
        def __init__(self):
            self.__cuda_array_interface__ = {"data": (0, False), "typestr": "<f4", "shape": (8,), "version": 3}

    # Both arguments are named, since either may be the wrong one.
    refused(r"`out_ptr`.* on cpu, .*`x_ptr` is on cuda:0", OnGpu(), x, 1.0, 8, BLOCK=8, error=ValueError)


def test_read_only_arrays_may_be_read_but_not_written():
    frozen = np.arange(8, dtype=np.float32)
    frozen.flags.writeable = False
    out = np.zeros(8, np.float32)
    copy[(1,)](frozen, out, 8, BLOCK=8)
    np.testing.assert_array_equal(out, frozen)
    with pytest.raises(ValueError, match=r"`out_ptr`.*read-only.*stores through it"):
        copy[(1,)](out, frozen, 8, BLOCK=8)
    np.testing.assert_array_equal(frozen, np.arange(8))


def test_launch_options():
    x, out = torch.ones(8), torch.zeros(8)
    scale[(1,)](x, out, 2.0, 8, BLOCK=8, num_warps=8, num_stages=2, num_ctas=1, maxnreg=64, waves_per_eu=2)
    assert out.tolist() == [2.0] * 8
    refused("num_warps must be a power of 2", x, out, 1.0, 8, BLOCK=8, num_warps=3, error=ValueError)
    refused("num_warps must be an int", x, out, 1.0, 8, BLOCK=8, num_warps="4")


@tegula.jit
def named_like_options(out_ptr, num_warps: tl.constexpr, num_stages: tl.constexpr):
    tl.store(out_ptr, num_warps * 10 + num_stages)


def test_parameters_named_like_options_get_the_options():
    out = torch.zeros(1, dtype=torch.int32)
    named_like_options[(1,)](out, num_warps=8, num_stages=3)
    assert out.item() == 83


@tegula.jit
def declared(
    out_ptr,
    a: tl.float64,
    b: "tl.float64",
    c: "fp64",  # noqa: F821
    d: tl.float16,
    e: "tl.bfloat16",
    f: float,
    g: bool,
    h: "i64",  # noqa: F821
    i: "tl.uint8",
    j: "bool",
):
    tl.static_assert(a.dtype == tl.float64 and b.dtype == tl.float64 and c.dtype == tl.float64)
    tl.static_assert(d.dtype == tl.float16 and e.dtype == tl.bfloat16 and f.dtype == tl.float32)
    tl.static_assert(g.dtype == tl.int1 and h.dtype == tl.int64 and i.dtype == tl.uint8 and j.dtype == tl.int1)
    tl.store(out_ptr, a)
    tl.store(out_ptr + 1, b)
    tl.store(out_ptr + 2, c)
    tl.store(out_ptr + 3, d)
    tl.store(out_ptr + 4, e)
    tl.store(out_ptr + 5, f)
    tl.store(out_ptr + 6, g)
    tl.store(out_ptr + 7, h)
    tl.store(out_ptr + 8, i)
    tl.store(out_ptr + 9, j)


def test_declared_types_of_numbers():
    out = np.zeros(10)
    declared[(1,)](out, 0.1, 0.1, 0.1, 0.1, 0.1, 1, 2, 3, 256 + 4, 5)
    bf16 = torch.tensor(0.1, dtype=torch.bfloat16).item()
    assert out.tolist() == [0.1, 0.1, 0.1, float(np.float16(0.1)), bf16, 1.0, 1.0, 3.0, 4.0, 1.0]

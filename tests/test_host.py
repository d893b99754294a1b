"""What kernels see of the Python program around them, and the language's objects on the host."""

import collections
import enum
import linecache
import math
import subprocess
import sys
import textwrap

import pytest

import tegula
import tegula.language as tl
from tegula.language import constexpr as imported_constexpr
from tegula.language import load as imported_load

torch = pytest.importorskip("torch")


def value_of(kernel, *args, dtype=torch.int32, size=1, **kwargs):
    out = torch.zeros(size, dtype=dtype)
    kernel[(1,)](out, *args, **kwargs)
    return out.tolist() if size > 1 else out.item()


# --- names ----------------------------------------------------------------------------------------------------------

LIMIT = tl.constexpr(12)
NESTED = tl.constexpr((1, (2, 3)))
language = tl
Point = collections.namedtuple("Point", ["x", "y"])


class Colour(enum.IntEnum):
    RED = 3


@tegula.jit
def reads_globals(out_ptr):
    language.store(out_ptr, LIMIT + NESTED[1][0])
    p = Point(3, y=4)
    tl.store(out_ptr + 1, p.x * 10 + p.y)
    tl.store(out_ptr + 2, imported_load(out_ptr) + imported_constexpr(1))


def test_globals():
    assert value_of(reads_globals, size=3) == [14, 34, 15]


@tegula.jit
def computes_with_math(out_ptr, N: tl.constexpr):
    BITS: tl.constexpr = int(math.log2(N))
    tl.store(out_ptr, BITS + math.floor(math.pi))


def test_the_module_math_computes_constants():
    assert value_of(computes_with_math, N=16) == 7


def test_closures():
    def make(amount, helper):
        amount = tl.constexpr(amount)

        @tegula.jit
        def kernel(out_ptr):
            tl.store(out_ptr, helper(amount))

        return kernel

    @tegula.jit
    def negated(x):
        return -x

    @tegula.jit
    def same(x):
        return x

    assert value_of(make(5, negated)) == -5
    assert value_of(make(6, same)) == 6


def test_plain_functions_are_refused():
    def plain(x):
        return x

    @tegula.jit
    def kernel(out_ptr):
        tl.store(out_ptr, plain(1))

    with pytest.raises(tegula.CompilationError, match=r"plain.*|jit") as caught:
        kernel.warmup(torch.int32, grid=(1,))
    message, file, line, _ = caught.value.places[0]
    assert "plain" in message and file == __file__
    assert line == kernel.starting_line_number + 2


def test_a_misspelt_name_is_recognised():
    @tegula.jit
    def kernel(out_ptr):
        tl.store(out_ptr, LIMITT)  # noqa: F821

    with pytest.raises(tegula.CompilationError, match="did you mean `LIMIT`"):
        kernel.warmup(torch.int32, grid=(1,))


def test_messages_say_what_the_kernel_was_called_with():
    @tegula.jit
    def kernel(out_ptr, n, FLAG: tl.constexpr):
        tl.store(out_ptr, n + missing)  # noqa: F821

    with pytest.raises(tegula.CompilationError) as caught:
        kernel[(1,)](torch.zeros(1), 7, FLAG="yes")
    assert "`kernel` was called with out_ptr=torch.Tensor of fp32, n=7, FLAG='yes'" in str(caught.value)


@tegula.constexpr_function
def combine(a, b=2, *, dtype=None):
    if dtype is not None:
        return dtype.primitive_bitwidth
    return Point(a, b)


@tegula.jit
def calls_constexpr_functions(out_ptr):
    p = combine(5)
    q = combine(5, b=7)
    tl.store(out_ptr, p.x * 100 + p.y * 10 + q.y)
    tl.store(out_ptr + 1, combine(0, dtype=tl.float64))
    tl.store(out_ptr + 2, tegula.cdiv(10, 4) + tegula.next_power_of_2(100))


def test_constexpr_functions():
    assert value_of(calls_constexpr_functions, size=3) == [527, 64, 131]
    assert combine(tl.constexpr(1), b=2) == Point(1, 2)


@tegula.constexpr_function
def fails(x):
    raise KeyError(f"no entry {x}")


def test_exceptions_of_constexpr_functions_are_errors_of_the_kernel():
    @tegula.jit
    def kernel(out_ptr):
        tl.store(out_ptr, fails(3))

    with pytest.raises(tegula.CompilationError, match="no entry 3"):
        kernel.warmup(torch.int32, grid=(1,))


def test_static_print_goes_to_standard_output(capsys):
    @tegula.jit
    def kernel(out_ptr, N: tl.constexpr):
        tl.static_print("compiling for", N)
        tl.store(out_ptr, N)

    kernel.warmup(torch.int32, N=8, grid=(1,))
    assert "compiling for 8" in capsys.readouterr().out


# --- sources --------------------------------------------------------------------------------------------------------

TEXT = """
import tegula
import tegula.language as tl

@tegula.jit
def kernel(out_ptr):
    tl.store(out_ptr, 42)
"""


def test_sources_registered_with_linecache():
    linecache.cache["<a cell>"] = (len(TEXT), None, TEXT.splitlines(True), "<a cell>")
    names = {}
    exec(compile(TEXT, "<a cell>", "exec"), names)
    assert value_of(names["kernel"]) == 42
    assert names["kernel"].raw_src.startswith("@tegula.jit\ndef kernel")


def test_sources_that_cannot_be_found():
    names = {}
    exec(compile(TEXT, "<nowhere>", "exec"), names)
    with pytest.raises(tegula.CompilationError, match=r"source of `kernel`.*<nowhere>.*linecache"):
        names["kernel"].warmup(torch.int32, grid=(1,))
    with pytest.raises(OSError, match="<nowhere>"):
        _ = names["kernel"].src


def test_definitions_in_odd_places():
    if True:
        class Holder:
            @staticmethod
            @tegula.jit(
                noinline=False,
            )
            def kernel(
                out_ptr,  # a comment (with a bracket
                text: tl.constexpr = """a
string over lines""",
            ):
                # less indented than the body
        # than this
                tl.store(out_ptr, 1 if text == """a
string over lines""" else 2)  # fmt: skip

    assert value_of(Holder.kernel) == 1


def test_scripts(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(TEXT + "import numpy\nout = numpy.zeros(1, 'int32')\nkernel[(1,)](out)\nprint(out[0])\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout == "42\n"


def test_jit_wants_a_function():
    with pytest.raises(TypeError, match="functions written in Python"):
        tegula.jit(len)


def test_what_a_jitted_function_says_of_itself():
    @tegula.jit(do_not_specialize=["n"])
    def kernel(x_ptr, n, BLOCK: tl.constexpr = 8):
        """Does nothing."""

    assert kernel.__name__ == "kernel" and kernel.__doc__ == "Does nothing." and kernel.__module__ == __name__
    assert kernel.arg_names == ["x_ptr", "n", "BLOCK"] and kernel.constexprs == [2]
    assert kernel.params[1].do_not_specialize and not kernel.params[0].do_not_specialize
    assert kernel.params[2].default == 8 and kernel.params[2].is_constexpr
    assert textwrap.dedent(kernel.src).startswith("def kernel(x_ptr, n, BLOCK")
    assert kernel.fn(1, 2) is None


# --- the language on the host -----------------------------------------------------------------------------------------


def test_types():
    assert tl.float32.primitive_bitwidth == 32 and tl.float32.is_floating() and tl.float32.is_fp32()
    assert tl.int1.is_bool() and tl.int1.itemsize == 1 and tl.uint8.is_int_unsigned() and not tl.int8.is_int_unsigned()
    assert tl.dtype("fp32") == tl.float32 == tl.constexpr(tl.float32) and tl.float32 != tl.float16
    assert len({tl.int32, tl.dtype("int32"), tl.int64}) == 2
    assert str(tl.bfloat16) == "bf16" and repr(tl.float8e5) == "triton.language.float8e5"
    assert (tl.int8.get_int_min_value(), tl.uint16.get_int_max_value()) == (-128, 65535)
    assert tl.float16.fp_mantissa_width == 10 and tl.bfloat16.exponent_bias == 127
    pointer = tl.pointer_type(tl.float16)
    assert pointer.element_ty == tl.float16 and pointer.is_ptr() and str(pointer) == "pointer<fp16>"
    assert tl.block_type(tl.int32, [4, 8]).numel == 32
    with pytest.raises(ValueError, match="fp33"):
        tl.dtype("fp33")


def test_constexpr_arithmetic():
    c = tl.constexpr(12)
    assert (c + 1).value == 13 and (1 - c).value == -11 and (c // 5).value == 2 and (2**c).value == 4096
    assert (c & 4).value == 4 and (~c).value == -13 and (-c).value == -12 and (c << 1).value == 24
    assert bool(c > 11) and bool(c == tl.constexpr(12)) and not bool(c != 12)
    assert list(range(c))[-1] == 11 and int(c) == 12 and float(c) == 12.0
    assert tl.constexpr(c).value == 12 and repr(c) == "constexpr[12]"
    assert c.logical_and(0).value == 0 and tl.constexpr(0).logical_or(5).value == 5


def test_functions_of_the_language_want_a_kernel():
    assert tl.load.__name__ == "load" and "pointer" in tl.load.__doc__
    with pytest.raises(RuntimeError, match=r"tegula\.language\.load.*inside a kernel"):
        tl.load(1)


def test_cdiv_and_next_power_of_2():
    assert [tegula.cdiv(n, 4) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
    assert [tegula.next_power_of_2(n) for n in (0, 1, 2, 3, 64, 65, 2**40 + 1)] == [0, 1, 2, 4, 64, 128, 2**41]
    assert math.log2(tegula.next_power_of_2(1000)) == 10

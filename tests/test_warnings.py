"""Warnings: how they reach the user, and when they do not. What they say is in gallery/."""

import os
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def doubtful(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < BLOCK
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask))


@triton.jit
def copy_rows(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    rows = tl.program_id(0) * stride
    x = tl.load(x_ptr + rows + offsets, mask=offsets < columns)
    tl.store(out_ptr + tl.program_id(0) * columns + offsets, x, mask=offsets < columns)


@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets), mask=offsets < n)


def floats(count):
    return np.zeros(count, np.float32)


@pytest.fixture
def caught():
    """Every warning that is given."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        yield given


@pytest.mark.parametrize("interpret", [False, True])
def test_a_place_is_warned_of_once(caught, interpret):
    kernel = triton.jit(doubtful.fn, interpret=interpret)
    for block in (16, 16, 32):
        kernel[(1,)](floats(block), floats(block), BLOCK=block)
    assert len(caught) == 1
    [warning] = caught
    assert warning.category is triton.KernelWarning
    assert warning.filename == __file__
    line = Path(__file__).read_text().splitlines()[warning.lineno - 1]
    assert "mask = offsets < BLOCK" in line and line.strip() in str(warning.message)


def test_a_warning_made_an_error_stops_the_launch_each_time():
    kernel = triton.jit(doubtful.fn)
    x, out = np.ones(16, np.float32), floats(16)
    with warnings.catch_warnings():
        warnings.simplefilter("error", triton.KernelWarning)
        for _ in range(2):
            kernel.clear_cache()
            with pytest.raises(triton.KernelWarning, match="true for every element"):
                kernel[(1,)](x, out, BLOCK=16)
    assert not out.any()


def test_filters_of_a_module_apply(caught):
    warnings.filterwarnings("ignore", category=triton.KernelWarning, module=__name__)
    triton.jit(doubtful.fn)[(1,)](floats(16), floats(16), BLOCK=16)
    assert not caught


@pytest.mark.parametrize("interpret", [False, True])
def test_offsets_are_checked_again_when_sizes_grow(interpret):
    kernel = triton.jit(copy_rows.fn, interpret=interpret)
    with warnings.catch_warnings():
        warnings.simplefilter("error", triton.KernelWarning)
        kernel[(10,)](floats(1000), floats(200), 100, 20, BLOCK=32)
        # Only the last rows are beyond int32; the launch is refused before it reads them.
        with pytest.raises(triton.KernelWarning, match=r"2147520000 wraps to -2147447296"):
            kernel[(53_689,)](floats(1000), floats(53_689 * 20), 40_000, 20, BLOCK=32)


def test_lanes_beyond_the_array():
    with warnings.catch_warnings():
        warnings.simplefilter("error", triton.KernelWarning)
        with pytest.raises(triton.KernelWarning, match="this reads element 127 of `x_ptr`, which has 100"):
            copy[(2,)](floats(100), floats(100), 100, BLOCK=64)


def test_views_may_reach_into_the_rest_of_their_memory(caught):
    whole = floats(128)
    triton.jit(copy.fn)[(2,)](whole[:100], floats(100), 100, BLOCK=64)
    assert not caught


def test_memory_of_unknown_owners_is_not_judged(caught):
    whole = np.frombuffer(bytearray(4 * 128), np.float32)
    triton.jit(copy.fn)[(2,)](whole[:100], floats(100), 100, BLOCK=64)
    assert not caught


def test_storage_of_tensors(caught):
    torch = pytest.importorskip("torch")
    whole = torch.arange(256, dtype=torch.float32)
    out = torch.zeros(100)
    triton.jit(copy.fn)[(2,)](whole[128:228], out, 100, BLOCK=64)
    assert not caught
    assert torch.equal(out, whole[128:228])
    warnings.simplefilter("error", triton.KernelWarning)
    with pytest.raises(triton.KernelWarning, match="this reads element 127 of `x_ptr`, which has 120"):
        triton.jit(copy.fn)[(2,)](whole[136:236], out, 100, BLOCK=64)


@pytest.mark.parametrize("value, expected", [("0", 0), ("1", 1)])
def test_the_environment_silences_all(tmp_path, value, expected):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import numpy as np
            import tegula as triton
            import tegula.language as tl

            @triton.jit
            def kernel(x_ptr, BLOCK: tl.constexpr):
                offsets = tl.arange(0, BLOCK)
                tl.store(x_ptr + offsets, 1.0, mask=offsets < BLOCK)

            kernel[(1,)](np.zeros(16, np.float32), BLOCK=16)
            """
        )
    )
    env = {**os.environ, "TEGULA_WARNINGS": value}
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, env=env)
    assert run.returncode == 0, run.stderr
    assert run.stderr.count("KernelWarning") == expected, run.stderr

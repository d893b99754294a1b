"""Where kernels run: the device of the arguments, and TEGULA_TARGET. Nothing here needs a GPU."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import tegula
import tegula.language as tl
from tegula import knobs


@tegula.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=inside) + tl.load(y_ptr + i, mask=inside), mask=inside)


@pytest.fixture
def target():
    """Sets the target for the time of a test."""

    def use(name):
        knobs.runtime.target = name

    before = knobs.runtime.target
    yield use
    knobs.runtime.target = before


class OnGpu:
    """An empty array of another library, on the first CUDA device."""

    @property
    def __cuda_array_interface__(self):
        return {"data": (0, False), "typestr": "<f4", "shape": (0,), "version": 3}


class OnAnotherGpu:
    """An array on the second CUDA device, which has not been opened."""

    def __dlpack_device__(self):
        return (2, 1)

    def __dlpack__(self):
        return torch.zeros(8).__dlpack__()


def test_the_device_of_the_arguments_decides():
    x, out = torch.randn(100), torch.full((100,), float("nan"))
    compiled = add[(2,)](x, x, out, 100, BLOCK=64)
    assert compiled.target == "cpu"
    assert torch.equal(out, x + x)


def test_arrays_of_two_devices_are_refused_by_name():
    x = torch.zeros(8)
    with pytest.raises(ValueError, match=r"`y_ptr` of `add`.*on cuda:0, but `x_ptr` is on cpu"):
        add[(1,)](x, OnGpu(), x, 8, BLOCK=8)
    with pytest.raises(ValueError, match=r"`out_ptr` of `add`.*on cuda:1, but `x_ptr` is on cuda:0"):
        add[(1,)](OnGpu(), OnGpu(), OnAnotherGpu(), 8, BLOCK=8)


def test_tensors_of_the_cpu_are_refused_where_torch_computes_on_a_gpu(target, monkeypatch):
    x = torch.ones(8)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    with pytest.raises(ValueError, match=r"`x_ptr` of `add`.*on the cpu.*`\.cuda\(\)`.*TEGULA_TARGET=cpu"):
        add[(1,)](x, x, x, 8, BLOCK=8)
    ones, out = np.ones(8, np.float32), np.zeros(8, np.float32)
    with pytest.raises(ValueError, match=r"`y_ptr` of `add`"):
        add[(1,)](ones, x, out, 8, BLOCK=8)
    assert add[(1,)](ones, ones, out, 8, BLOCK=8).target == "cpu"
    assert (out == 2).all()
    target("cpu")
    assert add[(1,)](x, x, x, 8, BLOCK=8).target == "cpu"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_driver_arrays_of_a_gpu_are_refused():
    with pytest.raises(tegula.DriverError, match="driver"):
        add[(1,)](OnGpu(), OnGpu(), OnGpu(), 8, BLOCK=8)


def test_targets_that_do_not_fit_the_arguments_are_refused(target):
    x = torch.zeros(8)
    target("cpu")
    assert add[(1,)](x, x, x, 8, BLOCK=8).target == "cpu"
    with pytest.raises(ValueError, match=r"cuda:0, but TEGULA_TARGET is cpu"):
        add[(1,)](OnGpu(), OnGpu(), OnGpu(), 8, BLOCK=8)
    target("sm_80")
    with pytest.raises(ValueError, match=r"on the cpu, but TEGULA_TARGET is sm_80"):
        add[(1,)](x, x, x, 8, BLOCK=8)


def test_targets_that_there_are_not_are_refused(target):
    for name in ("sm_75", "gpu", ""):
        with pytest.raises(ValueError, match=r"TEGULA_TARGET.*sm_80"):
            target(name)
    done = subprocess.run(
        [sys.executable, "-c", "import tegula"],
        env={"TEGULA_TARGET": "sm_foo", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0 and "TEGULA_TARGET: `sm_foo` is no target" in done.stderr


def test_options_are_no_variants_on_the_cpu():
    x = torch.zeros(8)
    first = add[(1,)](x, x, x, 8, BLOCK=8, num_warps=2)
    assert add[(1,)](x, x, x, 8, BLOCK=8, num_warps=8) is first
    assert first.shared == 0 and first.n_regs is None and set(first.asm) == {"ir"}
    assert first.metadata.name == "add" and first.metadata.target == "cpu"

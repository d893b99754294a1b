"""Kernels in the simulator of GPUs: what it computes, and what it finds."""

import json
import os
import subprocess

import pytest
import torch

import tegula as triton
import tegula.language as tl
from tegula import knobs
from tegula.errors import KernelAssertionError, SimulationError


@pytest.fixture(params=["sim:sm_80", "sim:sm_90a"])
def target(request):
    before = knobs.runtime.target
    knobs.runtime.target = request.param
    yield request.param
    knobs.runtime.target = before


@triton.jit
def product(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, K, BLOCK):
        left = tl.load(a + i[:, None] * K + start + k[None, :])
        right = tl.load(b + (start + k[:, None]) * N + j[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + i[:, None] * N + j[None, :], total)


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_are_right(target, dtype, warps):
    a, b = torch.randn(128, 256).to(dtype), torch.randn(256, 64).to(dtype)
    c = torch.full((128, 64), float("nan"))
    compiled = product[(1,)](a, b, c, 256, M=128, N=64, BLOCK=64, num_warps=warps)
    assert compiled.metadata.target == target
    assert ("wgmma" in compiled.asm["ptx"]) == (target == "sim:sm_90a")
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-5, atol=1e-4)


@triton.jit
def neighbours(x, out, BARRIER: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, i)
    if BARRIER:
        tl.debug_barrier()
    tl.store(out + i, tl.load(x + (i + 1) % BLOCK))


def test_schedules_agree(target, monkeypatch):
    for seed in range(5):
        monkeypatch.setenv("TEGULA_SIM_SEED", str(seed))
        x, out = torch.zeros(512, dtype=torch.int32), torch.zeros(512, dtype=torch.int32)
        neighbours[(1,)](x, out, BARRIER=True, BLOCK=512)
        assert torch.equal(out, (torch.arange(512, dtype=torch.int32) + 1) % 512)
    monkeypatch.setenv("TEGULA_SIM_SEED", "many")
    with pytest.raises(ValueError, match="TEGULA_SIM_SEED is `many`, and must be a number"):
        neighbours[(1,)](x, out, BARRIER=True, BLOCK=512)


@triton.jit
def beyond(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i), mask=i < n)


def test_accesses_outside_are_named(target):
    x, out = torch.ones(100), torch.zeros(100)
    with pytest.raises(SimulationError) as caught:
        beyond[(2,)](x, out, 100, BLOCK=64)
    message = str(caught.value)
    facts = ["out of bounds", "past the end of `x`", "test_simulator.py:", "ld.global", "program (1, 0, 0)"]
    for part in [*facts, "PTX line", "warp", "lane", "address"]:
        assert part in message, message


@triton.jit
def asserting(x):
    value = tl.load(x)
    tl.device_print("value", value)
    tl.device_assert(value == 1, "it is one")


def test_what_kernels_say(target, capfd):
    asserting[(1,)](torch.ones(1, dtype=torch.int32), debug=True)
    assert "value" in capfd.readouterr().out
    with pytest.raises(KernelAssertionError):
        asserting[(1,)](torch.zeros(1, dtype=torch.int32), debug=True)


@triton.jit
def table(addresses, out, BLOCK: tl.constexpr):
    pointer = tl.load(addresses + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(out + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.load(pointer + tl.arange(0, BLOCK)))


def test_pointers_in_memory_are_believed(target):
    rows = [torch.randn(64) for _ in range(3)]
    addresses, out = torch.tensor([row.data_ptr() for row in rows]), torch.zeros(3, 64)
    table[(3,)](addresses, out, BLOCK=64)
    assert torch.equal(out, torch.stack(rows))


SOURCE = """
import triton
import triton.language as tl

@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i), mask=i < n)
"""


def test_the_command_line_reports(tmp_path):
    file = tmp_path / "copy.py"
    file.write_text(SOURCE)

    def simulate(extent, *more):
        arguments = ["--arguments", f"fp32[{extent}],fp32[1000],1000", "--constexpr", "BLOCK=256", "--grid", "4"]
        binary = os.environ.get("TEGULA_BINARY", "tegula")
        return subprocess.run([binary, "simulate", f"{file}:copy", *arguments, *more], capture_output=True, text=True)

    right = simulate(1024, "--target", "sm_80")
    assert right.returncode == 0 and "no findings" in right.stdout, right.stderr
    wrong = simulate(1000, "--format", "json", "--seed", "3")
    report = json.loads(wrong.stdout)
    assert wrong.returncode == 1 and report["programs"] == 4
    assert report["findings"][0]["kind"] == "out of bounds" and report["findings"][0]["source"]["line"] == 8
    odd = simulate("many")
    assert odd.returncode == 2 and "`fp32[many]` is no argument" in odd.stderr

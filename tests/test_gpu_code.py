"""Kernels compiled for GPUs that are not here: the stages of the compilation, and the cache on disk."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
import torch

import tegula
import tegula.language as tl
from tegula import knobs
from tegula.testing import compile_cold

ELF = b"\x7fELF"


@tegula.jit
def scale(x_ptr, out_ptr, factor, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) * factor, mask=i < n)


@tegula.jit
def product(a_ptr, b_ptr, c_ptr, B: tl.constexpr):
    r, c = tl.arange(0, B)[:, None] * B, tl.arange(0, B)[None, :]
    tl.store(c_ptr + r + c, tl.dot(tl.load(a_ptr + r + c), tl.load(b_ptr + r + c)))


@pytest.fixture(autouse=True)
def for_hopper(tmp_path, monkeypatch):
    """Compiles for sm_90, with a cache of the test's own."""
    monkeypatch.setenv("TEGULA_CACHE_DIR", str(tmp_path))
    before = knobs.runtime.target
    knobs.runtime.target = "sm_90"
    scale.clear_cache()
    yield
    knobs.runtime.target = before
    scale.clear_cache()


def compiled(**options):
    return scale.warmup(torch.float32, torch.float32, 2.0, 1000, BLOCK=256, grid=(4,), **options)


def entries(folder):
    return [path for path in pathlib.Path(folder).rglob("*") if path.is_file()]


@pytest.fixture
def disassembler(tmp_path, monkeypatch):
    """A stand-in for nvdisasm, which says how large the machine code is, and where an instruction comes from."""
    program = tmp_path / "bin" / "nvdisasm"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        "printf '//## File \"x.py\", line 1\\n  %d bytes;\\n' $(wc -c < $last)\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("TEGULA_NVDISASM", str(program))
    return program


def test_machine_code_as_text(disassembler):
    stages = compiled().asm
    assert sorted(stages) == ["cubin", "ir", "layouts", "ptx"]
    assert stages["sass"] == f'//## File "x.py", line 1\n  {len(stages["cubin"])} bytes;\n'
    with pytest.raises(KeyError, match="ttir"):
        stages["ttir"]
    disassembler.write_text("#!/bin/sh\necho no such architecture >&2\nexit 1\n")
    with pytest.raises(RuntimeError, match="no such architecture"):
        compiled().asm["sass"]


def test_stages_and_facts():
    kernel = compiled(num_warps=8)
    assert kernel.target == "sm_90a" and kernel.name == "scale"
    assert ".target sm_90" in kernel.asm["ptx"] and ".entry scale" in kernel.asm["ptx"]
    assert kernel.asm["cubin"].startswith(ELF)
    assert "@scale" in kernel.asm["ir"]
    assert 0 < kernel.n_regs <= 255 and kernel.n_spills == 0
    assert kernel.metadata.num_warps == 8 and kernel.metadata.shared == kernel.shared
    assert ".reqntid 256" in kernel.asm["ptx"]


def test_options_and_targets_make_kernels_of_their_own():
    kernels = [compiled(), compiled(num_warps=8), compiled(maxnreg=32)]
    knobs.runtime.target = "sm_80"
    kernels.append(compiled())
    assert len({id(kernel) for kernel in kernels}) == 4
    assert kernels[3].target == "sm_80" and ".target sm_80" in kernels[3].asm["ptx"]
    assert compiled() is kernels[3]


def test_the_cache_serves_what_it_has(tmp_path):
    first = compiled()
    (entry,) = entries(tmp_path)
    before = entry.stat().st_mtime_ns
    scale.clear_cache()
    again = compiled()
    assert again is not first and again.asm == first.asm
    assert (again.n_regs, again.n_spills, again.shared) == (first.n_regs, first.n_spills, first.shared)
    assert entry.stat().st_mtime_ns == before


@pytest.mark.parametrize("damage", [b"", b"tegula", None])
def test_damaged_entries_are_compiled_anew(tmp_path, damage):
    first = compiled()
    (entry,) = entries(tmp_path)
    whole = entry.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    entry.write_bytes(flipped if damage is None else damage)
    scale.clear_cache()
    assert compiled().asm == first.asm
    assert entries(tmp_path) == [entry] and entry.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TEGULA_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert compiled().asm["cubin"].startswith(ELF)


def test_the_cache_can_be_bypassed(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    compiled()
    compile_cold(scale, {"x_ptr": "*fp32", "out_ptr": "*fp32", "factor": "fp32", "n": "i32"}, {"BLOCK": 256})
    assert entries(tmp_path) == []


def test_cold_compilation_for_types():
    signature = {"x_ptr": "*bf16", "out_ptr": "*fp32", "factor": "fp32", "n": "i32"}
    assert compile_cold(scale, signature, {"BLOCK": 128}, num_warps=4, num_stages=3).startswith(ELF)
    with pytest.raises(ValueError, match=r"`\*bf17`, the type of `x_ptr`"):
        compile_cold(scale, {**signature, "x_ptr": "*bf17"}, {"BLOCK": 128})
    with pytest.raises(TypeError, match=r"neither a type nor a value for `BLOCK`"):
        compile_cold(scale, signature, {})


def test_too_much_shared_memory_is_refused_before_it_is_assembled():
    with pytest.raises(tegula.OutOfResources, match=r"\d{6} bytes of shared memory, the hardware has 232448"):
        product.warmup(torch.float32, torch.float32, torch.float32, B=512, grid=(1,))


WORKER = """
import sys
import threading
import torch
sys.path.insert(0, sys.argv[1])
import test_gpu_code
test_gpu_code.knobs.runtime.target = "sm_90"
wrong = []

def work(first):
    for turn in range(12):
        warps = (1, 2, 4, 8)[(first + turn) % 4]
        test_gpu_code.scale.clear_cache()
        stages = test_gpu_code.compiled(num_warps=warps).asm
        if f".reqntid {32 * warps}," not in stages["ptx"] or not stages["cubin"].startswith(b"\\x7fELF"):
            wrong.append(warps)

threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
for thread in threads:
    thread.start()
print("begun", flush=True)
for thread in threads:
    thread.join()
print("wrong" if wrong else "right")
"""


def test_processes_and_threads_share_the_cache(tmp_path):
    here = str(pathlib.Path(__file__).parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, here], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    # Some are killed wherever they happen to be.
    for delay, worker in zip((0.0, 0.01, 0.05), workers, strict=False):
        assert worker.stdout.readline() == "begun\n"
        time.sleep(delay)
        worker.send_signal(signal.SIGKILL)
    outputs = [worker.communicate(timeout=300)[0] for worker in workers]
    assert outputs[3:] == ["begun\nright\n"] * 5
    # Who is killed may leave what it was writing; entries are whole all the same.
    for warps in (1, 2, 4, 8):
        scale.clear_cache()
        assert f".reqntid {32 * warps}," in compiled(num_warps=warps).asm["ptx"]
    for warps in (1, 2, 4, 8):
        assert compiled(num_warps=warps).asm["cubin"].startswith(ELF)

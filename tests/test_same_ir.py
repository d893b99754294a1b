"""The command line compiles a kernel without Python to the same text as Python does.

Every launch of every example is recorded, and compiled again by the binary from the file and a signature.
"""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tegula

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
BINARY = Path(os.environ.get("TEGULA_BINARY", ROOT / "target" / "debug" / "tegula"))
# `performance` measures kernels of other examples, and takes its time.
SCRIPTS = sorted({path.stem for path in EXAMPLES.glob("*.py")} - {"checking", "demo", "performance"})
TYPES = {"int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "float16": "fp16",
         "float32": "fp32", "float64": "fp64"}


def entry(value):
    """An argument as an entry of the command line's signature."""
    if isinstance(value, np.ndarray):
        return f"*{TYPES[value.dtype.name]}" + (":16" if value.ctypes.data % 16 == 0 else "")
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value == 1):
        return repr(value)
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        return ("i32" if -(2**31) <= value < 2**31 else "i64") + (":16" if value % 16 == 0 else "")
    assert isinstance(value, float)
    return "fp32"


def command(kernel, args, kwargs):
    """The command line that compiles for these arguments."""
    values = dict(zip((param.name for param in kernel.params), args, strict=False))
    values.update({name: value for name, value in kwargs.items() if name in {param.name for param in kernel.params}})
    signature, constants = [], []
    for param in kernel.params:
        value = values.get(param.name, param.default)
        if param.is_constexpr:
            constants += ["--constexpr", f"{param.name}={value}"]
        else:
            signature.append(entry(value))
    place = f"{Path(kernel.fn.__code__.co_filename)}:{kernel.fn.__name__}"
    return ["compile", place, "--signature", ",".join(signature), *constants, "--emit", "ir"]


def launches(script, monkeypatch):
    """Each different launch of a script: the command line for it, and the text that Python compiled to."""
    found = {}
    kernels = []
    make = tegula.runtime.jit.JITFunction.__new__

    def record(cls, fn, *args, **kwargs):
        kernel = make(cls, fn, *args, **kwargs)
        kernels.append(kernel)

        def hook(*args, **kwargs):
            line = tuple(command(kernel, args, kwargs))
            if line not in found:
                found[line] = None
                found[line] = kernel.warmup(*args, grid=(1,), **kwargs).asm["ir"]

        kernel.add_pre_run_hook(hook)
        return kernel

    monkeypatch.setattr(tegula.runtime.jit.JITFunction, "__new__", record)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    runpy.run_path(str(EXAMPLES / f"{script}.py"), run_name="__main__")
    assert kernels
    return {line: text for line, text in found.items() if text is not None}


@pytest.mark.parametrize("script", SCRIPTS)
def test_same_text(script, monkeypatch):
    # Modules imported by earlier tests would bring kernels that are not recorded.
    for name in [*SCRIPTS, "checking"]:
        monkeypatch.delitem(sys.modules, name, raising=False)
    recorded = launches(script, monkeypatch)
    assert recorded, "the script launched nothing"
    for line, text in recorded.items():
        run = subprocess.run([str(BINARY), *line], capture_output=True, text=True, timeout=60)
        assert run.returncode == 0, run.stderr
        assert run.stdout.rstrip("\n") == text.rstrip("\n"), " ".join(line)


def test_the_binary_needs_no_python():
    """It runs with nothing on the path and no library of Python's."""
    line = ["compile", str(EXAMPLES / "vector_add.py:add_kernel"), "--signature", "*fp32,*fp32,*fp32,i32"]
    run = subprocess.run([str(BINARY), *line, "--constexpr", "BLOCK=64"], capture_output=True, text=True, env={})
    assert run.returncode == 0, run.stderr
    libraries = subprocess.run(["ldd", str(BINARY)], capture_output=True, text=True).stdout
    assert "python" not in libraries

"""TEGULA_DEBUG=1 finds accesses outside the arrays, and says where: line, program, lane."""

import os
import subprocess
import sys
import textwrap

import pytest

HEADER = """
import numpy as np
import tegula as triton
import tegula.language as tl
"""


def run(tmp_path, text, debug="1"):
    """Runs a script, in a process of its own since the variable is read once."""
    script = tmp_path / "script.py"
    script.write_text(HEADER + textwrap.dedent(text))
    env = {**os.environ, "TEGULA_DEBUG": debug}
    return subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, env=env)


KERNEL = """
@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)  # the load
    tl.store(out_ptr + offsets, x, mask=offsets < n)  # the store
"""


@pytest.mark.parametrize("x,out,n,line,program,lane", [
    (100, 128, 101, "the load", 6, 4),
    (128, 100, 101, "the store", 6, 4),
    (16, 64, 33, "the load", 1, 0),
])
def test_the_first_access_outside_is_named(tmp_path, x, out, n, line, program, lane):
    result = run(tmp_path, KERNEL + f"""
x, out = np.zeros({x}, np.float32), np.zeros({out}, np.float32)
copy[(triton.cdiv({n}, 16),)](x, out, {n}, BLOCK=16)
""")
    assert result.returncode != 0
    said = result.stderr
    assert line in said and "script.py" in said, said
    assert f"({program}, 0, 0)" in said, said
    assert f"lane ({lane})" in said, said


def test_the_array_that_was_missed_is_named(tmp_path):
    result = run(tmp_path, KERNEL + """
copy[(1,)](np.zeros(8, np.float32), np.zeros(16, np.float32), 9, BLOCK=16)
""")
    assert "x_ptr" in result.stderr, result.stderr


def test_what_the_mask_leaves_out_is_no_access(tmp_path):
    result = run(tmp_path, KERNEL + """
x, out = np.ones(100, np.float32), np.zeros(100, np.float32)
copy[(7,)](x, out, 100, BLOCK=16)
copy[(7,)](x[:0], out, 0, BLOCK=16)
assert (out == 1).all()
# Views may be walked backwards, and with any strides, inside the array that they are views of.
copy[(1,)](x[10:20], out[30:], 10, BLOCK=16)
print("fine")
""")
    assert result.stdout == "fine\n", result.stderr


def test_atomics_and_gathers_are_checked(tmp_path):
    result = run(tmp_path, """
@triton.jit
def count(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.atomic_add(out_ptr + x, 1)  # the atomic

x = np.zeros(16, np.int32)
x[5] = -1
count[(1,)](x, np.zeros(4, np.int32), BLOCK=16)
""")
    assert result.returncode != 0 and "the atomic" in result.stderr, result.stderr


def test_results_are_the_same(tmp_path):
    text = KERNEL + """
x, out = np.arange(1000, dtype=np.float32), np.full(1000, np.nan, np.float32)
copy[(63,)](x, out, 1000, BLOCK=16)
print(out.tobytes() == x.tobytes())
"""
    for debug in ("0", "1"):
        assert run(tmp_path, text, debug).stdout == "True\n"

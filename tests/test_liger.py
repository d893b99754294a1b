"""Third-party kernels, unedited: liger-kernel's layers on CPU tensors, against torch in float64.

`make test` installs liger-kernel without what it depends on. Each test runs in a process of its own,
so that `import triton` is tegula there and nothing else is touched.
"""

import subprocess
import sys
import textwrap

import pytest

HEADER = """
import tegula.compat
tegula.compat.install()
import torch

def close(actual, expected, tolerance):
    error = ((actual.double() - expected).norm() / expected.norm()).item()
    assert error <= tolerance, error
"""


def run(text):
    script = HEADER + textwrap.dedent(text) + "\nprint('fine')\n"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0 and result.stdout.endswith("fine\n"), result.stderr[-4000:]


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 5, 96), (3, 1, 1000)])
def test_rms_norm(shape):
    run(f"""
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction

    x, weight = torch.randn{shape}, torch.randn({shape[-1]})
    out = LigerRMSNormFunction.apply(x, weight, 1e-6)
    wide = x.double()
    close(out, wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6) * weight.double(), 2e-6)
    """)


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 5, 96), (3, 1, 1000)])
def test_swiglu(shape):
    run(f"""
    from liger_kernel.ops.swiglu import LigerSiLUMulFunction

    gate, up = torch.randn{shape}, torch.randn{shape}
    out = LigerSiLUMulFunction.apply(gate, up)
    close(out, torch.nn.functional.silu(gate.double()) * up.double(), 2e-6)
    """)

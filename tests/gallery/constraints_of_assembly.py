import torch

import tegula as triton
import tegula.language as tl
from tegula import knobs


@triton.jit
def scale(x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    # With `pack=2` a register holds both halves.
    x = tl.inline_asm_elementwise("mul.f16x2 $0, $1, $2;", "=r,r,r,r", [x], tl.float16, is_pure=True, pack=2)  # <--
    tl.store(x_ptr + i, x)


def launch():
    before = knobs.runtime.target
    knobs.runtime.target = "sm_90"
    try:
        scale.warmup(torch.float16, BLOCK=64, grid=(1,))
    finally:
        knobs.runtime.target = before

import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def exponential(x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    x = tl.inline_asm_elementwise("ex2.approx.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1)  # <--
    tl.store(x_ptr + i, x)


def launch():
    exponential[(1,)](np.ones(64, np.float32), BLOCK=64)

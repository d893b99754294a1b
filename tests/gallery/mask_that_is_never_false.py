import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < BLOCK)  # <--
    tl.store(x_ptr + offsets, x, mask=offsets < n)


def launch():
    kernel[(1,)](np.zeros(64, np.float32), 50, BLOCK=64)

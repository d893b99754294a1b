import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr = 64):
    tl.store(x_ptr + tl.arange(0, BLOCK), 0.0)


def launch():
    kernel[(1,)](np.zeros(64, np.float32), BLOK=64)

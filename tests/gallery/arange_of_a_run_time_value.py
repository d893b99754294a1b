import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr, n):
    offsets = tl.arange(0, n)  # <--
    tl.store(x_ptr + offsets, 0.0)


def launch():
    kernel[(1,)](np.zeros(64, np.float32), 64)

import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr):
    offsets = tl.arange(0, 64)
    x = tl.load(x_ptr + offsets, mask=tl.arange(0, 32) < 9)  # <--
    tl.store(x_ptr + offsets, x)


def launch():
    kernel[(1,)](np.zeros(64, np.float32))

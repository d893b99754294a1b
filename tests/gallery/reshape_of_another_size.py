import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    x = tl.reshape(x, (16, 16))  # <--
    tl.store(x_ptr, tl.sum(x))


def launch():
    kernel[(1,)](np.zeros(64, np.float32))

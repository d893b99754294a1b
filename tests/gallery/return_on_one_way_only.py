import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def positive(x):
    if x > 0:
        return x  # <--


@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, positive(tl.load(x_ptr)))


def launch():
    kernel[(1,)](np.zeros(64, np.float32))

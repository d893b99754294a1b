import numpy as np

import tegula as triton
import tegula.language as tl

@triton.jit
def inner(a):
    return a + tl.arange(0, 32)  # <--


@triton.jit
def outer(a):
    return tl.sum(inner(a))


@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, outer(tl.arange(0, 64)))


def launch():
    kernel[(1,)](np.zeros(64, np.float32))

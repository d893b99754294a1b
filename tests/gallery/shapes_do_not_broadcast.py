import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr):
    a = tl.arange(0, 64)
    b = tl.arange(0, 32)
    tl.store(x_ptr + a, (a + b).to(tl.float32))  # <--


def launch():
    kernel[(1,)](np.zeros(64, np.float32))

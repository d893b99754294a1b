import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr):
    a = tl.zeros((16, 32), tl.float32)
    b = tl.zeros((16, 16), tl.float32)
    c = tl.dot(a, b)  # <--
    tl.store(x_ptr, tl.sum(c))


def launch():
    kernel[(1,)](np.zeros(64, np.float32))

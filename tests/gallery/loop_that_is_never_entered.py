import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr):
    total = 0
    for i in range(0, 8, -1):  # <--
        total += i
    tl.store(x_ptr, total)


def launch():
    kernel[(1,)](np.ones(1, np.int32))

import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr, n):
    if n > 3:
        value = 1.5
    tl.store(x_ptr, value)  # <--


def launch():
    kernel[(1,)](np.zeros(64, np.float32), 5)

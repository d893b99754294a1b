import numpy as np

import tegula as triton
import tegula.language as tl

SCALE = 2.0


@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, SCALE)  # <--


def launch():
    kernel[(1,)](np.zeros(64, np.float32))

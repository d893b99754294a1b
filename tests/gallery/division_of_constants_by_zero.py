import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr, 1 // (BLOCK - 64))  # <--


def launch():
    kernel[(1,)](np.zeros(64, np.float32), BLOCK=64)

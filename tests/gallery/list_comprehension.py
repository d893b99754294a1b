import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr, n):
    offsets = [i * n for i in range(n)]  # <--
    tl.store(x_ptr, offsets[0])


def launch():
    kernel[(1,)](np.zeros(64, np.float32), 5)

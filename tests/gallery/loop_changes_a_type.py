import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr, n):
    total = 0
    for i in range(n):
        total = total + 0.5  # <--
    tl.store(x_ptr, total)


def launch():
    kernel[(1,)](np.zeros(64, np.float32), 5)

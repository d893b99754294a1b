import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr, n):
    for i in range(n):
        if i == 3:
            break  # <--
        tl.store(x_ptr + i, 0.0)


def launch():
    kernel[(1,)](np.zeros(64, np.float32), 5)

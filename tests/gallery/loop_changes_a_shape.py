import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr, n):
    total = tl.zeros([64], tl.float32)
    for i in range(n):
        total = tl.zeros([32], tl.float32)  # <--
    tl.store(x_ptr + tl.arange(0, 64), total)


def launch():
    kernel[(1,)](np.zeros(64, np.float32), 5)

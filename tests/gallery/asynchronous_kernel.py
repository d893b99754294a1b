import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
async def kernel(x_ptr):  # <--
    tl.store(x_ptr, 1.0)


def launch():
    kernel[(1,)](np.zeros(64, np.float32))

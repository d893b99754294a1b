import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr):
    a, b = tl.program_id(0), tl.program_id(1), 3  # <--
    tl.store(x_ptr, a + b)


def launch():
    kernel[(1,)](np.zeros(64, np.float32))

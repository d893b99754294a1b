import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr, out_ptr):
    x = tl.load(x_ptr)
    if x > -1:  # <--
        tl.store(out_ptr, x)


def launch():
    kernel[(1,)](np.ones(1, np.uint32), np.ones(1, np.uint32))

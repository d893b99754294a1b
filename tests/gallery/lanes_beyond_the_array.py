import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)  # <--
    tl.store(out_ptr + offsets, x)


def launch():
    kernel[(4,)](np.zeros(1000, np.float32), np.zeros(1024, np.float32), BLOCK=256)

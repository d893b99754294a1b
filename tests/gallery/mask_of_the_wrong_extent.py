import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < rows * columns)
    tl.store(out_ptr + offsets, x, mask=offsets < rows * columns)  # <--


def launch():
    kernel[(1,)](np.zeros((40, 25), np.float32), np.zeros(40, np.float32), 40, 25, BLOCK=1024)

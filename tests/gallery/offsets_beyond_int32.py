import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + columns, mask=columns < n)  # <--
    tl.store(out_ptr + row, tl.sum(x))


def launch():
    kernel[(70_000,)](np.zeros(64, np.float32), np.zeros(70_000, np.float32), 40_000, 20, BLOCK=32)

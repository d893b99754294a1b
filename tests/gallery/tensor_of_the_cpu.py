from unittest import mock

import torch

import tegula as triton
import tegula.language as tl


@triton.jit
def fill(out_ptr, value, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, BLOCK), value)


def launch():
    # As in a program that has tensors on a GPU.
    with mock.patch("torch.cuda.is_initialized", lambda: True):
        fill[(1,)](torch.ones(64), 1.0, BLOCK=64)

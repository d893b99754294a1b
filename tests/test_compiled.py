"""Kernels that are compiled first and launched afterwards, as persistent kernels want it."""

import gc
import weakref

import pytest

import tegula
import tegula.language as tl

torch = pytest.importorskip("torch")


@tegula.jit
def softmax_kernel(
    out_ptr, in_ptr, in_stride, out_stride, rows, columns, BLOCK: tl.constexpr, num_stages: tl.constexpr
):
    cols = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=num_stages):
        x = tl.load(in_ptr + row * in_stride + cols, mask=cols < columns, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_stride + cols, e / tl.sum(e, axis=0), mask=cols < columns)


def test_what_was_compiled_is_launched():
    x, out = torch.randn(37, 100), torch.full((37, 100), torch.nan)
    softmax_kernel.clear_cache()
    compiled = softmax_kernel.warmup(
        out, x, x.stride(0), out.stride(0), 37, 100, BLOCK=128, num_stages=4, num_warps=8, grid=(1,)
    )
    compiled._init_handles()
    assert compiled.metadata.num_warps == 8 and compiled.metadata.shared == 0
    launched = compiled[(5, 1, 1)](out, x, x.stride(0), out.stride(0), 37, 100, 128, 4)
    assert launched is compiled and softmax_kernel.compiled_kernels() == [compiled]
    torch.testing.assert_close(out, torch.softmax(x, -1))


def test_other_arguments_are_compiled_for():
    x = torch.randn(3, 64)
    compiled = softmax_kernel.warmup(x, x, 64, 64, 3, 64, BLOCK=64, num_stages=2, grid=(1,))
    y, out = torch.randn(3, 50, dtype=torch.float64), torch.empty(3, 50, dtype=torch.float64)
    assert compiled[(3,)](out, y, 50, 50, 3, 50, 64, num_stages=2) is not compiled
    torch.testing.assert_close(out, torch.softmax(y, -1))
    with pytest.raises(TypeError, match="is missing the argument `num_stages`"):
        compiled[(3,)](out, y, 50, 50, 3, 50, 64)


def test_compiled_kernels_do_not_keep_the_kernel():
    def body(x_ptr):
        tl.store(x_ptr, 1.0)

    kernel = tegula.jit(body)
    x = torch.zeros(1)
    compiled, alive = kernel.warmup(x, grid=(1,)), weakref.ref(kernel)
    compiled[(1,)](x)
    assert x.item() == 1.0
    del kernel, body
    gc.collect()
    assert alive() is None
    with pytest.raises(RuntimeError, match="the kernel `body` is gone"):
        compiled[(1,)](x)

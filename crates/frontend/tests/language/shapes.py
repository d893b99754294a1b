# *fp32 i32
"""Shapes of what moves elements."""
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, i):
    x = tl.load(x_ptr + tl.arange(0, 6)[:, None] * 8 + tl.arange(0, 8)[None, :])
    tl.static_assert(x.shape == (6, 8) and x.numel == 48 and len(x.shape) == 2)
    tl.static_assert(x.type.is_block() and x.type.element_ty == tl.float32 and x.type.shape == (6, 8))
    tl.static_assert(x_ptr.dtype.is_ptr() and x_ptr.dtype.element_ty == tl.float32)
    tl.static_assert(x.dtype.is_floating() and x.dtype.primitive_bitwidth == 32 and not x.dtype.is_int())
    tl.static_assert(x.T.shape == (8, 6) and tl.trans(x).shape == (8, 6) and x.permute((1, 0)).shape == (8, 6))
    tl.static_assert(tl.reshape(x, (4, 12)).shape == (4, 12) and x.reshape(3, -1).shape == (3, 16))
    tl.static_assert(x[0, :].shape == (8,) and x[:, 2:5].shape == (6, 3) and x[-2:, 4:].shape == (2, 4))
    tl.static_assert(x[3, 5].shape == () and x[i].shape == (8,) and x[i, 2].dtype == tl.float32)
    tl.static_assert(x[..., None].shape == (6, 8, 1) and x[None].shape == (1, 6, 8) and x[..., 0].shape == (6,))
    tl.static_assert(tl.expand_dims(x, (0, 2)).shape == (1, 6, 1, 8) and x.expand_dims(-1).shape == (6, 8, 1))
    tl.static_assert(tl.broadcast_to(x[:1], (6, 8)).shape == (6, 8) and tl.broadcast_to(i, 2, 3).shape == (2, 3))
    tl.static_assert(tl.join(x, x).shape == (6, 8, 2) and tl.join(i, i).shape == (2,))
    tl.static_assert(tl.interleave(x, x).shape == (6, 16) and tl.cat(x, x, dim=1).shape == (6, 16))
    a, b = tl.split(x.reshape(6, 4, 2))
    tl.static_assert(a.shape == (6, 4) and b.shape == (6, 4))
    tl.static_assert(tl.flip(x, 0).shape == (6, 8) and tl.ravel(x).shape == (48,))
    tl.static_assert(tl.gather(x, tl.zeros((6, 3), tl.int32), 1).shape == (6, 3))
    tl.static_assert(tl.zeros_like(x).dtype == tl.float32 and tl.full([], 1, tl.int8).shape == ())
    half = x.to(tl.float16)
    tl.static_assert(tl.dot(x, x.T).shape == (6, 6) and tl.dot(half, half.T).dtype == tl.float32)
    tl.static_assert(tl.softmax(x, 1).shape == (6, 8) and tl.sigmoid(x).dtype == tl.float32)
    rows, columns = tl.broadcast(x[:, :1], x[:1, :])
    tl.static_assert(rows.shape == (6, 8) and columns.shape == (6, 8))

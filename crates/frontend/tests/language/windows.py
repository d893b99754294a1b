# *fp16 *fp32 i32 i32
"""Block pointers and tensor descriptors, in loops too."""
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, rows, cols):
    block = tl.make_block_ptr(x_ptr, (rows, cols), (cols, 1), (0, 0), (16, 24), (1, 0))
    total = tl.zeros((16, 24), tl.float32)
    for _ in range(0, cols, 24):
        total += tl.load(block, boundary_check=(0, 1), padding_option="zero")
        block = tl.advance(block, (0, 24))
    source = tl.make_tensor_descriptor(x_ptr, [rows, cols], [cols, 1], [16, 24])
    target = tl.make_tensor_descriptor(out_ptr, [rows, cols], [cols, 1], [16, 24])
    tl.static_assert(source.dtype == tl.float16 and source.block_shape == (16, 24))
    for row in range(0, rows, 16):
        target.store([row, 0], source.load([row, 0]) + total)
    target.atomic_add([0, 0], total)
    one = tl.make_tensor_descriptor(x_ptr, [rows, cols], [cols, 1], [1, 32])
    picked = one.gather(tl.arange(0, 16), 8)
    tl.static_assert(picked.shape == (16, 32))
    one.scatter(picked * 2, tl.arange(0, 16), 8)

# *fp32
import triton
import triton.language as tl


@triton.jit
def kernel(x):
    a = tl.load(x + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16))
    b = tl.dot(a, a, out_dtype=tl.int8)
    c = tl.dot(a, a, out_dtype=tl.float16)
    d = tl.dot(a.to(tl.int8), a.to(tl.int8), out_dtype=tl.float32)

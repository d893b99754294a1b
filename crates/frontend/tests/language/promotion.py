# *i8 *u8 *i32 *u32 *i64 *fp16 *bf16 *fp32 *fp64
"""The common types of two values, and of a value and a number."""
import triton
import triton.language as tl


@triton.jit
def kernel(i8_ptr, u8_ptr, i32_ptr, u32_ptr, i64_ptr, f16_ptr, bf16_ptr, f32_ptr, f64_ptr):
    i8 = tl.load(i8_ptr)
    u8 = tl.load(u8_ptr)
    i32 = tl.load(i32_ptr)
    u32 = tl.load(u32_ptr)
    i64 = tl.load(i64_ptr)
    f16 = tl.load(f16_ptr)
    bf16 = tl.load(bf16_ptr)
    f32 = tl.load(f32_ptr)
    f64 = tl.load(f64_ptr)
    truth = i8 > 0

    # Two values.
    tl.static_assert((i8 + u8).dtype == tl.uint8)
    tl.static_assert((i8 * i64).dtype == tl.int64)
    tl.static_assert((u8 + i32).dtype == tl.int32)
    tl.static_assert((i32 - u32).dtype == tl.uint32)
    tl.static_assert((truth + truth).dtype == tl.int1)
    tl.static_assert((f16 + bf16).dtype == tl.float16)
    tl.static_assert((bf16 + bf16).dtype == tl.bfloat16)
    tl.static_assert((bf16 + i8).dtype == tl.float32)
    tl.static_assert((f16 * i64).dtype == tl.float16)
    tl.static_assert((f32 + f64).dtype == tl.float64)

    # A value and a number, which adapts if its kind is not higher.
    tl.static_assert((i8 + 100).dtype == tl.int8)
    tl.static_assert((f16 * 0.1).dtype == tl.float16)
    tl.static_assert((i64 * 0.5).dtype == tl.float32)
    tl.static_assert((i32 + 1e300).dtype == tl.float64)
    tl.static_assert((truth + 1).dtype == tl.int32)
    tl.static_assert((True & truth).dtype == tl.int1)

    # Quotients are floats of at least 32 bits; integer quotients keep their type.
    tl.static_assert((i64 / i64).dtype == tl.float32)
    tl.static_assert((f16 / 2).dtype == tl.float32)
    tl.static_assert((bf16 % bf16).dtype == tl.float32)
    tl.static_assert((f64 / i8).dtype == tl.float64)
    tl.static_assert((i8 // i64).dtype == tl.int64)
    tl.static_assert((i64 % 3).dtype == tl.int64)

    # In comparisons and choices of extremes, numbers are int32 or fp32 first.
    tl.static_assert((u32 > -1).dtype == tl.int1)
    tl.static_assert(tl.minimum(i8, 3).dtype == tl.int32)
    tl.static_assert(tl.maximum(f16, 0.0).dtype == tl.float32)
    tl.static_assert(tl.maximum(bf16, bf16).dtype == tl.float32)
    tl.static_assert(tl.clamp(i32, 0, 7).dtype == tl.int32)
    tl.static_assert(tl.where(truth, i8, 0).dtype == tl.int8)
    tl.static_assert(tl.where(truth, f16, bf16).dtype == tl.float16)
    tl.static_assert(tl.where(truth, 1, 2).dtype == tl.int32)

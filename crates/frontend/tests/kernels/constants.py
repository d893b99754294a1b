# *fp32 13 4
import triton
import triton.language as tl


@triton.jit
def kernel(out_ptr, A: tl.constexpr, B: tl.constexpr):
    """Constants follow Python; they take a type only where they meet a value."""
    QUOTIENT: tl.constexpr = -A // B + (A % B) * 2**B - (A << 2 & 6 | 9) ^ ~A
    NAME: tl.constexpr = f"{A:>4}|{A / B:.2f}|{QUOTIENT!r}|{tl.float32}"
    tl.static_assert(NAME == "  13|3.25|13|fp32", NAME)
    tl.static_assert(isinstance(A, int) and not isinstance(A, (str, float)))
    tl.static_assert(NAME[2:4] == "13" and "abc"[::-1].upper() == "CBA")
    tl.static_assert(float("inf") > 1e300 and int(3.7) == 3 and abs(-2) == 2)
    tl.store(out_ptr + QUOTIENT, A / B)
    large = 1 << 40
    small = 1e-40
    tl.store(out_ptr + large, small)

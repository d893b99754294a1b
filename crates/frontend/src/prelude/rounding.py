"""Arithmetic and conversions of libdevice that round in a given direction.

The result to nearest and the exact error of it are known without wider arithmetic (Dekker; Knuth, The Art of Computer
Programming, volume 2, 4.2.2): where the error points the other way, the result moves by one unit in the last place.
Underflow, where products and quotients lose bits of the error, and overflow are not treated apart.
"""


def _up(near, error):
    """The smallest float that is not below `near + error`."""
    return tl.where(error > 0, tl.extra.libdevice.nextafter(near, float("inf")), near)


def _down(near, error):
    """The largest float that is not above `near + error`."""
    return tl.where(error < 0, tl.extra.libdevice.nextafter(near, float("-inf")), near)


def _zero(near, error):
    """The float nearest to `near + error` that is not further from zero."""
    return tl.where(near > 0, _down(near, error), _up(near, error))


def _sum_error(x, y, near):
    """What rounding `x + y` to `near` dropped."""
    other = near - x
    return (x - (near - other)) + (y - other)


def _fma_error(x, y, z, near):
    """The sign of what rounding `x * y + z` to `near` dropped.

    Boldo and Muller, "Exact and Approximated Error of the FMA", 2011.
    """
    high = x * y
    low = tl.fma(x, y, -high)
    inner = z + low
    inner_error = _sum_error(z, low, inner)
    outer = high + inner
    outer_error = _sum_error(high, inner, outer)
    return (outer - near) + outer_error + inner_error


def _to_fp32_error(x, near):
    """What rounding fp64 to fp32 dropped."""
    return x - near.to(tl.float64)


def _from_integer_error(x, near):
    """What rounding a 64-bit integer to a float dropped, in fp64."""
    high = (x >> 32).to(tl.float64) * 4294967296.0
    low = (x & 0xFFFFFFFF).to(tl.float64)
    return (high - near.to(tl.float64)) + low


def add_rn(x, y):
    """The sum of two floats, rounded to nearest even."""
    return x + y


def add_rz(x, y):
    """The sum of two floats, rounded towards zero."""
    near = x + y
    return _zero(near, _sum_error(x, y, near))


def add_rd(x, y):
    """The sum of two floats, rounded down."""
    near = x + y
    return _down(near, _sum_error(x, y, near))


def add_ru(x, y):
    """The sum of two floats, rounded up."""
    near = x + y
    return _up(near, _sum_error(x, y, near))


def sub_rn(x, y):
    """The difference of two floats, rounded to nearest even."""
    return x - y


def sub_rz(x, y):
    """The difference of two floats, rounded towards zero."""
    near = x - y
    return _zero(near, _sum_error(x, -y, near))


def sub_rd(x, y):
    """The difference of two floats, rounded down."""
    near = x - y
    return _down(near, _sum_error(x, -y, near))


def sub_ru(x, y):
    """The difference of two floats, rounded up."""
    near = x - y
    return _up(near, _sum_error(x, -y, near))


def mul_rn(x, y):
    """The product of two floats, rounded to nearest even."""
    return x * y


def mul_rz(x, y):
    """The product of two floats, rounded towards zero."""
    near = x * y
    return _zero(near, tl.fma(x, y, -near))


def mul_rd(x, y):
    """The product of two floats, rounded down."""
    near = x * y
    return _down(near, tl.fma(x, y, -near))


def mul_ru(x, y):
    """The product of two floats, rounded up."""
    near = x * y
    return _up(near, tl.fma(x, y, -near))


def div_rz(x, y):
    """The quotient of two floats, rounded towards zero."""
    near = tl.div_rn(x, y)
    return _zero(near, tl.fma(-near, y, x) * tl.extra.libdevice.copysign(1.0, y))


def div_rd(x, y):
    """The quotient of two floats, rounded down."""
    near = tl.div_rn(x, y)
    return _down(near, tl.fma(-near, y, x) * tl.extra.libdevice.copysign(1.0, y))


def div_ru(x, y):
    """The quotient of two floats, rounded up."""
    near = tl.div_rn(x, y)
    return _up(near, tl.fma(-near, y, x) * tl.extra.libdevice.copysign(1.0, y))


def rcp_rn(x):
    """One over a float, rounded to nearest even."""
    return tl.div_rn(1.0, x)


def rcp_rz(x):
    """One over a float, rounded towards zero."""
    near = tl.div_rn(1.0, x)
    return _zero(near, tl.fma(-near, x, 1.0) * tl.extra.libdevice.copysign(1.0, x))


def rcp_rd(x):
    """One over a float, rounded down."""
    near = tl.div_rn(1.0, x)
    return _down(near, tl.fma(-near, x, 1.0) * tl.extra.libdevice.copysign(1.0, x))


def rcp_ru(x):
    """One over a float, rounded up."""
    near = tl.div_rn(1.0, x)
    return _up(near, tl.fma(-near, x, 1.0) * tl.extra.libdevice.copysign(1.0, x))


def sqrt_rz(x):
    """The square root, rounded towards zero."""
    near = tl.sqrt(x)
    return _zero(near, tl.fma(-near, near, x))


def sqrt_rd(x):
    """The square root, rounded down."""
    near = tl.sqrt(x)
    return _down(near, tl.fma(-near, near, x))


def sqrt_ru(x):
    """The square root, rounded up."""
    near = tl.sqrt(x)
    return _up(near, tl.fma(-near, near, x))


def fma_rn(x, y, z):
    """`x * y + z`, rounded to nearest even."""
    return tl.fma(x, y, z)


def fma_rz(x, y, z):
    """`x * y + z`, rounded towards zero."""
    near = tl.fma(x, y, z)
    return _zero(near, _fma_error(x, y, z, near))


def fma_rd(x, y, z):
    """`x * y + z`, rounded down."""
    near = tl.fma(x, y, z)
    return _down(near, _fma_error(x, y, z, near))


def fma_ru(x, y, z):
    """`x * y + z`, rounded up."""
    near = tl.fma(x, y, z)
    return _up(near, _fma_error(x, y, z, near))


def rsqrt_rn(x):
    """One over the square root, rounded to nearest even."""
    if x.dtype == tl.float32:
        return (1 / tl.sqrt(x.to(tl.float64))).to(tl.float32)
    # Squares and errors of these neither overflow nor underflow.
    small, large = x < 2.0**-900, x > 2.0**900
    x = tl.where(small, x * 2.0**200, tl.where(large, x * 2.0**-200, x))
    near = 1 / tl.sqrt(x)
    square = near * near
    product = x * square
    square_error, product_error = tl.fma(near, near, -square), tl.fma(x, square, -product)
    # How far `x * near * near` is from 1, twice the relative error of `near`.
    distance = ((1.0 - product) - product_error) - x * square_error
    root = tl.where((x > 0) & (x < float("inf")), tl.fma(near, 0.5 * distance, near), near)
    return tl.where(small, root * 2.0**100, tl.where(large, root * 2.0**-100, root))


def double2float_rn(x):
    """fp64 to fp32, rounded to nearest even."""
    return x.to(tl.float32)


def double2float_rz(x):
    """fp64 to fp32, rounded towards zero."""
    near = x.to(tl.float32)
    return _zero(near, _to_fp32_error(x, near))


def double2float_rd(x):
    """fp64 to fp32, rounded down."""
    near = x.to(tl.float32)
    return _down(near, _to_fp32_error(x, near))


def double2float_ru(x):
    """fp64 to fp32, rounded up."""
    near = x.to(tl.float32)
    return _up(near, _to_fp32_error(x, near))


def float2int_rn(x):
    """fp32 to `int32`, rounded to nearest even."""
    return tl.extra.libdevice.rint(x).to(tl.int32)


def float2int_rz(x):
    """fp32 to `int32`, rounded towards zero."""
    return tl.extra.libdevice.trunc(x).to(tl.int32)


def float2int_rd(x):
    """fp32 to `int32`, rounded down."""
    return tl.floor(x).to(tl.int32)


def float2int_ru(x):
    """fp32 to `int32`, rounded up."""
    return tl.ceil(x).to(tl.int32)


def float2uint_rn(x):
    """fp32 to `uint32`, rounded to nearest even."""
    return tl.extra.libdevice.rint(x).to(tl.uint32)


def float2uint_rz(x):
    """fp32 to `uint32`, rounded towards zero."""
    return tl.extra.libdevice.trunc(x).to(tl.uint32)


def float2uint_rd(x):
    """fp32 to `uint32`, rounded down."""
    return tl.floor(x).to(tl.uint32)


def float2uint_ru(x):
    """fp32 to `uint32`, rounded up."""
    return tl.ceil(x).to(tl.uint32)


def float2ll_rn(x):
    """fp32 to `int64`, rounded to nearest even."""
    return tl.extra.libdevice.rint(x).to(tl.int64)


def float2ll_rz(x):
    """fp32 to `int64`, rounded towards zero."""
    return tl.extra.libdevice.trunc(x).to(tl.int64)


def float2ll_rd(x):
    """fp32 to `int64`, rounded down."""
    return tl.floor(x).to(tl.int64)


def float2ll_ru(x):
    """fp32 to `int64`, rounded up."""
    return tl.ceil(x).to(tl.int64)


def float2ull_rn(x):
    """fp32 to `uint64`, rounded to nearest even."""
    return tl.extra.libdevice.rint(x).to(tl.uint64)


def float2ull_rz(x):
    """fp32 to `uint64`, rounded towards zero."""
    return tl.extra.libdevice.trunc(x).to(tl.uint64)


def float2ull_rd(x):
    """fp32 to `uint64`, rounded down."""
    return tl.floor(x).to(tl.uint64)


def float2ull_ru(x):
    """fp32 to `uint64`, rounded up."""
    return tl.ceil(x).to(tl.uint64)


def double2int_rn(x):
    """fp64 to `int32`, rounded to nearest even."""
    return tl.extra.libdevice.rint(x).to(tl.int32)


def double2int_rz(x):
    """fp64 to `int32`, rounded towards zero."""
    return tl.extra.libdevice.trunc(x).to(tl.int32)


def double2int_rd(x):
    """fp64 to `int32`, rounded down."""
    return tl.floor(x).to(tl.int32)


def double2int_ru(x):
    """fp64 to `int32`, rounded up."""
    return tl.ceil(x).to(tl.int32)


def double2uint_rn(x):
    """fp64 to `uint32`, rounded to nearest even."""
    return tl.extra.libdevice.rint(x).to(tl.uint32)


def double2uint_rz(x):
    """fp64 to `uint32`, rounded towards zero."""
    return tl.extra.libdevice.trunc(x).to(tl.uint32)


def double2uint_rd(x):
    """fp64 to `uint32`, rounded down."""
    return tl.floor(x).to(tl.uint32)


def double2uint_ru(x):
    """fp64 to `uint32`, rounded up."""
    return tl.ceil(x).to(tl.uint32)


def double2ll_rn(x):
    """fp64 to `int64`, rounded to nearest even."""
    return tl.extra.libdevice.rint(x).to(tl.int64)


def double2ll_rz(x):
    """fp64 to `int64`, rounded towards zero."""
    return tl.extra.libdevice.trunc(x).to(tl.int64)


def double2ll_rd(x):
    """fp64 to `int64`, rounded down."""
    return tl.floor(x).to(tl.int64)


def double2ll_ru(x):
    """fp64 to `int64`, rounded up."""
    return tl.ceil(x).to(tl.int64)


def double2ull_rn(x):
    """fp64 to `uint64`, rounded to nearest even."""
    return tl.extra.libdevice.rint(x).to(tl.uint64)


def double2ull_rz(x):
    """fp64 to `uint64`, rounded towards zero."""
    return tl.extra.libdevice.trunc(x).to(tl.uint64)


def double2ull_rd(x):
    """fp64 to `uint64`, rounded down."""
    return tl.floor(x).to(tl.uint64)


def double2ull_ru(x):
    """fp64 to `uint64`, rounded up."""
    return tl.ceil(x).to(tl.uint64)


def int2float_rn(x):
    """`int32` to fp32, rounded to nearest even."""
    return x.to(tl.float32)


def int2float_rz(x):
    """`int32` to fp32, rounded towards zero."""
    near = x.to(tl.float32)
    return _zero(near, _from_integer_error(x.to(tl.int64), near))


def int2float_rd(x):
    """`int32` to fp32, rounded down."""
    near = x.to(tl.float32)
    return _down(near, _from_integer_error(x.to(tl.int64), near))


def int2float_ru(x):
    """`int32` to fp32, rounded up."""
    near = x.to(tl.float32)
    return _up(near, _from_integer_error(x.to(tl.int64), near))


def int2double_rn(x):
    """`int32` to fp64, rounded to nearest even."""
    return x.to(tl.float64)


def uint2float_rn(x):
    """`uint32` to fp32, rounded to nearest even."""
    return x.to(tl.float32)


def uint2float_rz(x):
    """`uint32` to fp32, rounded towards zero."""
    near = x.to(tl.float32)
    return _zero(near, _from_integer_error(x.to(tl.int64), near))


def uint2float_rd(x):
    """`uint32` to fp32, rounded down."""
    near = x.to(tl.float32)
    return _down(near, _from_integer_error(x.to(tl.int64), near))


def uint2float_ru(x):
    """`uint32` to fp32, rounded up."""
    near = x.to(tl.float32)
    return _up(near, _from_integer_error(x.to(tl.int64), near))


def uint2double_rn(x):
    """`uint32` to fp64, rounded to nearest even."""
    return x.to(tl.float64)


def ll2float_rn(x):
    """`int64` to fp32, rounded to nearest even."""
    return x.to(tl.float32)


def ll2float_rz(x):
    """`int64` to fp32, rounded towards zero."""
    near = x.to(tl.float32)
    return _zero(near, _from_integer_error(x, near))


def ll2float_rd(x):
    """`int64` to fp32, rounded down."""
    near = x.to(tl.float32)
    return _down(near, _from_integer_error(x, near))


def ll2float_ru(x):
    """`int64` to fp32, rounded up."""
    near = x.to(tl.float32)
    return _up(near, _from_integer_error(x, near))


def ll2double_rn(x):
    """`int64` to fp64, rounded to nearest even."""
    return x.to(tl.float64)


def ll2double_rz(x):
    """`int64` to fp64, rounded towards zero."""
    near = x.to(tl.float64)
    return _zero(near, _from_integer_error(x, near))


def ll2double_rd(x):
    """`int64` to fp64, rounded down."""
    near = x.to(tl.float64)
    return _down(near, _from_integer_error(x, near))


def ll2double_ru(x):
    """`int64` to fp64, rounded up."""
    near = x.to(tl.float64)
    return _up(near, _from_integer_error(x, near))


def ull2float_rn(x):
    """`uint64` to fp32, rounded to nearest even."""
    return x.to(tl.float32)


def ull2float_rz(x):
    """`uint64` to fp32, rounded towards zero."""
    near = x.to(tl.float32)
    return _zero(near, _from_integer_error(x, near))


def ull2float_rd(x):
    """`uint64` to fp32, rounded down."""
    near = x.to(tl.float32)
    return _down(near, _from_integer_error(x, near))


def ull2float_ru(x):
    """`uint64` to fp32, rounded up."""
    near = x.to(tl.float32)
    return _up(near, _from_integer_error(x, near))


def ull2double_rn(x):
    """`uint64` to fp64, rounded to nearest even."""
    return x.to(tl.float64)


def ull2double_rz(x):
    """`uint64` to fp64, rounded towards zero."""
    near = x.to(tl.float64)
    return _zero(near, _from_integer_error(x, near))


def ull2double_rd(x):
    """`uint64` to fp64, rounded down."""
    near = x.to(tl.float64)
    return _down(near, _from_integer_error(x, near))


def ull2double_ru(x):
    """`uint64` to fp64, rounded up."""
    near = x.to(tl.float64)
    return _up(near, _from_integer_error(x, near))

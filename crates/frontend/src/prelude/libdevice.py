"""Functions of `triton.language.extra.libdevice` that are made of others: bits, powers of two, norms, and the like."""


def isnan(x):
    """Whether each float is NaN; `int1`."""
    return x != x


def isinf(x):
    """Whether each float is infinite; `int1`."""
    return tl.abs(x) == float("inf")


def finitef(x):
    """Whether each fp32 number is finite; `int1`."""
    return tl.abs(x) < float("inf")


def isfinited(x):
    """Whether each fp64 number is finite; `int1`."""
    return tl.abs(x) < float("inf")


def signbit(x):
    """Whether the sign bit of each float is set, as an `int32` that is 0 or 1."""
    return (_bits(x) < 0).to(tl.int32)


def _bits(x):
    """The bits of fp32 or fp64 numbers as signed integers."""
    word: tl.constexpr = tl.int64 if x.dtype == tl.float64 else tl.int32
    return x.to(word, bitcast=True)


def ffs(x):
    """The position, from 1, of the lowest one bit of each integer, or 0 if there is none; `int32`."""
    lowest = x & -x
    return tl.where(x == 0, 0, tl.extra.libdevice.popc(lowest - 1) + 1)


def hadd(x, y):
    """The average of two integers, rounded down, without overflow on the way."""
    return (x & y) + ((x ^ y) >> 1)


def rhadd(x, y):
    """The average of two integers, rounded up, without overflow on the way."""
    return (x | y) - ((x ^ y) >> 1)


def mul24(x, y):
    """The product of the low 24 bits, with sign, of 32-bit integers."""
    x = tl.core.to_tensor(x)
    y = tl.core.to_tensor(y)
    tl.static_assert(x.dtype.is_int() and x.dtype.primitive_bitwidth == 32, "the operands are 32-bit integers")
    tl.static_assert(y.dtype.is_int() and y.dtype.primitive_bitwidth == 32, "the operands are 32-bit integers")
    return ((x << 8) >> 8) * ((y << 8) >> 8)


def sad(x, y, z):
    """The absolute difference of two integers, plus a third."""
    return tl.maximum(x, y) - tl.minimum(x, y) + z


def byte_perm(x, y, s):
    """Four bytes picked from the eight of `x` and `y`, by the hexadecimal digits of `s`.

    Bytes are counted from the lowest of `x`, and the lowest digit picks the lowest byte of the result.
    """
    low = tl.core.to_tensor(x).to(tl.uint32, bitcast=True).to(tl.uint64)
    high = tl.core.to_tensor(y).to(tl.uint32, bitcast=True).to(tl.uint64)
    pool = low | (high << 32)
    picked = pool * 0
    for place in tl.static_range(4):
        which = (s >> (4 * place)) & 7
        picked = picked | (((pool >> (which * 8)) & 0xFF) << (8 * place))
    return picked.to(tl.uint32).to(tl.int32, bitcast=True)


def saturatef(x):
    """Limits numbers to the range from 0 to 1; NaN becomes 0."""
    return tl.where(x > 0, tl.minimum(x, 1.0), 0.0)


def fdim(x, y):
    """The positive difference: `x - y` where `x` is larger, else 0; NaN where either is."""
    return tl.where(x <= y, 0.0, x - y)


def exp(x):
    """The exponential function of each element, of fp32 within 3 units in the last place on every target."""
    if x.dtype != tl.float32:
        return tl.exp(x)
    # Beyond, the result is infinite or zero, and infinite arguments would have no rest.
    inside = tl.clamp(x, -150.0, 130.0, propagate_nan=tl.PropagateNan.ALL)
    # Added to a number so large, the product loses its fraction.
    whole = tl.fma(inside, 1.44269504, 12582912.0) - 12582912.0
    # The logarithm of two in two parts, so that the product's rounding does not show in the result.
    rest = tl.fma(inside, 1.44269504, -whole)
    rest = tl.fma(inside, 1.925963e-8, rest)
    # The largest results are below a power of two that is infinite.
    high = tl.minimum(whole, 127.0)
    return tl.exp2(rest + (whole - high)) * tl.exp2(high)


def exp10(x):
    """Ten to the power of each element."""
    return tl.extra.libdevice.pow(10.0, x)


def fast_exp10f(x):
    """Ten to the power of each element; an approximation on GPUs."""
    return tl.extra.libdevice.pow(10.0, x)


def fast_dividef(x, y):
    """A quotient of fp32 numbers; an approximation on GPUs."""
    return tl.fdiv(x, y)


def _half_turns(x):
    """An angle in half turns brought to the range from -1 to 1, exactly."""
    return x - 2 * tl.extra.libdevice.rint(x * 0.5)


def sinpi(x):
    """The sine of an angle in half turns: `sin(pi * x)`."""
    turn = _half_turns(x)
    folded = tl.where(turn > 0.5, 1 - turn, tl.where(turn < -0.5, -1 - turn, turn))
    # A zero keeps its sign.
    return tl.where(x == 0, x, tl.sin(folded * 3.141592653589793))


def cospi(x):
    """The cosine of an angle in half turns: `cos(pi * x)`."""
    return tl.sin((0.5 - tl.abs(_half_turns(x))) * 3.141592653589793)


def _power_of_two(exponent):
    """Two to the power of `int32` exponents from -1022 to 1023, in fp64."""
    return ((exponent.to(tl.int64) + 1023) << 52).to(tl.float64, bitcast=True)


def ldexp(x, exponent):
    """A float times a power of two, whose exponents are `int32`."""
    n = tl.core.to_tensor(exponent)
    tl.static_assert(n.dtype.is_int(), "exponents are integers")
    if x.dtype == tl.float64:
        third = tl.minimum(tl.maximum(n, -2200), 2200) // 3
        rest = tl.minimum(tl.maximum(n, -2200), 2200) - 2 * third
        return x * _power_of_two(third) * _power_of_two(third) * _power_of_two(rest)
    return (x.to(tl.float64) * _power_of_two(tl.minimum(tl.maximum(n, -400), 400))).to(tl.float32)


def scalbn(x, exponent):
    """A float times a power of two, whose exponents are `int32`."""
    return ldexp(x, exponent)


def ilogb(x):
    """The exponent of each float, `int32`; the smallest `int32` of 0 and NaN, the largest of infinities."""
    wide: tl.constexpr = x.dtype == tl.float64
    digits: tl.constexpr = 52 if wide else 23
    ones: tl.constexpr = 0x7FF if wide else 0xFF
    # Subnormal numbers are scaled until they are not.
    small = tl.abs(x) < (2.2250738585072014e-308 if wide else 1.1754943508222875e-38)
    scaled = tl.where(small, x * 18446744073709551616.0, x)
    field = ((_bits(scaled) >> digits) & ones).to(tl.int32)
    exponent = field - (1023 if wide else 127) - tl.where(small, 64, 0)
    finite = tl.where((x == 0) | (x != x), -2147483648, exponent)
    return tl.where(isinf(x), 2147483647, finite)


def logb(x):
    """The exponent of each float, as a float; minus infinity of 0, infinity of infinities."""
    exponent = ilogb(x).to(x.dtype)
    special = tl.where(x == 0, float("-inf"), tl.abs(x))
    return tl.where((x == 0) | (x != x) | isinf(x), special, exponent)


def llrint(x):
    """The nearest integer, halves to even; `int64`."""
    return tl.extra.libdevice.rint(x).to(tl.int64)


def llround(x):
    """The nearest integer, halves away from zero; `int64`."""
    return tl.extra.libdevice.round(x).to(tl.int64)


def _reciprocal(length, quarter):
    """One over a length, which may be beyond the largest number; a quarter of it is not."""
    return tl.where(length == float("inf"), 0.25 / quarter, 1 / length)


def rhypot(x, y):
    """One over the length of a vector of two coordinates."""
    return _reciprocal(tl.extra.libdevice.hypot(x, y), tl.extra.libdevice.hypot(x * 0.25, y * 0.25))


def norm3d(x, y, z):
    """The length of a vector of three coordinates, without overflow on the way."""
    return tl.extra.libdevice.hypot(tl.extra.libdevice.hypot(x, y), z)


def rnorm3d(x, y, z):
    """One over the length of a vector of three coordinates."""
    return _reciprocal(norm3d(x, y, z), norm3d(x * 0.25, y * 0.25, z * 0.25))


def norm4d(x, y, z, w):
    """The length of a vector of four coordinates, without overflow on the way."""
    return tl.extra.libdevice.hypot(tl.extra.libdevice.hypot(x, y), tl.extra.libdevice.hypot(z, w))


def rnorm4d(x, y, z, w):
    """One over the length of a vector of four coordinates."""
    return _reciprocal(norm4d(x, y, z, w), norm4d(x * 0.25, y * 0.25, z * 0.25, w * 0.25))


def rcbrt(x):
    """One over the cube root."""
    return 1 / tl.extra.libdevice.cbrt(x)


def normcdf(x):
    """The distribution function of the standard normal distribution.

    Far below zero it is so steep that what is lost of the scaled argument would show: the slope puts that back.
    """
    inside = tl.clamp(x, -40.0, 40.0, propagate_nan=tl.PropagateNan.ALL)
    factor = tl.full((), -0.7071067811865476, x.dtype)
    scaled = inside * factor
    constant_error: tl.constexpr = -1.2101617152e-8 if x.dtype == tl.float32 else 4.8336466567264567e-17
    error = tl.fma(inside, factor, -scaled) + inside * constant_error
    slope = 1.1283791670955126 * tl.exp(-scaled * scaled)
    return 0.5 * (tl.extra.libdevice.erfc(scaled) - error * slope)


def erfcx(x):
    """The scaled complementary error function, `exp(x * x) * erfc(x)`.

    Its asymptotic expansion (DLMF 7.12.1) from 10 on; below, the square's rounding error is put back into the exponential.
    """
    wide = x.to(tl.float64)
    inside = tl.minimum(wide, 10.0)
    square = inside * inside
    error = tl.fma(inside, inside, -square)
    # Finite, so that no error is multiplied with infinity; where it is cut off, twice as much is infinite.
    exponential = tl.exp(tl.minimum(square, 709.7))
    near = (exponential + exponential * error) * tl.extra.libdevice.erfc(inside)
    near = tl.where(inside < -26.7, float("inf"), near)
    outside = tl.maximum(wide, 10.0)
    term = tl.full(wide.shape, 1.0, tl.float64)
    total = term
    for k in tl.static_range(1, 14):
        term = term * (0.5 - k) / (outside * outside)
        total = total + term
    far = total * 0.5641895835477563 / outside
    return tl.where(x != x, wide, tl.where(wide < 10, near, far)).to(x.dtype)


def erfcinv(x):
    """The inverse of the complementary error function; infinity of 0, minus infinity of 2, NaN outside of these.

    Newton's method in fp64 on `erfc`, which keeps its relative accuracy, from its leading asymptotic term.
    """
    wide = x.to(tl.float64)
    mirrored = wide > 1
    tail = tl.where(mirrored, 2 - wide, wide)
    small = tl.maximum(tl.minimum(tail, 0.25), 1e-300)
    logarithm = -tl.log(small)
    root = tl.sqrt(logarithm - 0.5 * tl.log(3.141592653589793 * logarithm))
    for _ in tl.static_range(8):
        slope = 1.1283791670955126 * tl.exp(-root * root)
        root = root + (tl.extra.libdevice.erfc(root) - small) / slope
    middle = tl.extra.libdevice.erfinv(1 - tail)
    result = tl.where(tail < 0.25, root, middle)
    result = tl.where(tail == 0, float("inf"), result)
    result = tl.where((tail < 0) | (x != x), float("nan"), result)
    return tl.where(mirrored, -result, result).to(x.dtype)


def normcdfinv(x):
    """The inverse of the distribution function of the standard normal distribution."""
    return (-1.4142135623730951 * erfcinv(2 * x.to(tl.float64))).to(x.dtype)


def int_as_float(x):
    """The bits of `int32` as fp32."""
    return x.to(tl.float32, bitcast=True)


def uint_as_float(x):
    """The bits of `uint32` as fp32."""
    return x.to(tl.float32, bitcast=True)


def float_as_int(x):
    """The bits of fp32 as `int32`."""
    return x.to(tl.int32, bitcast=True)


def float_as_uint(x):
    """The bits of fp32 as `uint32`."""
    return x.to(tl.uint32, bitcast=True)


def longlong_as_double(x):
    """The bits of `int64` as fp64."""
    return x.to(tl.float64, bitcast=True)


def double_as_longlong(x):
    """The bits of fp64 as `int64`."""
    return x.to(tl.int64, bitcast=True)


def double2loint(x):
    """The low half of the bits of fp64, `int32`."""
    return x.to(tl.int64, bitcast=True).to(tl.int32)


def double2hiint(x):
    """The high half of the bits of fp64, `int32`."""
    return (x.to(tl.int64, bitcast=True) >> 32).to(tl.int32)


def hiloint2double(high, low):
    """Two halves of 32 bits as the bits of fp64."""
    return ((high.to(tl.int64) << 32) | low.to(tl.uint32).to(tl.int64)).to(tl.float64, bitcast=True)


def rcp64h(x):
    """One over fp64 numbers, of which only the high 32 bits are read and computed."""
    high = (x.to(tl.int64, bitcast=True) & -4294967296).to(tl.float64, bitcast=True)
    return ((1 / high).to(tl.int64, bitcast=True) & -4294967296).to(tl.float64, bitcast=True)

"""Bessel functions of libdevice, computed in fp64.

Up to `x = 25`, Bessel's integral by the midpoint rule, which converges geometrically on a periodic integrand: 64 points
leave less than the 64th Bessel function, some 1e-19 there. Beyond, Hankel's asymptotic expansion (DLMF 10.17), whose
smallest term is below 1e-20. The functions of the second kind follow from Neumann's series (DLMF 10.8.2 and 10.23),
whose terms the integral holds too.
"""


def _expansion(x, order: tl.constexpr):
    """The two series of Hankel's expansion at `x`, which is at least 25, of order 0 or 1."""
    square: tl.constexpr = 4 * order * order
    even = tl.full(x.shape, 1.0, tl.float64)
    odd = tl.full(x.shape, 0.0, tl.float64)
    term = even
    for k in tl.static_range(1, 25):
        term = term * ((square - (2 * k - 1) * (2 * k - 1)) / (8 * k)) / x
        if k % 4 == 0:
            even = even + term
        elif k % 4 == 1:
            odd = odd + term
        elif k % 4 == 2:
            even = even - term
        else:
            odd = odd - term
    return even, odd


def _first_far(x, order: tl.constexpr):
    """The function of the first kind beyond 25."""
    even, odd = _expansion(x, order)
    angle = x - (0.7853981633974483 + order * 1.5707963267948966)
    return tl.sqrt(0.6366197723675814 / x) * (tl.cos(angle) * even - tl.sin(angle) * odd)


def _second_far(x, order: tl.constexpr):
    """The function of the second kind beyond 25."""
    even, odd = _expansion(x, order)
    angle = x - (0.7853981633974483 + order * 1.5707963267948966)
    return tl.sqrt(0.6366197723675814 / x) * (tl.sin(angle) * even + tl.cos(angle) * odd)


def _near(x):
    """Both functions of the first kind up to 25, and the sums that those of the second kind need."""
    points: tl.constexpr = 64
    zero = tl.full(x.shape, 0.0, tl.float64)
    first_0 = zero
    first_1 = zero
    second_0 = zero
    second_1 = zero
    for j in range(points // 2):
        angle = (j.to(tl.float64) + 0.5) * (3.141592653589793 / points)
        weight = angle * 0
        sign = weight + 1
        for k in range(1, points // 2 + 1):
            order = k.to(tl.float64)
            weight += sign * tl.cos(2 * order * angle) / order
            sign = -sign
        sine = tl.sin(angle)
        cosine_of = tl.cos(x * sine)
        sine_of = tl.sin(x * sine) * sine
        first_0 += cosine_of
        first_1 += sine_of
        second_0 += weight * cosine_of
        second_1 += weight * sine_of
    share: tl.constexpr = 2.0 / points
    return first_0 * share, first_1 * share, second_0 * share, second_1 * share


def _float(value, like):
    """A value in the type of an operand."""
    return value.to(like.dtype)


def j0(x):
    """The Bessel function of the first kind of order 0."""
    size = tl.abs(x).to(tl.float64)
    near, _, _, _ = _near(tl.minimum(size, 25.0))
    far = _first_far(tl.maximum(size, 25.0), 0)
    result = tl.where(size <= 25, near, tl.where(size == float("inf"), 0.0, far))
    return _float(tl.where(x != x, size, result), x)


def _odd(result, x):
    """An odd function's value from that at the magnitude of `x`."""
    return result * tl.extra.libdevice.copysign(tl.full((), 1.0, tl.float64), x.to(tl.float64))


def j1(x):
    """The Bessel function of the first kind of order 1."""
    size = tl.abs(x).to(tl.float64)
    _, near, _, _ = _near(tl.minimum(size, 25.0))
    far = _first_far(tl.maximum(size, 25.0), 1)
    result = tl.where(size <= 25, near, tl.where(size == float("inf"), 0.0, far))
    return _float(tl.where(x != x, size, _odd(result, x)), x)


def y0(x):
    """The Bessel function of the second kind of order 0; NaN of negative numbers, minus infinity of 0."""
    wide = x.to(tl.float64)
    inside = tl.minimum(wide, 25.0)
    first, _, second, _ = _near(inside)
    logarithm = tl.log(inside * 0.5) + 0.5772156649015329
    near = 0.6366197723675814 * logarithm * first + 1.2732395447351628 * second
    far = _second_far(tl.maximum(wide, 25.0), 0)
    result = tl.where(wide <= 25, near, tl.where(wide == float("inf"), 0.0, far))
    return _float(tl.where(x != x, wide, result), x)


def y1(x):
    """The Bessel function of the second kind of order 1; NaN of negative numbers, minus infinity of 0."""
    wide = x.to(tl.float64)
    inside = tl.minimum(wide, 25.0)
    zeroth, first, _, second = _near(inside)
    logarithm = tl.log(inside * 0.5) + 0.5772156649015329
    near = 0.6366197723675814 * (logarithm * first - zeroth / inside) + 1.2732395447351628 * second
    near = tl.where(wide == 0, float("-inf"), near)
    far = _second_far(tl.maximum(wide, 25.0), 1)
    result = tl.where(wide <= 25, near, tl.where(wide == float("inf"), 0.0, far))
    return _float(tl.where(x != x, wide, result), x)


def _largest(n):
    """The largest of integers, as one."""
    if len(n.shape) == 0:
        return n
    return tl.max(tl.ravel(n), 0)


def _ratios(n, size, first_0, first_1):
    """The function of the first kind of orders above its argument, of which 0 and 1 are given.

    The ratios of neighbouring orders follow from a continued fraction (DLMF 10.10.1), which converges from above; their
    product leads from the larger of the orders 0 and 1, which are never both small, to order `n`.
    """
    top = _largest(n)
    top += 20 + (8 * tl.extra.libdevice.cbrt(top.to(tl.float64))).to(tl.int32)
    from_zero = tl.abs(first_0) >= tl.abs(first_1)
    product = tl.where(from_zero, first_0, first_1)
    ratio = size * 0
    for back in range(top):
        order = top - back
        ratio = 1 / (2 * order.to(tl.float64) / size - ratio)
        counts = (order <= n) & (from_zero | (order > 1))
        product = tl.where(counts, product * ratio, product)
    return product


def _upwards(n, x, order_0, order_1):
    """Bessel functions of order `n` by their recurrence (DLMF 10.6.1), where that is stable; infinities stay."""
    before = order_0
    current = order_1
    for order in range(1, _largest(n)):
        following = 2 * order.to(tl.float64) / x * current - before
        following = tl.where(tl.abs(current) == float("inf"), current, following)
        goes_on = order < n
        before = tl.where(goes_on, current, before)
        current = tl.where(goes_on, following, current)
    return tl.where(n == 0, order_0, current)


def jn(n, x):
    """The Bessel function of the first kind of an order, which is an integer; NaN of negative orders."""
    n = tl.core.to_tensor(n)
    wide = x.to(tl.float64)
    size = tl.abs(wide)
    n, size = tl.broadcast(n, size)
    first_0, first_1 = j0(size), j1(size)
    far = _upwards(n, tl.maximum(size, 1e-300), first_0, first_1)
    near = _ratios(n, size, first_0, first_1)
    result = tl.where(size == float("inf"), 0.0, tl.where((n < 2) | (size >= n), far, near))
    result = tl.where((wide < 0) & (n % 2 == 1), -result, result)
    return _float(tl.where((n < 0) | (size != size), float("nan"), result), x)


def yn(n, x):
    """The Bessel function of the second kind of an order, which is an integer; NaN of negative orders and numbers."""
    n = tl.core.to_tensor(n)
    wide = x.to(tl.float64)
    n, wide = tl.broadcast(n, wide)
    result = _upwards(n, wide, y0(wide), y1(wide))
    result = tl.where(wide == float("inf"), 0.0, tl.where(wide == 0, float("-inf"), result))
    return _float(tl.where((n < 0) | (wide < 0) | (wide != wide), float("nan"), result), x)


def _modified_far(x, order: tl.constexpr):
    """The modified function of the first kind beyond 30, by its asymptotic expansion (DLMF 10.40.1)."""
    square: tl.constexpr = 4 * order * order
    total = tl.full(x.shape, 1.0, tl.float64)
    term = total
    for k in tl.static_range(1, 25):
        term = term * (((2 * k - 1) * (2 * k - 1) - square) / (8 * k)) / x
        total = total + term
    # Half of the exponent at a time, so that the result overflows and not the way to it.
    half = tl.exp(x * 0.5)
    return half / tl.sqrt(6.283185307179586 * x) * total * half


def _modified_near(x, order: tl.constexpr):
    """The modified function of the first kind up to 30, by its power series, all of whose terms are positive."""
    quarter = x * x * 0.25
    term = tl.full(x.shape, 1.0, tl.float64)
    total = term
    for k in range(1, 70):
        step = k.to(tl.float64)
        term = term * quarter / (step * (step + order))
        total += term
    return total


def cyl_bessel_i0(x):
    """The modified Bessel function of the first kind of order 0."""
    size = tl.abs(x).to(tl.float64)
    near = _modified_near(tl.minimum(size, 30.0), 0)
    far = _modified_far(tl.maximum(size, 30.0), 0)
    result = tl.where(size <= 30, near, tl.where(size == float("inf"), size, far))
    return _float(tl.where(x != x, size, result), x)


def cyl_bessel_i1(x):
    """The modified Bessel function of the first kind of order 1."""
    size = tl.abs(x).to(tl.float64)
    inside = tl.minimum(size, 30.0)
    near = _modified_near(inside, 1) * inside * 0.5
    far = _modified_far(tl.maximum(size, 30.0), 1)
    result = tl.where(size <= 30, near, tl.where(size == float("inf"), size, far))
    return _float(tl.where(x != x, size, _odd(result, x)), x)

"""Random numbers from counters, by Philox.

Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC'11. A counter of four words and a key
of two words give four random words; the counter is the offset, the key is the seed. The same seed and offset give the
same numbers on every device, whatever the sizes of blocks.
"""


def philox_impl(c0, c1, c2, c3, k0, k1, n_rounds: tl.constexpr = 10):
    """Rounds of Philox on a counter of four words with a key of two; all of `uint32` or all of `uint64`.

    Returns four blocks of random words.
    """
    tl.static_assert(c0.dtype == tl.uint32 or c0.dtype == tl.uint64, "the words of a counter are uint32 or uint64")
    wide: tl.constexpr = c0.dtype == tl.uint64
    multiplier_0: tl.constexpr = 0xD2E7470EE14C6C93 if wide else 0xD2511F53
    multiplier_2: tl.constexpr = 0xCA5A826395121157 if wide else 0xCD9E8D57
    increment_0: tl.constexpr = 0x9E3779B97F4A7C15 if wide else 0x9E3779B9
    increment_1: tl.constexpr = 0xBB67AE8584CAA73B if wide else 0xBB67AE85
    for _ in tl.static_range(n_rounds):
        high_0 = tl.umulhi(multiplier_0, c0)
        low_0 = c0 * multiplier_0
        high_2 = tl.umulhi(multiplier_2, c2)
        low_2 = c2 * multiplier_2
        c0 = high_2 ^ c1 ^ k0
        c1 = low_2
        c2 = high_0 ^ c3 ^ k1
        c3 = low_0
        k0 = k0 + increment_0
        k1 = k1 + increment_1
    return c0, c1, c2, c3


def philox(seed, c0, c1, c2, c3, n_rounds: tl.constexpr = 10):
    """Four blocks of random words for a counter of four blocks, of 32- or 64-bit integers, and a seed.

    The key of 32-bit counters is made of the two halves of the seed, that of 64-bit counters is the seed and 0.
    """
    c0 = tl.core.to_tensor(c0)
    c1 = tl.core.to_tensor(c1)
    c2 = tl.core.to_tensor(c2)
    c3 = tl.core.to_tensor(c3)
    seed = tl.core.to_tensor(seed)
    tl.static_assert(seed.dtype.is_int(), "a seed is an integer")
    key = seed.to(tl.uint64)
    bits: tl.constexpr = c0.dtype.primitive_bitwidth
    tl.static_assert(bits == 32 or bits == 64, "the words of a counter have 32 or 64 bits")
    if bits == 32:
        word: tl.constexpr = tl.uint32
        k0 = (key & 0xFFFFFFFF).to(tl.uint32)
        k1 = (key >> 32).to(tl.uint32)
    else:
        word: tl.constexpr = tl.uint64
        k0 = key
        k1 = tl.zeros_like(key)
    c0 = c0.to(word, bitcast=True)
    c1 = c1.to(word, bitcast=True)
    c2 = c2.to(word, bitcast=True)
    c3 = c3.to(word, bitcast=True)
    return philox_impl(c0, c1, c2, c3, k0, k1, n_rounds)


def randint4x(seed, offset, n_rounds: tl.constexpr = 10):
    """Four blocks of random `uint32` for a seed and a block of offsets, the cheapest way to many numbers.

    The counter is the offset in its two low words; a 32-bit offset has a high word of 0, also where it is negative.
    """
    at = tl.core.to_tensor(offset)
    tl.static_assert(at.dtype.is_int(), "offsets are integers")
    low = at.to(tl.uint32)
    zero = tl.zeros_like(low)
    if at.dtype.primitive_bitwidth > 32:
        high = (at >> 32).to(tl.uint32)
    else:
        high = zero
    return philox(seed, low, high, zero, zero, n_rounds)


def randint(seed, offset, n_rounds: tl.constexpr = 10):
    """A block of random `uint32` for a seed and a block of offsets."""
    first, _, _, _ = randint4x(seed, offset, n_rounds)
    return first


def uint_to_uniform_float(x):
    """Random 32- or 64-bit integers to fp32 numbers, uniform from 0 up to, but without, 1.

    The signed number is folded to its magnitude and scaled by just under 1 over the largest one, so that 1 is never
    reached.
    """
    bits: tl.constexpr = x.dtype.primitive_bitwidth
    tl.static_assert(x.dtype.is_int() and (bits == 32 or bits == 64), "random words have 32 or 64 bits")
    word: tl.constexpr = tl.int32 if bits == 32 else tl.int64
    scale: tl.constexpr = 4.6566127342e-10 if bits == 32 else 1.0842020432385337e-19
    signed = x.to(word, bitcast=True)
    return tl.where(signed < 0, -signed - 1, signed) * scale


def rand(seed, offset, n_rounds: tl.constexpr = 10):
    """A block of fp32 numbers, uniform from 0 up to, but without, 1, for a seed and a block of offsets."""
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


def rand4x(seed, offsets, n_rounds: tl.constexpr = 10):
    """Four blocks of fp32 numbers, uniform from 0 up to, but without, 1, for a seed and a block of offsets."""
    a, b, c, d = randint4x(seed, offsets, n_rounds)
    first, second = uint_to_uniform_float(a), uint_to_uniform_float(b)
    return first, second, uint_to_uniform_float(c), uint_to_uniform_float(d)


def pair_uniform_to_normal(u1, u2):
    """Two blocks of uniform numbers to two blocks of normal ones (Box and Muller's transformation)."""
    radius = tl.sqrt(-2.0 * tl.log(tl.maximum(1.0e-7, u1)))
    angle = 6.283185307179586 * u2
    return radius * tl.cos(angle), radius * tl.sin(angle)


def randn(seed, offset, n_rounds: tl.constexpr = 10):
    """A block of fp32 numbers of the standard normal distribution, for a seed and a block of offsets."""
    a, b, _, _ = randint4x(seed, offset, n_rounds)
    normal, _ = pair_uniform_to_normal(uint_to_uniform_float(a), uint_to_uniform_float(b))
    return normal


def randn4x(seed, offset, n_rounds: tl.constexpr = 10):
    """Four blocks of fp32 numbers of the standard normal distribution, for a seed and a block of offsets."""
    a, b, c, d = rand4x(seed, offset, n_rounds)
    first, second = pair_uniform_to_normal(a, b)
    third, fourth = pair_uniform_to_normal(c, d)
    return first, second, third, fourth

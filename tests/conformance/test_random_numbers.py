"""Random numbers, against Philox in numpy: the words exactly, what is made of them within the functions' errors."""

import math

import numpy as np
import pytest
from expressions import ON_GPU, check, draw, evaluate, exact, tensor

#: Multipliers and increments of the key, by width of a word (Salmon et al., "Parallel random numbers", 2011).
CONSTANTS = {32: (0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85),
             64: (0xD2E7470EE14C6C93, 0xCA5A826395121157, 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)}


def philox(counter, key, bits, rounds=10):
    """Four words for a counter of four and a key of two."""
    a, b, first, second = CONSTANTS[bits]
    whole = 2**bits
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(rounds):
        high_a, low_a = divmod(a * c0, whole)
        high_b, low_b = divmod(b * c2, whole)
        c0, c1, c2, c3 = high_b ^ c1 ^ k0, low_b, high_a ^ c3 ^ k1, low_a
        k0, k1 = (k0 + first) % whole, (k1 + second) % whole
    return c0, c1, c2, c3


def words(seed, offsets, rounds=10):
    """The four words of each offset, as rows."""
    key = seed % 2**32, (seed >> 32) % 2**32
    return np.array([philox((offset % 2**32, 0, 0, 0), key, 32, rounds) for offset in offsets], np.uint32).T


def uniform(word):
    signed = word.view(np.int32).astype(np.int64)
    folded = np.where(signed < 0, -signed - 1, signed).astype(np.float32)
    return (folded * np.float32(4.6566127342e-10)).astype(np.float64)


def test_the_published_vectors():
    assert philox((0, 0, 0, 0), (0, 0), 32) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    ones = 2**32 - 1
    assert philox((ones,) * 4, (ones,) * 2, 32) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)


SEEDS = [0, 1, 42, 2**31 - 1, 2**40 + 12345]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rounds", [1, 6, 10])
@pytest.mark.parametrize("extent", [1, 33, 128])
def test_words(rng, extent, rounds, seed):
    offsets = draw(rng, "int32", (extent,), 0, 2**31 - 1)
    expected = words(seed, offsets.tolist(), rounds)
    four = evaluate(f"tl.randint4x({seed}, x, {rounds})", offsets, into=["uint32"] * 4)
    for word, row in zip(four, expected, strict=True):
        check(word, row)
    check(evaluate(f"tl.randint({seed}, x, {rounds})", offsets, into="uint32"), expected[0])


def test_words_of_a_seed_that_is_known_at_run_time(rng):
    offsets, seed = draw(rng, "int32", (50,), 0, 2**31 - 1), draw(rng, "int64", ())
    check(evaluate("tl.randint(y, x)", offsets, seed, into="uint32"), words(int(seed), offsets.tolist())[0])


@pytest.mark.parametrize(("bits", "dtype"), [(32, "int32"), (32, "uint32"), (64, "int64"), (64, "uint64")])
def test_counters_of_four_words(rng, bits, dtype):
    counter = [draw(rng, dtype, (40,)) for _ in range(4)]
    seed = 2**45 + 17
    key = (seed % 2**32, seed >> 32) if bits == 32 else (seed, 0)
    expected = [philox([int(v) % 2**bits for v in row], key, bits) for row in zip(*map(exact, counter), strict=True)]
    results = evaluate(f"tl.philox({seed}, x, y, z, w)", *counter, into=[f"uint{bits}"] * 4)
    for result, row in zip(results, zip(*expected, strict=True), strict=True):
        check(result, np.array(row, f"uint{bits}"))


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("rounds", [0, 1, 10])
def test_rounds_of_a_key(rng, rounds, bits):
    dtype = f"uint{bits}"
    c0, c1, k0, k1 = (draw(rng, dtype, (20,)) for _ in range(4))
    results = evaluate(f"tl.philox_impl(x, y, x, y, z, w, {rounds})", c0, c1, k0, k1, into=[dtype] * 4)
    rows = zip(*(exact(v).tolist() for v in (c0, c1, k0, k1)), strict=True)
    expected = [philox((a, b, a, b), (p, q), bits, rounds) for a, b, p, q in rows]
    for result, row in zip(results, zip(*expected, strict=True), strict=True):
        check(result, np.array(row, dtype))


@pytest.mark.parametrize("seed", SEEDS)
def test_uniform_numbers(rng, seed):
    offsets = draw(rng, "int32", (200,), 0, 2**31 - 1)
    expected = words(seed, offsets.tolist())
    check(evaluate(f"tl.rand({seed}, x)", offsets, into="float32"), uniform(expected[0]))
    for result, row in zip(evaluate(f"tl.rand4x({seed}, x)", offsets, into=["float32"] * 4), expected, strict=True):
        check(result, uniform(row))


@pytest.mark.parametrize("dtype", ["uint32", "int32", "uint64", "int64"])
def test_words_become_uniform_numbers_below_one(rng, dtype):
    limits = np.iinfo(dtype)
    x = draw(rng, dtype, (100,))
    exact(x)[:4] = limits.min, limits.max, 0, 1
    result = exact(evaluate("tl.uint_to_uniform_float(x)", x, into="float32"))
    assert (result >= 0).all() and (result < 1).all()
    signed = exact(x).view(dtype.removeprefix("u"))
    folded = np.where(signed < 0, -(signed + 1), signed).astype(np.float64)
    np.testing.assert_allclose(result, folded / 2.0 ** (limits.bits - 1), rtol=1e-6, atol=1e-9)


def box_muller(u, v):
    radius = np.sqrt(-2 * np.log(np.maximum(u, 1e-7)))
    return radius * np.cos(2 * math.pi * v), radius * np.sin(2 * math.pi * v)


@pytest.mark.parametrize("seed", SEEDS)
def test_normal_numbers(rng, seed):
    offsets = draw(rng, "int32", (200,), 0, 2**31 - 1)
    a, b, c, d = map(uniform, words(seed, offsets.tolist()))
    expected = [*box_muller(a, b), *box_muller(c, d)]
    tolerance = {"rtol": 1e-5, "atol": 1e-5 if ON_GPU else 3e-6}
    first = evaluate(f"tl.randn({seed}, x)", offsets, into="float32")
    np.testing.assert_allclose(exact(first), expected[0], **tolerance)
    four = evaluate(f"tl.randn4x({seed}, x)", offsets, into=["float32"] * 4)
    for result, row in zip(four, expected, strict=True):
        np.testing.assert_allclose(exact(result), row, **tolerance)


def test_pairs_of_uniform_numbers(rng):
    u, v = draw(rng, "float32", (200,), 0, 1), draw(rng, "float32", (200,), 0, 1)
    results = evaluate("tl.pair_uniform_to_normal(x, y)", u, v, into=["float32"] * 2)
    for result, expected in zip(results, box_muller(exact(u), exact(v)), strict=True):
        np.testing.assert_allclose(exact(result), expected, rtol=1e-5, atol=1e-5)


def test_moments(rng):
    seed, offsets = int(rng.integers(2**31)), tensor(np.arange(4096), "int32")
    a, b, c, d = (exact(x) for x in evaluate(f"tl.rand4x({seed}, x)", offsets, into=["float32"] * 4))
    sample = np.concatenate([a, b, c, d])
    # Means of n draws stray by 5 deviations about once in a million runs.
    assert abs(sample.mean() - 0.5) < 5 * (1 / 12 / sample.size) ** 0.5
    normal = exact(evaluate(f"tl.randn({seed}, x)", offsets, into="float32"))
    assert abs(normal.mean()) < 5 / 64 and abs(normal.var() - 1) < 5 * (2 / 4096) ** 0.5

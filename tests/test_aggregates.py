"""Aggregates: classes with fields and jitted methods, as values of kernels."""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.aggregate
class Pair:
    first: tl.tensor
    second: tl.tensor

    def __init__(self, first, second=3.0):
        self.second = second
        self.first = first * 1.0

    @triton.jit
    def total(self):
        return self.first + self.second

    @triton.jit
    def swapped(self):
        return Pair(self.second, self.first)

    @triton.jit
    def __add__(self, other):
        return Pair(self.first + other.first, self.second + other.second)

    @triton.jit
    def __getitem__(self, index: tl.constexpr):
        return self.first if index == 0 else self.second

    @staticmethod
    @triton.jit
    def both(x):
        return Pair(x, x)


@triton.aggregate
class Scaled:
    value: tl.tensor
    FACTOR: tl.constexpr = 2
    COUNT: tl.constexpr = 4

    @triton.jit
    def scaled(self):
        return self.value * self.FACTOR

    @triton.jit
    def offsets(self):
        return tl.arange(0, self.COUNT)


@triton.aggregate
class Shifted(Scaled):
    shift: tl.tensor

    @triton.jit
    def scaled(self):
        return self.value * self.FACTOR + self.shift


def run(kernel, *args, size=4):
    out = np.full(size, np.nan, np.float32)
    kernel[(1,)](out, *args)
    return out


@triton.jit
def constructed(out_ptr, x):
    pair = Pair(x)
    other = pair.swapped() + Pair.both(x)
    tl.store(out_ptr, pair.total())
    tl.store(out_ptr + 1, other.first)
    tl.store(out_ptr + 2, other[1])
    tl.static_assert(isinstance(pair, Pair))
    tl.store(out_ptr + 3, Pair(second=x, first=7).total())


def test_constructors_methods_and_operators():
    np.testing.assert_array_equal(run(constructed, 5.0), [8, 8, 10, 12])


@triton.jit
def inherited(out_ptr, x):
    base = Scaled(x)
    derived = Shifted(x, 3, 4, 100.0)
    i = derived.offsets()
    tl.static_assert(isinstance(derived, Scaled) and not isinstance(base, Shifted))
    tl.static_assert(base.FACTOR == 2 and derived.FACTOR == 3)
    tl.store(out_ptr + i, tl.where(i == 0, base.scaled(), derived.scaled()))


def test_inheritance_defaults_and_constant_fields():
    np.testing.assert_array_equal(run(inherited, 5.0), [10, 115, 115, 115])


@triton.jit
def carried(out_ptr, n):
    state = Scaled(0.0, COUNT=4)
    for k in range(n):
        state = tl.aggregate_replace(state, value=state.value + k)
        if k == 2:
            state = tl.aggregate_replace(state, value=state.value * 10)
    tl.store(out_ptr + state.offsets(), state.scaled())


def test_loops_and_branches_carry_them():
    np.testing.assert_array_equal(run(carried, 4), [66] * 4)


@triton.aggregate
class Nested:
    pair: Pair
    extents: tl.tuple

    def __init__(self, x, FLAG: tl.constexpr):
        if FLAG:
            self.pair = Pair(x, x)
        else:
            self.pair = Pair(x, 0.0)
        self.extents = (x, x + 1.0)


@triton.jit
def nested(out_ptr, x):
    tl.store(out_ptr, Nested(x, True).pair.total() + Nested(x, False).pair.total())
    tl.store(out_ptr + 1, Nested(x, True).extents[1])


def test_aggregates_hold_aggregates_and_tuples():
    np.testing.assert_array_equal(run(nested, 5.0, size=2), [15, 6])


@triton.jit
def mutates(out_ptr, x):
    pair = Pair(x)
    pair.first = x
    tl.store(out_ptr, pair.first)


@triton.jit
def varies(out_ptr, x):
    tl.store(out_ptr, Scaled(1.0, x).scaled())


@triton.jit
def misnames(out_ptr, x):
    tl.store(out_ptr, tl.aggregate_replace(Pair(x), third=x).first)


@triton.aggregate
class Incomplete:
    first: tl.tensor
    second: tl.tensor

    def __init__(self, first):
        self.first = first


@triton.jit
def forgets(out_ptr, x):
    tl.store(out_ptr, Incomplete(x).first)


@pytest.mark.parametrize("kernel,message", [
    (mutates, "the field `first` of `Pair` is assigned outside of its constructor"),
    (varies, "the field `FACTOR` of `Scaled` is a constexpr"),
    (misnames, "`Pair` has no field `third`"),
    (forgets, "the constructor of `Incomplete` gives `second` no value"),
])
def test_mistakes_are_named(kernel, message):
    with pytest.raises(triton.CompilationError) as error:
        run(kernel, 5.0)
    assert message in str(error.value)


def test_on_the_host():
    pair = Pair(1.0)
    assert (pair.first, pair.second) == (1.0, 3.0)
    assert repr(tl.aggregate_replace(Scaled(1), value=4)) == "Scaled(value=4, FACTOR=2, COUNT=4)"
    assert Shifted._fields == ("value", "FACTOR", "COUNT", "shift")
    with pytest.raises(AttributeError):
        pair.first = 2.0
    with pytest.raises(TypeError, match="has no field `third`"):
        tl.aggregate_replace(pair, third=1)
    with pytest.raises(TypeError, match="inherits from aggregates alone"):
        triton.aggregate(type("Wrong", (dict,), {}))

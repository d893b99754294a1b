"""What the examples share: fresh inputs, poisoned outputs, and a comparison that says what differs."""

import random

import numpy as np


class Check:
    """The comparisons of one example.

    Inputs come from `rng`, seeded anew in every run; a failure names the seed, so that it can be repeated
    with `Check(name, seed)`.
    """

    def __init__(self, name, seed=None):
        self.name = name
        self.seed = random.randrange(2**32) if seed is None else seed
        self.rng = np.random.default_rng(self.seed)
        self.comparisons = 0
        self.worst = 0.0

    def normal(self, *shape, dtype=np.float32):
        """An array of normally distributed numbers."""
        return self.rng.standard_normal(shape).astype(dtype)

    def close(self, what, actual, expected, tolerance, size=0.0):
        """Compares with a float64 reference: the norm of the difference over the norm of the reference.

        Where terms may cancel, a small result is no more exact than they are: `size` is how large they are.
        """
        actual = np.asarray(actual, dtype=np.float64)
        expected = np.asarray(expected, dtype=np.float64)
        assert actual.shape == expected.shape, f"{what}: shape {actual.shape}, expected {expected.shape}"
        difference = np.abs(actual - expected)
        scale = max(np.linalg.norm(expected.ravel()), size * expected.size**0.5)
        error = np.linalg.norm(difference.ravel()) / (scale if scale > 0 else 1.0)
        if not error <= tolerance:  # NaN fails too.
            where = np.unravel_index(np.argmax(np.nan_to_num(difference, nan=np.inf)), actual.shape)
            raise AssertionError(
                f"{self.name}, {what}, seed {self.seed}: relative error {error:.1e} exceeds {tolerance:.0e}; "
                f"furthest at {tuple(map(int, where))}: {actual[where]} instead of {expected[where]}"
            )
        self.comparisons += 1
        self.worst = max(self.worst, float(error))

    def equal(self, what, actual, expected):
        """Compares exactly."""
        assert np.array_equal(actual, expected), f"{self.name}, {what}, seed {self.seed}: the arrays differ"
        self.comparisons += 1

    def holds(self, what, condition):
        """Asserts a property that is not an equality."""
        assert condition, f"{self.name}, seed {self.seed}: {what}"
        self.comparisons += 1

    def report(self):
        """Prints the one line of a run that went well."""
        print(f"{self.name}: {self.comparisons} checks passed, largest relative error {self.worst:.1e}")


def poisoned(shape, dtype=np.float32):
    """An output array in which a place that the kernel forgets is seen: NaN, or an unlikely integer."""
    dtype = np.dtype(dtype)
    return np.full(shape, np.nan if dtype.kind == "f" else np.iinfo(dtype).max - 3, dtype)


def element_strides(array):
    """Strides in elements, as kernels count; numpy counts bytes."""
    return tuple(stride // array.itemsize for stride in array.strides)


class Timing:
    """Something to be timed: a launch, what numpy does for the same result, and how much work that is."""

    def __init__(self, label, work, unit, launch, numpy):
        self.label = label
        self.work = work
        self.unit = unit
        self.launch = launch
        self.numpy = numpy

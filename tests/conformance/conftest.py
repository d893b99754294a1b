"""Fixtures of the conformance tests: random numbers, fresh in every run, with a seed that a failure shows."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    seed = np.random.SeedSequence().entropy % 2**32
    print("seed", seed)
    return np.random.default_rng(seed)

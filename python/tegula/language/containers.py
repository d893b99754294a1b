"""The classes `tl.tuple` and `tl.slice`, which kernels also write as `(a, b)` and `start:stop:step`."""

from __future__ import annotations

import builtins
from typing import Any


class tuple(builtins.tuple):
    """A tuple. Kernels take Python's own, lists and named tuples as well."""


class slice:
    """A range of the items of a tuple, or along a dimension of a block."""

    def __init__(self, start: Any, stop: Any, step: Any = None) -> None:
        self.start = start
        self.stop = stop
        self.step = step

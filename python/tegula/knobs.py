"""Settings, from environment variables at import; to be changed while the program runs, too."""

from __future__ import annotations

import os

from . import _native


def _flag(name: str) -> bool:
    return os.environ.get(name, "").lower() in ("1", "true", "yes", "on", "y")


class Autotuning:
    """`TRITON_PRINT_AUTOTUNING`: prints each configuration tried, and the choice."""

    @property
    def print(self) -> bool:
        return self._print if self._print is not None else _flag("TRITON_PRINT_AUTOTUNING")

    @print.setter
    def print(self, on: bool | None) -> None:
        self._print = on

    _print: bool | None = None


class Runtime:
    """`TEGULA_DEBUG`: checks accesses of kernels on the CPU against the arrays passed."""

    def __init__(self) -> None:
        self.debug = _flag("TEGULA_DEBUG")

    @property
    def debug(self) -> bool:
        return self._debug

    @debug.setter
    def debug(self, on: bool) -> None:
        self._debug = bool(on)
        _native.set_debug(self._debug)


autotuning = Autotuning()
runtime = Runtime()

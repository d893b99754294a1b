"""Settings, from environment variables at import; to be changed while the program runs, too."""

from __future__ import annotations

import os

from . import _native


def _flag(name: str) -> bool:
    return os.environ.get(name, "").lower() in ("1", "true", "yes", "on", "y")


def interpret() -> bool:
    """`TRITON_INTERPRET`: functions decorated while it is set are interpreted, as in Triton."""
    return _flag("TRITON_INTERPRET")


class Autotuning:
    """`TRITON_PRINT_AUTOTUNING`: prints each configuration tried, and the choice.

    `TRITON_CACHE_AUTOTUNING`: keeps timings on disk, for other processes.
    """

    @property
    def print(self) -> bool:
        return self._print if self._print is not None else _flag("TRITON_PRINT_AUTOTUNING")

    @print.setter
    def print(self, on: bool | None) -> None:
        self._print = on

    _print: bool | None = None

    @property
    def cache(self) -> bool:
        return self._cache if self._cache is not None else _flag("TRITON_CACHE_AUTOTUNING")

    @cache.setter
    def cache(self, on: bool | None) -> None:
        self._cache = on

    _cache: bool | None = None


class Runtime:
    """`TEGULA_DEBUG`: checks accesses of kernels on the CPU against the arrays passed.

    `TEGULA_TARGET`: what kernels are compiled for in the place of their arguments' device: `cpu`, `sm_80`, `sm_90`.
    """

    def __init__(self) -> None:
        self.debug = _flag("TEGULA_DEBUG")
        self.target = os.environ.get("TEGULA_TARGET") or None

    @property
    def debug(self) -> bool:
        return self._debug

    @debug.setter
    def debug(self, on: bool) -> None:
        self._debug = bool(on)
        _native.set_debug(self._debug)

    @property
    def target(self) -> str | None:
        return self._target

    @target.setter
    def target(self, name: str | None) -> None:
        _native.set_target(name)
        self._target = name


autotuning = Autotuning()
runtime = Runtime()

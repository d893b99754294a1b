"""Settings, from environment variables at import; to be changed while the program runs, too."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

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


class HookChain:
    """Functions that are called one after another; those that end something, in the opposite order."""

    def __init__(self, reversed: bool = False, changed: Callable[[], None] | None = None) -> None:
        self.calls: list[Callable[..., Any]] = []
        self.reversed = reversed
        self._changed = changed or (lambda: None)

    def add(self, func: Callable[..., Any]) -> None:
        """Appends a function, unless it is there."""
        if func not in self.calls:
            self.calls.append(func)
        self._changed()

    def remove(self, func: Callable[..., Any]) -> None:
        """Removes a function, if it is there."""
        if func in self.calls:
            self.calls.remove(func)
        self._changed()

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        for call in self.calls[::-1] if self.reversed else tuple(self.calls):
            call(*args, **kwargs)


class Runtime:
    """`TEGULA_DEBUG`: checks accesses of kernels on the CPU against the arrays passed.

    `TEGULA_TARGET`: what kernels are compiled for in the place of their arguments' device: `cpu`, `sm_80`,
    `sm_90`; `sim:sm_90` runs kernels for it in the simulator, on arrays of the CPU.

    `launch_enter_hook.add(hook)` has `hook(metadata)` called before each launch, `launch_exit_hook.add(hook)` after it;
    `metadata.get()` has the kernel's name, the stream, and what its `launch_metadata` says. A function may be assigned,
    too.
    """

    def __init__(self) -> None:
        self._enter = HookChain(changed=self._hooks_changed)
        self._exit = HookChain(reversed=True, changed=self._hooks_changed)
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

    def _hooks_changed(self) -> None:
        _native.set_launch_hooks(*(chain if chain.calls else None for chain in (self._enter, self._exit)))

    @property
    def launch_enter_hook(self) -> HookChain:
        return self._enter

    @launch_enter_hook.setter
    def launch_enter_hook(self, hook: Callable[..., Any] | None) -> None:
        self._replace(self._enter, hook)

    @property
    def launch_exit_hook(self) -> HookChain:
        return self._exit

    @launch_exit_hook.setter
    def launch_exit_hook(self, hook: Callable[..., Any] | None) -> None:
        self._replace(self._exit, hook)

    def _replace(self, chain: HookChain, hook: Callable[..., Any] | None) -> None:
        calls = hook.calls if isinstance(hook, HookChain) else [] if hook is None else [hook]
        chain.calls[:] = calls
        self._hooks_changed()


autotuning = Autotuning()
runtime = Runtime()

"""The compiler's results, where Triton has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _native

CompiledKernel = _native.CompiledKernel


class AsmDict(dict):
    """The stages of a compilation by name; `sass` is made of the machine code when it is asked for."""

    def __missing__(self, key: str) -> str:
        if key != "sass" or "cubin" not in self:
            raise KeyError(key)
        self[key] = _native.disassemble(self["cubin"])
        return self[key]


class LazyDict:
    """Facts of a launch, some of which are only computed when they are asked for."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.extras: list[tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]] = []

    def add(self, func: Callable[..., dict[str, Any]], args: tuple[Any, ...]) -> None:
        """Has `func(*args)` give more facts."""
        self.extras.append((func, args))

    def get(self) -> dict[str, Any]:
        """All facts."""
        while self.extras:
            func, args = self.extras.pop(0)
            self.data = {**self.data, **func(*args)}
        return self.data


def launch_metadata(
    kernel: Any, compiled: Any, grid: tuple[int, int, int], function: int, stream: int, arguments: dict[str, Any]
) -> LazyDict:
    """What hooks of launches are called with.

    That is `name`, `function`, `stream`, and what the kernel's own `launch_metadata(grid, metadata, arguments)` adds.
    """
    facts = LazyDict({"name": compiled.name, "function": function, "stream": stream})
    if kernel.launch_metadata is not None:
        facts.add(kernel.launch_metadata, (grid, compiled.metadata, arguments))
    return facts


def triton_key() -> str:
    """What identifies this compiler to caches of compiled code."""
    return f"tegula-{_native.__version__}"

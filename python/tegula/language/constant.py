"""`tl.constexpr`: a value known at compile time, with Python's arithmetic on the host."""

from __future__ import annotations

import operator
from typing import Any

from .. import _native


def unwrap(value: Any) -> Any:
    """The value in a `constexpr`; anything else as it is."""
    return value.value if isinstance(value, constexpr) else value


class constexpr:
    """A value known at compile time.

    As an annotation it makes a parameter or a local a compile-time constant; as a wrapper it lets kernels use a global.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = unwrap(value)

    def __repr__(self) -> str:
        return f"constexpr[{self.value!r}]"

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self):
        return iter(self.value)

    def __getitem__(self, index: Any) -> Any:
        return self.value[unwrap(index)]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.value(*args, **kwargs)

    @property
    def type(self) -> Any:
        """The type of a constant: its value."""
        from .types import constexpr_type

        return constexpr_type(self.value)

    def logical_and(self, other: Any) -> constexpr:
        """`self and other`."""
        return constexpr(self.value and unwrap(other))

    def logical_or(self, other: Any) -> constexpr:
        """`self or other`."""
        return constexpr(self.value or unwrap(other))


def _add_operators() -> None:
    """Gives `constexpr` Python's operators: each unwraps its operands and wraps the result."""

    def wrap(value):
        # With a tile of an interpreted kernel, the result is a tile.
        return value if isinstance(value, _native.tensor) else constexpr(value)

    def binary(compute):
        return lambda self, other: wrap(compute(self.value, unwrap(other)))

    def reflected(compute):
        return lambda self, other: wrap(compute(unwrap(other), self.value))

    def unary(compute):
        return lambda self: constexpr(compute(self.value))

    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
        compute = getattr(operator, f"{name}_" if name in ("and", "or") else name)
        setattr(constexpr, f"__{name}__", binary(compute))
        setattr(constexpr, f"__r{name}__", reflected(compute))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(constexpr, f"__{name}__", binary(getattr(operator, name)))
    for name in ("neg", "pos", "invert"):
        setattr(constexpr, f"__{name}__", unary(getattr(operator, name)))


_add_operators()

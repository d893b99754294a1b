"""The Triton language: what a kernel may call, and its types.

The names come from the table of the compiler's front end, so this module never lags behind it: functions are read from
the table when the package is imported, and the modules below (`math`, `extra.libdevice`, ...) are made from it.
"""

from __future__ import annotations

import sys
import types as _types

from .. import _native
from .constant import constexpr as constexpr
from .types import block_type as block_type
from .types import const as const
from .types import dtype as dtype
from .types import pointer_type as pointer_type
from .types import tensor as tensor

__tegula_path__ = ""

void = dtype("void")


def _fill(module: _types.ModuleType, path: str) -> list[str]:
    """Adds the functions and constants of the table's module `path`; their names."""
    members = [(function.__name__, function) for function in _native.language_functions(path)]
    members += _native.language_constants(path)
    for name, member in members:
        setattr(module, name, member)
    return [name for name, _ in members]


def _add_types() -> list[str]:
    names = [name for name, _, _, _ in _native.language_types()]
    for name in names:
        globals()[name] = dtype(name)
    return names


def _add_modules() -> list[str]:
    """Makes the modules below this one and registers them, so that `import` finds them."""
    this = sys.modules[__name__]
    top = []
    for path in sorted(_native.language_modules()):
        if not path:
            continue
        parent, _, name = path.rpartition(".")
        module = _types.ModuleType(f"{__name__}.{path}", f"The functions of `triton.language.{path}`.")
        module.__package__ = module.__name__
        module.__path__ = []
        module.__tegula_path__ = path
        module.__all__ = _fill(module, path)
        sys.modules[module.__name__] = module
        setattr(sys.modules[f"{__name__}.{parent}"] if parent else this, name, module)
        if not parent:
            top.append(name)
    return top


_names = _add_types() + _fill(sys.modules[__name__], "") + _add_modules()

# `core` is where Triton keeps its classes, and everything else that is not in a module of its own.
core = sys.modules[f"{__name__}.core"]
for _name in ("block_type", "const", "constexpr", "dtype", "pointer_type", "tensor", "void"):
    setattr(core, _name, globals()[_name])
for _name in _names:
    if not hasattr(core, _name):
        setattr(core, _name, globals()[_name])

__all__ = sorted(
    {
        *_names,
        "block_type",
        "const",
        "constexpr",
        "core",
        "dtype",
        "pointer_type",
        "tensor",
        "void",
    }
)

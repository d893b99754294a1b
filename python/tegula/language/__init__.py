"""The Triton language: what a kernel may call, and its types.

The names come from the table of the compiler's front end, so this module never lags behind it: functions are read from
the table when the package is imported, and the modules below (`math`, `extra.libdevice`, ...) are made from it.
"""

from __future__ import annotations

import sys
import types as _types

from .. import _native
from . import target_info as target_info
from .aggregates import aggregate as _aggregate
from .aggregates import aggregate_replace as aggregate_replace
from .constant import constexpr as constexpr
from .containers import slice as slice
from .containers import tuple as tuple
from .types import block_type as block_type
from .types import const as const
from .types import constexpr_type as constexpr_type
from .types import dtype as dtype
from .types import pi32_t as pi32_t
from .types import pointer_type as pointer_type
from .types import tensor_descriptor as tensor_descriptor

__tegula_path__ = ""

#: A scalar or a block of an interpreted kernel; as an annotation it documents.
tensor = _native.tensor

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
        if not path or path == "target_info":
            # The language itself; and a module that answers the host as well, and so is written in Python.
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
_CLASSES = [
    "aggregate_replace",
    "block_type",
    "const",
    "constexpr",
    "constexpr_type",
    "dtype",
    "pi32_t",
    "pointer_type",
    "slice",
    "tensor",
    "tensor_descriptor",
    "tuple",
    "void",
]
for _name in _CLASSES:
    setattr(core, _name, globals()[_name])
core._aggregate = _aggregate
for _name in _names:
    if not hasattr(core, _name):
        setattr(core, _name, globals()[_name])

__all__ = sorted({*_names, *_CLASSES, "core", "target_info"})

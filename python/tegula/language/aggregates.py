"""`triton.aggregate`: classes whose instances are values of kernels, with named fields and jitted methods."""

from __future__ import annotations

import builtins
import inspect
import types
from collections.abc import Callable
from typing import Any

from .. import _native


class Aggregate(builtins.tuple):
    """What classes decorated with `aggregate` inherit from: a tuple of the fields, in the order of their declaration.

    `_fields` are their names, `_constant_fields` says which are annotated `tl.constexpr`, `_defaults` has the values of
    those that have one, and `_constructor` is the `__init__` that kernels evaluate.
    """

    _fields: builtins.tuple[str, ...] = ()
    _constant_fields: builtins.tuple[bool, ...] = ()
    _static_methods: builtins.tuple[str, ...] = ()
    _defaults = types.SimpleNamespace()
    _constructor: Any = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls._constructor is None:
            parameters = [
                inspect.Parameter(
                    field,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=getattr(cls._defaults, field, inspect.Parameter.empty),
                )
                for field in cls._fields
            ]
            # A field with a default may precede one without: Python's own signatures refuse that.
            signature = inspect.Signature(parameters, __validate_parameters__=False)
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return cls._make(bound.arguments[field] for field in cls._fields)
        made = types.SimpleNamespace()
        construct = cls._constructor if _native.is_interpreting() else cls._constructor.fn
        construct(made, *args, **kwargs)
        missing = [field for field in cls._fields if not hasattr(made, field)]
        if missing:
            raise AttributeError(f"the constructor of `{cls.__name__}` gives `{missing[0]}` no value")
        return cls._make(getattr(made, field) for field in cls._fields)

    @classmethod
    def _make(cls, values: Any) -> Any:
        return builtins.tuple.__new__(cls, values)

    def __repr__(self) -> str:
        fields = ", ".join(f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({fields})"


def _field(index: int) -> property:
    return property(lambda self: builtins.tuple.__getitem__(self, index))


def aggregate(cls: type) -> type:
    """Makes a class an aggregate: its annotations are fields, and its jitted methods may be called in kernels.

    Instances are immutable; `tl.aggregate_replace` makes changed copies. Aggregates inherit fields and methods from
    other aggregates, and from nothing else.
    """
    from ..runtime.jit import JITFunction, _read_annotation

    parents = [base for base in cls.__bases__ if base is not object]
    for base in parents:
        if not issubclass(base, Aggregate):
            raise TypeError(f"an aggregate inherits from aggregates alone, and `{base.__name__}` is none")
    members = {name: member for name, member in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    constants: dict[str, bool] = {}
    defaults: dict[str, Any] = {}
    for base in reversed(parents):
        constants |= dict(zip(base._fields, base._constant_fields, strict=True))
        defaults |= vars(base._defaults)
    for name, annotation in inspect.get_annotations(cls).items():
        constants[name] = _read_annotation(annotation)[0]
        if name in members:
            defaults[name] = members[name]
    constructor: Callable[..., Any] | JITFunction | None = members.pop("__init__", None)
    if constructor is not None and not isinstance(constructor, JITFunction):
        constructor = JITFunction(constructor)
    static = {name for name, member in members.items() if isinstance(member, staticmethod)}
    static |= {name for base in parents for name in base._static_methods if name not in members}
    members |= {field: _field(index) for index, field in enumerate(constants)}
    members |= {
        "_fields": builtins.tuple(constants),
        "_constant_fields": builtins.tuple(constants.values()),
        "_static_methods": builtins.tuple(sorted(static)),
        "_defaults": types.SimpleNamespace(**defaults),
        "_constructor": constructor,
    }
    return type(cls)(cls.__name__, builtins.tuple(parents) or (Aggregate,), members)


def aggregate_replace(instance: Any, **changes: Any) -> Any:
    """A copy of an aggregate with other values in some fields."""
    if not isinstance(instance, Aggregate):
        raise TypeError(f"aggregate_replace takes an aggregate, not {type(instance).__name__}")
    for name in changes:
        if name not in instance._fields:
            raise TypeError(f"`{type(instance).__name__}` has no field `{name}`")
    values = dict(zip(instance._fields, instance, strict=True)) | changes
    return type(instance)._make(values.values())

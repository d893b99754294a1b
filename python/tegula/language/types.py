"""The types of the language as objects of the host: `tl.float32`, `tl.pointer_type(tl.int8)`."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any

from .. import _native
from .constant import unwrap

_TYPES = _native.language_types()
_BITS = {printed: bits for _, printed, _, bits in _TYPES}
_SIGNATURE_NAMES = {printed: signature for _, printed, signature, _ in _TYPES}
_PRINTED_NAMES = {name: printed for name, printed, _, _ in _TYPES}
_PRINTED_NAMES |= {signature: printed for _, printed, signature, _ in _TYPES}

#: Bits of the mantissa as stored, and the exponent's bias.
_FLOAT_FORMATS = {
    "fp8e4b15": (3, 15),
    "fp8e4nv": (3, 7),
    "fp8e4b8": (3, 8),
    "fp8e5": (2, 15),
    "fp8e5b16": (2, 16),
    "fp16": (10, 15),
    "bf16": (7, 127),
    "fp32": (23, 127),
    "fp64": (52, 1023),
}


class dtype:
    """A scalar type. Equal names are equal types."""

    class SIGNEDNESS(Enum):
        SIGNED = 0
        UNSIGNED = 1

    class KIND(IntEnum):
        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2

    def __init__(self, name: str) -> None:
        name = _PRINTED_NAMES.get(name, name)
        if name not in _BITS and name != "void":
            raise ValueError(f"`{name}` is no type; the types are {', '.join(_BITS)}")
        self.name = name
        self.primitive_bitwidth = _BITS.get(name, 0)
        self.itemsize = -(-self.primitive_bitwidth // 8)
        if name in _FLOAT_FORMATS:
            self.fp_mantissa_width, self.exponent_bias = _FLOAT_FORMATS[name]
        elif name != "void":
            self.int_bitwidth = self.primitive_bitwidth
            self.int_signedness = self.SIGNEDNESS.SIGNED if self.is_int_signed() else self.SIGNEDNESS.UNSIGNED

    @staticmethod
    def is_dtype(name: str) -> bool:
        """Whether there is a type of this name."""
        return name in _BITS or name == "void"

    @property
    def scalar(self) -> dtype:
        return self

    def is_floating(self) -> bool:
        return self.name in _FLOAT_FORMATS

    def is_standard_floating(self) -> bool:
        return self.name in ("fp16", "bf16", "fp32", "fp64")

    def is_fp8(self) -> bool:
        return self.name.startswith("fp8")

    def is_int(self) -> bool:
        return self.name in _BITS and not self.is_floating()

    def is_int_signed(self) -> bool:
        return self.name in ("int8", "int16", "int32", "int64")

    def is_int_unsigned(self) -> bool:
        return self.is_int() and not self.is_int_signed()

    def is_bool(self) -> bool:
        return self.name == "int1"

    def is_void(self) -> bool:
        return self.name == "void"

    def is_ptr(self) -> bool:
        return False

    def is_block(self) -> bool:
        return False

    def is_const(self) -> bool:
        return False

    def kind(self) -> KIND:
        """The rank among kinds: bool, then integers, then floats."""
        if self.is_bool():
            return self.KIND.BOOLEAN
        return self.KIND.INTEGRAL if self.is_int() else self.KIND.FLOATING

    def get_int_max_value(self) -> int:
        return 2 ** (self.int_bitwidth - self.is_int_signed()) - 1

    def get_int_min_value(self) -> int:
        return -(2 ** (self.int_bitwidth - 1)) if self.is_int_signed() else 0

    def codegen_name(self) -> str:
        """The name of the type in `tegula.language`."""
        return self.name.replace("bf", "bfloat") if self.name == "bf16" else self.name.replace("fp", "float")

    def __eq__(self, other: Any) -> bool:
        other = unwrap(other)
        return isinstance(other, dtype) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"triton.language.{self.codegen_name()}"

    @property
    def signature_name(self) -> str:
        """The name in signatures: `i32`, `fp16`."""
        return _SIGNATURE_NAMES[self.name]


def _add_predicates() -> None:
    """`is_fp32()`, `is_int8()`, ...: whether it is that very type."""
    for name in _BITS:
        setattr(dtype, f"is_{name}", lambda self, name=name: self.name == name)


_add_predicates()


class pointer_type:
    """A pointer to values of a type; `const` says that nothing is stored through it."""

    def __init__(self, element_ty: dtype | pointer_type, const: bool = False) -> None:
        element_ty = unwrap(element_ty)
        if not isinstance(element_ty, (dtype, pointer_type)):
            raise TypeError(f"a pointer points to a scalar type or to a pointer, not to {type(element_ty).__name__}")
        self.element_ty = element_ty
        self.const = bool(unwrap(const))
        self.name = f"const_pointer<{element_ty}>" if self.const else f"pointer<{element_ty}>"
        self.primitive_bitwidth = 64
        self.itemsize = 8

    @property
    def scalar(self) -> pointer_type:
        return self

    def is_ptr(self) -> bool:
        return True

    def is_const(self) -> bool:
        return self.const

    def is_block(self) -> bool:
        return False

    def is_int(self) -> bool:
        return False

    def is_floating(self) -> bool:
        return False

    def __eq__(self, other: Any) -> bool:
        other = unwrap(other)
        return isinstance(other, pointer_type) and (self.element_ty, self.const) == (other.element_ty, other.const)

    def __hash__(self) -> int:
        return hash((self.element_ty, self.const))

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


class block_type:
    """A block of values: its element type and its extents."""

    def __init__(self, element_ty: dtype | pointer_type, shape: tuple[int, ...] | list[int]) -> None:
        self.element_ty = unwrap(element_ty)
        self.shape = tuple(unwrap(extent) for extent in shape)
        self.numel = 1
        for extent in self.shape:
            self.numel *= extent
        self.name = f"<{list(self.shape)}, {self.element_ty}>"

    @property
    def scalar(self) -> dtype | pointer_type:
        return self.element_ty

    def is_block(self) -> bool:
        return True

    def is_ptr(self) -> bool:
        return False

    def get_block_shapes(self) -> tuple[int, ...]:
        return self.shape

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, block_type) and (self.element_ty, self.shape) == (other.element_ty, other.shape)

    def __hash__(self) -> int:
        return hash((self.element_ty, self.shape))

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


class constexpr_type:
    """The type of a `constexpr`: its value."""

    def __init__(self, value: Any) -> None:
        self.value = unwrap(value)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, constexpr_type) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"constexpr_type[{self.value}]"


class const:
    """As an annotation: the pointer is not stored through."""


class tensor_descriptor:
    """A tensor in memory with its shape, its strides and the block that is loaded at a time.

    Kernels make one by `tl.make_tensor_descriptor`; on the host it is
    `tegula.tools.tensor_descriptor.TensorDescriptor`. As an annotation it documents.
    """

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        raise RuntimeError("a `tl.tensor_descriptor` exists only inside a kernel; pass a `TensorDescriptor` to it")


pi32_t = pointer_type(dtype("int32"))

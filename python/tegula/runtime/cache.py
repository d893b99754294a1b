"""What identifies the compiler, where Triton has it."""

from .. import knobs
from ..compiler.compiler import triton_key

__all__ = ["knobs", "triton_key"]

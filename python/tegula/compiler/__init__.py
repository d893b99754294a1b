"""The compiler's results and errors."""

from .. import _native
from . import errors
from .errors import CompilationError

CompiledKernel = _native.CompiledKernel

__all__ = ["CompilationError", "CompiledKernel", "errors"]

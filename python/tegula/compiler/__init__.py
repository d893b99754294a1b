"""The compiler's results and errors."""

from . import compiler, errors
from .compiler import CompiledKernel
from .errors import CompilationError

__all__ = ["CompilationError", "CompiledKernel", "compiler", "errors"]

"""The exceptions of compilation, where Triton has them. tegula has one class for all."""

from ..errors import CompilationError

CompileTimeAssertionFailure = CompilationError
UnsupportedLanguageConstruct = CompilationError

__all__ = ["CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct"]

"""The exceptions of launches, where Triton has them."""

from ..errors import AutotunerError, InternalCompilerError, KernelAssertionError, OutOfResources

__all__ = ["AutotunerError", "InternalCompilerError", "KernelAssertionError", "OutOfResources"]

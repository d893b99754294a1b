"""The exceptions of launches, where Triton has them."""

from ..errors import AutotunerError, KernelAssertionError, OutOfResources

__all__ = ["AutotunerError", "KernelAssertionError", "OutOfResources"]

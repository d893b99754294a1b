"""The compiler's results, where Triton has them."""

from .. import _native

CompiledKernel = _native.CompiledKernel


def triton_key() -> str:
    """What identifies this compiler to caches of compiled code."""
    return f"tegula-{_native.__version__}"

"""tegula: a compiler and runtime for the Triton language.

`import tegula as triton` and `import tegula.language as tl` run existing kernels; `tegula.compat.install()` makes a
plain `import triton` do so too.
"""

from __future__ import annotations

from . import _native, errors, knobs, language
from .compiler import CompilationError
from .errors import (
    AutotunerError,
    DriverError,
    InternalCompilerError,
    KernelAssertionError,
    KernelWarning,
    OutOfResources,
    TegulaError,
)
from .language.aggregates import aggregate
from .runtime.autotuner import Autotuner, Config, Heuristics, autotune, heuristics
from .runtime.jit import (
    ConstexprFunction,
    JITFunction,
    KernelInterface,
    MockTensor,
    TensorWrapper,
    constexpr_function,
    jit,
    reinterpret,
)

from . import backends, compiler, runtime, testing, tools  # isort: skip (they need the names above)

__version__ = _native.__version__

#: Triton's name for the class of its exceptions.
TritonError = TegulaError


@constexpr_function
def cdiv(x: int, y: int) -> int:
    """The quotient, rounded up."""
    return -(-x // y)


@constexpr_function
def next_power_of_2(n: int) -> int:
    """The least power of 2 that is not less than `n`; 0 for `n` up to 0, as in Triton."""
    return 1 << (n - 1).bit_length() if n > 0 else 0


def set_allocator(allocator) -> None:
    """Triton asks for scratch memory through a function of the user's; tegula needs none, on the CPU."""
    if not callable(allocator):
        raise TypeError(f"an allocator is a function of size, alignment and stream, not {type(allocator).__name__}")


def must_use_result(function, message=None):
    """Marks a function whose result should be used. Accepted for Triton's sake: dropping the result is no error."""
    if isinstance(function, str):
        return lambda decorated: must_use_result(decorated, function)
    return function


__all__ = [
    "Autotuner",
    "AutotunerError",
    "CompilationError",
    "Config",
    "ConstexprFunction",
    "DriverError",
    "Heuristics",
    "InternalCompilerError",
    "JITFunction",
    "KernelAssertionError",
    "KernelInterface",
    "KernelWarning",
    "MockTensor",
    "OutOfResources",
    "TegulaError",
    "TensorWrapper",
    "TritonError",
    "aggregate",
    "autotune",
    "backends",
    "cdiv",
    "compiler",
    "constexpr_function",
    "errors",
    "heuristics",
    "jit",
    "knobs",
    "language",
    "must_use_result",
    "next_power_of_2",
    "reinterpret",
    "runtime",
    "set_allocator",
    "testing",
    "tools",
]

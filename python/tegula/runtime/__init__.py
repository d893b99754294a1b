"""Kernels at run time: `jit`, `autotune`, `heuristics`, the driver."""

from . import driver as _driver
from . import errors
from .autotuner import Autotuner, Config, Heuristics, autotune, heuristics
from .errors import OutOfResources
from .jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, reinterpret

driver = _driver.driver

__all__ = [
    "Autotuner",
    "Config",
    "Heuristics",
    "JITFunction",
    "KernelInterface",
    "MockTensor",
    "OutOfResources",
    "TensorWrapper",
    "autotune",
    "driver",
    "errors",
    "heuristics",
    "reinterpret",
]

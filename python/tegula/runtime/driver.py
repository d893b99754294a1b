"""What libraries ask of the active driver: the device, its target, a way to time kernels."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from ..backends.compiler import GPUTarget
from .cuda_driver import CudaDriver


class CpuDriver:
    """The CPU as a device, number 0, without streams."""

    @staticmethod
    def is_active() -> bool:
        return True

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        if device != 0:
            raise ValueError(f"there is no device {device}: the CPU is device 0")

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cpu", os.uname().machine, 1)

    def get_device_interface(self) -> Any:
        import torch

        return torch.cpu

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_benchmarker(self) -> Callable[..., Any]:
        from ..testing import do_bench

        return do_bench

    @property
    def utils(self) -> CpuDriver:
        return self

    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        """The number of cores in the place of multiprocessors; blocks may be as large as memory allows."""
        return {"multiprocessor_count": os.cpu_count() or 1, "max_shared_mem": 1 << 40, "warpSize": 1}


class Driver:
    """The driver in use, `driver.active`: a GPU's once the program computes there through torch, else the CPU's."""

    def __init__(self) -> None:
        self._cpu = CpuDriver()
        self._cuda = CudaDriver()
        self._chosen: Any = None

    @property
    def default(self) -> Any:
        torch = sys.modules.get("torch")
        return self._cuda if torch is not None and torch.cuda.is_initialized() else self._cpu

    @property
    def active(self) -> Any:
        return self._chosen if self._chosen is not None else self.default

    def set_active(self, active: Any) -> None:
        self._chosen = active

    def reset_active(self) -> None:
        self._chosen = None


driver = Driver()

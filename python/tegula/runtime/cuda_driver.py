"""What libraries ask of the active driver where the program computes on a GPU through torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backends.compiler import GPUTarget


class CudaDriver:
    """The GPUs as torch has them: its current device and its current stream."""

    @staticmethod
    def is_active() -> bool:
        import torch

        return torch.cuda.is_available()

    def get_current_device(self) -> int:
        import torch

        return torch.cuda.current_device()

    def set_current_device(self, device: int) -> None:
        import torch

        torch.cuda.set_device(device)

    def get_current_stream(self, device: int | None = None) -> int:
        import torch

        return torch.cuda.current_stream(device).cuda_stream

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        import torch

        return torch.cuda.get_device_capability(device)

    def get_current_target(self) -> GPUTarget:
        major, minor = self.get_device_capability()
        return GPUTarget("cuda", 10 * major + minor, 32)

    def get_device_interface(self) -> Any:
        import torch

        return torch.cuda

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cuda", self.get_current_device())

    def get_empty_cache_for_benchmark(self) -> Any:
        import torch

        return torch.empty(64 * 1024 * 1024, dtype=torch.int32, device="cuda")

    def clear_cache(self, cache: Any) -> None:
        cache.zero_()

    def get_benchmarker(self) -> Callable[..., Any]:
        from ..timing import do_bench

        return do_bench

    @property
    def utils(self) -> CudaDriver:
        return self

    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        """Multiprocessors, bytes of shared memory of a program, registers of a multiprocessor, threads of a warp."""
        import torch

        properties = torch.cuda.get_device_properties(device)
        return {
            "multiprocessor_count": properties.multi_processor_count,
            "max_shared_mem": properties.shared_memory_per_block_optin,
            "max_num_regs": properties.regs_per_multiprocessor,
            "warpSize": properties.warp_size,
        }

"""Which machine kernels run on, asked on the host. In a kernel the answers are constants of the compilation."""

from __future__ import annotations

from typing import Any

__tegula_path__ = "target_info"


def current_target() -> Any:
    """The target of the active driver."""
    from ..runtime.driver import driver

    return driver.active.get_current_target()


def is_cuda() -> bool:
    """Whether kernels run on an NVIDIA GPU."""
    return current_target().backend == "cuda"


def cuda_capability_geq(major: int, minor: int = 0) -> bool:
    """Whether kernels run on an NVIDIA GPU of this compute capability or a later one."""
    target = current_target()
    return target.backend == "cuda" and target.arch >= 10 * major + minor


def _is_amd(architecture: str = "") -> bool:
    target = current_target()
    return target.backend == "hip" and str(target.arch).startswith(architecture)


def is_hip() -> bool:
    """Whether kernels run on an AMD GPU."""
    return _is_amd()


def is_hip_cdna3() -> bool:
    """Whether kernels run on an AMD GPU of the architecture CDNA 3."""
    return _is_amd("gfx942")


def is_hip_cdna4() -> bool:
    """Whether kernels run on an AMD GPU of the architecture CDNA 4."""
    return _is_amd("gfx950")


def is_hip_gfx1250() -> bool:
    """Whether kernels run on an AMD GPU of the architecture gfx1250."""
    return _is_amd("gfx1250")


__all__ = [
    "cuda_capability_geq",
    "current_target",
    "is_cuda",
    "is_hip",
    "is_hip_cdna3",
    "is_hip_cdna4",
    "is_hip_gfx1250",
]

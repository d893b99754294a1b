"""Descriptions of targets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GPUTarget:
    """A target: `backend` is `"cpu"` or `"cuda"`, `arch` the machine or the compute capability."""

    backend: str
    arch: int | str
    warp_size: int

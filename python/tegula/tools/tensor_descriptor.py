"""Tensor descriptors made on the host, to be passed to kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class TensorDescriptor:
    """A view of a tensor by blocks: `shape` and `strides` in elements, and the shape of the block that a load gives.

    Loads outside of `shape` give 0, or NaN with `padding="nan"`. The last stride is 1.
    """

    base: Any
    shape: list[int]
    strides: list[int]
    block_shape: list[int]
    padding: str = "zero"

    def __post_init__(self) -> None:
        rank = len(self.shape)
        if not 1 <= rank <= 5:
            raise ValueError(f"a tensor descriptor has 1 to 5 dimensions, not {rank}")
        if len(self.strides) != rank or len(self.block_shape) != rank:
            raise ValueError(
                f"a descriptor's shape, strides and block have one length, but {list(self.shape)}, "
                f"{list(self.strides)} and {list(self.block_shape)} have not"
            )
        if any(extent <= 0 for extent in self.shape):
            raise ValueError(f"the extents of a descriptor are positive, but {list(self.shape)} are not")
        if any(extent <= 0 for extent in self.block_shape):
            raise ValueError(f"the extents of a descriptor's block are positive, but {list(self.block_shape)} are not")
        if self.strides[-1] != 1:
            raise ValueError(
                f"the last dimension of a descriptor must be contiguous, but its stride is {self.strides[-1]}"
            )
        if self.padding not in ("zero", "nan"):
            raise ValueError(f"the padding of a descriptor is 'zero' or 'nan', not {self.padding!r}")
        if self.padding == "nan" and not getattr(self.base.dtype, "is_floating_point", True):
            raise ValueError(f"a descriptor of {self.base.dtype} cannot be padded with NaN")

    @staticmethod
    def from_tensor(tensor: Any, block_shape: list[int], padding: str = "zero") -> TensorDescriptor:
        """The descriptor of a whole tensor."""
        return TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), block_shape, padding)

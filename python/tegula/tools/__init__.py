"""Helpers for the host's side of kernels."""

from . import tensor_descriptor

__all__ = ["tensor_descriptor"]

"""Whether tensors, and buffers that are passed whole, share memory."""

from __future__ import annotations

from typing import Any

import slangpy as spy

from fusepy.backend.marshals.base import Bound
from fusepy.tensor import Tensor


def overlap(a: Tensor, b: Tensor) -> bool:
    """Whether `a` and `b` have an element in common; for views of other shapes, whether their spans meet.

    Views that alternate along their first axis, as ``t[::2]`` and ``t[1::2]``, share nothing though their spans do.
    """
    return a.low < b.high and b.low < a.high and not _alternate(a, b)


def shares(placed: Any, tensor: Tensor) -> bool:
    """Whether an argument as it lies on the device has memory in common with `tensor`."""
    if isinstance(placed, Tensor):
        return overlap(placed, tensor)
    span = span_of(placed)
    return span is not None and span[0] < tensor.high and tensor.low < span[1]


def span_of(placed: Any) -> tuple[int, int] | None:
    """The addresses of the first byte of an argument and behind the last, where it lies in memory with addresses."""
    if isinstance(placed, Tensor):
        return placed.low, placed.high
    if isinstance(placed, Bound) and isinstance(placed.value, spy.Buffer):
        return placed.value.device_address, placed.value.device_address + placed.value.size
    return None


def _alternate(a: Tensor, b: Tensor) -> bool:
    if not a.strides or not b.strides:
        return False
    period = a.strides[0] * a.element.nbytes
    if period <= 0 or b.strides[0] * b.element.nbytes != period:
        return False
    rows = [t.high - t.low - (t.shape[0] - 1) * period for t in (a, b)]  # the bytes that one row spans
    shift = (b.low - a.low) % period
    return rows[0] <= shift and rows[1] <= period - shift

"""Whether tensors, and buffers that are passed whole, share memory."""

from __future__ import annotations

from typing import Any

import slangpy as spy

from fusepy.backend.device.bound import Bound
from fusepy.backend.memory.storage import Storage, overlap


def shares(placed: Any, tensor: Storage) -> bool:
    """Whether an argument as it lies on the device has memory in common with `tensor`."""
    if isinstance(placed, Storage):
        return overlap(placed, tensor)
    span = span_of(placed)
    return span is not None and span[0] < tensor.high and tensor.low < span[1]


def span_of(placed: Any) -> tuple[int, int] | None:
    """The addresses of the first byte of an argument and behind the last, where it lies in memory with addresses."""
    if isinstance(placed, Storage):
        return placed.low, placed.high
    if isinstance(placed, Bound) and isinstance(placed.value, spy.Buffer):
        return placed.value.device_address, placed.value.device_address + placed.value.size
    return None

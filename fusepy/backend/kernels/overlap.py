"""Memory overlap of call arguments: tensors, and buffers that are passed whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import slangpy as spy

from fusepy.backend.device.bound import Bound
from fusepy.backend.memory.storage import Storage, overlap


def shares(placed: Any, tensor: Storage) -> bool:
    """True if an uploaded argument has memory in common with `tensor`."""
    if isinstance(placed, Storage):
        return overlap(placed, tensor)
    span = span_of(placed)
    return span is not None and span[0] < tensor.high and tensor.low < span[1]


def span_of(placed: Any) -> tuple[int, int] | None:
    """Returns the addresses of an argument's first byte and of its end, or None if its memory has no addresses."""
    if isinstance(placed, Storage):
        return placed.low, placed.high
    if isinstance(placed, Bound) and isinstance(placed.value, Storage):
        return placed.value.low, placed.value.high
    if isinstance(placed, Bound) and isinstance(placed.value, spy.Buffer):
        return placed.value.device_address, placed.value.device_address + placed.value.size
    return None


def apart(tensors: Sequence[Storage]) -> bool:
    """True if no two tensors lie in one range of addresses."""
    for i, one in enumerate(tensors):
        for other in tensors[:i]:
            if one.low < other.high and other.low < one.high:
                return False
    return True

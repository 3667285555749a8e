"""Memory overlap of call arguments: tensors, and buffers that are passed whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import slangpy as spy

from fusepy.backend.device.bound import Bound
from fusepy.backend.memory.storage import Storage, overlap
from fusepy.backend.memory.texture import overlap as textures_overlap
from fusepy.errors import ShapeError

_TEXTURES = (spy.Texture, spy.TextureView)


def shares(placed: Any, tensor: Storage) -> bool:
    """True if an uploaded argument has memory in common with `tensor`."""
    if isinstance(placed, Storage):
        return overlap(placed, tensor)
    span = span_of(placed)
    return span is not None and span[0] < tensor.high and tensor.low < span[1]


def written_early(target: Any, read: Iterable[Any]) -> bool:
    """True if a result is written to memory of arguments that later kernels of the program read.

    Raises:
        ShapeError: for a texture, to which nothing is copied at the end.
    """
    if not isinstance(target, Bound):
        return any(shares(placed, target) for placed in read)
    if any(isinstance(placed, Bound) and in_common(placed.value, target.value) for placed in read):
        raise ShapeError(
            "an argument and a result are one texture, which later kernels of the program read",
            saw="a texture that is written before all of them have run",
            hint="write into another texture",
        )
    return False


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
    end = 0
    for low, high in sorted([(t.low, t.high) for t in tensors]):
        if low < end:
            return False
        end = max(end, high)
    return True


def in_common(a: Any, b: Any) -> bool:
    """True if `a` and `b` may have memory in common; ``False`` for values without memory.

    Example:
        >>> from fusepy.backend.memory.tensor import Tensor
        >>> x = Tensor([1.0, 2.0, 3.0, 4.0])
        >>> in_common(x[:3], x[1:]), in_common(x[:2], x[2:]), in_common(x, 3.0)
        (True, False, False)
    """
    if a is b:
        return True
    if isinstance(a, Storage) and isinstance(b, Storage):
        return overlap(a, b)
    if isinstance(a, _TEXTURES) and isinstance(b, _TEXTURES):
        return textures_overlap(a, b)
    one, other = _addresses(a), _addresses(b)
    return one is not None and other is not None and one[0] < other[1] and other[0] < one[1]


def _addresses(value: Any) -> tuple[int, int] | None:
    """Returns the addresses of the first byte of an array and of its end; ``None`` if they are not known."""
    if isinstance(value, Storage):
        return value.low, value.high
    buffer: Any = value if isinstance(value, spy.Buffer) else getattr(value, "storage", None)  # of slangpy's tensors
    if isinstance(buffer, spy.Buffer):
        return buffer.device_address, buffer.device_address + buffer.size
    storage: Any = getattr(value, "untyped_storage", None)  # of torch's tensors
    if storage is not None:
        memory: Any = storage()
        return memory.data_ptr(), memory.data_ptr() + memory.nbytes()
    return None

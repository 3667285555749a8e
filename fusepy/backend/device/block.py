"""Pieces of device memory: size classes, the large buffers that are carved up, and `Block`, what the pool hands out."""

from __future__ import annotations

from typing import NoReturn, Protocol

import slangpy as spy

from fusepy.errors import ArgumentError, ShapeError

ALIGNMENT = 256  # Every block starts at a multiple of it: the widest load, and whole cache lines, on every device we know.


def size_class(nbytes: int) -> int:
    """The capacity in bytes of a block that holds `nbytes`: the next size class.

    Steps are 256 bytes up to 2 KiB, and an eighth of the power of two below from there on, so a large block wastes at most 1/8.

    Raises:
        ShapeError: `nbytes` is negative.

    Example:
        >>> size_class(0), size_class(257), size_class(2049), size_class(1_000_000)
        (256, 512, 2304, 1048576)
    """
    if nbytes <= 8 * ALIGNMENT:
        if nbytes < 0:
            raise ShapeError("a block cannot have a negative size", saw=nbytes, expected=">= 0", hint="check the extents")
        return (nbytes + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT or ALIGNMENT
    shift = (nbytes - 1).bit_length() - 4
    return (((nbytes - 1) >> shift) + 1) << shift


class Clock(Protocol):
    """What the queue tells of the work that goes through it."""

    @property
    def alone(self) -> bool:
        """Whether all work that uses the pool's blocks goes through it."""
        ...

    def now(self) -> int:
        """The time of what was recorded last."""
        ...

    def finished(self, time: int) -> bool:
        """Whether all that was recorded until then is finished."""
        ...


class Slab:
    """One sgl buffer; `cursor` is the first byte that was never handed out, or not since the queue's time `used`."""

    __slots__ = ("buffer", "cursor", "dedicated", "end", "start", "used")

    def __init__(self, buffer: spy.Buffer, dedicated: bool):
        self.buffer = buffer
        self.dedicated = dedicated
        # CUDA's heap aligns to 128 bytes only and the cpu device to 16, hence the ALIGNMENT bytes that `Pool._create` adds.
        self.start = self.cursor = -buffer.device_address % ALIGNMENT
        self.end = buffer.size
        self.used = 0


class Span:
    """A piece carved from a slab; it outlives the blocks that use it one after the other.

    While it is free, what used it is over with all that was recorded until the queue's time `used`.
    """

    __slots__ = ("address", "capacity", "offset", "slab", "used")

    def __init__(self, slab: Slab, capacity: int):
        self.slab = slab
        self.offset = slab.cursor
        self.capacity = capacity
        self.address = slab.buffer.device_address + slab.cursor
        self.used = slab.used
        slab.cursor += capacity


class Block:
    """A piece of device memory, freed when the last reference to it is dropped; made by `Pool.allocate` only.

    `address` is the device pointer, a multiple of 256; `nbytes` is what was asked for, and may be 0.
    """

    __slots__ = ("__weakref__", "_freed", "_span", "address", "nbytes")

    def __init__(self, span: Span, nbytes: int, freed: list[Span]):
        self._freed = freed
        self._span = span
        self.address = span.address
        self.nbytes = nbytes

    @property
    def capacity(self) -> int:
        """The bytes that the block really holds: the size class of `nbytes`."""
        return self._span.capacity

    @property
    def buffer(self) -> spy.Buffer:
        """The large buffer that the block lies in."""
        return self._span.slab.buffer

    @property
    def offset(self) -> int:
        """Where the block starts in `buffer`, in bytes."""
        return self._span.offset

    def __del__(self) -> None:
        # Runs on any thread, inside a collection and at interpreter exit: an append takes no lock and reads no module global.
        self._freed.append(self._span)

    def __reduce__(self) -> NoReturn:
        hint = "allocate a second block and copy the contents"
        raise ArgumentError("a copy of a block would free its memory twice", saw=repr(self), expected="one owner", hint=hint)

    def __repr__(self) -> str:
        return f"Block(address={self.address:#x}, nbytes={self.nbytes}, capacity={self.capacity})"

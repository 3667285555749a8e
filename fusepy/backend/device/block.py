"""Pieces of device memory: size classes, slabs (large buffers that are divided), and `Block`, which the pool returns."""

from __future__ import annotations

from functools import lru_cache
from typing import NoReturn, Protocol

import slangpy as spy

from fusepy.errors import ArgumentError, ShapeError

ALL_ONES = 2**64 - 1  # with 0, the address of a buffer that has none
ALIGNMENT = 256  # Every block starts at a multiple: it fits the widest load and whole cache lines on every device we know.

# For the caches of a CPU. A kernel that reads arrays at the same places of their pages took up to three times as long, as their
# elements share a set of the cache. It is the size of a small block, which takes the room.
PAGE, APART = 4096, 1280
_Usage = spy.BufferUsage
BUFFER_USAGE = (
    _Usage.shader_resource | _Usage.unordered_access | _Usage.copy_source | _Usage.copy_destination | _Usage.index_buffer
)


@lru_cache(maxsize=1024)  # 0.1 µs less for each block
def size_class(nbytes: int) -> int:
    """Returns the capacity in bytes of a block for `nbytes`: the next size class.

    Steps are 256 bytes up to 2 KiB. Above, a step is an eighth of the next lower power of two, so a large block wastes at most
    1/8.

    Raises:
        ShapeError: if `nbytes` is negative.

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
    """The queue's clock: the progress of the work that goes through it."""

    @property
    def alone(self) -> bool:
        """True if all work on the pool's blocks goes through the queue."""
        ...

    def now(self) -> int:
        """Returns the time of the last recorded work."""
        ...

    def finished(self, time: int) -> bool:
        """True if all work recorded until `time` is finished."""
        ...


class Slab:
    """One sgl buffer that is divided into spans.

    The bytes from `cursor` on are in no span; work that used them before was recorded until the queue's time `used`.
    """

    __slots__ = ("buffer", "cursor", "dedicated", "end", "start", "used")

    def __init__(self, buffer: spy.Buffer, dedicated: bool):
        self.buffer = buffer
        self.dedicated = dedicated
        # CUDA's heap aligns to 128 bytes only, and the cpu device to 16: `Pool._create` therefore adds ALIGNMENT bytes.
        self.start = self.cursor = -buffer.device_address % ALIGNMENT
        self.end = buffer.size
        self.used = 0


class Span:
    """A piece of a slab. Several blocks use it, one after the other.

    While it is free, all work that used it was recorded until the queue's time `used`.
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
    """A piece of device memory, freed with the last reference to it. Only `Pool.allocate` makes blocks.

    `address` is the device pointer, a multiple of 256. `nbytes` is the requested size and may be 0.
    """

    __slots__ = ("__weakref__", "_freed", "_span", "address", "nbytes")

    def __init__(self, span: Span, nbytes: int, freed: list[Span]):
        self._freed = freed
        self._span = span
        self.address = span.address
        self.nbytes = nbytes

    @property
    def capacity(self) -> int:
        """The number of bytes that the block occupies: the size class of `nbytes`."""
        return self._span.capacity

    @property
    def buffer(self) -> spy.Buffer:
        """The large buffer that contains the block."""
        return self._span.slab.buffer

    @property
    def offset(self) -> int:
        """The byte offset of the block in `buffer`."""
        return self._span.offset

    def __del__(self) -> None:
        # This runs on any thread, inside a garbage collection and at interpreter exit: an append takes no lock and reads no
        # global.
        self._freed.append(self._span)

    def __reduce__(self) -> NoReturn:
        hint = "allocate a second block and copy the contents"
        raise ArgumentError("a copy of a block would free its memory twice", saw=repr(self), expected="one owner", hint=hint)

    def __repr__(self) -> str:
        return f"Block(address={self.address:#x}, nbytes={self.nbytes}, capacity={self.capacity})"


class BlockPart:
    """A piece of a block, which it keeps. Small results of one launch share a block, but each has memory of its own size."""

    __slots__ = ("__weakref__", "_offset", "_whole", "address", "nbytes")

    def __init__(self, whole: Block, offset: int, nbytes: int):
        self._whole, self._offset = whole, offset
        self.address = whole.address + offset
        self.nbytes = nbytes

    @property
    def capacity(self) -> int:
        """The number of bytes that it occupies."""
        return size_class(self.nbytes)

    @property
    def buffer(self) -> spy.Buffer:
        """The large buffer that contains it."""
        return self._whole.buffer

    @property
    def offset(self) -> int:
        """The byte offset in `buffer`."""
        return self._whole.offset + self._offset

    def __repr__(self) -> str:
        return f"BlockPart(address={self.address:#x}, nbytes={self.nbytes}, of={self._whole!r})"


def seen_buffer(device: spy.Device, nbytes: int) -> spy.Buffer | None:
    """Returns memory of the host that kernels can write; ``None`` if the driver has none, or gives it no address."""
    usage = spy.BufferUsage.unordered_access | spy.BufferUsage.copy_destination
    try:
        buffer = device.create_buffer(  # pyright: ignore[reportUnknownMemberType]
            size=nbytes, memory_type=spy.MemoryType.read_back, usage=usage
        )
    except RuntimeError:
        return None
    return None if buffer.device_address in (0, ALL_ONES) else buffer


def new_buffer(device: spy.Device, size: int) -> tuple[spy.Buffer | None, str]:
    """Returns a buffer of device memory, or the reason why the driver gives none."""
    device.set_cuda_context_current()  # this thread may not be the one of the last call
    try:
        buffer = device.create_buffer(size=size, usage=BUFFER_USAGE)  # pyright: ignore[reportUnknownMemberType]
    except (RuntimeError, MemoryError) as error:
        return None, f"the driver refused: {str(error).partition(chr(10))[0]}"
    # a driver without free memory may also return a buffer that has no address
    return (None, "the driver gave no address") if buffer.device_address in (0, ALL_ONES) else (buffer, "")

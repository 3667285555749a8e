"""Device memory: one pool per device that sub-allocates large buffers by raw pointer.

A fresh buffer costs 90-170 µs on the Vulkan driver of an H100, and a kernel that takes raw pointers needs no buffer of its own:
so the pool creates a few large buffers (slabs), and a block is ``Buffer.device_address + offset``.

**Why a freed block can be handed out at once.** All work goes to one queue, and a barrier stands between dependent dispatches.
The next owner's kernels therefore start after the last owner's have ended, though the host frees the block long before they run.
Only memory that goes back to the driver has to wait for the queue (`Pool.trim`), and memory that the host writes by itself:
`allocate_idle` finds blocks whose last use is over, by the time on the queue's clock at which they were found dropped.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Collection
from typing import Any, cast

import slangpy as spy

from fusepy.backend.device.block import ALIGNMENT, Block, Clock, Slab, Span, size_class
from fusepy.backend.lost import Lost
from fusepy.errors import OutOfDeviceMemory

MAX_BUFFER_BYTES = 2**32 - 1  # The drivers refuse a buffer of 2**32 bytes (Vulkan: SLANG_FAIL).
_Usage = spy.BufferUsage
BUFFER_USAGE = _Usage.shader_resource | _Usage.unordered_access | _Usage.copy_source | _Usage.copy_destination
_ALL_ONES = 2**64 - 1
SPARE_BYTES = 128 << 20  # what `allocate_idle` takes at most while free blocks of the size are still read


class Pool:
    """Hands out blocks of device memory, and takes them back when they are dropped; safe to use from several threads.

    Args:
        device: where the memory lies.
        slab_bytes: the size of a large buffer; blocks above a quarter of it get a buffer of their own (a dedicated one).
        limit_bytes: the most that is taken from the driver; None leaves it to the driver.
        cache_bytes: the most free dedicated memory that is kept when another dedicated buffer is created; so what is reserved
            for dedicated blocks never exceeds their peak by more than this.
        before_release: called, with the pool's lock held, before memory goes back to the driver; it must submit what is recorded
            and wait until the queue is idle. The default, ``device.wait``, is enough where all that is recorded is submitted too.
        lock: the pool's lock. Where `before_release` takes a lock that other threads hold while they allocate, pass that one: two
            locks taken in both orders would deadlock.
        clock: of the queue, for `allocate_idle`.

    Example:
        >>> pool = Pool(spy.Device(type=spy.DeviceType.cpu, enable_hot_reload=False))
        >>> block = pool.allocate(1000)
        >>> block.nbytes, block.capacity, block.address % 256, pool.live_bytes
        (1000, 1024, 0, 1024)
        >>> del block
        >>> pool.live_bytes, pool.peak_bytes
        (0, 1024)
    """

    def __init__(
        self,
        device: spy.Device,
        *,
        slab_bytes: int = 64 << 20,
        limit_bytes: int | None = None,
        cache_bytes: int = 512 << 20,
        before_release: Callable[[], object] | None = None,
        lock: threading.RLock | None = None,
        clock: Clock | None = None,
    ):
        self._device = device
        self._slab_bytes = slab_bytes
        self._limit = limit_bytes
        self._cache_bytes = cache_bytes
        self._before_release = before_release or device.wait
        # Re-entrant, because a collection that starts inside `allocate` may run a finaliser that allocates.
        self._lock = lock or threading.RLock()
        self._free: dict[int, list[Span]] = {}
        self._freed: list[Span] = []
        self._slabs: list[Slab] = []
        self._live = self._peak = self._reserved = 0
        self._clock = clock
        self._spare = 0  # what `allocate_idle` has taken though there were free blocks

    def allocate(self, nbytes: int) -> Block:
        """A block of at least `nbytes` bytes, uninitialised.

        Raises:
            OutOfDeviceMemory: the driver or `limit_bytes` refuses, also after all free memory was given back.
            ShapeError: `nbytes` is negative.
        """
        capacity = size_class(nbytes)
        freed = self._freed
        with self._lock:
            span = freed.pop() if freed else None
            # A block of the size that was dropped last changes no count: 0.5 µs with the drop, 0.75 µs without this shortcut.
            if span is None or span.capacity != capacity:
                if span is not None:
                    freed.append(span)
                span = self._take(capacity, nbytes)
        return Block(span, nbytes, freed)

    def allocate_idle(self, nbytes: int) -> Block | None:
        """A block that no work uses any more, for the host to write without waiting.

        ``None`` where all free ones of the size are still in use and `SPARE_BYTES` are taken, or others submit work too: then
        `allocate` and wait.

        Raises:
            OutOfDeviceMemory, ShapeError: as `allocate`.
        """
        clock = self._clock
        if clock is None:
            return None
        capacity = size_class(nbytes)
        with self._lock:
            if not clock.alone:
                return None
            self._collect()
            spans = self._free.get(capacity)
            if spans and clock.finished(spans[0].used):  # the one that was found dropped first
                span = spans.pop(0)
            elif spans and self._spare + capacity > SPARE_BYTES:
                return None
            else:
                self._spare += capacity * bool(spans)
                span = self._grow(capacity, nbytes)
                if not clock.finished(span.used):  # carved from memory that was in use before
                    self._free[capacity].append(span)
                    return None
            self._live += capacity
            self._peak = max(self._peak, self._live)
        return Block(span, nbytes, self._freed)

    def _take(self, capacity: int, nbytes: int) -> Span:
        spans = self._free.get(capacity)
        if not spans:
            self._collect()
            spans = self._free.get(capacity)
        span = spans.pop() if spans else self._grow(capacity, nbytes)
        # An upper bound until `_collect`, so that the finaliser of a block need not count: `+=` on two threads loses updates.
        self._live += capacity
        if self._live > self._peak:
            self._collect()
            self._peak = max(self._peak, self._live)
        return span

    @property
    def live_bytes(self) -> int:
        """The capacities of the blocks in use, in bytes."""
        with self._lock:
            self._collect()
            return self._live

    @property
    def peak_bytes(self) -> int:
        """The most that `live_bytes` was since the pool was made or `reset_peak` was called."""
        return self._peak

    @property
    def reserved_bytes(self) -> int:
        """What the pool holds from the driver, in bytes."""
        return self._reserved

    def reset_peak(self) -> None:
        """Starts a new measurement of `peak_bytes`, at what is in use now."""
        with self._lock:
            self._peak = self.live_bytes

    def trim(self) -> int:
        """Gives all wholly free buffers back to the driver, after waiting for the queue; returns how many bytes that was."""
        with self._lock:
            return self._release(self._idle())

    def close(self, cause: str = "it was closed") -> None:
        """Gives up all memory but what blocks still hold, which goes with the last block; later growth is a `DeviceLostError`."""
        with self._lock:
            self._collect()
            self._free.clear()
            self._slabs.clear()
            self._device = cast("Any", Lost(cause))

    def _collect(self) -> None:
        """Moves the spans of dropped blocks to the free lists, and settles the count of live bytes."""
        freed = self._freed
        now = self._clock.now() if self._clock is not None else 0
        while freed:
            span = freed.pop()
            span.used = now
            self._live -= span.capacity
            self._free.setdefault(span.capacity, []).append(span)

    def _grow(self, capacity: int, nbytes: int) -> Span:
        self._free.setdefault(capacity, [])
        if capacity > self._slab_bytes // 4:
            self._bound_cache()
            return Span(self._create((capacity,), nbytes, dedicated=True), capacity)
        slab = self._slab_with_room(capacity)
        if slab is None:
            self._rewind()
            slab = self._slab_with_room(capacity) or self._create((self._slab_bytes, capacity), nbytes, dedicated=False)
        return Span(slab, capacity)

    def _slab_with_room(self, capacity: int) -> Slab | None:
        return next((slab for slab in self._slabs if slab.end - slab.cursor >= capacity), None)

    def _create(self, sizes: Collection[int], nbytes: int, *, dedicated: bool) -> Slab:
        """A buffer of the first of `sizes` that can be had, if need be after giving back all that is free."""
        refusal = ""
        for attempt in range(2):
            for size in sizes:
                buffer, refusal = self._request(size + ALIGNMENT)
                if buffer is not None:
                    slab = Slab(buffer, dedicated)
                    self._slabs.append(slab)
                    self._reserved += buffer.size
                    return slab
            if attempt == 0:
                gc.collect()  # Blocks may hang in reference cycles; this costs tens of ms, but what comes next is an error.
                self._release(self._idle())
        raise OutOfDeviceMemory(
            f"cannot allocate {nbytes:,} bytes of device memory: {refusal}",
            saw=f"asked {nbytes:,} bytes, in use {self.live_bytes:,}, reserved {self._reserved:,}",
            expected=f"one buffer of at most {MAX_BUFFER_BYTES:,} bytes"
            + ("" if self._limit is None else f", within the limit of {self._limit:,} bytes"),
            hint="drop tensors that are no longer needed, or work in smaller pieces",
        )

    def _request(self, size: int) -> tuple[spy.Buffer | None, str]:
        """A buffer from the driver, or the reason why there is none."""
        if size > MAX_BUFFER_BYTES:
            return None, "it is more than one buffer holds"
        if self._limit is not None and self._reserved + size > self._limit:
            return None, "it is over the limit of the pool"
        self._device.set_cuda_context_current()  # this may be another thread than the last
        try:
            buffer = self._device.create_buffer(size=size, usage=BUFFER_USAGE)  # pyright: ignore[reportUnknownMemberType]
        except (RuntimeError, MemoryError) as error:
            return None, f"the driver refused: {str(error).partition(chr(10))[0]}"
        # A driver without memory to spare may also return a buffer that has no address.
        return (None, "the driver gave no address") if buffer.device_address in (0, _ALL_ONES) else (buffer, "")

    def _idle(self) -> set[Slab]:
        """The slabs in which no block is in use."""
        self._collect()
        free: dict[Slab, int] = {}
        for spans in self._free.values():
            for span in spans:
                free[span.slab] = free.get(span.slab, 0) + span.capacity
        return {slab for slab in self._slabs if slab.cursor - slab.start == free.get(slab, 0)}

    def _forget_spans(self, slabs: Collection[Slab]) -> None:
        for capacity, spans in self._free.items():
            self._free[capacity] = [span for span in spans if span.slab not in slabs]

    def _rewind(self) -> None:
        """Carves wholly free slabs anew, so that a program whose block sizes drift does not grow."""
        idle = {slab for slab in self._idle() if not slab.dedicated}
        self._forget_spans(idle)
        for slab in idle:
            slab.cursor = slab.start
            slab.used = self._clock.now() if self._clock is not None else 0
            self._spare = 0

    def _bound_cache(self) -> None:
        """Gives back free dedicated buffers, the sizes that came first before others, until at most `cache_bytes` are kept."""
        cached = [span.slab for spans in self._free.values() for span in spans if span.slab.dedicated]
        excess = sum(slab.buffer.size for slab in cached) - self._cache_bytes
        victims: set[Slab] = set()
        for slab in cached:
            if excess > 0:
                victims.add(slab)
                excess -= slab.buffer.size
        self._release(victims)

    def _release(self, slabs: set[Slab]) -> int:
        if not slabs:
            return 0
        self._before_release()
        slabs &= self._idle()  # The hook may have run code that took some of them back into use.
        self._forget_spans(slabs)
        self._slabs = [slab for slab in self._slabs if slab not in slabs]
        nbytes = sum(slab.buffer.size for slab in slabs)
        self._spare = 0
        self._reserved -= nbytes
        for slab in slabs:
            del slab.buffer
        # sgl deletes dropped buffers when it next looks at the queue: without this second wait 1 GiB stayed resident on lavapipe.
        self._device.wait()
        return nbytes

"""Device memory: one pool per device that divides large buffers and gives out addresses.

A new buffer costs 90-170 µs on the Vulkan driver of an H100, and a kernel that takes raw pointers needs no buffer of its own. So
the pool creates a few large buffers (slabs), and a block is ``Buffer.device_address + offset``.

**Why a freed block can be reused at once.** All work goes to one queue, and a barrier stands between dependent dispatches. So the
kernels of the next owner start after those of the last owner have ended, although the host frees the block long before. Only two
cases must wait for the queue: memory that returns to the driver (`Pool.trim`), and memory that the host writes itself.
`allocate_idle` returns blocks whose last use is over: the queue's clock tells, from the time at which they were dropped.
"""

from __future__ import annotations

import gc
import threading
from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Any, cast

import slangpy as spy

from fusepy.backend.device.block import ALIGNMENT, PAGE, Block, Clock, Slab, Span, new_buffer, size_class
from fusepy.backend.device.sink import CAPTURED
from fusepy.backend.lost import Lost
from fusepy.errors import OutOfDeviceMemory

MAX_BUFFER_BYTES = 2**32 - 1  # The drivers refuse a buffer of 2**32 bytes (Vulkan: SLANG_FAIL).
SPARE_BYTES = 128 << 20  # the most that `allocate_idle` takes while free blocks of the size are in use


class Pool:
    """An allocator of device memory. Dropped blocks return to it. Several threads may use it.

    Args:
        device: the device of the memory.
        slab_bytes: the size of a large buffer; blocks above a quarter of it get a buffer of their own (a dedicated one).
        limit_bytes: the maximum taken from the driver; None leaves it to the driver.
        cache_bytes: the maximum of free dedicated memory kept when another dedicated buffer is created. The memory reserved
            for dedicated blocks exceeds their peak by at most this.
        keeps_peak: keeps twice as much free dedicated memory as was in use at most, if that is more. A program whose large
            results have several sizes then takes each from what it has dropped, and gives none back to create another.
        before_release: called, with the pool's lock held, before memory returns to the driver. It must submit all recorded work
            and wait until the queue is idle. The default, ``device.wait``, is enough if all recorded work is submitted.
        lock: the pool's lock. If `before_release` takes a lock that other threads hold while they allocate, pass that lock: two
            locks taken in both orders would deadlock.
        clock: the clock of the queue, for `allocate_idle`.

    Attributes:
        apart: the distance between new blocks of 16 pages and more, see `block.APART`.

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
        keeps_peak: bool = False,
        before_release: Callable[[], object] | None = None,
        lock: threading.RLock | None = None,
        clock: Clock | None = None,
    ):
        self._device = device
        self._slab_bytes = slab_bytes
        self._limit = limit_bytes
        self._cache_bytes, self._keeps_peak = cache_bytes, keeps_peak
        self._before_release = before_release or device.wait
        # re-entrant, because a garbage collection inside `allocate` may run a finaliser that allocates
        self._lock = lock or threading.RLock()
        self._free: dict[int, list[Span]] = {}
        self._freed = defaultdict[int, list[Span]](list)  # the spans of blocks that were dropped, by capacity
        self._slabs: list[Slab] = []
        self._live = self._peak = self._reserved = 0
        self._clock = clock
        self.apart = self._start = 0
        self._spare = 0  # bytes that `allocate_idle` took although there were free blocks

    def allocate(self, nbytes: int) -> Block:
        """Returns a block of at least `nbytes` bytes, uninitialised.

        Raises:
            OutOfDeviceMemory: if the driver or `limit_bytes` refuses, also after all free memory was returned.
            ShapeError: if `nbytes` is negative.
        """
        capacity = size_class(nbytes)
        with self._lock:
            freed = self._freed[capacity]
            # a dropped block of the size changes no count: 0.5 µs with the drop, 0.8 µs without this shortcut
            span = freed.pop() if freed else self._take(capacity, nbytes)
        block = Block(span, nbytes, freed)
        if (captured := CAPTURED.get()) is not None:
            captured.took(block)
        return block

    def allocate_idle(self, nbytes: int) -> Block | None:
        """Returns a block that no work uses any more: the host can write it without waiting.

        Returns None if all free blocks of the size are in use and `SPARE_BYTES` are taken, or if others submit work too. Then use
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
            if spans and clock.finished(spans[0].used):  # the block that was dropped first
                span = spans.pop(0)
            elif spans and self._spare + capacity > SPARE_BYTES:
                return None
            else:
                self._spare += capacity * bool(spans)
                span = self._grow(capacity, nbytes)
                if not clock.finished(span.used):  # this memory was in use before
                    self._free[capacity].append(span)
                    return None
            self._live += capacity
            self._peak = max(self._peak, self._live)
            freed = self._freed[capacity]
        block = Block(span, nbytes, freed)
        if (captured := CAPTURED.get()) is not None:
            captured.took(block)
        return block

    def _take(self, capacity: int, nbytes: int) -> Span:
        spans = self._free.get(capacity)
        if not spans:
            self._collect()
            spans = self._free.get(capacity)
        span = spans.pop() if spans else self._grow(capacity, nbytes)
        # An upper bound until `_collect`, so that a block's finaliser need not count: `+=` on two threads loses updates.
        self._live += capacity
        if self._live > self._peak:
            self._collect()
            self._peak = max(self._peak, self._live)
        return span

    @property
    def live_bytes(self) -> int:
        """The total capacity of the blocks in use, in bytes."""
        with self._lock:
            self._collect()
            return self._live

    @property
    def peak_bytes(self) -> int:
        """The maximum of `live_bytes` since the pool was made or `reset_peak` was called."""
        return self._peak

    @property
    def reserved_bytes(self) -> int:
        """The memory that the pool holds from the driver, in bytes."""
        return self._reserved

    def reset_peak(self) -> None:
        """Starts a new measurement of `peak_bytes`."""
        with self._lock:
            self._peak = self.live_bytes

    def trim(self) -> int:
        """Waits for the queue and returns all free buffers to the driver. The result is their size in bytes."""
        with self._lock:
            return self._release(self._idle())

    def close(self, cause: str = "it was closed") -> None:
        """Releases all memory but that of live blocks, which is released with them. Later allocations raise `DeviceLostError`."""
        with self._lock:
            self._collect()
            self._free.clear()
            self._slabs.clear()
            self._device = cast("Any", Lost(cause))

    def _collect(self) -> None:
        """Moves the spans of dropped blocks to the free lists, and updates the count of live bytes."""
        now = self._clock.now() if self._clock is not None else 0
        for capacity in [*self._freed]:  # a finaliser that allocates may add to it
            freed = self._freed[capacity]
            while freed:
                span = freed.pop()
                span.used = now
                self._live -= capacity
                self._free.setdefault(capacity, []).append(span)

    def _grow(self, capacity: int, nbytes: int) -> Span:
        self._free.setdefault(capacity, [])
        gap = self.apart if capacity >= 16 * PAGE else 0
        if capacity > self._slab_bytes // 4:
            self._bound_cache()
            self._start = (self._start + gap) % PAGE
            slab = self._create(dict.fromkeys((capacity + self._start, capacity)), nbytes, dedicated=True)
            slab.start = slab.cursor = slab.start + self._start * (slab.end - slab.start >= capacity + self._start)
            return Span(slab, capacity)
        slab = self._slab_with_room(capacity + gap)
        if slab is not None and gap:  # a small block takes the room between them
            self._free.setdefault(gap, []).append(Span(slab, gap))
        slab = slab or self._slab_with_room(capacity)
        if slab is None:
            self._rewind()
            slab = self._slab_with_room(capacity) or self._create((self._slab_bytes, capacity), nbytes, dedicated=False)
        return Span(slab, capacity)

    def _slab_with_room(self, capacity: int) -> Slab | None:
        return next((slab for slab in self._slabs if slab.end - slab.cursor >= capacity), None)

    def _create(self, sizes: Collection[int], nbytes: int, *, dedicated: bool) -> Slab:
        """Creates a buffer of the first of `sizes` that the driver grants, if necessary after all free memory was returned."""
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
                gc.collect()  # Blocks may hang in reference cycles. This takes tens of ms, but the alternative is an error.
                self._release(self._idle())
        raise OutOfDeviceMemory(
            f"cannot allocate {nbytes:,} bytes of device memory: {refusal}",
            saw=f"asked {nbytes:,} bytes, in use {self.live_bytes:,}, reserved {self._reserved:,}",
            expected=f"one buffer of at most {MAX_BUFFER_BYTES:,} bytes"
            + ("" if self._limit is None else f", within the limit of {self._limit:,} bytes"),
            hint="drop tensors that are no longer needed, or work in smaller pieces",
        )

    def _request(self, size: int) -> tuple[spy.Buffer | None, str]:
        """Returns a buffer from the driver, or the reason why there is none."""
        if size > MAX_BUFFER_BYTES:
            return None, "it is more than one buffer holds"
        if self._limit is not None and self._reserved + size > self._limit:
            return None, "it is over the limit of the pool"
        return new_buffer(self._device, size)

    def _idle(self) -> set[Slab]:
        """Returns the slabs without a block in use."""
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
        """Resets wholly free slabs, so that a program whose block sizes drift does not grow."""
        idle = {slab for slab in self._idle() if not slab.dedicated}
        self._forget_spans(idle)
        for slab in idle:
            slab.cursor = slab.start
            slab.used = self._clock.now() if self._clock is not None else 0
            self._spare = 0

    def _bound_cache(self) -> None:
        """Releases free dedicated buffers, the oldest sizes first, until those that are kept remain."""
        kept = max(self._cache_bytes, 2 * self._peak) if self._keeps_peak else self._cache_bytes
        cached = [span for spans in self._free.values() for span in spans if span.slab.dedicated]
        excess = sum(span.capacity for span in cached) - kept
        victims: set[Slab] = set()
        for span in cached:
            if excess > 0:
                victims.add(span.slab)
                excess -= span.capacity
        self._release(victims)

    def _release(self, slabs: set[Slab]) -> int:
        if not slabs:
            return 0
        self._before_release()
        slabs &= self._idle()  # the hook may have run code that uses some of them again
        self._forget_spans(slabs)
        self._slabs = [slab for slab in self._slabs if slab not in slabs]
        nbytes = sum(slab.buffer.size for slab in slabs)
        self._spare = 0
        self._reserved -= nbytes
        for slab in slabs:
            del slab.buffer
        # sgl deletes dropped buffers at its next look at the queue: without this second wait 1 GiB stayed resident on lavapipe
        self._device.wait()
        return nbytes

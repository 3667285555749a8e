"""Copies between NumPy arrays and device memory, in the order of the graphics queue.

There are two ways, and the device decides between them:

- **By pointer.** On lavapipe and on the cpu device a device address is a host pointer: one `memmove` once the queue is idle.
- **Staged.** Elsewhere the bytes go through a ring of small host-visible buffers that live as long as the `Transfer`, so that the
  host copies one piece while the device copies another.

On lavapipe with 2 cores, best of 15: 64 MiB in ms, 4 bytes in µs ("known": where `flush` returns the last submission)::

                                            64 MiB up   down      4 bytes down
    by pointer (known)                      2.7-3.4     4.9-6.5   15 (2)
    staged                                  4.0-6.7     6.4-8.4   18
    Buffer.copy_from_numpy, .to_numpy       17-19       27-39     25
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import slangpy as spy
from numpy.typing import NDArray

from fusepy.backend.cuda.reads import FETCHED
from fusepy.backend.device.sink import CAPTURED
from fusepy.backend.device.target import is_host_addressable
from fusepy.backend.device.waiting import wait_for_submission
from fusepy.backend.lost import Losses, Lost
from fusepy.errors import DeviceLostError, OutOfDeviceMemory, ShapeError, UnsupportedArgumentError

# 4 pieces of 1 MiB stay in the cache while in flight: 4.0 ms for 64 MiB up, 7.5 ms with pieces of 256 KiB or 16 MiB
PIECE_BYTES = 1 << 20
RING_SLOTS = 4
SMALL_UPLOAD = 16 << 10
MOST_STAGED = 64 << 20  # bytes of staging buffers while the device is busy with earlier work
# `Buffer.to_numpy` copies a whole buffer, 20 µs for 1 MiB: small downloads, above all scalar results, use smaller buffers.
SMALL_READBACKS = (256, 16 << 10, 128 << 10)
# `memmove` and `copyto` release the GIL, which other threads take then: 13 to 19 µs for 48 bytes, and 4 without
_MEMMOVE: Any = ctypes.cast(ctypes.memmove, ctypes.c_void_p).value
_copy_at_once = ctypes.PYFUNCTYPE(*[ctypes.c_void_p] * 3, ctypes.c_size_t)(_MEMMOVE)
Bytes = NDArray[np.uint8]


class Transfer:
    """The uploads and downloads of one device. Several threads may use it.

    Args:
        device: the device of the buffers.
        flush: called before each copy; it must submit all recorded work. It may return the ID of the last submission on the
            graphics queue, which saves 13 µs on a host-addressable device. After None the copy makes an empty submission.
        copy: called with target, source, offset in the source, and byte count; it records a copy after all recorded work,
            submits both together and returns the ID. Without it `read` makes a submission of its own.
        fetch: returns bytes from an address, at most `FETCHED`, after all recorded work; see `CudaReads`.
        host_addressable: overrides `is_host_addressable`; False forces the staged way, which works everywhere.
        losses: is told when the device is lost.

    All copies run after earlier submissions, and an upload runs before later submissions.

    Example:
        >>> device = spy.Device(type=spy.DeviceType.cpu, enable_hot_reload=False)
        >>> buffer = device.create_buffer(size=64, usage=spy.BufferUsage.shader_resource)
        >>> transfer = Transfer(device)
        >>> transfer.upload(buffer, 4, np.array([1.0, 2.0], np.float32))
        >>> transfer.download(buffer, 8, 4).view(np.float32)
        array([2.], dtype=float32)
    """

    def __init__(
        self,
        device: spy.Device,
        *,
        flush: Callable[[], int | None] = lambda: None,
        copy: Callable[[spy.Buffer, spy.Buffer, int, int], int] | None = None,
        fetch: Callable[[int, int], bytes] | None = None,
        host_addressable: bool | None = None,
        losses: Losses | None = None,
    ):
        self._device = device
        self._flush = flush
        self._copy = copy
        self._fetch = fetch
        self._losses = losses or Losses()
        self.host_addressable = is_host_addressable(device) if host_addressable is None else host_addressable
        self._lock = threading.Lock()
        # staging buffers with their last submissions, oldest first
        self._uploads: deque[tuple[spy.Buffer, int]] = deque()
        self._small: deque[tuple[spy.Buffer, int]] = deque()
        self._readbacks: dict[tuple[int, int], spy.Buffer] = {}
        self.waits: deque[None] = deque()  # one for each thread that waits for the device now

    def upload(self, buffer: spy.Buffer, offset: int, array: NDArray[Any], *, idle: bool = False) -> None:
        """Copies the elements of `array`, in C order, to byte `offset` of `buffer`. The caller may change `array` afterwards.

        The staged way waits for earlier work only if `MOST_STAGED` bytes are in flight.

        Args:
            idle: true if no work uses the memory any more, submitted or recorded: the host may write it at once.

        Raises:
            ShapeError: if the bytes do not fit the buffer.
            UnsupportedArgumentError: if the array holds Python objects.
        """
        _check(buffer, offset, array.nbytes, array.dtype)
        if array.nbytes == 0:
            return
        if (captured := CAPTURED.get()) is not None:
            captured.refuse(buffer.device_address + offset)
        if self.host_addressable:
            if not idle:
                self.settle()
            _copy_by_pointer(buffer.device_address + offset, array)
            return
        earlier = self._flush()
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        finished = self._device.is_submit_finished
        ring = self._small if data.size <= SMALL_UPLOAD else self._uploads
        with self._lock:
            # while this submission is not finished, the device is busy with earlier work
            ahead = next((i for i in (earlier, *(i for _, i in list(ring)[-1:])) if i is not None and not finished(i)), None)
            for start in range(0, data.size, PIECE_BYTES):
                piece = data[start : start + PIECE_BYTES]
                staging = self._staging(ring, ahead is not None and not finished(ahead))
                taken = piece if piece.flags.writeable else _view(piece.ctypes.data, piece)  # it refuses read-only arrays
                staging.copy_from_numpy(taken)  # pyright: ignore[reportUnknownMemberType]
                submission = self._submit_copy(buffer, offset + start, staging, 0, piece.size)
                ring.append((staging, submission))

    def download(self, buffer: spy.Buffer, offset: int, nbytes: int) -> Bytes:
        """Returns `nbytes` bytes from byte `offset` of `buffer` on, as a new uint8 array. Raises `ShapeError` beyond its end."""
        _check(buffer, offset, nbytes)
        if (captured := CAPTURED.get()) is not None:
            captured.refuse(None)
        array = np.empty(nbytes, np.uint8)
        if self.host_addressable and nbytes:
            self.settle()
            ctypes.memmove(array.__array_interface__["data"][0], buffer.device_address + offset, nbytes)
        elif self._is_quick(nbytes):
            array[:] = np.frombuffer(self.read(buffer, offset, nbytes), np.uint8)
        elif nbytes:
            self._read_staged(buffer, offset, array)
        return array

    def _is_quick(self, nbytes: int) -> bool:
        """True if `read` has a quick way for so many bytes."""
        return 0 < nbytes <= (FETCHED if self._fetch is not None else SMALL_READBACKS[0] if self._copy is not None else 0)

    def zero(self, buffer: spy.Buffer, offset: int, nbytes: int, *, idle: bool = False) -> None:
        """Sets `nbytes` bytes from byte `offset` of `buffer` on to zero; `idle` as in `upload`.

        Raises:
            ShapeError: if the range exceeds the buffer.
        """
        _check(buffer, offset, nbytes)
        if nbytes == 0:
            return
        if (captured := CAPTURED.get()) is not None:
            captured.refuse(buffer.device_address + offset)
        if self.host_addressable:
            if not idle:
                self.settle()
            ctypes.memset(buffer.device_address + offset, 0, nbytes)
        else:
            self.upload(buffer, offset, np.zeros(nbytes, np.uint8))

    def read(self, buffer: spy.Buffer, offset: int, nbytes: int, *, short: bool = False) -> bytes:
        """Returns a few bytes from byte `offset` of `buffer` on, for single numbers; `short` as in `wait_for_submission`."""
        if (captured := CAPTURED.get()) is not None:
            captured.refuse(None)
        if self.host_addressable:
            self.settle(short=short)
            return ctypes.string_at(buffer.device_address + offset, nbytes)
        if not self._is_quick(nbytes):
            return self.download(buffer, offset, nbytes).tobytes()
        if self._fetch is not None:
            return self._fetch(buffer.device_address + offset, nbytes)
        assert self._copy is not None
        with self._lock:
            staging = self._readback(SMALL_READBACKS[0], 0)
            self._wait(self._copy(staging, buffer, offset, nbytes))
            return staging.to_numpy()[:nbytes].tobytes()  # pyright: ignore[reportUnknownMemberType]

    def settle(self, *, short: bool = False) -> None:
        """Waits until all earlier submissions are finished."""
        submission = self._flush()
        if submission is None:
            # An empty submission ends after all others: 9-13 µs with its wait. `wait_for_idle` takes 6-15 µs and holds the GIL.
            submission = self._losses.submit(self._device, self._device.create_command_encoder())
        self._wait(submission, short=short)

    def close(self, cause: str = "it was closed") -> None:
        """Releases the device. Every later use raises `DeviceLostError`, also on a thread inside a copy."""
        self._device = cast("Any", Lost(cause))

    def _wait(self, submission: int, *, short: bool = False) -> None:
        waits = self.waits
        waits.append(None)  # before the look-up of the device: an observer that finds no waits knows that none will begin
        try:
            wait_for_submission(self._device, submission, self._losses, short=short, busy=not self.host_addressable)
        finally:
            waits.pop()

    def _submit_copy(self, to: spy.Buffer, to_offset: int, source: spy.Buffer, source_offset: int, nbytes: int) -> int:
        encoder = self._device.create_command_encoder()
        # Kernels access the buffers through raw pointers, which sgl's state tracking does not see. Without these barriers a copy
        # may overtake an earlier kernel, and a later kernel may read the old contents.
        encoder.global_barrier()
        encoder.copy_buffer(to, to_offset, source, source_offset, nbytes)
        encoder.global_barrier()
        return self._losses.submit(self._device, encoder)

    def _staging(self, ring: deque[tuple[spy.Buffer, int]], behind: bool) -> spy.Buffer:
        """Returns an upload buffer that no copy reads any more.

        Beyond `RING_SLOTS` it makes one only if the device is `behind` and the ring holds less than `MOST_STAGED` bytes.
        """
        size = SMALL_UPLOAD if ring is self._small else PIECE_BYTES
        full = len(ring) >= MOST_STAGED // size
        if ring and (full or (len(ring) >= RING_SLOTS and not behind) or self._device.is_submit_finished(ring[0][1])):
            staging, submission = ring.popleft()
            self._wait(submission)
            return staging
        return self._create(size, spy.MemoryType.upload)

    def _read_staged(self, buffer: spy.Buffer, offset: int, data: Bytes) -> None:
        self._flush()
        size = next((size for size in SMALL_READBACKS if data.size <= size), PIECE_BYTES)
        in_flight: deque[tuple[spy.Buffer, int, Bytes]] = deque()
        with self._lock:
            for number, start in enumerate(range(0, data.size, size)):
                if number >= RING_SLOTS:
                    self._receive(*in_flight.popleft())
                staging = self._readback(size, number % RING_SLOTS)
                piece = data[start : start + size]
                submission = self._submit_copy(staging, 0, buffer, offset + start, piece.size)
                in_flight.append((staging, submission, piece))
            while in_flight:
                self._receive(*in_flight.popleft())

    def _receive(self, staging: spy.Buffer, submission: int, piece: Bytes) -> None:
        self._wait(submission)
        piece[:] = staging.to_numpy()[: piece.size]  # pyright: ignore[reportUnknownMemberType]

    def _readback(self, size: int, slot: int) -> spy.Buffer:
        buffer = self._readbacks.get((size, slot))
        if buffer is None:
            buffer = self._readbacks[size, slot] = self._create(size, spy.MemoryType.read_back)
        return buffer

    def _create(self, size: int, memory_type: spy.MemoryType) -> spy.Buffer:
        usage = spy.BufferUsage.copy_source if memory_type == spy.MemoryType.upload else spy.BufferUsage.copy_destination
        create = self._device.create_buffer  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        try:
            return create(size=size, memory_type=memory_type, usage=usage)
        except DeviceLostError:
            raise
        except RuntimeError as error:
            raise OutOfDeviceMemory(
                f"cannot allocate a staging buffer: {error}",
                saw=f"asked {size:,} bytes",
                hint="drop tensors that are no longer needed",
            ) from error


def _copy_by_pointer(address: int, array: NDArray[Any]) -> None:
    if array.flags.c_contiguous:
        source = array.__array_interface__["data"][0]  # `ctypes.data` creates an object first
        (_copy_at_once if array.nbytes <= SMALL_UPLOAD else ctypes.memmove)(address, source, array.nbytes)
    else:
        np.copyto(_view(address, array), array)


def _view(address: int, like: NDArray[Any]) -> NDArray[Any]:
    """Returns the memory at `address` as a C-ordered array like `like`. It owns nothing."""
    memory: Any = (ctypes.c_ubyte * like.nbytes).from_address(address)
    return np.ndarray(like.shape, like.dtype, buffer=memory)


def _check(buffer: spy.Buffer, offset: int, nbytes: int, dtype: np.dtype[Any] | None = None) -> None:
    # Nothing below checks this: a copy by pointer outside the buffer overwrites memory of the process.
    if offset < 0 or nbytes < 0 or offset + nbytes > buffer.size:
        raise ShapeError(
            "a copy does not lie within its buffer",
            saw=f"{nbytes} bytes at byte {offset}",
            expected=f"a range within {buffer.size} bytes",
            hint="check the extents and the offset of the block",
        )
    if dtype is not None and dtype.hasobject:
        raise UnsupportedArgumentError(
            "an array of Python objects cannot be copied to or from a device",
            saw=dtype,
            expected="a dtype of plain bytes",
            hint="convert it with .astype",
        )

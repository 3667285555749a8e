"""The queue of a device: consecutive calls share a command buffer.

A submission costs 7-10 µs on the host, a dispatch in an open encoder 2-5 µs. Calls are therefore recorded into one encoder. It is
submitted when it holds `LIMIT` dispatches, when somebody reads or waits, or when the background thread finds it unchanged after
`DELAY_S`.

Program order is kept. Between two dispatches there is a global barrier: sgl emits none for memory that is accessed by pointers,
and without one dependent dispatches in one encoder are wrong on real Vulkan devices (20 of 20 runs).

On CUDA a kernel without resources and globals is launched through the driver instead, at once, if its parameters have changed
since its last launch, or the call takes torch's tensors and runs on torch's stream (`Streams`). A launch takes 8 µs between calls
of Python, and 3 to 4 in a submission of 32, where the driver's code and data stay in the caches.

Once raw memory of a device was exported (a buffer, an address, DLPack), others may read it at any time. From then on every call
is submitted at once (`share`), the kernels of one program together.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, cast

import slangpy as spy

from fusepy.backend.cuda.driver import NULL_STREAM, cuda_driver
from fusepy.backend.cuda.streams import Streams
from fusepy.backend.device.sink import InOrder, Pipeline, Root
from fusepy.backend.lost import Losses, Lost, lost_error
from fusepy.backend.slang.stage import COMPUTE
from fusepy.errors import DeviceLostError

LIMIT = 32
REMEMBERED = 1024  # submissions; work before the oldest of them is finished if that one is
IDLE_LOOKS = 20  # looks before it sleeps: waking it adds 10-20 µs to a call that waits for its result
begin_pass = COMPUTE.begin
DELAY_S = 0.5e-3  # the period of the background thread; it submits an encoder that is unchanged since its last look


class _Here(threading.local):
    """State of one thread, in a thread-local object: a new thread may have the identifier of one that ended."""

    queue: object = None  # the mark of the queue that last made its CUDA context current


_here = _Here()


class Queue(Streams, InOrder):
    """The graphics queue of one device. Every method must be called with `lock` held, except `flush` and `wait`.

    Attributes:
        encoder: the open command buffer; None if nothing is recorded.
    """

    def __init__(self, device: spy.Device, lock: threading.RLock, *, deferred: bool = True, losses: Losses | None = None):
        self._device = device
        self._losses = losses or Losses()
        self._lock = lock
        self.encoder = self._pass = cast("Any", None)
        self._count = self._submitted = 0
        self._cuda = device.info.type == spy.DeviceType.cuda
        super().__init__(cuda_driver() if self._cuda else None)
        self._mark = object()
        _here.queue = None  # the code that opened the device has left its context current on this thread
        self._limit, self.immediate, self._single = LIMIT if deferred else 1, not deferred, not deferred
        self._last: int | None = None
        self._ids: deque[int] = deque(maxlen=REMEMBERED)  # identifiers of the last submissions, in order
        self.alone = deferred  # true if nobody else submits to this queue, so that `_last` is the last submission
        self._wake = threading.Event()
        self._asleep = False
        self._idle, self._looked = 0, 0  # consecutive looks between which nothing was recorded; submissions up to the last look
        self._seen: Any = None  # the encoder that the background thread saw at its last look
        self.lost: str | None = None  # why nothing can be recorded any more
        if deferred:
            threading.Thread(target=_flusher, args=(weakref.ref(self), self._wake), name="fusepy-queue", daemon=True).start()

    def dispatch(self, pipeline: Pipeline, root: Root, groups: Sequence[int], beside: bool = False, more: bool = False) -> None:
        """Records one dispatch after all earlier ones. Its parameters are in `root` already.

        Args:
            beside: true if it may run concurrently with the last one: no barrier is needed.
            more: true if dispatches of the same program follow: it is not submitted alone.
        """
        if self._cuda:
            self.enter()
        encoder, compute = self.encoder, self._pass
        if encoder is None:
            encoder = self._open()
        elif compute is None and not beside:
            encoder.global_barrier()
        if compute is None:
            compute = begin_pass(encoder)
        compute.bind_pipeline(pipeline, root)
        compute.dispatch_compute(groups)
        if self._cuda:
            self._pass = compute  # A CUDA stream runs in order: one pass holds all dispatches, which saves 1 µs for each.
        else:
            compute.end()
        self._count += 1
        if self._count >= (LIMIT if more else self._limit):
            self._submit()

    def record(self, work: Callable[[spy.CommandEncoder], None], *kept: object) -> None:
        """Records a pass of another kind after all earlier work and before all later work."""
        work(self._after_all())
        self._count += 1
        if self._count >= self._limit:
            self._submit()

    def copy(self, target: spy.Buffer, to: int, source: spy.Buffer, at: int, nbytes: int) -> None:
        """Records a copy between buffers, after all earlier work and before all later work."""
        self._after_all().copy_buffer(target, to, source, at, nbytes)

    def flush(self) -> int | None:
        """Submits the recorded work. Returns the identifier of the last submission if it is known.

        Raises:
            DeviceLostError: if the queue is closed.
        """
        with self._lock:
            self._check()
            if self._cuda:
                self._enter()  # for the caller's next use of the device
            self._move(NULL_STREAM)
            return self._last if self.alone else None

    def start(self) -> None:
        """Submits the recorded work if the device is idle. While it is busy, the next calls join that work."""
        if self.encoder is not None and self.finished(self._submitted):
            self._submit()

    def copy_out(self, to: spy.Buffer, source: spy.Buffer, offset: int, nbytes: int) -> int:
        """Records a copy of bytes to the start of `to`, submits it with all recorded work, and returns the identifier."""
        with self._lock:
            self.copy(to, 0, source, offset, nbytes)
            self._submit()
            assert self._last is not None
            return self._last

    def _open(self) -> Any:
        if self._cuda:
            self._enter()
            self._move(NULL_STREAM)
        self.encoder = self._device.create_command_encoder()
        if self._asleep:
            self._asleep = False
            self._wake.set()
        return self.encoder

    def _after_all(self) -> Any:
        """Returns the encoder behind a barrier, with no pass open in it."""
        self.enter()
        encoder = self.encoder or self._open()
        if self._pass is not None:
            self._pass.end()
            self._pass = None
        encoder.global_barrier()  # memory was written through pointers, which sgl cannot see
        return encoder

    def _submit(self) -> None:
        encoder = self.encoder
        if encoder is not None:
            if self.driver is not None:
                self._enter()
                self.driver.check()
            if self._pass is not None:
                self._pass.end()
                self._pass = None
            self.encoder = None
            self._count = 0
            self._last = last = self._losses.submit(self._device, encoder)
            self._submitted += 1
            self._ids.append(last)

    def now(self) -> int:
        """Returns the time of the last recorded work: the number of the submission that contains it."""
        return self._submitted + (self.encoder is not None)

    def finished(self, time: int) -> bool:
        """True if all work recorded until `time` is finished."""
        if time == 0 or time > self._submitted:
            return time == 0
        ids = self._ids
        return self._device.is_submit_finished(ids[max(time - self._submitted + len(ids) - 1, 0)])

    def enter(self) -> None:
        """Makes the device's CUDA context current on this thread, unless it is: the driver aborts without one."""
        if self._cuda and _here.queue is not self._mark:
            self._enter()

    def _enter(self) -> None:
        """Makes the device's CUDA context current on this thread; sgl does not.

        Other CUDA code may have made another context current, so each command buffer begins and ends with this call.
        """
        self._device.set_cuda_context_current()
        _here.queue = self._mark

    def share(self) -> None:
        """Submits every call at once from now on: others can see memory of this device."""
        with self._lock:
            self._check()
            self.immediate = self._single = True
            self._limit, self.alone = 1, False
            self._submit()

    def expect_others(self) -> None:
        """Notes that others may submit to this queue as well: waiting for our own last submission is not enough from now on."""
        self.alone = False

    def close(self, cause: str = "it was closed") -> None:
        """Submits the remaining work and stops the background thread. Every later use raises `DeviceLostError`."""
        with self._lock:
            if self.lost is None:
                try:
                    self._submit()
                finally:
                    self.drop(cause)

    def drop(self, cause: str) -> None:
        """Drops the remaining work and stops the background thread. Every later use raises `DeviceLostError`."""
        self.encoder = self._pass = None
        self.lost = cause
        self._device = cast("Any", Lost(cause))
        self._wake.set()

    def _check(self) -> None:
        if self.lost is not None:
            raise lost_error(self.lost)

    def look(self) -> bool:
        """Submits the encoder if it is unchanged since the last look. Returns False if nothing is recorded.

        The background thread calls it. In a stream of calls each look finds another encoder, and the calling thread submits.
        """
        with self._lock:
            if self.lost is not None:  # `close` has woken the thread: it must not sleep again
                return True
            if self.encoder is None:  # calls that wait for their results submit before each look, and should not wake it
                self._idle = self._idle + 1 if self._looked == self._submitted else 0
                self._looked = self._submitted
                if self._idle >= IDLE_LOOKS:
                    self._asleep = True
                    self._wake.clear()
                return not self._asleep
            self._idle = 0
            if self._seen is self.encoder:
                self._submit()
            self._seen = self.encoder
            return True


def _flusher(queue: weakref.ref[Queue], wake: threading.Event) -> None:
    """Submits work that was not submitted for `DELAY_S`. Sleeps while nothing is recorded."""
    while True:
        current = queue()
        if current is None or current.lost is not None:
            return
        try:
            busy = current.look()
        except DeviceLostError:  # a thread that calls will hear of it
            return
        del current
        if busy:
            time.sleep(DELAY_S)
        else:
            wake.wait(timeout=60)

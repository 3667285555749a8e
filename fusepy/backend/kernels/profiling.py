"""`ProfileSink`: runs launches on the device's queue with timestamps around each, and notes them for a profile."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import slangpy as spy

from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import InOrder, Pipeline, Root, Sink
from fusepy.backend.slang.stage import COMPUTE

POOL = 512  # timestamps


class TimedWork:
    """One launch, copy or replay.

    Attributes:
        kind: ``"dispatch"``, ``"pass"``, ``"copy"`` or ``"replay"``.
        pipeline: of a dispatch.
        nbytes: the bytes that a copy reads and writes.
        launches: the number of launches; more than one for a replay.
        at: when it was recorded, by the clock of the host.
        begin, end: seconds by the clock of the device; None without timestamps.
    """

    __slots__ = ("at", "begin", "end", "kind", "launches", "nbytes", "pipeline")

    def __init__(self, kind: str, pipeline: Pipeline | None = None, nbytes: int = 0, launches: int = 1):
        self.kind, self.pipeline, self.nbytes, self.launches = kind, pipeline, nbytes, launches
        self.at = time.perf_counter()
        self.begin: float | None = None
        self.end: float | None = None


class Stamps:
    """The timestamps of a profile on one device.

    Args:
        timed: true if the device has timestamps; otherwise no work gets times.
    """

    def __init__(self, device: Device, timed: bool):
        self.device, self._timed = device, timed
        self._pools: list[spy.QueryPool] = []
        self._used = POOL
        self._taken: list[tuple[TimedWork, spy.QueryPool, int]] = []

    def begin(self, encoder: spy.CommandEncoder, entry: TimedWork) -> Callable[[spy.CommandEncoder], None]:
        """Writes the first timestamp of an entry, and returns the function that writes the second."""
        if not self._timed:
            return _nothing
        if self._used == POOL:
            self._pools.append(self.device.raw.create_query_pool(spy.QueryType.timestamp, POOL))
            self._pools[-1].reset()
            self._used = 0
        pool, first = self._pools[-1], self._used
        self._used += 2
        encoder.write_timestamp(pool, first)

        def end(encoder: spy.CommandEncoder) -> None:
            encoder.global_barrier()
            encoder.write_timestamp(pool, first + 1)
            self._taken.append((entry, pool, first))

        return end

    def read(self) -> None:
        """Waits for the device, and gives all entries their times. A device that was closed or lost gives none."""
        if self.device.lost is None and self._taken:
            self.device.wait()
            for entry, pool, first in self._taken:
                entry.begin, entry.end = pool.get_timestamp_results(first, 2)
        self._taken.clear()
        self._pools.clear()


class ProfileSink(InOrder, Sink):
    """The sink of one call.

    Args:
        note: gets each entry.
    """

    def __init__(self, stamps: Stamps, note: Callable[[TimedWork], None]):
        self._stamps, self._queue, self._note = stamps, stamps.device.queue, note

    def dispatch(self, pipeline: Pipeline, root: Root, groups: Sequence[int], beside: bool = False, more: bool = False) -> None:
        def run(encoder: spy.CommandEncoder) -> None:
            compute = COMPUTE.begin(encoder)
            compute.bind_pipeline(pipeline, root)
            compute.dispatch_compute(groups)
            compute.end()

        self._timed(TimedWork("dispatch", pipeline), run)

    def record(self, work: Callable[[spy.CommandEncoder], None], *kept: object) -> None:
        self._timed(TimedWork("pass"), work, *kept)

    def copy(self, target: spy.Buffer, to: int, source: spy.Buffer, at: int, nbytes: int) -> None:
        def run(encoder: spy.CommandEncoder) -> None:
            encoder.copy_buffer(target, to, source, at, nbytes)

        self._timed(TimedWork("copy", nbytes=2 * nbytes), run)

    def flush(self) -> Any:
        return self._queue.flush()

    def start(self) -> None:
        self._queue.start()

    def _timed(self, entry: TimedWork, work: Callable[[spy.CommandEncoder], None], *kept: object) -> None:
        """Records work between two timestamps, in one piece: the queue may submit after each."""

        def run(encoder: spy.CommandEncoder) -> None:
            end = self._stamps.begin(encoder, entry)
            try:
                work(encoder)
            finally:
                end(encoder)

        self._queue.record(run, *kept)
        self._note(entry)


def time_replay(stamps: Stamps, launches: int, note: Callable[[TimedWork], None]) -> Callable[[], None]:
    """Notes that a replay begins, and returns the function to call at its end. The device's lock is held."""
    entry, queue = TimedWork("replay", launches=launches), stamps.device.queue
    ends: list[Callable[[spy.CommandEncoder], None]] = []
    queue.record(lambda encoder: ends.append(stamps.begin(encoder, entry)))

    def ended() -> None:
        queue.record(ends[0])
        note(entry)

    return ended


def _nothing(encoder: spy.CommandEncoder) -> None:
    """Writes nothing: the device has no timestamps."""

"""Times of kernels on the device, by timestamps around each, in command buffers of their own."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import slangpy as spy

from fusepy.backend.device.device import Device
from fusepy.backend.device.recorder import EncoderSink
from fusepy.backend.device.sink import Pipeline, Root
from fusepy.backend.execute.packed import packed
from fusepy.backend.execute.tape import LinkedTape
from fusepy.backend.kernels.globals import Bindings

RUNS = 9
ENOUGH_S = 0.5  # seconds after which no further run begins


class TimingSink(EncoderSink):
    """Records launches with a timestamp before and after each."""

    def __init__(self, encoder: spy.CommandEncoder, stamps: spy.QueryPool):
        super().__init__(encoder)
        self._stamps = stamps
        self._count = 0

    def dispatch(self, pipeline: Pipeline, root: Root, groups: Sequence[int], beside: bool = False, more: bool = False) -> None:
        self._encoder.write_timestamp(self._stamps, self._count)
        super().dispatch(pipeline, root, groups, beside, more)
        self._encoder.write_timestamp(self._stamps, self._count + 1)
        self._count += 2

    def record(self, work: Callable[[spy.CommandEncoder], None], *kept: object) -> None:
        self._encoder.write_timestamp(self._stamps, self._count)
        super().record(work, *kept)
        self._encoder.write_timestamp(self._stamps, self._count + 1)
        self._count += 2


def can_time(device: Device) -> bool:
    """True if the device has timestamps."""
    return "timestamp_query" in device.features


def time_pieces(
    device: Device, linked: LinkedTape, args: Sequence[Any], outs: Sequence[Any] | None, bindings: Bindings | None
) -> list[float]:
    """Returns the seconds that each region takes: the median of several runs without the first."""
    with device.lock:
        args, linked = packed(args, linked.packed, device.queue, None), linked._replace(packed=())
    _run(device, linked, args, outs, bindings)  # compiles, and wakes the device up
    runs: list[list[float]] = []
    start = time.perf_counter()
    while len(runs) < RUNS and (not runs or time.perf_counter() - start < ENOUGH_S):
        runs.append(_run(device, linked, args, outs, bindings))
    return [statistics.median(run[i] for run in runs) for i in range(len(linked.tape.pieces))]


def _run(
    device: Device, linked: LinkedTape, args: Sequence[Any], outs: Sequence[Any] | None, bindings: Bindings | None
) -> list[float]:
    raw = device.raw
    raw.set_cuda_context_current()
    count = 2 * len(linked.tape.launches)
    stamps = raw.create_query_pool(spy.QueryType.timestamp, max(count, 1))
    stamps.reset()
    with device.lock:
        device.queue.flush()
        encoder = raw.create_command_encoder()
        sink = TimingSink(encoder, stamps)
        linked.run(args, outs, sink, bindings)
        raw.submit_command_buffer(encoder.finish())
        raw.wait()
    at = stamps.get_timestamp_results(0, count) if count else []
    taken = iter([max(end - begin, 0.0) for begin, end in zip(at[::2], at[1::2])])
    return [sum(islice(taken, sum(not launch.idle for launch in piece.launches))) for piece in linked.tape.pieces]

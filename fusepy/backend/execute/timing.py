"""How long kernels take on the device: timestamps around each, in command buffers of their own."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import slangpy as spy

from fusepy.backend.device.recorder import EncoderSink

if TYPE_CHECKING:
    from fusepy.backend.device.device import Device
    from fusepy.backend.execute.plan import Plan
    from fusepy.backend.kernels.globals import Bindings

RUNS = 9
ENOUGH_S = 0.5  # no further run begins after so long
Pieces = Sequence[tuple["Plan", Sequence[int]]]


def can_time(device: Device) -> bool:
    """Whether the device counts time by itself."""
    return "timestamp_query" in device.features


def time_pieces(
    device: Device, pieces: Pieces, slots: Sequence[Any], given: Sequence[Any], bindings: Bindings | None
) -> list[float]:
    """Seconds that each plan takes: the median of several runs, of which the first is not counted.

    Args:
        pieces: the plans in order, with the slots that they fill.
        slots: the arguments, to which the plans' positions refer.
        given: for each slot what is to be written, where it is not made anew.
    """
    _run(device, pieces, slots, given, bindings)  # compiles, and wakes the device up
    runs: list[list[float]] = []
    start = time.perf_counter()
    while len(runs) < RUNS and (not runs or time.perf_counter() - start < ENOUGH_S):
        runs.append(_run(device, pieces, slots, given, bindings))
    return [statistics.median(run[i] for run in runs) for i in range(len(pieces))]


def _run(device: Device, pieces: Pieces, args: Sequence[Any], given: Sequence[Any], bindings: Bindings | None) -> list[float]:
    slots = [*args, *[None] * (len(given) - len(args))]
    raw = device.raw
    raw.set_cuda_context_current()
    count = 2 * len(pieces)
    stamps = raw.create_query_pool(spy.QueryType.timestamp, count)
    stamps.reset()
    with device.lock:
        device.queue.flush()
        encoder = raw.create_command_encoder()
        sink = EncoderSink(encoder)
        for i, (plan, results) in enumerate(pieces):
            outs = [given[slot] for slot in results]
            encoder.write_timestamp(stamps, 2 * i)
            made = plan.run(slots, outs if any(o is not None for o in outs) else None, sink, bindings)
            encoder.write_timestamp(stamps, 2 * i + 1)
            for slot, result in zip(results, made):
                slots[slot] = result
        raw.submit_command_buffer(encoder.finish())
        raw.wait()
    at = stamps.get_timestamp_results(0, count)
    return [max(end - begin, 0.0) for begin, end in zip(at[::2], at[1::2])]

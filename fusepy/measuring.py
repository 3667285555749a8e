"""Running a call to see how long each of its kernels takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from fusepy.backend.schedule import Schedule
from fusepy.backend.timing import can_time, time_pieces
from fusepy.binding import NO_SETUP, Setup, after_hooks, bound
from fusepy.compile import Program
from fusepy.nested import flat


def seconds_per_kernel(
    caller: Any, setup: Setup | None, program: Program, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[float], str]:
    """How long each kernel of a call takes, in order; or nothing, and why it was not measured.

    The kernels are run several times, on memory of their own for results; what would write to memory of the caller's is not run.
    """
    device = program.device
    if program.acts:
        return [], "not measured, since the call writes to its arguments"
    if not can_time(device):
        return [], f"not measured, since {device.name} has no timestamps"
    values = flat([*args, *kwargs.values()])
    with ExitStack() as stack:
        for asked in (setup or NO_SETUP, program.recording.trace.setup):
            if asked is not None:
                stack.enter_context(bound(device, after_hooks(asked, caller, device, args, kwargs), program))
        placed = program.placed(values)
        if program.detours is not None:
            placed = program.detours.enter([*values, *program.captures], placed, [])
        given = program.fresh_textures(placed)
        shapes = program.shapes(values)
        pieces = program.pieces(shapes)
        outputs = [slot for slot, _ in program.plan.outputs] if isinstance(program.plan, Schedule) else None
        slots: list[Any] = [None] * len(program.slot_shapes(shapes))
        for j, target in enumerate(given):
            slots[len(placed) + j if outputs is None else outputs[j]] = target
        return time_pieces(device, pieces, placed, slots), ""

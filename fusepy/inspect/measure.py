"""The measurement of the kernels of a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fusepy.arguments.nested import flat
from fusepy.backend.execute.timing import can_time, time_pieces
from fusepy.program.bound import SetUpProgram, after_hooks, check_names
from fusepy.program.program import Program
from fusepy.trace.setup import NO_SETUP, Setup


def seconds_per_kernel(
    caller: Any, setup: Setup | None, program: Program, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[float], str]:
    """Measures the seconds of each kernel of a call, in order; or returns an empty list, and the reason.

    The kernels are run several times, with memory of their own for results. A call that writes to the caller's memory
    is not run.
    """
    device = program.device
    if program.acts:
        return [], "not measured, since the call writes to its arguments"
    if not can_time(device):
        return [], f"not measured, since {device.name} has no timestamps"
    values = flat([*args, *kwargs.values()])
    bindings = after_hooks(setup or NO_SETUP, caller, device, args, kwargs)
    if isinstance(program, SetUpProgram):
        bindings = program.joined(args, bindings)
    check_names(bindings, program)
    placed = program.inputs.placed(values)
    if program.detours is not None:
        placed = program.detours.enter(program.inputs.values(values), placed, [], device.queue)
    targets, shapes = program.destinations.targets, program.out_shapes(placed)
    outs = [targets[j].create(device, shape) if j in targets else None for j, shape in enumerate(shapes)] if targets else None
    return time_pieces(device, program.executable.tape(placed, outs), placed, outs, bindings), ""

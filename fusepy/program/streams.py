"""Calls on the current CUDA stream of another framework, such as torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from fusepy.backend.cuda.driver import NULL_STREAM
from fusepy.backend.marshals.base import CurrentStream
from fusepy.backend.marshals.result_kinds import destination

if TYPE_CHECKING:
    from fusepy.backend.device.sink import Sink
    from fusepy.backend.kernels.globals import Bindings


class Streamed(Protocol):
    """The part of a `Program` that is used here."""

    device: Any
    follows: Any
    checks: Any
    readback: Any
    simple: Any
    moved: Any
    run: Any
    maker: Any
    convert: Any
    elements: Any
    destinations: Any
    placed: Any
    deliver: Any


def run_on_stream(
    program: Streamed, stream: CurrentStream, args: Sequence[Any], result: Any, sink: Sink, bindings: Bindings | None
) -> Any:
    """Runs a program on the current stream of the framework of its arguments. Nobody waits."""
    with program.device.lock:  # another thread must not change the stream
        queue = program.device.queue
        queue.follow(stream())
        placed = program.placed(args)  # alive until all is submitted
        for position, check in program.checks:
            check(placed[position])
        if program.readback is not None and result is None:
            returned = program.readback(program.run, placed, sink, bindings)
        elif program.simple and result is None:
            made = program.run(placed, None, sink, bindings, program.maker)[0]
            returned = made if program.convert is None else program.convert(made)
        elif program.simple and not program.moved and (target := _lent(program, result)) is not None:
            program.run(placed, (target,), sink, bindings)
            returned = result
        else:
            returned = program.deliver(args, placed, result, sink, bindings)
        queue.rejoin()
        return returned


def _lent(program: Streamed, result: Any) -> Any:
    """Returns the memory of a destination if the only result can be written there as it is; raises as `deliver` does."""
    if isinstance(result, (list, tuple)):
        return None
    element = program.elements[0]
    memory = destination(result, program.device, program.destinations.named(0), element)
    return memory if getattr(memory, "element", None) is element else None


def placed_for_encoder(program: Streamed, args: Sequence[Any]) -> Any:
    """Returns the placed arguments of a call that the user submits, to the null stream, after their framework's earlier work."""
    if program.follows is not None:
        queue = program.device.queue
        queue.follow(program.follows())
        queue.follow(NULL_STREAM)
    return program.placed(args)

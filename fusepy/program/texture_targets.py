"""The results of a program that are stored into textures."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.arguments.mapped import unmapped
from fusepy.backend.execute.texture_results import Into, Target
from fusepy.backend.marshals.registry import texture_kind
from fusepy.backend.raster.targets import drawn_formats, drawn_target
from fusepy.ir.graph import Graph
from fusepy.trace.recording import Recording


def texture_targets(
    graph: Graph, recording: Recording, outs: Sequence[int | None], returns: str | Into | None, all: bool
) -> dict[int, Target]:
    """Returns the results that are stored into textures: ``out`` arguments, those of ``_result=``, or `all` others.

    Args:
        outs: for each result the ``out`` argument that it is written to, if any.
        returns: the properties of ``_result=``.

    Raises:
        UnsupportedArgumentError: for a result that its texture cannot hold.
    """
    found: dict[int, Target] = {}
    args = [unmapped(v) for v in recording.arguments]
    for j, position in enumerate(outs):
        kind = None if position is None else texture_kind(args[position])
        if position is not None and kind is not None:
            what = f"{graph.name}: argument {recording.names[position]!r}"
            found[j] = Target.of(kind, graph.outputs[j], what, position)
    free = [j for j, position in enumerate(outs) if position is None]
    drawn = drawn_formats(graph)
    formats = [drawn.get(v) for v in graph.outputs]
    if isinstance(returns, Into) and len(returns.kinds) <= len(free):
        for j, kind, shared in zip(free, returns.kinds, returns.shared):
            format, what = formats[j], f"{graph.name}: _result"
            if kind is not None:
                own = drawn_target(format, kind, what) if format is not None else None
                found[j] = own or Target.of(kind, graph.outputs[j], what, shared)
    elif all:
        for j in free:
            format, inputs = formats[j], [args[p] for p in recording.inputs]
            own = drawn_target(format, None, graph.name) if format is not None else None
            found[j] = own or Target.made_for(graph.outputs[j], graph.inputs, inputs, graph.name, normalised=True)
    return found

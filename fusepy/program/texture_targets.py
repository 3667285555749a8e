"""The results of a program that are stored into textures."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.arguments.mapped import unmapped
from fusepy.backend.execute.texture_results import Into, Target
from fusepy.backend.marshals.registry import texture_kind
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
    if isinstance(returns, Into) and len(returns.kinds) <= len(free):
        for j, kind, shared in zip(free, returns.kinds, returns.shared):
            if kind is not None:
                found[j] = Target.of(kind, graph.outputs[j], f"{graph.name}: _result", shared)
    elif all:
        for j in free:
            texels = [args[p] for p in recording.inputs]
            found[j] = Target.made_for(graph.outputs[j], graph.inputs, texels, graph.name, normalised=True)
    return found

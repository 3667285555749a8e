"""The accumulators and the operands of the epilogue of regions that fold."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.emit.fold.accumulators import Accumulator, Member
from fusepy.backend.emit.operand import Operand
from fusepy.backend.emit.operands import identifiers
from fusepy.ir.arrivals import TENSOR
from fusepy.ir.graph import Graph, Node
from fusepy.ir.ops.region import spec_of


def accumulators_of(region: Node, cuda: bool = False) -> list[Accumulator]:
    """Returns the accumulators of `region`, fold by fold, for a kernel on CUDA or elsewhere."""
    assert region.body is not None
    folds, outputs = spec_of(region).folds, region.body.outputs
    return [Accumulator(j, fold, outputs[j].type, cuda) for j, fold in enumerate(folds, len(outputs) - len(folds))]


def members_of(region: Node) -> list[Member]:
    """Returns the members of an accumulator. Each has its own array in memory."""
    return [m for a in accumulators_of(region) for m in a.members()]


def epilogue_operands(region: Node, first: Sequence[Operand], cuda: bool, plain: bool = False) -> list[Operand]:
    """Returns the operands of the epilogue besides the folded values. With `plain`, names are numbers instead of the user's."""
    if len(region.bodies) < 2:
        return []
    count = len(first)
    inner = region.bodies[1].inputs[len(accumulators_of(region)) :]
    used = [o.name for o in first]
    labels = [v.name or f"x{count + i}" for i, v in enumerate(inner)]
    names = identifiers([*used, *(f"then.{f'x{count + i}' if plain else label}" for i, label in enumerate(labels))])[count:]
    operands: list[Operand] = []
    for i, (value, map, read) in enumerate(zip(region.operands[count:], region.maps[count:], inner)):
        arrival = value.arrival if value.name is not None else TENSOR
        context, made, near = (labels[i], region.bodies[0].name), value.name is None, spec_of(region).near_of(count + i)
        dims, rank = map.dims or (), value.rank
        types = (value.type, read.type)
        operands.append(Operand(count + i, names[i], arrival, *types, dims, rank, cuda, *context, made=made, near=near))
    return operands


def calls_of(region: Node, accumulators: Sequence[Accumulator]) -> Graph:
    """Returns a graph of all nodes in the kernels of a region."""
    graphs = [*region.bodies, *(a.joined for a in accumulators if a.fold.kind == "call")]
    return Graph("all", [v for g in graphs for v in g.inputs], [n for g in graphs for n in g.nodes], ())

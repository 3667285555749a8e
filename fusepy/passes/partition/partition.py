"""Partition of a program into kernels: what each one stores, reduces and runs, and which values are computed again.

A value must be stored if it is returned, if user code reads it as a whole array, or if a call that writes memory returns it. A
vector or array whose elements are used on a larger grid is stored if it is dear.
Every other value is computed where it is used. It is stored only if an earlier kernel computes it anyway and loading it costs
less than computing it again (`cost`).
"""

from __future__ import annotations

from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.oracle import Oracle
from fusepy.passes.partition.components import dear_values
from fusepy.passes.partition.draft import Draft
from fusepy.passes.partition.levels import reads_whole
from fusepy.passes.partition.parts import Part, Partition, base
from fusepy.passes.partition.recompute import Recomputing


def partition(graph: Graph, oracle: Oracle, separate: bool = False) -> Partition:
    """Splits a resolved graph into as few kernels as its data flow allows; `separate` is that of `Levels`."""
    draft, old = Draft(graph, separate, dear_values(graph, oracle)), set[Value]()
    for node in graph.nodes:
        _store_operands(draft, node, old)
        if not node.op.standalone and node in draft.levels.acting.effects:
            draft.act(node)
    _store_outputs(draft, graph)
    _join_reductions(draft)
    recomputing = Recomputing(draft, oracle, old)
    left = sorted(draft.parts, key=lambda p: -p.level)
    while left:
        known = len(draft.parts)
        recomputing.settle(left.pop(0))
        if len(draft.parts) > known:  # new parts of lower levels, which store values that this one loads
            left = sorted([*left, *draft.parts[known:]], key=lambda p: -p.level)

    def order(part: Part) -> tuple[int, bool, int]:
        """Sorts by level; within a level, writes of arrays come after reads."""
        first = [*part.stored, *part.after, *(v for n in part.effects for v in n.operands)]
        return part.level, part.alone, min((draft.position[v] for v in first), default=0)

    return Partition(graph, tuple(sorted(draft.parts, key=order)), draft.levels, tuple(recomputing.decisions))


def _store_operands(draft: Draft, node: Node, old: set[Value]) -> None:
    """Stores dear operands, and those that `node` reads whole, from a reduction or from an array that it writes (in `old`)."""
    levels = draft.levels
    after = levels.folding.get(node.results[0]) if node.results else None
    for value, map in zip(node.operands, node.maps):
        whole = value in levels.producer and reads_whole(map, value)
        crosses = value in levels.folding and (levels.folding[value] is not after or not node.op.spreads)
        if levels.overwrites(node, value):
            old.add(value)
        alone = node.op.standalone and value in levels.producer
        kept = levels.is_factor(node, value) or (node.op.name == "index" and value in levels.dear)
        if (whole or crosses or alone or value in old or kept) and not node.op.views:
            draft.store(base(levels, value))


def _store_outputs(draft: Draft, graph: Graph) -> None:
    levels = draft.levels
    for value in dict.fromkeys(base(levels, v) for v in graph.outputs):
        written = levels.written(value) if value not in levels.producer else -1
        if written >= 0:
            draft.put(value, draft.plain(written + 1, value))  # its contents when the function returns
        else:
            draft.store(value, last=not levels.level[value] and value not in levels.folding)


def _join_reductions(draft: Draft) -> None:
    """Moves stored values to reductions over their grid: one kernel then reads the operands of both."""
    for part in [p for p in draft.parts if p.folding is None and not p.effects and p.standalone is None]:
        for value in list(part.stored):
            other = draft.reducing(value, part.level)
            if other is not None:
                part.stored.remove(value)
                draft.put(value, other)
    draft.parts = [p for p in draft.parts if p.stored or p.effects or p.folding is not None]

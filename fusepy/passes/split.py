"""Split of a region into one per result or effect, for a call in which they have extents that do not share a grid."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.region import RegionSpec, ResultSpec, spec_of
from fusepy.passes.effects import is_pure


def split_region(region: Node) -> list[Node]:
    """Returns a region for each result, each over its own grid and stored in memory, after one for each effect without a result.

    If two results need what one effect gives, it would act twice: then the region is all that is returned.
    """
    body = region.body
    assert body is not None
    needed = [_live(body, [body.outputs[k] for k in outputs]) for outputs, _ in _results(region, body)]
    acting = [n for n in body.nodes if not is_pure(n)]
    uses = [sum(any(v in live for v in n.results) for live in needed) for n in acting]
    if any(n > 1 for n in uses):
        return [region]
    effects = [_part(region, None, [], None, node) for node, n in zip(acting, uses) if not n]
    return effects + [_part(region, j, outputs, after) for j, (outputs, after) in enumerate(_results(region, body))]


def _results(region: Node, body: Graph) -> list[tuple[list[int], Graph | None]]:
    """Returns for each result the outputs of the body that it needs, and its epilogue, if there is one."""
    if len(region.bodies) == 1:
        return [([j], None) for j in range(len(body.outputs))]
    after = region.bodies[1]
    first = len(region.results) - len(after.outputs)  # elements come first, then results of the epilogue
    parts: list[tuple[list[int], Graph | None]] = [([j], None) for j in range(first)]
    for output in after.outputs:
        live = _live(after, [output])
        folds = [k for k in range(first, len(body.outputs)) if after.inputs[k - first] in live] or [first]
        inputs = [v for i, v in enumerate(after.inputs) if (v in live if i >= len(body.outputs) - first else i + first in folds)]
        nodes = [n for n in after.nodes if any(v in live for v in n.results)]
        parts.append((folds, Graph(after.name, inputs, nodes, [output])))
    return parts


def _live(graph: Graph, outputs: Sequence[Value]) -> set[Value]:
    """Returns `outputs` and the values from which they are computed."""
    live = set(outputs)
    for node in reversed(graph.nodes):
        if any(v in live for v in node.results):
            live.update(node.operands)
    return live


def _part(region: Node, result: int | None, outputs: Sequence[int], after: Graph | None, effect: Node | None = None) -> Node:
    """Returns the region of one result, which needs these outputs of the body, or of one effect. Grid dimensions are renumbered.

    Args:
        after: the epilogue, if there is one.
    """
    body = region.body
    assert body is not None
    spec, plain = spec_of(region), len(body.outputs) - len(spec_of(region).folds)
    live = _live(body, [body.outputs[k] for k in outputs])
    if effect is not None:
        live |= _live(body, effect.operands)
    nodes = [n for n in body.nodes if n is effect or any(v in live for v in n.results)]
    inner = len(body.inputs)
    behind: dict[int, Value] = {}  # operands of the epilogue
    if after is not None:
        read = region.bodies[1].inputs
        behind = dict(enumerate(read[len(read) - len(region.operands) + inner :], inner))
    kept = {i for i, v in enumerate(body.inputs) if v in live} | {i for i, v in behind.items() if after and v in after.inputs}
    # a generator keeps the operands that give it its extents
    kept = sorted(kept | {j for i in kept for j in spec.near_of(i) or () if j < inner or after})
    cut = Graph(body.name, [body.inputs[i] for i in kept if i < inner], nodes, [body.outputs[k] for k in outputs])
    if after is not None:
        folded = [v for v in after.inputs if v not in behind.values()]
        after = Graph(after.name, [*folded, *(behind[i] for i in kept if i >= inner)], after.nodes, after.outputs)
    folds = tuple(spec.folds[k - plain] for k in outputs if k >= plain)
    # an axis that a reduction has kept has extent 1: no operand runs along it
    own = [] if result is None else [result]
    named = {d for i in kept for d in region.maps[i].dims or ()} | {d for j in own for d in spec.results[j].dims}
    used = sorted(named | {*spec.over} if folds else named)
    number = {d: i for i, d in enumerate(used)}
    over = tuple(number[d] for d in spec.over) if folds else ()
    shown = tuple(ResultSpec(tuple(number[d] for d in spec.results[j].dims)) for j in own)
    at = {i: new for new, i in enumerate(kept)}
    near = tuple((at[i], tuple(at[j] for j in sources if j in at)) for i, sources in spec.near if i in at)
    maps = [ArgMap(tuple(number[d] for d in region.maps[i].dims or ()), region.maps[i].type) for i in kept]
    results = [Value(region.results[j].type, region.results[j].dims) for j in own]
    bodies = [cut] if after is None else [cut, after]
    attrs = {"spec": RegionSpec(shown, folds, over, near)}
    return Node(region.op, [region.operands[i] for i in kept], maps, results, attrs, region.loc, bodies)

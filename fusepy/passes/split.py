"""Splitting a region into one per result, for results whose extents turn out not to share a grid when a call is made."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.ops.region import fold_at, near_of, over_dims, result_dims
from fusepy.passes.effects import is_pure


def split_region(region: Node) -> list[Node]:
    """A region per result, each over a grid of its own; what acts stays with the first."""
    body = region.body
    assert body is not None
    if len(region.bodies) == 1:
        return [_part(region, j, [j], None) for j in range(len(body.outputs))]
    after = region.bodies[1]
    first = len(region.results) - len(after.outputs)  # elements come first, then what is computed from the folds
    parts = [_part(region, j, [j], None) for j in range(first)]
    for j, output in enumerate(after.outputs):
        live = _live(after, [output])
        folds = [k for k in range(first, len(body.outputs)) if after.inputs[k - first] in live] or [first]
        inputs = [v for i, v in enumerate(after.inputs) if (v in live if i >= len(body.outputs) - first else i + first in folds)]
        nodes = [n for n in after.nodes if any(v in live for v in n.results)]
        parts.append(_part(region, first + j, folds, Graph(after.name, inputs, nodes, [output])))
    return parts


def _live(graph: Graph, outputs: Sequence[Value]) -> set[Value]:
    """The values from which `outputs` are computed, and these themselves."""
    live = set(outputs)
    for node in reversed(graph.nodes):
        if any(v in live for v in node.results):
            live.update(node.operands)
    return live


def _part(region: Node, result: int, outputs: Sequence[int], after: Graph | None) -> Node:
    """The region of one result, which needs these outputs of the body; the dimensions of its grid are numbered anew.

    Args:
        after: what is computed from these where they are folded, if anything is.
    """
    body = region.body
    assert body is not None
    live = _live(body, [body.outputs[k] for k in outputs])
    acting = [n for n in body.nodes if result == 0 and not is_pure(n)]
    for node in acting:
        live |= _live(body, node.operands)
    nodes = [n for n in body.nodes if n in acting or any(v in live for v in n.results)]
    inner = len(body.inputs)
    behind: dict[int, Value] = {}  # the operands that are read after the folds
    if after is not None:
        read = region.bodies[1].inputs
        behind = dict(enumerate(read[len(read) - len(region.operands) + inner :], inner))
    kept = {i for i, v in enumerate(body.inputs) if v in live} | {i for i, v in behind.items() if after and v in after.inputs}
    # a generator keeps what it has its extents from, though nothing else reads that
    kept = sorted(kept | {j for i in kept for j in near_of(region, i) or () if j < inner or after})
    made = Graph(body.name, [body.inputs[i] for i in kept if i < inner], nodes, [body.outputs[k] for k in outputs])
    if after is not None:
        folded = [v for v in after.inputs if v not in behind.values()]
        after = Graph(after.name, [*folded, *(behind[i] for i in kept if i >= inner)], after.nodes, after.outputs)
    folds = any(fold_at(region, k) is not None for k in outputs)
    # an axis that a reduction has kept has extent 1: no operand runs along it
    named = {d for i in kept for d in region.maps[i].dims or ()} | {*result_dims(region, result)}
    used = sorted(named | {*over_dims(region)} if folds else named)
    number = {f"d{d}": f"d{i}" for i, d in enumerate(used)}
    attrs = _attrs(region, result, outputs, number) | _near_attrs(region, kept)
    maps = [ArgMap(tuple(used.index(d) for d in region.maps[i].dims or ()), region.maps[i].type) for i in kept]
    results = [Value(region.results[result].type, region.results[result].dims)]
    bodies = [made] if after is None else [made, after]
    return Node(region.op, [region.operands[i] for i in kept], maps, results, attrs, region.loc, bodies)


def _attrs(region: Node, result: int, outputs: Sequence[int], number: dict[str, str]) -> dict[str, Attr]:
    """What is said about one result, and about the outputs of the body that it needs, with its own dimensions."""
    attrs: dict[str, Attr] = {"out_0": tuple(number[f"d{d}"] for d in result_dims(region, result))}
    for key, value in region.attrs.items():
        what, _, index = key.rpartition("_")
        if what not in ("", "out", "near") and index.isdigit() and int(index) in outputs:
            attrs[f"{what}_{outputs.index(int(index))}"] = value
    if any(key.startswith(("fold_", "scan_")) for key in attrs):
        attrs["over"] = tuple(number[f"d{d}"] for d in over_dims(region))
    return attrs


def _near_attrs(region: Node, kept: Sequence[int]) -> dict[str, Attr]:
    """Which operands the generators among `kept` follow, with their new places."""
    at = {i: new for new, i in enumerate(kept)}
    near = {at[i]: near_of(region, i) for i in kept}
    return {f"near_{i}": tuple(f"x{at[j]}" for j in found if j in at) for i, found in near.items() if found is not None}

"""Settled maps of one node: by Slang's answer, or by NumPy's broadcasting. The pass `resolve_maps` writes them into graphs."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Attr, Node
from fusepy.ir.oracle import IN, THIS, Oracle


def settle(node: Node, oracle: Oracle) -> tuple[Sequence[ArgMap], dict[str, Attr]]:
    """Returns the resolved maps, and attributes to add."""
    answer = node.op.resolution(node, oracle)
    if answer is not None:
        dirs = tuple(p.direction for p in answer.params)
        attrs: dict[str, Attr] = {}
        if any(d != IN for d in dirs):
            returns = bool(answer.results) and answer.results[0][0] == "return"
            attrs = {"dirs": dirs, "returns": returns}
        if answer.params and answer.params[0].name == THIS:
            attrs["method"] = True
        return answer.maps, attrs
    if node.op.name == "cast":
        value, want, rank = node.operands[0], node.results[0].type, node.results[0].rank
        batch = value.rank - (len(want.shape) if not value.arrival.plain and not value.type.shape else 0)
        dims = (node.maps[0] if node.maps[0].dims is not None else ArgMap.aligned(max(batch, 0), rank)).dims
        assert dims is not None
        spread = value.rank == len(dims) and not value.arrival.plain and bool(want.shape) and not value.type.shape
        return [ArgMap(dims, want if want is not value.type and not spread else None)], {}  # a number in each component
    return node.op.settled(node, oracle), {}

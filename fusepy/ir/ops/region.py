"""``region``: a group of nodes that runs as one kernel over one grid."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fusepy.errors import VerifyError
from fusepy.ir.graph import Node, Value
from fusepy.ir.ops.base import Array, Op
from fusepy.ir.oracle import Oracle


class Region(Op):
    """Runs its body once per grid point.

    Operand ``i`` is loaded through ``maps[i]`` into input ``i`` of the body, which works on single elements only: inside, every
    value has rank 0. Result ``j`` is spread over the grid dimensions named by the attribute ``out_j``.
    """

    name = "region"
    nests = True

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        if node.body is None:
            raise VerifyError("a region needs a body", place=node.loc, hint="build it with passes.fuse_chains")
        return [Value(v.type, (None,) * len(result_dims(node, j))) for j, v in enumerate(node.body.outputs)]

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        raise VerifyError("a region has no meaning of its own", hint="use interpret()")

    def verify(self, node: Node) -> str | None:
        if node.body is None:
            return "no body"
        if len(node.body.inputs) != len(node.operands):
            return f"{len(node.operands)} operands for a body with {len(node.body.inputs)} inputs"
        if any(v.rank for v in node.body.values()):
            return "a value inside a region has batch axes"
        grid = max((m.min_grid_rank for m in node.maps), default=0)
        for j in range(len(node.body.outputs)):
            dims = node.attrs.get(f"out_{j}")
            if not isinstance(dims, tuple) or not all(re.fullmatch(r"d\d+", d) for d in dims):
                return f"out_{j} is a tuple of dimensions such as d0"
            found = result_dims(node, j)
            if len(set(found)) != len(found) or any(d >= grid for d in found):
                return f"out_{j} names a dimension twice, or one outside the grid of {grid}"
        return None


def result_dims(node: Node, j: int) -> tuple[int, ...]:
    """The grid dimensions that result `j` of a region runs along, in order."""
    dims = node.attrs[f"out_{j}"]
    assert isinstance(dims, tuple)
    return tuple(int(d.removeprefix("d")) for d in dims)

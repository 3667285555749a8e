"""``region``: a group of nodes that runs as one kernel over one grid, and may combine elements along some of its dimensions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fusepy.errors import VerifyError
from fusepy.ir.graph import Node, Op, Value
from fusepy.ir.ops.folds import fold_at, folds_of
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Type
from fusepy.ir.value import Array

__all__ = ["Region", "fold_at", "over_dims", "result_dims", "result_types"]


class Region(Op):
    """Runs its body once per grid point.

    Operand ``i`` is loaded through ``maps[i]`` into input ``i`` of the body, which works on single elements only: inside, every
    value has rank 0. Result ``j`` is spread over the grid dimensions named by the attribute ``out_j``.

    Output ``j`` of the body may be combined along the dimensions ``over``: by ``fold_j``, or running along by ``scan_j`` (with
    ``exclusive_j``); a fold by a call has ``module_j``, ``function_j`` and ``identity_j``. Outputs that are not stand first. A
    second body, the epilogue, runs once per point of the dimensions that are left, on what was folded and on the operands that
    follow those of the first; its outputs are results in place of the folded values.

    A generator has the extents of the operands that ``near_i`` names, and stays at its first place where these have extent 1;
    without it those of the whole grid.
    """

    name = "region"
    nests = True
    spreads = False

    def grid_rank(self, node: Node) -> int:
        """Of all dimensions that are named: one along which no operand runs has extent 1."""
        named = (dims for key, dims in node.attrs.items() if key == "over" or key.startswith("out_"))
        found = [int(d.removeprefix("d")) + 1 for dims in named if isinstance(dims, tuple) for d in dims]
        return max((*found, *(m.min_grid_rank for m in node.maps)), default=0)

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        if node.body is None:
            raise VerifyError("a region needs a body", place=node.loc, hint="build it with passes.fuse_chains")
        return [Value(t, (None,) * len(result_dims(node, j))) for j, t in enumerate(result_types(node))]

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        raise VerifyError("a region has no meaning of its own", hint="use interpret()")

    def verify(self, node: Node) -> str | None:
        if node.body is None:
            return "no body"
        if any(v.rank for body in node.bodies for v in body.values()):
            return "a value inside a region has batch axes"
        wrong = _wrong_folds(node)
        if wrong is not None:
            return wrong
        over = over_dims(node)
        first = len(node.body.inputs)
        wanted = first + (len(node.bodies[1].inputs) - len(folds_of(node)) if len(node.bodies) > 1 else 0)
        if wanted != len(node.operands):
            return f"{len(node.operands)} operands for bodies with {wanted} inputs"
        if any(d in over for m in node.maps[first:] for d in m.dims or ()):
            return "an operand of the epilogue runs along a dimension that is folded"
        types = result_types(node)
        small = len(types) - sum(fold_at(node, j) is None for j in range(len(node.body.outputs)))
        for j in range(len(types)):
            dims = node.attrs.get(f"out_{j}")
            if not isinstance(dims, tuple) or not all(re.fullmatch(r"d\d+", d) for d in dims):
                return f"out_{j} is a tuple of dimensions such as d0"
            found = result_dims(node, j)
            if len(set(found)) != len(found):
                return f"out_{j} names a dimension twice"
            if j >= len(types) - small and not _scans(node) and set(found) & set(over):
                return f"out_{j} names a dimension that is folded"
        return None


def _wrong_folds(node: Node) -> str | None:
    """What is wrong with what a region combines, if anything."""
    assert node.body is not None
    folds, over = folds_of(node), node.attrs.get("over", ())
    wrong = next(filter(None, (fold.wrong() for fold in folds)), None)
    if wrong is not None:
        return wrong
    if not isinstance(over, tuple) or not all(re.fullmatch(r"d\d+", d) for d in over):
        return "over is a tuple of dimensions such as d0"
    if bool(over) != bool(folds):
        return "over says along which dimensions to fold, and only that"
    dims = over_dims(node)
    if list(dims) != sorted(set(dims)):
        return "over names a dimension twice, or out of order"
    plain = len(node.body.outputs) - len(folds)
    if any(fold_at(node, j) is not None for j in range(plain)):
        return "outputs that are folded stand behind those that are not"
    if any(f.scans for f in folds) and (len(over) != 1 or len(node.bodies) > 1 or not all(f.scans for f in folds)):
        return "a scan runs along one dimension, beside no fold, and has no epilogue"
    if len(node.bodies) > 1 + bool(folds):
        return f"{len(node.bodies)} bodies"
    if len(node.bodies) > 1:
        given = [v.type for v in node.bodies[1].inputs[: len(folds)]]
        types = [f.type(v.type) for f, v in zip(folds, node.body.outputs[plain:])]
        return None if given == types else f"the epilogue takes {given}, where {types} were folded"
    return None


def _scans(node: Node) -> bool:
    return any(f.scans for f in folds_of(node))


def over_dims(node: Node) -> tuple[int, ...]:
    """The grid dimensions along which a region combines elements."""
    over = node.attrs.get("over", ())
    assert isinstance(over, tuple)
    return tuple(int(d.removeprefix("d")) for d in over)


def result_types(node: Node) -> list[Type]:
    """The types of a region's results."""
    assert node.body is not None
    types: list[Type] = []
    for j, value in enumerate(node.body.outputs):
        fold = fold_at(node, j)
        if fold is None:
            types.append(value.type)
        elif len(node.bodies) == 1:
            types.append(fold.type(value.type))
    return types + [v.type for body in node.bodies[1:] for v in body.outputs]


def result_dims(node: Node, j: int) -> tuple[int, ...]:
    """The grid dimensions that result `j` of a region runs along, in order."""
    dims = node.attrs[f"out_{j}"]
    assert isinstance(dims, tuple)
    return tuple(int(d.removeprefix("d")) for d in dims)


def output_feeds(region: Node) -> list[frozenset[int]]:
    """For each result of a region, the operands that it is computed from."""
    assert region.body is not None
    sources: dict[Value, frozenset[int]] = {v: frozenset([i]) for i, v in enumerate(region.body.inputs)}
    for node in region.body.nodes:
        found = frozenset(i for v in node.operands for i in sources[v])
        sources.update(dict.fromkeys(node.results, found))
    return [sources[v] for v in region.body.outputs]


def near_of(region: Node, i: int) -> tuple[int, ...] | None:
    """The places of the operands whose extents a generator, operand `i`, has; None where these are those of the whole grid."""
    found = region.attrs.get(f"near_{i}")
    return tuple(int(str(x).removeprefix("x")) for x in found) if isinstance(found, tuple) else None

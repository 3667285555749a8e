"""Finds out if the reductions of one kernel share a grid, and which of its elements lie together, when a call is lowered."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from fusepy.backend.emit.operand import Operand
from fusepy.errors import ShapeError
from fusepy.ir.graph import Node, Value
from fusepy.ir.ops.region import folds_of, output_feeds, sources_of, spec_of
from fusepy.ir.strides import is_contiguous

Shapes = Sequence[tuple[int, ...]]


def different_extents(
    name: str,
    operands: Sequence[Operand],
    feeds: Iterable[frozenset[int]],
    over: Iterable[int],
    grid: Sequence[int],
    shapes: Shapes,
) -> ShapeError | None:
    """Returns an error if a fold would read an element more than once because another result has a larger grid.

    Args:
        feeds: for each fold the operands that it is computed from.
        over: the dimensions of the grid that are folded.
    """
    for feeding in feeds:
        for d in over:
            along = [o for o in operands if o.position in feeding and d in o.dims and not o.spread]
            extents = [shapes[o.position][o.dims.index(d)] for o in along]
            if extents and all(n == 1 for n in extents) and grid[d] != 1:
                return ShapeError(
                    f"{name}: what is folded has extent 1 along an axis that is longer for another result",
                    saw=f"1 and {grid[d]}",
                    hint="compute the results in calls of their own",
                )
    return None


def stretched_results(
    name: str, operands: Sequence[Operand], first: int, kept: Iterable[int], grid: Sequence[int], shapes: Shapes
) -> ShapeError | None:
    """Returns an error if an array of the epilogue stretches the grid of results: each fold would run several times.

    Args:
        first: the number of operands before those of the epilogue.
        kept: the dimensions of the grid that are not folded.
    """
    if len(operands) == first:
        return None
    for d in kept:
        along = [o for o in operands if o.position < first and d in o.dims and not o.spread]
        if grid[d] != 1 and all(shapes[o.position][o.dims.index(d)] == 1 for o in along):
            return ShapeError(
                f"{name}: an array is longer than what a reduction leaves",
                saw=f"1 and {grid[d]}",
                hint="compute the results in calls of their own",
            )
    return None


def lie_contiguous(
    memory: Sequence[Operand],
    first: int,
    along: tuple[Sequence[int], Sequence[int]],
    grid: Sequence[int],
    shapes: Shapes,
    strides: Shapes,
) -> bool:
    """Returns true if all arrays are contiguous, and as long as the grid.

    Args:
        first: the number of operands of the body.
        along: the dimensions of the grid of the body, and those of the grid of the epilogue.
    """
    for o in memory:
        i = o.position
        if o.is_whole or not o.dims:
            continue
        want = tuple(grid[d] for d in along[i >= first])
        if shapes[i][: len(o.dims)] != want or not is_contiguous(shapes[i], strides[i]):
            return False
    return True


def lies_inner(
    own: Sequence[Operand], over: Sequence[int], steps: Shapes, strides: Shapes, grid: tuple[int, ...], otherwise: bool
) -> bool:
    """Returns true if elements of one result are closer together in memory than those of neighbouring results.

    The largest arrays decide, such as the matrix that a vector is multiplied by. Axes of extent 1 count by the strides that
    arrays have there.

    Args:
        own: the operands in memory.
        over: the dimensions of the grid that are folded.
        steps: the strides over the grid, 0 where stretched; `strides` are those of the arrays.
    """
    size = {o: math.prod(grid[d] for d, step in zip(o.dims, steps[o.position]) if step) for o in own}  # 0 where stretched
    most = max(size.values(), default=0)
    places = [(o, axis, d) for o, n in size.items() if n == most for axis, d in enumerate(o.dims)]
    far = [(abs((strides if grid[d] == 1 else steps)[o.position][axis]), -d) for o, axis, d in places]
    far = [(step, d) for step, d in far if step]
    return -min(far)[1] in over if far else otherwise


def epilogue_feeds(region: Node) -> list[frozenset[int]]:
    """Returns, for each result of a region that folds, the operands that it is computed from."""
    assert region.body is not None
    first = output_feeds(region)
    if len(region.bodies) == 1:
        return first
    plain = len(first) - len(folds_of(region))
    then = region.bodies[1]
    folded = len(first) - plain
    feeds: dict[Value, frozenset[int]] = dict(zip(then.inputs, first[plain:]))
    feeds.update((v, frozenset([len(region.body.inputs) + i])) for i, v in enumerate(then.inputs[folded:]))
    for node in then.nodes:
        found = frozenset(i for v in node.operands for i in feeds[v])
        feeds.update(dict.fromkeys(node.results, found))
    return [*first[:plain], *(feeds[v] for v in then.outputs)]


def factor_feeds(region: Node) -> tuple[frozenset[int], frozenset[int]] | None:
    """Returns the operands that each factor of a product of matrices is computed from.

    ``None`` for other regions, and for the sum of products that another kernel has computed.
    """
    body = region.body
    if body is None or [fold.kind for fold in spec_of(region).folds] != ["dot"] or body.outputs[-1] in body.inputs:
        return None
    sources = sources_of(body)
    a, b = next(node.operands for node in body.nodes if body.outputs[-1] in node.results)
    return sources[a], sources[b]

"""Interpreter of graphs in NumPy: the reference for the tests of passes and generated kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from fusepy.errors import ShapeError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.fold_meanings import folded, scanned
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.control import Control
from fusepy.ir.ops.reduce import Reduce, Scan
from fusepy.ir.ops.region import spec_of
from fusepy.ir.resources import channels
from fusepy.ir.rows.fold import RowFold
from fusepy.ir.types import Kind, Type
from fusepy.ir.value import Array

Functions = Mapping[str, Callable[..., Any]]


def interpret(graph: Graph, args: Sequence[Any], functions: Functions | None = None) -> list[Array]:
    """Evaluates `graph` on arrays: one per input, batch axes first, then the components of its type.

    Args:
        functions: NumPy implementations of the Slang functions by name. Each gets one array per input parameter, with
            the grid as leading axes (extent 1 where it does not vary), and returns its results in the order of the node's.

    Raises:
        ShapeError: if extents do not broadcast.
    """
    values: dict[Value, Array] = {}
    for value, arg in zip(graph.inputs, args, strict=True):
        dtype = value.type.dtype
        values[value] = np.asarray(arg) if dtype is None else np.asarray(arg).astype(dtype)
    for node in graph.nodes:
        rank = node.grid_rank
        operands = [load(values[v], v, _aligned(v, m, rank), rank) for v, m in zip(node.operands, node.maps)]
        for value, result in zip(node.results, evaluate(node, operands, rank, functions or {})):
            values[value] = result
    return [np.array(values[v]) for v in graph.outputs]


def evaluate(node: Node, operands: list[Array], rank: int, functions: Functions) -> list[Array]:
    """Returns the results of one node, spread over its whole grid."""
    shapes = [a.shape[:rank] for a in operands]
    try:
        grid = np.broadcast_shapes(*shapes, (1,) * rank)
    except ValueError:
        raise ShapeError(
            f"extents do not broadcast: {', '.join(map(str, shapes))}", place=node.loc, hint="check the shapes"
        ) from None
    if node.op.name == "region":
        return _region(node, operands, grid, functions)
    if isinstance(node.op, Control):
        results = node.op.meaning(node, operands, grid, lambda body, inputs: _body(body, inputs, grid, functions))
    elif node.op.name == "slang.call":
        answer = functions[node.text("function")](*operands)
        results = list(cast("tuple[Any, ...]", answer)) if isinstance(answer, tuple) else [answer] if node.results else []
    elif isinstance(node.op, (Reduce, Scan)):
        return [node.op.meaning(node, operands[0], functions)]
    elif node.op.name in ("contract", "numbers"):  # the operands have no extent along some axis of the grid
        return node.op.evaluate(node, operands)
    else:
        results = node.op.evaluate(node, operands)
    spread: list[Array] = []
    for value, result in zip(node.results, results, strict=True):
        dtype = value.type.dtype
        array = np.asarray(result) if dtype is None else np.asarray(result).astype(dtype)
        spread.append(np.broadcast_to(array, grid + value.type.shape))
    return spread


def _region(node: Node, operands: list[Array], grid: tuple[int, ...], functions: Functions) -> list[Array]:
    """Evaluates a region: its body over the whole grid, its epilogue over the dimensions that are not folded, or behind scans."""
    assert node.body is not None
    spec = spec_of(node)
    full = _body(node.body, operands[: len(node.body.inputs)], grid, functions, spec.rows)
    over, plain = spec.over, len(node.body.outputs) - len(spec.folds)
    results: list[Array] = []
    combined: list[Array] = []
    for j, (value, array) in enumerate(zip(node.body.outputs, full)):
        if j < plain:
            results.append(_keep(array, spec.results[j].dims, range(len(grid))))
            continue
        fold = spec.folds[j - plain]
        if any(array.shape[d] != grid[d] for d in over):  # elements would be combined several times
            raise ShapeError("a folded value is smaller than the grid", saw=array.shape, expected=grid, hint="split the region")
        spread = np.broadcast_to(array, array.shape[: len(grid)] + value.type.shape)  # grid axes keep their extents
        if fold.scans:
            combined.append(scanned(fold, spread, over[0], value.type, functions))
        else:
            combined.append(folded(fold, spread, over, value.type, functions))
    left = [d for d in range(len(grid)) if spec.scans or d not in over]
    if len(node.bodies) > 1:
        rest = operands[len(node.body.inputs) :]
        further = [a[tuple(slice(None) if d in left else 0 for d in range(len(grid)))] for a in rest]
        combined = _body(node.bodies[1], [*combined, *further], tuple(grid[d] for d in left), functions)
    return results + [_keep(a, result.dims, left) for a, result in zip(combined, spec.results[len(results) :])]


def _body(
    body: Graph, args: Sequence[Array], grid: tuple[int, ...], functions: Functions, rows: Sequence[int] = ()
) -> list[Array]:
    """Returns the outputs of a body over a grid; an output that is an input may have extent 1 where it does not vary."""
    values: dict[Value, Array] = dict(zip(body.inputs, args))
    for inner in body.nodes:
        operands = [_as(values[v], m.type or v.type, len(grid)) for v, m in zip(inner.operands, inner.maps)]
        if isinstance(inner.op, RowFold):
            values[inner.results[0]] = inner.op.combined(inner, operands[0], grid, rows, functions)
            continue
        for value, result in zip(inner.results, evaluate(inner, operands, len(grid), functions)):
            values[value] = result
    return [values[v].reshape((1,) * (len(grid) + len(v.type.shape) - values[v].ndim) + values[v].shape) for v in body.outputs]


def _keep(array: Array, keep: Sequence[int], dims: Sequence[int]) -> Array:
    """Returns an array over the grid dimensions `dims` with those of `keep` only, in that order."""
    for axis, d in reversed(list(enumerate(dims))):
        if d not in keep:
            array = np.take(array, 0, axis=axis)
    order = sorted(keep)
    return np.transpose(array, [*(order.index(d) for d in keep), *range(len(keep), array.ndim)])


def _aligned(value: Value, map: ArgMap, rank: int) -> ArgMap:
    return map if map.dims is not None else ArgMap(ArgMap.aligned(value.rank, rank).dims, map.type)


def load(array: Array, value: Value, map: ArgMap, rank: int) -> Array:
    """Returns one operand as its node reads it: `rank` leading grid axes (1 where it does not vary), then components."""
    assert map.dims is not None
    batch = len(map.dims)
    want = map.type or value.type
    order = sorted(range(batch), key=lambda i: map.dims[i])  # type: ignore[index]
    moved = np.transpose(array, [*order, *range(batch, array.ndim)])
    index: list[Any] = [slice(None) if d in map.dims else None for d in range(rank)]
    spread = cast("Array", moved[tuple(index)])
    if want.kind is Kind.POINTER or want.dtype is None:
        return spread
    if value.arrival.texels and want.shape != value.type.shape:  # the leading channels of a texel
        spread = cast("Array", spread[..., : channels(want)].reshape(spread.shape[:rank] + want.shape))
    return _as(spread, want, rank)


def _as(spread: Array, want: Type, rank: int) -> Array:
    """Converts the components behind `rank` grid axes to those of `want`."""
    if want.dtype is None:
        return spread
    if spread.ndim - rank < len(want.shape):  # one number in every component
        spread = np.broadcast_to(np.reshape(spread, spread.shape + (1,) * len(want.shape)), spread.shape[:rank] + want.shape)
    if spread.shape[rank:] != want.shape:
        raise ShapeError(
            f"{spread.shape[rank:]} is no {want}", saw=spread.shape[rank:], expected=want.shape, hint="check the shapes"
        )
    with np.errstate(all="ignore"):
        return spread.astype(want.dtype)

"""Triangles, diagonals, grids and other arrangements of arrays, by NumPy's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from fusepy.backend.marshals.registry import texture_kind
from fusepy.backend.memory.host_arrays import lists_values
from fusepy.errors import ArgumentError
from fusepy.ir.types import BOOL
from fusepy.language import math as _math
from fusepy.language.elementwise import composed
from fusepy.language.movement.extents import ndim, seen_as_array, shape
from fusepy.language.movement.graph_calls import node_of_values, of_parts
from fusepy.language.movement.indices import take
from fusepy.language.movement.joins import concatenate, stacked
from fusepy.language.movement.views import broadcast_to, flip, moveaxis, ravel, reshape, swapaxes
from fusepy.trace.moves.arguments import one_axis
from fusepy.vocabulary.ramps import arange

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "diag",
    "diagonal",
    "fliplr",
    "flipud",
    "hstack",
    "meshgrid",
    "rot90",
    "tril",
    "triu",
    "vstack",
]


@composed("k")
def tril(x: Any, k: int = 0) -> Any:
    """Returns matrices with 0 above the diagonal, or above the one `k` places to its right."""
    x = seen_as_array(x)
    return _math.where(_apart(x) <= k, x, _nothing(x))


@composed("k")
def triu(x: Any, k: int = 0) -> Any:
    """Returns matrices with 0 below the diagonal, or below the one `k` places to its right."""
    x = seen_as_array(x)
    return _math.where(_apart(x) >= k, x, _nothing(x))


def _nothing(x: Any) -> int:
    """Returns 0 that leaves bools bools."""
    return False if x.type is BOOL else 0


def _apart(x: Any) -> Any:
    """Returns the distance of each element of a matrix from the diagonal, positive to the right."""
    one_axis(-2, x.ndim, "a triangle")  # which refuses numbers and single rows
    return arange(x.shape[-1])[None, :] - arange(x.shape[-2])[:, None]


@composed("offset")
def diagonal(x: Any, offset: int = 0) -> Any:
    """Returns the diagonals of the first two axes, or those `offset` places to their right, along a new last axis."""
    x = moveaxis(seen_as_array(x), (0, 1), (-2, -1))
    rows, columns = x.shape[-2:]
    at = np.arange(max(0, min(rows - max(-offset, 0), columns - max(offset, 0))), dtype=np.int32)
    return x[..., at + max(-offset, 0), at + max(offset, 0)]


@composed("k")
def diag(x: Any, k: int = 0) -> Any:
    """Returns the diagonal of a matrix, or a matrix with this diagonal, `k` places to the right."""
    x = seen_as_array(x)
    if x.ndim != 1:
        return diagonal(x, k)
    at = arange(x.shape[0] + abs(k))
    placed = take(x, _math.clip(at - max(-k, 0), 0, max(x.shape[0] - 1, 0)), 0)
    return _math.where(at[None, :] - at[:, None] == k, placed[:, None], _nothing(x))


@of_parts(lambda *arrays, **named: len(arrays))
@node_of_values
def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Returns each array of one axis over the grid of all of them; the first two axes are swapped unless ``indexing="ij"``."""
    if indexing not in ("xy", "ij"):
        what = "meshgrid() with another indexing"
        raise ArgumentError(what, saw=repr(indexing), expected="'xy' or 'ij'", hint="write indexing='ij'")
    places = [*range(len(arrays))]
    if indexing == "xy" and len(arrays) > 1:
        places[:2] = [1, 0]
    listed = [ravel(x) for x in arrays]
    sizes = dict(zip(places, (shape(x)[0] for x in listed)))
    extents = [sizes[d] for d in range(len(arrays))]
    spread = [[n if d == place else 1 for d, n in enumerate(extents)] for place in places]
    return tuple(broadcast_to(reshape(x, own), extents) for x, own in zip(listed, spread))


@node_of_values
def hstack(arrays: Sequence[Any]) -> Any:
    """Returns arrays one behind the other: numbers and arrays of one axis along it, others along their second axis."""
    listed = [reshape(x, (1,)) if not ndim(x) else x for x in map(stacked, arrays)]
    return concatenate(listed, 0 if listed and ndim(listed[0]) == 1 else 1)


@node_of_values
def vstack(arrays: Sequence[Any]) -> Any:
    """Returns arrays one below the other; those of one axis are rows."""
    return concatenate([reshape(x, (1, -1)) if ndim(x) < 2 else x for x in map(stacked, arrays)], 0)


def flipud(x: Any) -> Any:
    """Returns `x` with its first axis reversed."""
    return flip(x, 0)


def fliplr(x: Any) -> Any:
    """Returns `x` with its second axis reversed."""
    return flip(x, 1)


def rot90(x: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """Returns `x` turned by `k` right angles, from the first of two axes to the second one; it is a view."""
    first, second = cast("tuple[int, int]", tuple(axes))
    if k % 4 == 2:
        return flip(flip(x, first), second)
    if k % 4 == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second) if k % 4 else x


def atleast_1d(*arrays: Any) -> Any:
    """Returns arrays with one axis or more: a number is an array of one element. Several give a list."""
    return _at_least(lambda shape: shape or (1,), arrays)


def atleast_2d(*arrays: Any) -> Any:
    """Returns arrays with two axes or more: an array of one axis is a row. Several give a list."""
    return _at_least(lambda shape: (1,) * (2 - len(shape)) + shape, arrays)


def atleast_3d(*arrays: Any) -> Any:
    """Returns arrays with three axes or more: one axis comes to the middle, two to the front. Several give a list."""
    return _at_least(
        lambda shape: (*(1,) * (len(shape) < 2), *(shape or (1,)), *(1,) * (len(shape) < 3))[: max(3, len(shape))], arrays
    )


def _at_least(wanted: Callable[[tuple[int, ...]], tuple[int, ...]], arrays: Sequence[Any]) -> Any:
    found = [_reshaped(x, wanted) for x in arrays]
    return found[0] if len(found) == 1 else found


@node_of_values
def _reshaped(x: Any, wanted: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Any:
    have = tuple(shape(x))
    kept = wanted(have) == have and texture_kind(x) is None and not lists_values(x)
    return x if kept else reshape(x, wanted(have))  # a texture becomes an array

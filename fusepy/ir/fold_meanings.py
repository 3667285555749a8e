"""The meaning of folds in NumPy: reductions, scans and sorts of whole arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from fusepy.errors import ShapeError
from fusepy.ir.ops.folds import DESCENDING, PLACES, Fold, Functions
from fusepy.ir.types import Type
from fusepy.ir.value import Array

_NUMPY: dict[str, Callable[..., Array]] = {
    "sum": np.sum, "dot": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min, "var": np.var, "spread": np.var,
    "any": np.any, "all": np.all, "argmax": np.argmax, "argmin": np.argmin,
}  # fmt: skip
_ACCUMULATE: dict[str, Callable[..., Array]] = {
    "sum": np.cumsum, "prod": np.cumprod, "max": np.maximum.accumulate, "min": np.minimum.accumulate,
}  # fmt: skip


def folded(fold: Fold, array: Array, axes: Sequence[int], have: Type, functions: Functions) -> Array:
    """Folds these leading axes of `array`; its trailing axes are the components of elements of type `have`.

    Raises:
        ShapeError: for ``max`` and the like of no elements.
    """
    want = fold.type(have)
    batch = array.ndim - len(have.shape)
    kept = [d for d in range(batch) if d not in axes]
    moved = np.transpose(array, [*kept, *axes, *range(batch, array.ndim)])
    count = math.prod(array.shape[d] for d in axes)
    flat = moved.reshape([array.shape[d] for d in kept] + [count, *have.shape])
    check_count(fold.kind, count, math.prod(array.shape[d] for d in kept))
    axis = len(kept)
    if fold.kind == "call":
        total = np.broadcast_to(fold.start(have), flat.shape[:axis] + have.shape)
        for i in range(count):
            total = functions[fold.function](total, np.take(flat, i, axis))
        return np.asarray(total).astype(want.dtype)
    with np.errstate(all="ignore"):
        if fold.kind in ("mean", "var") and not count:
            return np.full(flat.shape[:axis] + want.shape, np.nan, want.dtype)
        done = np.asarray(_NUMPY[fold.kind](_wide(fold.kind, flat, want), axis=axis))
        return (done * count if fold.kind == "spread" else done).astype(want.dtype)


def scanned(fold: Fold, array: Array, axis: int, have: Type, functions: Functions) -> Array:
    """Replaces each element of `array` by the fold of the elements up to it along one leading axis."""
    want = fold.type(have)
    moved = np.moveaxis(array, axis, 0)
    if not len(moved):
        return array.astype(want.dtype)
    if fold.sorts:
        return np.moveaxis(sorted_places(fold.kind, moved), 0, axis).astype(want.dtype)
    if fold.kind == "call":
        total = np.broadcast_to(fold.start(have), moved.shape[1:])
        sums: list[Array] = [total]
        for element in moved:
            total = np.asarray(functions[fold.function](total, element))
            sums.append(total)
        done = np.stack(sums)
    else:
        with np.errstate(all="ignore"):
            done = np.asarray(_ACCUMULATE[fold.kind](_wide(fold.kind, moved, want), axis=0))
        first = np.full((1, *moved.shape[1:]), neutral(fold.kind, want), done.dtype)
        done = np.concatenate([first, done])
    return np.moveaxis(done[:-1] if fold.exclusive else done[1:], 0, axis).astype(want.dtype)


def neutral(kind: str, type: Type) -> float | int:
    """Returns the neutral element of a fold of `type`."""
    if kind in ("sum", "prod"):
        return int(kind == "prod")
    dtype = type.dtype
    assert dtype is not None, type
    if dtype.kind == "b":
        return kind == "min"
    if dtype.kind == "f":
        return -math.inf if kind == "max" else math.inf
    info = np.iinfo(dtype)
    return int(info.min if kind == "max" else info.max)


def check_count(kind: str, count: int, outputs: int, name: str = "") -> None:
    """Raises `ShapeError` for the largest or smallest of no elements, and for indices that do not fit an int."""
    if count == 0 and outputs and kind in ("max", "min", "argmax", "argmin"):
        raise ShapeError(
            f"{name and f'{name}: '}{kind}() of no elements",
            saw="an extent of 0 along the axes that are reduced",
            hint="check the size first, or append the value that is wanted for nothing",
        )
    if count >= 1 << 31 and kind in PLACES:
        raise ShapeError(
            f"{name and f'{name}: '}{kind}() over {count} elements, whose places an int cannot tell",
            expected=f"fewer than {1 << 31}",
            hint="reduce axis by axis",
        )


def _wide(kind: str, array: Array, want: Type) -> Array:
    """Converts elements to the type in which a device sums and multiplies."""
    wide = kind in ("sum", "dot", "mean", "var", "spread", "prod")
    return array.astype(np.float64 if want.is_float else want.dtype) if wide else array


def sorted_places(kind: str, array: Array) -> Array:
    """Returns the indices that sort `array` along its first axis; equal elements keep their order, and NaN is the largest.

    Example:
        >>> sorted_places("argsort_descending", np.float32([1, np.nan, 2, 1])).tolist()
        [1, 2, 0, 3]
    """
    if kind != DESCENDING:
        return np.argsort(array, axis=0, kind="stable")
    return len(array) - 1 - np.argsort(array[::-1], axis=0, kind="stable")[::-1]

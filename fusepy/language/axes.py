"""The axes of reductions and scans, read from arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from fusepy.errors import ArgumentError, ShapeError

Axis = int | Sequence[int] | None
_F = TypeVar("_F", bound=Callable[..., Any])
_ELSEWHERE = {"dim": "axis", "dims": "axis", "axes": "axis", "keepdim": "keepdims", "correction": "ddof"}
_OTHERWISE = {"dtype": "fp.{0}(fp.astype(x, float))", "out": "y[...] = fp.{0}(x)", "where": "fp.{0}(fp.where(x > 1, x, 0.0))"}


def numpys_words(function: _F) -> _F:
    """Adds an error for keywords of torch and NumPy that a function along axes does not take; its hint is the line to write."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for word in kwargs:
            known = word in _ELSEWHERE
            if known or word in _OTHERWISE:
                name = function.__name__
                line = f"{_ELSEWHERE[word]}={kwargs[word]!r}" if known else _OTHERWISE[word].format(name)
                raise ArgumentError(f"{name}() takes no {word}=", hint=f"write {line}")
        return function(*args, **kwargs)

    return cast("_F", call)


def axes_from(given: tuple[int, ...] | None, rank: int, name: str) -> tuple[int, ...]:
    """Returns the axes to reduce, in order, counted from the front.

    Raises:
        ShapeError: for axes out of range, or named twice.
    """
    if given is None:
        return tuple(range(rank))
    found: list[int] = []
    for axis in given:
        if not -rank <= axis < rank:
            raise ShapeError(
                f"{name}(): axis {axis} is out of range for an array of rank {rank}",
                saw=f"axis {axis}",
                expected=f"{-rank} to {rank - 1}" if rank else "no axis, for one single value",
                hint="axes are counted from 0, or from the end with negative numbers",
            )
        if axis % rank in found:
            raise ShapeError(
                f"{name}(): axis {axis} is named twice, for an array of rank {rank}",
                saw=f"axes {given}",
                hint="name each axis once",
            )
        found.append(axis % rank)
    return tuple(sorted(found))


def integers(axis: Axis, name: str) -> tuple[int, ...] | None:
    """Returns the axes as integers, ``None`` for all.

    Raises:
        ArgumentError: for anything else.
    """
    if axis is None:
        return None
    listed: list[Any] = list(axis) if isinstance(axis, Sequence) else [axis]
    for one in listed:
        if isinstance(one, bool) or not isinstance(one, (int, np.integer)):
            raise ArgumentError(
                f"{name}(): axis {one!r} is not an integer",
                expected="an integer, or several in a tuple",
                hint="count axes from 0",
            )
    return tuple(int(one) for one in listed)

"""Views as arithmetic on extents and strides. Each function returns the shape, the strides, and the start of a view.

Strides and starts are counted in elements. A stride of 0 repeats, a negative one runs backwards.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence, Set
from typing import Any, cast

import numpy as np

from fusepy.errors import IndexRangeError, ShapeError
from fusepy.ir.argmap import check_rank
from fusepy.ir.strides import contiguous_strides, is_contiguous
from fusepy.symbolic import static_hint

View = tuple[tuple[int, ...], tuple[int, ...], int]


def indexed(shape: tuple[int, ...], strides: tuple[int, ...], index: Any) -> View:
    """Computes ``tensor[index]`` for integers, slices, ``None`` and one ellipsis.

    Raises:
        ShapeError: for anything else.
        IndexRangeError: for an index beyond an extent.

    Example:
        >>> indexed((2, 3), (3, 1), (1, slice(None, None, -1)))
        ((3,), (-1,), 5)
    """
    given: list[Any] = list(cast("tuple[Any, ...]", index)) if isinstance(index, tuple) else [index]
    start = 0
    made_shape: list[int] = []
    made_strides: list[int] = []
    axis = 0
    for item in without_dots(given, len(shape)):
        if item is None:
            made_shape.append(1)
            made_strides.append(0)
            continue
        extent, stride = shape[axis], strides[axis]
        if isinstance(item, slice):
            first, stop, step = _bounds(cast("Any", item), extent)
            count = len(range(first, stop, step))
            start += first * stride if count else 0
            made_shape.append(count)
            made_strides.append(stride * step)
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            place = int(cast("int", item))
            at = place + extent if place < 0 else place
            if not 0 <= at < extent:
                raise IndexRangeError(
                    f"index {item} on axis {axis}", saw=shape, expected=f"below {extent}", hint="check the extents"
                )
            start += at * stride
        else:
            raise ShapeError(f"cannot index with {item!r}", hint="use integers, slices, None and ..., or arrays of integers")
        axis += 1
    return tuple(made_shape), tuple(made_strides), start


def _bounds(item: Any, extent: int) -> tuple[int, int, int]:
    try:
        return item.indices(extent)
    except (TypeError, ValueError):
        raise ShapeError("the bounds of a slice", saw=item, expected="integers", hint="its step is not 0") from None


def without_dots(given: list[Any], rank: int) -> list[Any]:
    """Returns the items of an index with the ellipsis expanded: one for each axis, and those that are ``None``."""
    taken = sum(item is not None and item is not Ellipsis for item in given)
    dots = [i for i, item in enumerate(given) if item is Ellipsis]
    if len(dots) > 1:
        raise ShapeError("an index holds more than one ellipsis", saw=repr(given)[:80], hint="write ... once")
    if taken > rank:
        raise ShapeError(f"{taken} indices into {rank} axes", saw=repr(given)[:80], hint="index each axis once")
    rest = [slice(None)] * (rank - taken)
    at = dots[0] if dots else len(given)
    return [*given[:at], *rest, *given[at + 1 :]]


def transposed(shape: tuple[int, ...], strides: tuple[int, ...], axes: Sequence[int] | None) -> View:
    """Permutes the axes; reverses them by default.

    Raises:
        ShapeError: if `axes` does not name every axis once.
    """
    order = tuple(reversed(range(len(shape)))) if axes is None else tuple(a + len(shape) if a < 0 else a for a in axes)
    if sorted(order) != list(range(len(shape))):
        hint = f"name every axis of shape {shape} once, in their new order"
        raise ShapeError("transpose names each axis once", saw=axes, expected=f"an order of {len(shape)} axes", hint=hint)
    return tuple(shape[a] for a in order), tuple(strides[a] for a in order), 0


def stretches(shape: Sequence[int], wanted: Sequence[int]) -> bool:
    """True if broadcasting makes an array of the extents `wanted` of one of `shape`."""
    lead = len(wanted) - len(shape)
    return lead >= 0 and all(n in (1, m) for n, m in zip(shape, wanted[lead:]))


def broadcast(shape: tuple[int, ...], strides: tuple[int, ...], wanted: tuple[int, ...]) -> View:
    """Broadcasts to `wanted` by NumPy's rule, without a copy: stretched axes have stride 0.

    Raises:
        ShapeError: if the shapes do not fit.
    """
    if any(n < 0 for n in wanted):
        raise ShapeError("a negative extent", saw=wanted, hint="extents are 0 or more")
    lead = len(wanted) - len(shape)
    pairs = list(zip(shape, wanted[lead:])) if lead >= 0 else []
    if lead < 0 or any(have not in (want, 1) for have, want in pairs):
        axis = next((i for i, (have, want) in enumerate(pairs) if have not in (want, 1)), 0)
        why = f"Current dimension {axis} is {shape[axis]}" if pairs else "Broadcast shape must be larger than tensor shape"
        hint = "extents must agree from the right, or be 1"
        raise ShapeError(f"cannot broadcast {shape} to {wanted}: {why}", saw=shape, expected=wanted, hint=hint)
    kept = tuple(s if have == want else 0 for s, (have, want) in zip(strides, pairs))
    return wanted, (0,) * lead + kept, 0


def reshaped(shape: tuple[int, ...], strides: tuple[int, ...], wanted: tuple[int, ...]) -> View:
    """Reshapes to other extents of as many elements; one of them may be -1.

    Raises:
        ShapeError: if the sizes differ, or the elements are not equally far apart.
    """
    wanted = extents_of(shape, wanted)
    if is_contiguous(shape, strides):
        return wanted, contiguous_strides(wanted), 0
    unit = next((s for n, s in zip(shape[::-1], strides[::-1]) if n != 1), 1)  # 2 for ``t[::2]``
    if not unit or not is_contiguous(shape, tuple(s // unit if s % unit == 0 else 0 for s in strides)):
        raise ShapeError(
            f"cannot reshape {shape} in place", saw=f"strides {strides}", expected="contiguous", hint="write t.contiguous() first"
        )
    return wanted, tuple(s * unit for s in contiguous_strides(wanted)), 0


def extents_of(shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the extents of a reshape, with the number that stands for one -1.

    Raises:
        ShapeError: if they are not as many elements.
    """
    size = math.prod(shape)
    known = math.prod(n for n in wanted if n != -1)
    if wanted.count(-1) == 1 and known and size % known == 0:
        wanted = tuple(size // known if n == -1 else n for n in wanted)
    if math.prod(wanted) != size or any(n < 0 for n in wanted):
        raise ShapeError(f"cannot reshape {shape}", saw=wanted, expected=f"{size} elements", hint="check the extents")
    return wanted


def strided(shape: tuple[int, ...], strides: tuple[int, ...], wanted: tuple[Sequence[int], Sequence[int], int]) -> View:
    """Returns any view: extents, strides, and the distance of its first element from that of the tensor.

    Raises:
        ShapeError: if a stride is missing or negative.
    """
    extents, steps, start = wanted
    if len(extents) != len(steps):
        raise ShapeError(
            f"Shape dimensions ({len(extents)}) must match stride dimensions ({len(steps)})",
            saw=f"shape {tuple(extents)}, strides {tuple(steps)}",
            hint="give one stride for each axis, in elements",
        )
    if any(s < 0 for s in steps):
        raise ShapeError("Strides must be positive, or 0", saw=tuple(steps), hint="write t[::-1] to go backwards")
    return tuple(extents), tuple(steps), start


def as_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    """Returns extents as a tuple.

    Raises:
        ShapeError: if an extent is negative, or there are too many.
    """
    extents = integers(shape, "a shape")
    if any(n < 0 for n in extents):
        raise ShapeError("a negative extent", saw=extents, hint="extents are 0 or more")
    check_rank(len(extents), "the tensor")
    return extents


def integers(given: Any, what: str) -> tuple[int, ...]:
    """Returns an integer, or the integers of a sequence or array, as a tuple.

    Raises:
        ShapeError: for anything else, such as floats, strings and bools.
    """
    try:
        if isinstance(given, (str, bytes, Mapping, Set)):
            raise TypeError
        single = isinstance(given, (int, np.integer)) or getattr(given, "shape", None) == ()  # tensors have integers too
        listed: list[Any] = [given] if single else list(cast("Sequence[Any]", given))
        if any(isinstance(n, bool) for n in listed):
            raise TypeError
        return tuple(operator.index(n) for n in listed)
    except TypeError:
        shown = repr(cast("Any", given))[:60]
        several = isinstance(given, (list, tuple))
        hint = static_hint(cast("Any", given if several else [given]), "write (height, width), or round first")
        raise ShapeError(f"{what} takes integers", saw=shown, hint=hint) from None


def numbers(given: Sequence[Any]) -> tuple[int, ...]:
    """Returns the extents of ``f(2, 3)`` or ``f((2, 3))`` as a tuple, unchecked: one may be -1."""
    return integers(given[0] if len(given) == 1 else given, "a shape")

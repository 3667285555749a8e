"""Arithmetic on extents and strides; strides are counted in elements, those of copies in bytes."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NoReturn

from fusepy.errors import ArgumentError

CopyAxis = tuple[int, int, int]  # extent, stride in bytes in the source, and in the target


class TensorShape(tuple[int, ...]):
    """TensorShape or strides of a tensor: a tuple with the methods of slangpy's ``Shape``.

    Example:
        >>> TensorShape((2, 3)).as_tuple(), TensorShape((2, 3)).calc_contiguous_strides()
        ((2, 3), (3, 1))
    """

    __slots__ = ()

    def as_tuple(self) -> tuple[int, ...]:
        """Returns the numbers as a plain tuple."""
        return tuple(self)

    def as_list(self) -> list[int]:
        """Returns the numbers as a list."""
        return list(self)

    def __call__(self, *axis: Any) -> NoReturn:
        raise _called("extents and strides are tuples", "write t.shape, or t.shape[0] for the extent of one axis")

    def calc_contiguous_strides(self) -> TensorShape:
        """Returns the strides of an array of these extents in C order, in elements."""
        return contiguous_strides(self)


class Count(int):
    """The number of elements of an array. Calling it, as torch's ``t.size()``, is an error with a hint."""

    __slots__ = ()

    def __call__(self, *axis: Any) -> NoReturn:
        raise _called("size is the number of elements", "write t.size, or t.shape[0] for the extent of one axis")


def _called(what: str, hint: str) -> ArgumentError:
    return ArgumentError(f"{what}: an attribute without a call", hint=hint)


@functools.lru_cache(maxsize=1024)
def contiguous_strides(shape: tuple[int, ...]) -> TensorShape:
    """Returns C-order strides in elements."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return TensorShape(reversed(strides))


def is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    dense = contiguous_strides(shape)
    return 0 in shape or all(n == 1 or s == w for n, s, w in zip(shape, strides, dense))


def span(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """Returns the half-open range of elements that a view touches, relative to its first one."""
    low = sum((n - 1) * s for n, s in zip(shape, strides) if s < 0)
    high = sum((n - 1) * s for n, s in zip(shape, strides) if s > 0)
    return low, high + 1


@functools.lru_cache(maxsize=1024)
def telling(shape: tuple[int, ...]) -> tuple[int | None, ...]:
    """Returns batch axes without their sizes, except trailing extents of 2 to 4, which a vector or matrix could consume."""
    dims: list[int | None] = [None] * len(shape)
    for axis in (-1, -2):
        if len(shape) >= -axis and 2 <= shape[axis] <= 4:
            dims[axis] = shape[axis]
        else:
            break
    return tuple(dims)


@functools.lru_cache(maxsize=1024)
def new_shape(extents: tuple[int, ...]) -> tuple[TensorShape, int, TensorShape, tuple[int | None, ...]]:
    """Returns the shape of a new tensor, its number of elements, its strides, and what `telling` returns. Calls make many."""
    shape = TensorShape(map(int, extents))  # equal numbers of NumPy come back as Python's
    return shape, Count(math.prod(shape)), contiguous_strides(shape), telling(shape)


# ---- copies between two memories --------------------------------------------------------------------------------------


def merged(shape: Sequence[int], nbytes: int, source: Sequence[int], target: Sequence[int]) -> list[CopyAxis]:
    """Returns the axes of a copy in bytes, as few as possible. The last axis runs through the bytes of an element.

    Example:
        >>> merged((2, 3), 4, (12, 4), (12, 4)), merged((2, 3), 4, (24, 8), (12, 4))
        ([(24, 1, 1)], [(6, 8, 4), (4, 1, 1)])
    """
    axes: list[CopyAxis] = [(nbytes, 1, 1)]
    for extent, s, t in reversed([*zip(shape, source, target)]):
        inner, inner_s, inner_t = axes[0]
        if extent == 1:
            continue
        if s == inner * inner_s and t == inner * inner_t:
            axes[0] = (extent * inner, inner_s, inner_t)
        else:
            axes.insert(0, (extent, s, t))
    return axes


def in_words(axes: Sequence[CopyAxis], addresses: Sequence[int]) -> tuple[int, list[CopyAxis]]:
    """Returns the size of the largest word that divides everything, and the axes in such words.

    Example:
        >>> in_words([(6, 8, 4), (4, 1, 1)], (64, 96))
        (4, [(6, 2, 1)])
    """
    *outer, (nbytes, _, _) = axes
    common = math.gcd(nbytes, *addresses, *(abs(step) for _, s, t in outer for step in (s, t)))
    size = math.gcd(common, 16)
    words = [(n, s // size, t // size) for n, s, t in outer]
    return size, [*words, (nbytes // size, 1, 1)] if nbytes != size or not words else words


def reciprocal(divisor: int) -> tuple[int, int]:
    """Returns a factor of 32 bits and a shift: ``n * factor >> shift`` is ``n // divisor`` for all n below 2^31.

    Source: Granlund and Montgomery, "Division by Invariant Integers using Multiplication", 1994, theorem 4.2.

    Example:
        >>> factor, shift = reciprocal(7)
        >>> 48 * factor >> shift, 49 * factor >> shift
        (6, 7)
    """
    shift = 31 + (divisor - 1).bit_length()
    return -(-(1 << shift) // divisor), shift

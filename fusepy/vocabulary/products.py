"""Products of arrays by NumPy's names: outer products, and sums of products over labelled axes."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from fusepy.errors import ArgumentError, ShapeError
from fusepy.language.elementwise import composed
from fusepy.language.movement.extents import made, ndim, seen_as_array
from fusepy.language.movement.graph_calls import node_of_values
from fusepy.language.movement.views import ravel, reshape
from fusepy.trace.moves.arguments import several_axes
from fusepy.trace.moves.products import Labels, summed_products
from fusepy.trace.trace import Trace

__all__ = ["einsum", "kron", "outer", "tensordot"]


@composed()
def outer(a: Any, b: Any) -> Any:
    """Returns the product of each element of `a` with each of `b`, as a matrix; arrays of more axes are ravelled.

    Example:
        >>> import fusepy as fp
        >>> fp.outer([1.0, 2.0], [1.0, 10.0, 100.0])
        [[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]]
    """
    return ravel(seen_as_array(a))[:, None] * ravel(seen_as_array(b))[None, :]


@composed()
def kron(a: Any, b: Any) -> Any:
    """Returns Kronecker's product: `a` with each element in the place of a whole `b`, multiplied by it.

    Example:
        >>> import fusepy as fp
        >>> fp.kron([1.0, 10.0], [1.0, 2.0, 3.0])
        [1.0, 2.0, 3.0, 10.0, 20.0, 30.0]
    """
    a, b = seen_as_array(a), seen_as_array(b)
    rank = max(a.ndim, b.ndim)
    first, second = ((1,) * (rank - x.ndim) + tuple(x.shape) for x in (a, b))
    a = reshape(a, [n for extent in first for n in (extent, 1)])
    b = reshape(b, [n for extent in second for n in (1, extent)])
    return reshape(a * b, [n * m for n, m in zip(first, second)])


def einsum(subscripts: str, *operands: Any) -> Any:
    """Returns sums of products, where each axis has a letter: ``einsum("ij,jk->ik", a, b)`` is ``a @ b``.

    The sum runs over letters that the result lacks. A letter that an operand has twice takes the diagonal. Without ``->`` the
    result has the letters that come once, in alphabetic order. ``...`` stands for axes in front that broadcast. Three and more
    operands are multiplied from left to right.

    Raises:
        ArgumentError: for subscripts that do not fit the number of operands or their axes.
        ShapeError: if axes of one letter differ.

    Example:
        >>> import fusepy as fp
        >>> fp.einsum("ij,ij->i", [[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0], [2.0, 2.0]]), fp.einsum("ii", [[1.0, 2.0], [3.0, 4.0]])
        ([3.0, 14.0], 5.0)
    """
    if not isinstance(subscripts, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # NumPy's other form
        raise _wrong(subscripts, "the letters of the axes first")
    return made("einsum", _einsum, operands, subscripts.replace(" ", ""))


def _einsum(trace: Trace, values: Sequence[Any], subscripts: str) -> Any:
    return summed_products(trace, values, *parsed(subscripts, [v.rank for v in values]))


def parsed(subscripts: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """Returns the labels of the axes of each operand, and of the result.

    Raises:
        ArgumentError: if they do not fit operands of these ranks.

    Example:
        >>> parsed("...i,i", (2, 1))
        ([('...0', 'i'), ('i',)], ('...0',))
    """
    left, arrow, right = subscripts.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise _wrong(subscripts, f"{len(ranks)} operands, with a comma between two")
    inputs = [_labels(subscripts, term, rank) for term, rank in zip(terms, ranks)]
    flat = [label for labels in inputs for label in labels]
    dots = sorted({label for label in flat if label.startswith("...")}, reverse=True)
    if not arrow:
        return inputs, (*dots, *sorted({b for b in flat if flat.count(b) == 1 and not b.startswith("...")}))
    front, point, behind = right.partition("...")
    output = (*front, *(dots if point else ()), *behind)
    if len({*output}) != len(output) or not {*output} <= {*flat} or (dots and not point):
        raise _wrong(subscripts, "a result whose letters stand once each, and are those of operands")
    return inputs, output


def _labels(subscripts: str, term: str, rank: int) -> Labels:
    """Returns the labels of the axes of an operand; those of ``...`` are counted from the last."""
    front, point, behind = term.partition("...")
    letters = front + behind
    count = rank - len(letters)
    if {*letters} - {*string.ascii_letters} or count < 0 or (count and not point):
        raise _wrong(subscripts, f"{rank} letters for an operand of {rank} axes, not {term!r}")
    return (*front, *(f"...{d}" for d in reversed(range(count))), *behind)


def _wrong(subscripts: Any, expected: str) -> ArgumentError:
    hint = "write a letter for each axis of each operand, such as ij,jk->ik for a product of matrices"
    return ArgumentError("einsum() of other axes", saw=subscripts, expected=expected, hint=hint)


@node_of_values
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Returns the products of `a` and `b`, summed along pairs of axes.

    Args:
        axes: how many of the last axes of `a` and the first of `b`; or the axes of `a` and those of `b`, in pairs.

    Raises:
        ShapeError: if they are not as many, or their extents differ.

    Example:
        >>> import fusepy as fp
        >>> fp.tensordot([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]])
        5.0
    """
    ranks = ndim(a), ndim(b)
    if isinstance(axes, int):
        axes = (tuple(range(ranks[0] - axes, ranks[0])), tuple(range(axes)))
    first, second = (several_axes(of, rank, "tensordot") for of, rank in zip(axes, ranks))
    if len(first) != len(second):
        raise ShapeError("tensordot() along other numbers of axes", saw=axes, hint="pair them")
    names = string.ascii_letters
    left = names[: ranks[0]]
    behind = iter(names[ranks[0] :])
    right = [left[first[second.index(d)]] if d in second else next(behind) for d in range(ranks[1])]
    kept = [b for d, b in enumerate(left) if d not in first] + [b for d, b in enumerate(right) if d not in second]
    return einsum(f"{left},{''.join(right)}->{''.join(kept)}", a, b)

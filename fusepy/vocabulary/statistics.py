"""NumPy's functions along axes, made of reductions and scans: variance, running sums, norms, comparisons of whole arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fusepy.arguments.mapping import vmap
from fusepy.errors import ArgumentError
from fusepy.language import math as _math
from fusepy.language import reductions
from fusepy.language.axes import Axis, in_type, numpys_words
from fusepy.language.differentiable import stop_gradient
from fusepy.language.elementwise import composed
from fusepy.language.fold_nodes import reduced, reduction
from fusepy.language.movement.extents import ndim, shape
from fusepy.language.movement.graph_calls import node_of_values
from fusepy.language.movement.views import ravel
from fusepy.vocabulary.arithmetic import isclose, traced
from fusepy.vocabulary.names import isinf, isnan
from fusepy.vocabulary.products import tensordot

__all__ = [
    "allclose", "amax", "amin", "array_equal", "count_nonzero", "cummax", "cummin", "cumprod", "cumsum", "inner",
    "logsumexp", "norm", "softmax", "std", "var",
]  # fmt: skip

amax, amin = reductions.max, reductions.min


@numpys_words
def var(x: Any, axis: Axis = None, ddof: float = 0, keepdims: bool = False, *, dtype: Any = None) -> Any:
    """Returns the variance of `x` along axes: the mean of ``(x - mean(x)) ** 2``, a float. It is as accurate as in two passes.

    Args:
        axis: one axis or several; ``None`` for all.
        ddof: what is subtracted from the number of elements; 1 for the estimate from a sample.
        keepdims: keep the axes, with extent 1.
        dtype: the type to compute in, and of the result.

    Example:
        >>> import fusepy as fp
        >>> fp.var([1.0, 2.0, 3.0]), fp.var([1.0, 2.0, 3.0], ddof=1)
        (0.6666666865348816, 1.0)
    """
    return in_type(lambda x: _var(x, axis, ddof, keepdims), x, dtype)


@numpys_words
def std(x: Any, axis: Axis = None, ddof: float = 0, keepdims: bool = False, *, dtype: Any = None) -> Any:
    """Returns the standard deviation of `x` along axes, the root of `var`. Where it is 0, its gradient is 0."""
    return in_type(lambda x: _std(x, axis, ddof, keepdims), x, dtype)


@composed("axis", "ddof", "keepdims")
def _var(x: Any, axis: Any, ddof: float, keepdims: bool) -> Any:
    x = traced(x)
    apart = x - reductions.mean(x, axis, keepdims=True)
    if not ddof:
        return reductions.mean(apart * apart, axis, keepdims)
    count = reductions.sum(x == x, axis, keepdims)  # NaN does not count, but then the sum is NaN anyway
    return reductions.sum(apart * apart, axis, keepdims) / _math.maximum(count - ddof, 0.0)


@composed("axis", "ddof", "keepdims")
def _std(x: Any, axis: Any, ddof: float, keepdims: bool) -> Any:
    return _root(_var(x, axis, ddof, keepdims))


def _root(x: Any) -> Any:
    """Returns the square root, with the gradient 0 at 0."""
    return _math.where(x == 0, 0.0, _math.sqrt(_math.where(x == 0, 1.0, x)))


def _running(name: str, kind: str, doc: str, first: int | None = 0) -> Callable[..., Any]:
    def function(x: Any, axis: int | None = first, *, dtype: Any = None) -> Any:
        if axis is None:
            x, axis = x if ndim(x) == 1 else ravel(x), 0
        return in_type(lambda x: reduced(x, reduction(kind, axis, scans=True)), x, dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return numpys_words(node_of_values(function))


cumsum = _running("cumsum", "sum", "Returns the running sums of `x` along an axis, by default of all elements; see `scan`.", None)
cumprod = _running("cumprod", "prod", "Returns the running products of `x` along an axis, by default of all elements.", None)
cummax = _running("cummax", "max", "Returns the running maximum of `x` along an axis, the first one by default; it keeps NaN.")
cummin = _running("cummin", "min", "Returns the running minimum of `x` along an axis, the first one by default; it keeps NaN.")


@composed("axis", "keepdims")
def count_nonzero(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Returns the number of elements along axes that are not 0; NaN is not. See `sum` for the arguments."""
    return reductions.sum(traced(x) != 0, axis, keepdims)


@composed("axis", "keepdims")
def logsumexp(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Returns ``log(sum(exp(x)))`` along axes, without overflow: the largest element is subtracted first.

    Example:
        >>> import fusepy as fp
        >>> fp.logsumexp([1000.0, 1000.0]) - 1000
        0.6931471824645996
    """
    total = reductions.sum(_math.exp(traced(x) - _largest(x, axis, True)), axis, keepdims)
    return _math.log(total) + _largest(x, axis, keepdims)


def _largest(x: Any, axis: Any, keepdims: bool) -> Any:
    """Returns the maximum along axes as a constant of gradients; 0 in place of infinities."""
    found = stop_gradient(reductions.max(x, axis, keepdims=keepdims))
    return _math.where(isinf(found), 0.0, found)


@numpys_words
@composed("axis")
def softmax(x: Any, axis: Axis = -1) -> Any:
    """Returns ``exp(x) / sum(exp(x))`` along axes, the last one by default, without overflow.

    Example:
        >>> import fusepy as fp
        >>> fp.softmax([1000.0, 1000.0])
        [0.5, 0.5]
    """
    powers = _math.exp(traced(x) - _largest(x, axis, True))
    return powers / reductions.sum(powers, axis, keepdims=True)


def norm(x: Any, ord: float | None = None, axis: Axis = None, keepdims: bool = False) -> Any:
    """Returns the norm of vectors along axes: the root of the sum of squares. Its gradient at 0 is 0.

    Args:
        ord: 1 for the sum of magnitudes, `inf` for the largest one; ``None`` or 2 for the Euclidean norm, which of a matrix is
            Frobenius's.
        axis: one axis or several; ``None`` for all.
        keepdims: keep the axes, with extent 1.

    Raises:
        ArgumentError: for another `ord`.

    Example:
        >>> import fusepy as fp
        >>> fp.norm([3.0, 4.0]), fp.norm([3.0, -4.0], 1), fp.norm([[3.0, 4.0], [6.0, 8.0]], axis=1)
        (5.0, 7.0, [5.0, 10.0])
    """
    if ord not in (None, 1, 2, math.inf):
        raise ArgumentError(f"norm() of order {ord!r}", expected="1, 2 or inf", hint="leave out ord")
    return _norm(x, ord, axis, keepdims)


@composed("ord", "axis", "keepdims")
def _norm(x: Any, ord: float | None, axis: Any, keepdims: bool) -> Any:
    x = traced(x) * 1.0
    if ord == 1:
        return reductions.sum(_math.abs(x), axis, keepdims)
    return reductions.max(_math.abs(x), axis, keepdims) if ord == math.inf else _root(reductions.sum(x * x, axis, keepdims))


@composed()
def inner(a: Any, b: Any) -> Any:
    """Returns the sums of products along the last axes of two arrays; of numbers their product."""
    a, b = traced(a), traced(b)
    if not a.rank or not b.rank:
        return a * b
    if a.rank > 2 or b.rank > 2:
        return tensordot(a, b, ((-1,), (-1,)))
    return _math.matmul(a, vmap(b, (1, 0)) if b.rank == 2 else b)


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """True if all elements of two arrays are close; see `isclose`."""
    return reductions.all(isclose(a, b, rtol, atol, equal_nan))


@composed("equal_nan")
def _equal(a: Any, b: Any, equal_nan: bool) -> Any:
    return reductions.all((traced(a) == b) | (isnan(a) & isnan(b)) if equal_nan else traced(a) == b)


@composed()
def _unequal(a: Any, b: Any) -> Any:
    return traced(False)  # in the container of the arrays


@node_of_values
def array_equal(a: Any, b: Any, equal_nan: bool = False) -> Any:
    """True if two arrays have the same shape and elements. With `equal_nan`, NaN equals NaN."""
    if shape(a) != shape(b):  # in a fused function the program is for these extents
        return _unequal(a, b)
    return _equal(a, b, equal_nan)

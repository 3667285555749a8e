"""NumPy's functions made of a few others: inverse hyperbolic functions, traces, polynomials, areas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fusepy.language import math as _math
from fusepy.language import reductions
from fusepy.language.elementwise import composed
from fusepy.language.movement.extents import ndim, seen_as_array
from fusepy.language.movement.graph_calls import node_of_values, of_parts, pieces
from fusepy.language.movement.joins import stack
from fusepy.language.movement.views import broadcast_to, ravel, split
from fusepy.trace.moves.arguments import one_axis
from fusepy.vocabulary.compositions import diff
from fusepy.vocabulary.creation import ones
from fusepy.vocabulary.matrices import diag, diagonal, tril
from fusepy.vocabulary.names import isinf, log1p
from fusepy.vocabulary.ramps import arange

__all__ = [
    "arccosh", "arcsinh", "arctanh", "corrcoef", "cov", "diagflat", "ediff1d", "heaviside", "hsplit", "indices", "isneginf",
    "isposinf", "logaddexp2", "polyval", "sinc", "trace", "trapezoid", "tri", "vecdot", "vsplit",
]  # fmt: skip


@composed()
def arcsinh(x: Any) -> Any:
    """Returns the inverse of `sinh`."""
    x = seen_as_array(x) * 1.0
    below = x < 0.0
    size = _math.where(below, -x, x)
    large = size > _far(x)  # whose square may be infinite; the two forms differ by less than a digit there
    near = _math.where(large, 1.0, size)
    found = log1p(near + near * near / (1.0 + _math.sqrt(1.0 + near * near)))
    found = _math.where(large, _math.log(_math.where(large, size, 1.0)) + math.log(2.0), found)
    return _math.where(x == 0.0, x, _math.where(below, -found, found))  # the sign of a zero


@composed()
def arccosh(x: Any) -> Any:
    """Returns the inverse of `cosh`, at least 0; NaN below 1."""
    x = seen_as_array(x) * 1.0
    large = x > _far(x)
    near = _math.where(large, 2.0, x) - 1.0
    far = _math.log(_math.where(large, x, 2.0)) + math.log(2.0)
    return _math.where(large, far, log1p(near + _math.sqrt(near * (near + 2.0))))


def _far(x: Any) -> float:
    """Returns a number of which the inverse of `sinh` is that of `exp` to all digits, and that has a square."""
    return {2: 2e2, 8: 1e8}.get(x.type.scalar.dtype.itemsize, 1e4)


@composed()
def arctanh(x: Any) -> Any:
    """Returns the inverse of `tanh`; infinite at -1 and 1, NaN beyond."""
    x = seen_as_array(x) * 1.0
    return 0.5 * (log1p(x) - log1p(-x))


@composed()
def sinc(x: Any) -> Any:
    """Returns ``sin(pi * x) / (pi * x)``, and 1 at 0."""
    angle = seen_as_array(x) * math.pi
    zero = angle == 0.0
    return _math.where(zero, 1.0, _math.sin(angle) / _math.where(zero, 1.0, angle))


@composed()
def heaviside(x: Any, y: Any) -> Any:
    """Returns 0 below 0, 1 above, and `y` at 0; NaN stays NaN."""
    x, y = seen_as_array(x) * 1.0, seen_as_array(y) * 1.0
    return _math.where(x == 0.0, y, _math.where(x < 0.0, 0.0, _math.where(x > 0.0, 1.0, x)))


@composed()
def logaddexp2(x: Any, y: Any) -> Any:
    """Returns ``log2(2 ** x + 2 ** y)`` without overflow."""
    x, y = seen_as_array(x) * 1.0, seen_as_array(y) * 1.0
    apart = _math.where(x == y, 0.0, -_math.abs(x - y))
    return _math.maximum(x, y) + log1p(_math.exp2(apart)) / math.log(2.0)


@composed()
def isposinf(x: Any) -> Any:
    """True where `x` is the positive infinity."""
    return isinf(x) & (x > 0)


@composed()
def isneginf(x: Any) -> Any:
    """True where `x` is the negative infinity."""
    return isinf(x) & (x < 0)


@composed("offset")
def trace(x: Any, offset: int = 0) -> Any:
    """Returns the sum of the diagonal of the first two axes, or of the one `offset` places to its right.

    Example:
        >>> import fusepy as fp
        >>> fp.trace([[1.0, 2.0], [3.0, 4.0]])
        5.0
    """
    return reductions.sum(diagonal(x, offset), -1)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> Any:  # noqa: N803  # NumPy's names
    """Returns a matrix with 1 on and below the diagonal, or the one `k` places to its right, and 0 above."""
    return tril(ones((N, N if M is None else M), dtype), k)


def indices(dimensions: Sequence[int]) -> Any:
    """Returns the indices of the elements of an array with these extents: ``indices((2, 3))[1]`` are those along axis 1."""
    extents = tuple(dimensions)
    along = [arange(n)[(slice(None), *[None] * (len(extents) - 1 - axis))] for axis, n in enumerate(extents)]
    return stack([broadcast_to(x, extents) for x in along])


@composed("k")
def diagflat(x: Any, k: int = 0) -> Any:
    """Returns a matrix with all elements of `x` on its diagonal, or the one `k` places to its right."""
    return diag(ravel(seen_as_array(x)), k)


@composed()
def ediff1d(x: Any) -> Any:
    """Returns the differences of neighbours among all elements, in C order."""
    return diff(ravel(seen_as_array(x)))


@composed("rowvar", "ddof")
def cov(x: Any, rowvar: bool = True, ddof: int = 1) -> Any:
    """Returns the covariances of the rows of `x`, or of its columns without `rowvar`: sums divided by the length less `ddof`."""
    x = seen_as_array(x)
    x = x[None] if x.ndim < 2 else x if rowvar else x.T
    apart = x - reductions.mean(x, 1, True)
    found = apart @ apart.T / (x.shape[1] - ddof)
    return found[0, 0] if x.shape[0] == 1 else found


@composed("rowvar")
def corrcoef(x: Any, rowvar: bool = True) -> Any:
    """Returns the correlations of the rows of `x`, or of its columns without `rowvar`: `cov` of rows of variance 1."""
    found = cov(x, rowvar)
    if not ndim(found):
        return found / found
    size = _math.sqrt(diagonal(found))
    return _math.clip(found / size[:, None] / size[None, :], -1.0, 1.0)


@composed("axis")
def vecdot(a: Any, b: Any, axis: int = -1) -> Any:
    """Returns the sums of products along one axis."""
    product = seen_as_array(a) * seen_as_array(b)
    return reductions.sum(product, axis)


@composed("axis")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Returns the area below `y` along an axis, between neighbours by straight lines; `x` are the places, or `dx` apart."""
    y = seen_as_array(y)
    at = one_axis(axis, y.ndim, "trapezoid")
    front = (slice(None),) * at
    means = (y[(*front, slice(1, None))] + y[(*front, slice(None, -1))]) * 0.5
    if x is None:
        return reductions.sum(means * dx, at)
    x = seen_as_array(x)
    if x.ndim == 1:
        steps = (x[1:] - x[:-1])[(slice(None), *[None] * (y.ndim - 1 - at))]
    else:
        steps = diff(x, axis=axis)
    return reductions.sum(means * steps, at)


@composed()
def polyval(p: Any, x: Any) -> Any:
    """Returns the polynomial with the coefficients `p`, the highest power first, at each `x`."""
    p = seen_as_array(p)
    one_axis(0, p.ndim, "polyval")
    found: Any = 0
    for k in range(p.shape[0]):
        found = found * x + p[k, ...]
    return found


@of_parts(pieces, list)
@node_of_values
def hsplit(x: Any, parts: Any) -> list[Any]:
    """Returns the parts of `split` along the second axis, or along the only one."""
    return split(x, parts, 0 if ndim(x) == 1 else 1)


@of_parts(pieces, list)
@node_of_values
def vsplit(x: Any, parts: Any) -> list[Any]:
    """Returns the parts of `split` along the first axis."""
    return split(x, parts, 0)

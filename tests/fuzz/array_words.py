"""NumPy's words of arrays as a table: the text of each over an operand and an axis, and its meaning."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz.arithmetic import compare, subtract, where
from tests.fuzz.element_words import Word, _near, at_most, equal, less
from tests.fuzz.elementwise import SEVERAL, UNARY, _truth, add, divide, multiply
from tests.fuzz.movement import _sorted
from tests.fuzz.reductions import reduce, scan
from tests.fuzz.values import Refused, Val, convert, make, number, special, strong


def _moved(f: Callable[..., Any]) -> Callable[[Val, int], Val]:
    """What moves elements, given the axis; both numbers and bounds."""

    def of(x: Val, axis: int) -> Val:
        return Val(x.scalar, (), *(f(a, axis) for a in (x.v, np.broadcast_to(x.e, x.v.shape))))

    return of


def _fold(kind: str, x: Val, axis: Any = None, keep: bool = False) -> Val:
    return reduce({"kind": kind, "axis": axis, "keepdims": keep}, x)[0]


def _scan(kind: str) -> Callable[[Val, int], Val]:
    return lambda x, axis: scan({"kind": kind, "axis": axis}, x)[0]


def _along(x: Val, axis: int, part: Any) -> Val:
    at = (slice(None),) * axis + (part,)
    return Val(x.scalar, (), x.v[at], np.broadcast_to(x.e, x.v.shape)[at])


def _diff(x: Val, axis: int) -> Val:
    after, before = _along(x, axis, slice(1, None)), _along(x, axis, slice(None, -1))
    return compare(np.not_equal)(after, before) if x.scalar == "bool" else subtract(after, before)


def _real(x: Val) -> Val:
    """An array of floats that are finite and no halfs, which round in an order of their own."""
    if x.scalar not in ("float", "double") or special(x):
        raise Refused("floats")
    return x


def _logsumexp(x: Val, axis: Any, keep: bool = False) -> Val:
    most = _fold("max", _real(x), axis, True)
    total = _fold("sum", UNARY["exp"](subtract(x, most)), axis, keep)
    return add(UNARY["log"](total), _fold("max", x, axis, keep))


def _quantile(part: float) -> Callable[[Val, int], Val]:
    def of(x: Val, axis: int) -> Val:
        rows = _sorted(_real(x), axis)
        at = part * (x.grid[axis] - 1)
        low = math.floor(at)
        first, second = (_along(rows, axis, i) for i in (low, min(low + 1, x.grid[axis] - 1)))
        return add(first, multiply(subtract(second, first), number(at % 1)))

    return of


def _trapezoid(x: Val, axis: int) -> Val:
    means = multiply(add(_along(x, axis, slice(1, None)), _along(x, axis, slice(None, -1))), number(0.5))
    return _fold("sum", means, axis)


def _gradient(x: Val, axis: int) -> Val:
    if x.grid[axis] < 2:
        raise Refused("two neighbours")
    slopes = _diff(multiply(x, number(1.0)), axis)
    before, after = _along(slopes, axis, slice(None, -1)), _along(slopes, axis, slice(1, None))
    middle = add(before, multiply(subtract(after, before), number(0.5)))
    parts = [_along(slopes, axis, slice(None, 1)), middle, _along(slopes, axis, slice(-1, None))]
    return Val(slopes.scalar, (), *(np.concatenate([getattr(p, k) for p in parts], axis) for k in ("v", "e")))


def _without_nan(kind: str) -> Callable[[Val, int], Val]:
    def of(x: Val, axis: int) -> Val:
        if kind in ("max", "min"):
            if special(x):
                raise Refused("NaN of a row")
            return _fold(kind, x, axis)
        there = UNARY["logical_not"](UNARY["isnan"](x))
        total = _fold("sum", where(there, x, number(0)), axis)
        return total if kind == "sum" else divide(total, _fold("sum", there, axis))

    return of


def _spread(x: Val, axis: int) -> Val:
    apart = subtract(_real(x), _fold("mean", x, axis, True))
    return divide(_fold("sum", multiply(apart, apart), axis), number(x.grid[axis]))


def _flat(x: Val) -> Val:
    return Val(x.scalar, (), x.v.reshape(-1), np.broadcast_to(x.e, x.v.shape).reshape(-1))


def _outer(x: Val) -> Val:
    x = _flat(x)
    return multiply(Val(x.scalar, (), x.v[:, None], x.e[:, None]), x)


def _rows_by_rows(x: Val) -> Val:
    """The products of all pairs of rows of a matrix."""
    if x.rank != 2 or special(x) or x.scalar in ("half", "bool") or "8" in x.scalar or "16" in x.scalar:
        raise Refused("a matrix")
    e = np.broadcast_to(x.e, x.v.shape)
    return _fold("sum", multiply(Val(x.scalar, (), x.v[:, None], e[:, None]), x), 2)


def _pairs(kind: str, together: Callable[[Val, Val], Val]) -> Callable[[Val, int], Val]:
    """A fold of what is computed of the elements of each pair of rows of a matrix."""

    def of(x: Val, axis: int) -> Val:
        if x.rank != 2 or special(x) or x.scalar == "bool":
            raise Refused("a matrix")
        e = np.broadcast_to(x.e, x.v.shape)
        return _fold(kind, together(Val(x.scalar, (), x.v[:, None], e[:, None]), x), 2)

    return of


def _cov(x: Val) -> Val:
    if x.rank != 2 or min(x.grid) < 2:
        raise Refused("a matrix")
    return divide(_rows_by_rows(subtract(_real(x), _fold("mean", x, 1, True))), number(x.grid[1] - 1))


def _corrcoef(found: Val) -> Val:
    own, e = (np.diagonal(a).copy() for a in (found.v, found.e))
    size = UNARY["sqrt"](Val(found.scalar, (), own, e))
    down = Val(size.scalar, (), size.v[:, None], size.e[:, None])
    return SEVERAL["clip"][1](divide(divide(found, down), size), number(-1.0), number(1.0))


def _among(f: Callable[..., Val], x: Val, others: Val) -> Val:
    """How many of others are before each element."""
    one = Val(x.scalar, (), x.v[..., None], np.broadcast_to(x.e, x.v.shape)[..., None])
    return _fold("sum", f(others, one), x.rank)


def _three(*numbers: float) -> Val:
    return make("float", (), np.asarray(numbers))


def _polyval(x: Val, axis: int) -> Val:
    found = number(0)
    for factor in (0.5, -1.0, 2.0):
        found = add(multiply(found, x), strong(number(factor)))
    return found


def _interp(x: Val, axis: int) -> Val:
    if x.scalar not in ("float", "half") or special(x):
        raise Refused("floats")
    v = np.interp(x.v.astype(float), [-1.0, 0.0, 2.0], [0.0, 4.0, 1.0])
    return make("float", (), v, 4 * np.broadcast_to(x.e, x.v.shape) + 2.0**-20)


def _convolve(turned: bool) -> Callable[[Val, int], Val]:
    def of(x: Val, axis: int) -> Val:
        x, factors = _flat(_real(x)), np.array([0.5, -1.0, 2.0])[:: -1 if turned else 1]
        padded = [np.pad(a, 2) for a in (x.v, x.e)]
        v, e = (np.stack([a[2 - j : len(x.v) + 4 - j] for j in range(3)], axis=-1) for a in padded)
        return _fold("sum", multiply(Val(x.scalar, (), v, e), make("float", (), factors)), 1)

    return of


def _like(value: float) -> Callable[[Val, int], Val]:
    return lambda x, axis: make(x.scalar, (), np.full(x.v.shape, value))


def _of_matrices(f: Callable[[Any], Any]) -> Callable[[Any, int], Any]:
    """A word that NumPy takes for rows as well, and fusepy does not."""

    def of(a: Any, axis: int) -> Any:
        if a.ndim < 2:
            raise Refused("a matrix")
        return f(a)

    return of


_moves: dict[str, tuple[str, Callable[..., Any]]] = {
    "tile": ("fp.tile({0}, 2)", lambda a, axis: np.tile(a, 2)),
    "rot90": ("fp.rot90({0})", lambda a, axis: np.rot90(a)),
    "fliplr": ("fp.fliplr({0})", lambda a, axis: np.fliplr(a)),
    "flipud": ("fp.flipud({0})", lambda a, axis: np.flipud(a)),
    "diagonal": ("fp.diagonal({0})", lambda a, axis: np.diagonal(a)),
    "diag": ("fp.diag(fp.ravel({0})[:8], 1)", lambda a, axis: np.diag(a.reshape(-1)[:8], 1)),
    "diagflat": ("fp.diagflat({0}[..., :2], -1)", lambda a, axis: np.diagflat(a[..., :2], -1)),
    "tril": ("fp.tril({0}, 1)", _of_matrices(lambda a: np.tril(a, 1))),
    "triu": ("fp.triu({0}, -1)", _of_matrices(lambda a: np.triu(a, -1))),
    "squeeze": ("fp.squeeze(fp.expand_dims({0}, {axis}), {axis})", lambda a, axis: a),
    "expand_dims": ("fp.expand_dims({0}, {axis})", np.expand_dims),
    "swapaxes": ("fp.swapaxes({0}, {axis}, 0)", lambda a, axis: np.swapaxes(a, axis, 0)),
    "ravel": ("fp.ravel({0})", lambda a, axis: a.reshape(-1)),
    "broadcast_to": ("fp.broadcast_to({0}, (2, *fp.shape({0})))", lambda a, axis: np.broadcast_to(a, (2, *a.shape))),
    "hstack": ("fp.hstack([{0}, {0}])", lambda a, axis: np.hstack([a, a])),
    "vstack": ("fp.vstack([{0}, {0}])", lambda a, axis: np.vstack([a, a])),
    "hsplit": ("fp.hsplit({0}, (1,))[1]", lambda a, axis: np.hsplit(a, [1])[1]),
    "vsplit": ("fp.vsplit({0}, (1,))[0]", lambda a, axis: a[:1]),
    "atleast_1d": ("fp.atleast_1d({0})", lambda a, axis: a),
    "atleast_2d": ("fp.atleast_2d({0})", lambda a, axis: np.atleast_2d(a)),
    "atleast_3d": ("fp.atleast_3d({0})", lambda a, axis: np.atleast_3d(a)),
    "meshgrid": ("fp.meshgrid({0}[..., 0], {0}[..., 0])[0]", lambda a, axis: np.meshgrid(a[..., 0], a[..., 0])[0]),
}
_rows: dict[str, tuple[str, Callable[[Val, int], Val]]] = {
    "take_along_axis": ("fp.take_along_axis({0}, fp.argsort({0}, axis={axis}), {axis})", lambda x, axis: _sorted(x, axis)),
    "trace": ("fp.trace({0})", lambda x, axis: _fold("sum", _moved(lambda a, _: np.diagonal(a))(x, axis), -1)),
    "cumsum": ("fp.cumsum({0}, {axis})", _scan("sum")),
    "cumprod": ("fp.cumprod({0}, {axis})", _scan("prod")),
    "cummax": ("fp.cummax({0}, {axis})", _scan("max")),
    "cummin": ("fp.cummin({0}, {axis})", _scan("min")),
    "count_nonzero": ("fp.count_nonzero({0}, {axis})", lambda x, axis: _fold("sum", _truth(x), axis)),
    "ptp": ("fp.ptp({0}, {axis})", lambda x, axis: subtract(_fold("max", x, axis), _fold("min", x, axis))),
    "average": ("fp.average({0}, {axis})", lambda x, axis: _fold("mean", x, axis)),
    "nansum": ("fp.nansum({0}, {axis})", _without_nan("sum")),
    "nanmean": ("fp.nanmean({0}, {axis})", _without_nan("mean")),
    "nanmax": ("fp.nanmax({0}, {axis})", _without_nan("max")),
    "nanmin": ("fp.nanmin({0}, {axis})", _without_nan("min")),
    "nanvar": ("fp.nanvar({0}, {axis})", _spread),
    "nanstd": ("fp.nanstd({0}, {axis})", lambda x, axis: UNARY["sqrt"](_spread(x, axis))),
    "median": ("fp.median({0}, {axis})", _quantile(0.5)),
    "quantile": ("fp.quantile({0}, 0.25, {axis})", _quantile(0.25)),
    "percentile": ("fp.percentile({0}, 75.0, {axis})", _quantile(0.75)),
    "logsumexp": ("fp.logsumexp({0}, {axis})", _logsumexp),
    "log_softmax": ("fp.log_softmax({0}, {axis})", lambda x, axis: subtract(x, _logsumexp(x, axis, True))),
    "diff": ("fp.diff({0}, 1, {axis})", _diff),
    "ediff1d": ("fp.ediff1d({0})", lambda x, axis: _diff(_flat(x), 0)),
    "trapezoid": ("fp.trapezoid({0}, None, 1.0, {axis})", _trapezoid),
    "gradient": ("fp.gradient({0}, axis={axis})", _gradient),
    "convolve": ("fp.convolve(fp.ravel({0}), fp.asarray([0.5, -1.0, 2.0]))", _convolve(False)),
    "correlate": ('fp.correlate(fp.ravel({0}), fp.asarray([0.5, -1.0, 2.0]), "full")', _convolve(True)),
    "vdot": ("fp.vdot({0}, {0})", lambda x, axis: _fold("sum", multiply(_real(x), x))),
    "vecdot": ("fp.vecdot({0}, {0}, {axis})", lambda x, axis: _fold("sum", multiply(_real(x), x), axis)),
    "outer": ("fp.outer({0}, {0})", lambda x, axis: _outer(x)),
    "kron": ("fp.kron(fp.ravel({0}), fp.ravel({0}))", lambda x, axis: _flat(_outer(x))),
    "inner": ("fp.inner({0}, {0})", lambda x, axis: _rows_by_rows(x)),
    "tensordot": ("fp.tensordot({0}, {0}, ((1,), (1,)))", lambda x, axis: _rows_by_rows(x)),
    "matmul": ("fp.matmul({0}, fp.transpose({0}))", lambda x, axis: _rows_by_rows(x)),
    "sum of pairs": ("fp.sum(fp.maximum({0}[:, None], {0}), 2)", _pairs("sum", SEVERAL["maximum"][1])),
    "maximum of pairs": ("fp.max({0}[:, None] + {0}, 2)", _pairs("max", add)),
    "place of pairs": ("fp.argmin({0}[:, None] - {0}, -1)", _pairs("argmin", subtract)),
    "cov": ("fp.cov({0})", lambda x, axis: _cov(x)),
    "corrcoef": ("fp.corrcoef({0})", lambda x, axis: _corrcoef(_cov(x))),
    "searchsorted": (
        "fp.searchsorted(fp.sort(fp.ravel({0})), {0})",
        lambda x, axis: _among(less, _real(x), _flat(x)),
    ),
    "digitize": (
        "fp.digitize({0}, fp.asarray([-1.0, 0.5, 2.0]))",
        lambda x, axis: _among(at_most, _real(x), _three(-1.0, 0.5, 2.0)),
    ),
    "interp": ("fp.interp({0}, fp.asarray([-1.0, 0.0, 2.0]), fp.asarray([0.0, 4.0, 1.0]))", _interp),
    "polyval": ("fp.polyval(fp.asarray([0.5, -1.0, 2.0]), {0})", _polyval),
    "one_hot": (
        "fp.one_hot({0}, 4)",
        lambda x, axis: convert(equal(make("int", (), np.arange(4)), Val(x.scalar, (), x.v[..., None], x.e[..., None])), "float"),
    ),
    "array_equal": ("fp.array_equal({0}, {0})", lambda x, axis: _fold("all", equal(x, x))),
    "allclose": ("fp.allclose({0}, {0})", lambda x, axis: _fold("all", _near(x, x))),
    "zeros_like": ("fp.zeros_like({0})", _like(0)),
    "ones_like": ("fp.ones_like({0})", _like(1)),
    "full_like": ("fp.full_like({0}, 1)", _like(1)),
    "arange": (
        "fp.add({0}, fp.arange(fp.shape({0})[-1]))",
        lambda x, axis: add(x, make("int", (), np.arange(x.grid[-1]))),
    ),
    "eye": ("fp.add({0}, fp.eye(fp.shape({0})[-1])[0])", lambda x, axis: add(x, make("float", (), np.eye(x.grid[-1])[0]))),
    "tri": (
        "fp.add({0}, fp.tri(fp.shape({0})[-1], k=1)[0])",
        lambda x, axis: add(x, make("float", (), np.tri(x.grid[-1], k=1)[0])),
    ),
    "full": ("fp.add({0}, fp.full(fp.shape({0}), 2.0))", lambda x, axis: add(x, make("float", (), np.full(x.grid, 2.0)))),
}
OF_ARRAYS: dict[str, Word] = {
    **{name: Word(text, 1, _moved(f)) for name, (text, f) in _moves.items()},
    **{name: Word(text, 1, of) for name, (text, of) in _rows.items()},
}

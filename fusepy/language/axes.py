"""The arguments of reductions and scans: axes, types, and functions that combine elements."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from fusepy.arguments.mapped import Mapped
from fusepy.backend.marshals.registry import device_of
from fusepy.backend.memory.host_arrays import as_array
from fusepy.errors import ArgumentError, ShapeError
from fusepy.functions.function import Function
from fusepy.ir.resolve.spelling import python_name
from fusepy.methods import FUNCTIONS
from fusepy.symbolic import static_hint
from fusepy.trace.moves.arguments import axis_hint
from fusepy.trace.traced import Traced

Axis = int | Sequence[int] | None
MISSING = object()  # the default of an argument that has not been passed
_F = TypeVar("_F", bound=Callable[..., Any])
_ELSEWHERE = {"dim": "axis", "dims": "axis", "axes": "axis", "keepdim": "keepdims", "correction": "ddof"}
_MASKED = {  # the line for ``where=`` of each function; {1} are the other keywords
    **{
        name: f"fp.{name}(fp.where(x > 1, x, {rest}){{1}})"
        for name, rest in (("sum", "0.0"), ("prod", "1.0"), ("max", "-fp.inf"), ("min", "fp.inf"))
    },
    "mean": "fp.sum(fp.where(x > 1, x, 0.0){1}) / fp.sum(x > 1{1})",
    "any": "fp.any((x > 1) & (x != 0){1})",
    "all": "fp.all((x <= 1) | (x != 0){1})",
}
_STARTED = {
    "sum": "fp.sum(x{1}) + {2}",
    "prod": "fp.prod(x{1}) * {2}",
    "max": "fp.maximum(fp.max(x{1}), {2})",
    "min": "fp.minimum(fp.min(x{1}), {2})",
}
_FALLING = {"sort": "-fp.sort(-x{1})"}
_OTHERWISE = {"where": _MASKED, "initial": _STARTED, "descending": _FALLING, "reverse": _FALLING}
_ANY = {
    "dtype": "fp.{0}(fp.astype(x, float){1})",
    "out": "y[...] = fp.{0}(x{1})",
    "where": "fp.{0}(fp.where(x > 1, x, 0.0){1})",
    "initial": "fp.{0}(x{1})",
    **dict.fromkeys(("descending", "reverse"), "fp.{0}(-x{1})"),
}


def numpys_words(function: _F) -> _F:
    """Adds an error for keywords of torch and NumPy that a function along axes does not take; its hint is the line to write."""
    named = inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for word in kwargs:
            if word not in named and (word in _ELSEWHERE or word in _ANY):
                raise _untaken(function.__name__, word, kwargs)
        return function(*args, **kwargs)

    return cast("_F", call)


def _untaken(name: str, word: str, kwargs: Mapping[str, Any]) -> ArgumentError:
    """Returns the error for a keyword that a function does not take."""
    if word in _ELSEWHERE:
        line = f"{_ELSEWHERE[word]}={kwargs[word]!r}"
    elif name in ("reduce", "scan"):
        first = repr(kwargs[word])[:30] if word == "initial" else "identity"
        line = f"fp.{name}(function, {first}, {'fp.where(x > 1, x, identity)' if word == 'where' else 'x'})"
    else:
        rest = "".join(f", {k}={v!r}" for k, v in kwargs.items() if k in ("axis", "keepdims"))
        line = _OTHERWISE.get(word, {}).get(name, _ANY[word]).format(name, rest, repr(kwargs[word])[:30])
    return ArgumentError(f"{name}() takes no {word}=", hint=f"write {line}")


def in_type(function: Callable[[Any], Any], x: Any, dtype: Any) -> Any:
    """Computes a function of `x` in a type, as ``dtype=`` of NumPy's sums says; ``None`` leaves the types as they are."""
    return function(x) if dtype is None else FUNCTIONS["astype"](function(FUNCTIONS["astype"](x, dtype)), dtype)


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
                hint=static_hint([one], axis_hint(one)),
            )
    return tuple(int(one) for one in listed)


def combining(name: str, function: Any, identity: Any, x: Any) -> tuple[Function, tuple[str, ...]]:
    """Returns a Slang function and its identity, as attributes of a node.

    Raises:
        ArgumentError: for anything else.
    """
    if not isinstance(function, Function):
        raise ArgumentError(
            "only a Slang function combines elements",
            saw=repr(cast("object", function))[:60],
            hint="pass a function of a module, m.combine; there are fp.sum, fp.max and the like for common cases",
        )
    swapped = x is not MISSING and np.isscalar(x) and not np.isscalar(identity)
    if swapped or isinstance(identity, (Traced, Mapped)) or device_of([identity]) is not None:  # the order of `functools.reduce`
        raise ArgumentError(
            f"{name}(): the identity comes before the array",
            saw=f"identity={identity!r:.60}",
            expected=f"{name}(function, identity, x)",
            hint=f"write fp.{name}({python_name(function.__name__)}, {repr(x) if swapped else '0.0'}, x), or identity=… and x=…",
        )
    try:
        numbers = as_array(identity).ravel()
    except ShapeError:  # ragged
        numbers = np.empty(0)
    if not numbers.size or numbers.dtype.kind not in "biuf":
        raise ArgumentError(
            f"the identity of {function.__name__} is no number",
            saw=repr(identity)[:60],
            hint="give a number, or a list with one per component",
        )
    if x is MISSING and numbers.size > _most_numbers(function):
        raise ArgumentError(
            f"{name}() of an array has an identity before it",
            saw=f"{function.__name__} and an array of {numbers.size} numbers",
            expected=f"{name}(function, identity, x)",
            hint=f"write fp.{name}({python_name(function.__name__)}, 0.0, x); in place of 0.0 the value that changes no element",
        )
    return function, tuple(repr(int(n) if n.dtype.kind == "b" else n.item()) for n in numbers)


def _most_numbers(function: Function) -> float:
    """Returns how many numbers an element of a combining function has at most; infinity for one of a type that is not known."""
    types = [param.type for signature in function.tracer.declared() for param in signature.params[:1]]
    return max((math.prod(t.shape) if t is not None and t.is_numeric else math.inf for t in types), default=math.inf)

"""`FUNCTIONS`: fusepy's functions by NumPy's names. `ArrayMethods`: those that tensors and traced values have as methods.

`NUMPYS` are the same as NumPy calls them, ``np.sum(t)``: to NumPy the components of vectors are axes.

Also the errors for NumPy's functions and operators that traced values do not have.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from fusepy.errors import TraceError

FUNCTIONS: dict[str, Callable[..., Any]] = {}  # `vocabulary.methods` fills both
NUMPYS: dict[str, Callable[..., Any]] = {}  # NumPy calls them for tensors and traced values


class ArrayMethods:
    """Methods as in NumPy: ``x.sum(axis=0)`` is ``fusepy.sum(x, axis=0)``, and its documentation is that of the function.

    On a traced value a field or method of its Slang type goes first: ``s.sum`` of a struct with a field `sum` is the field.
    """

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        """The number of an array of one element as Python formats it, ``f"{fp.mean(x):.3f}"``; without `spec` the array."""
        return format(cast("Any", self).item(), spec) if spec else str(self)

    def __round__(self, digits: int | None = None) -> Any:
        """The number of an array of one element as Python rounds it; ``x.round()`` rounds each element."""
        return round(cast("Any", self).item(), digits)

    all: Callable[..., Any]
    any: Callable[..., Any]
    argmax: Callable[..., Any]
    argmin: Callable[..., Any]
    argsort: Callable[..., Any]
    astype: Callable[..., Any]
    clip: Callable[..., Any]
    cumprod: Callable[..., Any]
    cumsum: Callable[..., Any]
    dot: Callable[..., Any]
    flatten: Callable[..., Any]
    max: Callable[..., Any]
    mean: Callable[..., Any]
    min: Callable[..., Any]
    prod: Callable[..., Any]
    ravel: Callable[..., Any]
    repeat: Callable[..., Any]
    round: Callable[..., Any]
    squeeze: Callable[..., Any]
    std: Callable[..., Any]
    sum: Callable[..., Any]
    swapaxes: Callable[..., Any]
    take: Callable[..., Any]
    var: Callable[..., Any]


METHODS = frozenset(ArrayMethods.__annotations__)


def takes(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """True if a function takes these arguments; NumPy's function of its name may have others, such as ``dtype=``."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


_REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}
_RUNNING = {"add": "cumsum", "multiply": "cumprod", "maximum": "cummax", "minimum": "cummin"}
_SCANS = {name: f"{word}(x, axis=0)" for name, word in _RUNNING.items()}


_LIKE = {  # functions that fusepy has otherwise
    "where": "write fusepy.where(condition, a, b); which elements are true is known when the function runs",
    "cross": "use fusepy.cross(a, b), of vectors of three components",
    "copy": "write x.copy()",
}


def no_function(name: str, known: bool) -> TraceError:
    """Returns the error for a NumPy function in a trace that fusepy does not have, or not with these arguments."""
    hint = "fusepy has no such function: compute it before the call, or in a Slang function"
    if name in _LIKE:
        hint = _LIKE[name]
    elif known:
        hint = f"use fusepy.{name}, and only the arguments that it has"
    return TraceError(f"numpy.{name}() of a traced value", hint=hint)


def ufunc_function(ufunc: Any, method: str, kwargs: Mapping[str, Any]) -> Callable[..., Any]:
    """Returns fusepy's function for one of NumPy's that is called with a traced or mapped value.

    Raises:
        TraceError: for a function without a traced form.
    """
    function = FUNCTIONS.get(ufunc.__name__)
    if function is None or method != "__call__" or kwargs:
        like = {"reduce": _REDUCTIONS, "accumulate": _SCANS}.get(method, {}).get(ufunc.__name__)
        if kwargs and function is not None and method == "__call__":
            hint = f"leave out {', '.join(f'{k}=' for k in kwargs)}"
        else:
            hint = f"use fusepy.{like}" if like else "compute it before the call, or in a Slang function"
        what = f"numpy.{ufunc.__name__}{'' if method == '__call__' else '.' + method}() of a traced value"
        raise TraceError(what, hint=hint)
    return function


def no_modulus(value: Any) -> TraceError:
    """Returns the error for ``pow(a, b, c)``, the only operator with a third operand."""
    return TraceError("pow() with a modulus", saw=repr(value)[:80], hint="write pow(a, b) % c")

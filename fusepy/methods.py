"""`FUNCTIONS`: fusepy's functions by NumPy's names. `ArrayMethods`: those that tensors and traced values have as methods.

`NUMPYS` are the same as NumPy calls them, ``np.sum(t)``: to NumPy the components of vectors are axes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

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

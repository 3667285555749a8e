"""NumPy's own functions of vectors: NumPy has numbers only, so the components are axes to it (decision 027)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fusepy.ir.types import Type
from fusepy.pytree import flatten

_ELEMENTWISE = {  # functions of NumPy that are no ufuncs, and give each component what NumPy gives each number
    "around", "astype", "clip", "full_like", "isneginf", "isposinf", "nan_to_num", "ones_like", "round", "select", "sinc",
    "where", "zeros_like",
}  # fmt: skip


def on_numbers(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns what ``numpy.<name>(t)`` runs: a function for which components are trailing axes, as in ``numpy.asarray(t)``."""
    if name in _ELEMENTWISE:
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        if not any(_has_components(leaf) for leaf in leaves):
            return function(*args, **kwargs)
        given, named = structure.fill([leaf.flatten_dtype() if _has_components(leaf) else leaf for leaf in leaves])
        return function(*given, **named)

    return call


def _has_components(value: Any) -> bool:
    """True for tensors and traced values of vectors, matrices and fixed arrays of numbers."""
    type = getattr(value, "dtype", None)
    return isinstance(type, Type) and bool(type.shape) and type.scalar is not None

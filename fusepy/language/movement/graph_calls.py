"""Calls of fusepy's own functions with values of graphs: each is a node."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sized
from typing import Any, TypeVar, cast

from fusepy.errors import GraphError
from fusepy.functions.nodes import GraphValue, Use, graph_values
from fusepy.location import user_line
from fusepy.pytree import LEAF

_F = TypeVar("_F", bound=Callable[..., Any])


def node_of_values(function: _F) -> _F:
    """Makes a function a node where it is called with values of a graph, whose extents are not known yet."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return called(function, function.__name__, *args, **kwargs)

    return cast("_F", call)


def of_parts(count: Callable[..., int], kind: Callable[[list[Any]], Any] = tuple) -> Callable[[_F], _F]:
    """Returns a decorator for a function that returns `count` values, as its arguments say: so it does of values of a graph."""

    def decorate(function: _F) -> _F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            made = function(*args, **kwargs)
            return kind([made[i] for i in range(count(*args, **kwargs))]) if isinstance(made, GraphValue) else made

        return cast("_F", call)

    return decorate


def pieces(x: Any, parts: Any, axis: int = 0) -> int:
    """Returns how many arrays a split gives."""
    return operator.index(parts) if isinstance(parts, GraphValue) or not isinstance(parts, Sized) else len(parts) + 1


def called(function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
    """Returns the result of a call, or its node if it has values of a graph."""
    try:
        return function(*args, **kwargs)
    except GraphError as error:
        return or_node(error, function, name, *args, **kwargs)


def or_node(error: GraphError, function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
    """Returns the node of a call that was refused with `error`, since it has values of a graph; raises `error` without any."""
    if not graph_values([args, kwargs]):
        raise error
    return Use(function, name, args, kwargs, user_line()).returning(LEAF)

"""Structures of results: what a fused function returns may be nested tuples, lists, dicts and dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, cast

from fusepy.arguments.mapping import Mapped
from fusepy.errors import ArgumentError
from fusepy.trace.traced import Traced

Rebuild = Callable[[list[Any]], Any]


def flatten(result: Any, leaves: list[Any], name: str, is_leaf: Callable[[Any], bool] = lambda value: False) -> Rebuild:
    """Collects the leaves of a result and returns what puts new leaves into the same structure.

    Args:
        is_leaf: says which nested values are leaves as they are.

    Raises:
        ArgumentError: for a leaf that no kernel can produce.
    """
    if result is None:
        return lambda values: None
    if is_leaf(result):
        leaves.append(result)
        return hand_back
    if isinstance(result, (list, tuple)):
        join = _children(cast("Sequence[Any]", result), leaves, name, is_leaf)
        kind = cast("Any", type(cast("Any", result)))
        if hasattr(kind, "_fields"):  # a named tuple
            return lambda values: kind(*join(values))
        return lambda values: kind(join(values))
    if isinstance(result, dict):
        given = cast("dict[Any, Any]", result)
        keys = list(given)
        join = _children(list(given.values()), leaves, name, is_leaf)
        return lambda values: dict(zip(keys, join(values)))
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        names = [f.name for f in dataclasses.fields(result) if f.init]
        join = _children([getattr(result, n) for n in names], leaves, name, is_leaf)
        cls = type(result)
        return lambda values: cls(**dict(zip(names, join(values))))
    if not isinstance(result, (Traced, Mapped, bool, int, float)) and not hasattr(result, "shape"):
        raise ArgumentError(
            f"{name}() returns a {type(result).__name__}",
            saw=repr(result)[:60],
            expected="traced values, numbers, or tuples, lists, dicts and dataclasses of them",
            hint="return what the Slang calls returned",
        )
    leaves.append(result)
    return hand_back


def _children(
    items: Sequence[Any], leaves: list[Any], name: str, is_leaf: Callable[[Any], bool]
) -> Callable[[list[Any]], list[Any]]:
    """Flattens each item; what is returned rebuilds all of them from their leaves."""
    cuts = [0]
    parts: list[Rebuild] = []
    start = len(leaves)
    for item in items:
        parts.append(flatten(item, leaves, name, is_leaf))
        cuts.append(len(leaves) - start)
    return lambda values: [part(values[a:b]) for part, a, b in zip(parts, cuts, cuts[1:])]


def hand_back(results: list[Any]) -> Any:
    """Results as Python functions return them: nothing, one value, or a tuple."""
    return None if not results else results[0] if len(results) == 1 else tuple(results)


def outline(result: Any) -> str:
    """The structure of a result without its leaves: ``(*, {'a': *})``.

    Example:
        >>> outline((1.0, [2.0, 3.0], {"a": None}))
        "(*, [*, *], {'a': None})"
    """
    if result is None:
        return "None"
    if isinstance(result, (list, tuple)):
        items = ", ".join(map(outline, cast("Sequence[Any]", result)))
        kind = type(cast("Any", result)).__name__
        return f"[{items}]" if isinstance(result, list) else f"({items})" if kind == "tuple" else f"{kind}({items})"
    if isinstance(result, dict):
        return "{" + ", ".join(f"{k!r}: {outline(v)}" for k, v in cast("dict[Any, Any]", result).items()) + "}"
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        fields = [f.name for f in dataclasses.fields(result) if f.init]
        return f"{type(result).__name__}({', '.join(f'{n}={outline(getattr(result, n))}' for n in fields)})"
    return "*"


def leaf_paths(result: Any, path: str) -> list[str]:
    """What the leaves of a result are called that is called `path`, in the order of `flatten`.

    Example:
        >>> leaf_paths((1.0, {"a": 2.0}), "c")
        ['c[0]', "c[1]['a']"]
    """
    if result is None:
        return []
    parts: list[tuple[str, Any]]
    if isinstance(result, (list, tuple)):
        parts = [(f"{path}[{i}]", v) for i, v in enumerate(cast("Sequence[Any]", result))]
    elif isinstance(result, dict):
        parts = [(f"{path}[{k!r}]", v) for k, v in cast("dict[Any, Any]", result).items()]
    elif dataclasses.is_dataclass(result) and not isinstance(result, type):
        parts = [(f"{path}.{f.name}", getattr(result, f.name)) for f in dataclasses.fields(result) if f.init]
    else:
        return [path]
    return [name for inner, value in parts for name in leaf_paths(value, inner)]

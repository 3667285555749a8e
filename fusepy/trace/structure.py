"""The structure of results and carries: pytrees of values that a kernel can compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fusepy.arguments.mapped import Mapped
from fusepy.errors import ArgumentError
from fusepy.pytree import Structure, flatten
from fusepy.trace.traced import Traced


def flatten_values(values: Any, name: str, is_leaf: Callable[[Any], bool] = lambda value: False) -> tuple[list[Any], Structure]:
    """Returns the leaves and the structure of the results or arguments of the function `name`; mapped values are leaves.

    Args:
        is_leaf: True for other containers that are leaves.

    Raises:
        ArgumentError: for a leaf that no kernel can produce.
    """
    leaves, structure = flatten(values, lambda v: isinstance(v, Mapped) or is_leaf(v))
    for leaf in leaves:
        if not isinstance(leaf, (Traced, Mapped, bool, int, float)) and not hasattr(leaf, "shape") and not is_leaf(leaf):
            raise ArgumentError(
                f"{name}() returns a {type(leaf).__name__}",
                saw=repr(leaf)[:60],
                expected="traced values, numbers, or tuples, lists, dicts and dataclasses of them",
                hint="return what the Slang calls returned",
            )
    return leaves, structure

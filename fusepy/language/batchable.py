"""`Batchable`: lists of values or structs as batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from fusepy.arguments.fields import TYPE
from fusepy.arguments.mapped import Mapped
from fusepy.arguments.nested import Tree, check_finite
from fusepy.backend.marshals.registry import kind_of_class
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ArgumentError
from fusepy.ir.argmap import ArgMap
from fusepy.language.movement.joins import stack


class Batchable:
    """A list as a batch: its elements run along the grid, even if the parameter could take the whole list.

    ``Batchable([1, 2, 3])`` is a batch of three numbers. Dicts or objects with equal fields become one nested argument with
    a batch in every field.

    Raises:
        ArgumentError: for elements whose fields differ, and for anything but a list.

    Example:
        >>> Batchable([1.0, 2.0])
        [1.0, 2.0] vmap(d0)
        >>> Batchable([{"x": 1, "y": 2}, {"x": 3, "y": 4}])
        {'x': [1, 3] vmap(d0), 'y': [2, 4] vmap(d0)}
    """

    def __new__(cls, items: Sequence[Any]) -> Any:
        if not isinstance(cast("Any", items), (list, tuple)) or not items:
            if hasattr(items, "shape"):
                return items  # tensors are batches already
            raise ArgumentError("Batchable takes a list", saw=repr(items)[:60], hint="wrap the list of values: Batchable([a, b])")
        for item in items:
            check_finite(item, "Batchable")
        return _transposed(list(items), "Batchable")


def _transposed(items: list[Any], path: str) -> Any:
    trees = [Tree.of(item, path) for item in items]
    first = trees[0]
    if first is None:
        if any(t is not None for t in trees):
            raise ArgumentError(f"{path}: some elements have fields and others have none", hint="give every element one shape")
        return Mapped(_stacked(items), ArgMap((0,)))
    for i, tree in enumerate(trees):
        if tree is None or tree.fields.keys() != first.fields.keys() or tree.type != first.type:
            raise ArgumentError(
                f"{path}: element {i} has other fields than element 0",
                saw=", ".join(tree.fields) if tree else repr(items[i])[:40],
                expected=", ".join(first.fields),
                hint="a batch holds structs of one kind",
            )
    named = {} if first.type is None else {TYPE: first.type}
    return named | {
        name: _transposed([t.fields[name] for t in trees if t is not None], f"{path}.{name}") for name in first.fields
    }


def _stacked(items: list[Any]) -> Any:
    """Stacks equal leaves: arrays to an array, tensors to a tensor, also those of torch. Other leaves stay a list."""
    first = items[0]
    alike = len({(cast("Any", type(i)), getattr(i, "shape", None), getattr(i, "dtype", None)) for i in items}) == 1
    if alike and isinstance(first, Tensor):
        return Tensor.from_numpy(first.device, np.stack([i.to_numpy() for i in items]), first.element)
    if alike and isinstance(first, (np.ndarray, np.void)):
        return np.stack(items)
    kind = kind_of_class(first.__class__)
    if alike and kind is not None and kind.tracked is not None:
        return stack(items)
    return [cast("Any", i).tolist() if isinstance(i, np.ndarray) else i for i in items]


def is_batchable_like(value: Any) -> bool:
    """True if a value is a batch by itself: an array, a tensor, or a result of `Batchable`, but no bare list.

    Example:
        >>> is_batchable_like(np.zeros(3)), is_batchable_like([1, 2, 3])
        (True, False)
    """
    if isinstance(value, Mapped):
        return value.map.dims is not None
    return bool(getattr(value, "shape", ()))

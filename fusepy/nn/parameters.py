"""Parameters: tensors in any structure, and by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from fusepy.backend.device.device import Device
from fusepy.backend.device.open import default_device
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ArgumentError
from fusepy.pytree import Structure, flatten


def parameters(tree: Any, device: Device | None = None) -> Any:
    """Returns the same structure with its arrays as tensors on a device, which a training step changes in place.

    Args:
        tree: arrays, tensors and numbers in dicts, lists, tuples or dataclasses, to any depth. A list of numbers is one array,
            as in calls. Arrays of float64 become float32.
        device: by default the default device.

    Raises:
        ArgumentError: for a leaf that is no array of floats.

    Example:
        >>> import fusepy as fp, numpy as np
        >>> fp.nn.parameters({"scale": np.ones(3)})["scale"].dtype
        float
    """
    leaves, structure = flatten(tree, lambda part: isinstance(part, list) and _extents(part) is not None)
    return structure.fill([_tensor(leaf, path, device) for leaf, path in zip(leaves, structure.paths("parameters"))])


def _extents(part: Any) -> tuple[int, ...] | None:
    """Returns the extents of an array of Python's numbers in lists; ``None`` for anything else."""
    if not isinstance(part, list):
        return () if isinstance(part, (int, float)) and not isinstance(part, bool) else None
    inner = {_extents(each) for each in cast("list[Any]", part)}
    first = inner.pop() if len(inner) == 1 else None
    return None if first is None else (len(cast("list[Any]", part)), *first)


def _tensor(leaf: Any, path: str, device: Device | None) -> Tensor:
    if isinstance(leaf, Tensor):
        if leaf.dtype.scalar is not None and not leaf.dtype.is_float:
            raise _no_floats(path, str(leaf.dtype), "make it of array.astype('float32'), or pass it beside the parameters")
        return leaf
    array = np.asarray(leaf.detach().cpu() if hasattr(leaf, "detach") else leaf)  # a tensor of torch
    if array.dtype.kind != "f" and _extents(leaf) is None:
        raise _no_floats(path, f"{type(leaf).__name__} of {array.dtype}", "use array.astype('float32')")
    return Tensor.from_numpy(device or default_device(), array if array.dtype == np.float16 else array.astype(np.float32))


def _no_floats(path: str, saw: str, hint: str) -> ArgumentError:
    return ArgumentError(
        f"{path} cannot be trained: parameters are floats, or structs of floats",
        saw=saw,
        expected="half, float or double",
        hint=hint,
    )


def named(tree: Any) -> dict[str, Any]:
    """Returns the leaves of a structure by name, flat: ``{"layers.0.weight": …}``.

    Example:
        >>> import fusepy as fp
        >>> fp.nn.named({"layers": [{"weight": 1.0}], "bias": 2.0})
        {'layers.0.weight': 1.0, 'bias': 2.0}
    """
    leaves, structure = flatten(tree)
    return dict(zip(names_of(structure), leaves))


def names_of(structure: Structure) -> list[str]:
    """Returns the names of the leaves of a structure."""
    return [path.replace("['", ".").replace("']", "").replace("[", ".").replace("]", "").strip(".") for path in structure.paths()]


def expect_tensors(tree: Any, leaves: Sequence[Any]) -> None:
    """Raises `ArgumentError` for parameters that a training step cannot change in place. `leaves` are those of `tree`."""
    plain = all([leaf.__class__ is Tensor and leaf.dtype.is_float for leaf in leaves])  # noqa: C419  # on every step
    for leaf, tensor in () if plain else zip(leaves, flatten(parameters(tree))[0]):
        if leaf is not tensor:
            of, made = (
                type(leaf).__module__.partition(".")[0],
                "make them once, before the first step: params = fp.nn.parameters(params)",
            )
            raise ArgumentError(
                "a training step changes its parameters in place, and they are no tensors",
                saw=f"torch.{type(leaf).__name__}" if of == "torch" else type(leaf).__name__,
                expected="fusepy's Tensors in any structure",
                hint=made + " copies them, or train them by an optimiser of torch (docs/guide/torch.md)" * (of == "torch"),
            )
    if not leaves:
        raise ArgumentError("a training step without parameters", hint="pass the parameters as the first argument")
    if len(set(map(id, leaves))) < len(leaves):
        raise ArgumentError(
            "two parameters are one tensor, and each would be changed by itself",
            saw=f"{len(leaves)} parameters, {len(set(map(id, leaves)))} tensors",
            hint="give it one name, and use that wherever the loss needs it",
        )

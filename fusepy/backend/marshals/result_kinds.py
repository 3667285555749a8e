"""Containers of results: how a result becomes what the call returns, and what a result can be written to.

``return_type(…)`` and ``_result=`` name a container by a word or by its class. A call that is given none hands back what it was
given: the first of `LEADS` among the containers of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from fusepy.backend.device.device import Device
from fusepy.backend.marshals import torch as torch_tensor
from fusepy.backend.marshals.foreign import SlangpyResults, slangpy_tensor_class
from fusepy.backend.marshals.resource import adopt_buffer, is_buffer
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.host_arrays import mask_error
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ArgumentError, ShapeError, UnsupportedArgumentError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.types import Type

Array = np.ndarray[Any, np.dtype[Any]]
LEADS = ("tensor", "torch", "slangpy", "numpy", "list", "vector", "scalar")
_NAMES: dict[Any, str] = {
    "tensor": "tensor", Tensor: "tensor", "numpy": "numpy", np.ndarray: "numpy", "list": "list", list: "list",
    "scalar": "scalar", float: "scalar", int: "scalar", bool: "scalar", "torch": "torch", "slangpy": "slangpy",
    slangpy_tensor_class(): "slangpy", "texture": "texture",
}  # fmt: skip


def container_named(container: Any) -> str:
    """The container behind what `return_type` is given.

    Raises:
        ArgumentError: for anything else.
        MissingPackageError: for torch, where it is not installed.
    """
    try:
        found = _NAMES.get(container)
    except TypeError:  # unhashable, so no name either
        found = None
    if found is None and isinstance(container, type):
        cls = cast("type[Any]", container)
        found = "tensor" if issubclass(cls, Tensor) else "torch" if torch_tensor.is_class(cls) else None
    if found is None:
        raise ArgumentError(
            "not a container for results",
            saw=repr(container)[:60],
            expected="'tensor', 'numpy', 'list', 'scalar', 'torch', 'slangpy', or one of their classes",
            hint="pass one of these words, e.g. 'numpy', or one of the classes",
        )
    if found == "torch":
        torch_tensor.need_torch()
    return found


def _to_list(tensor: Tensor) -> Any:
    array = tensor.to_numpy()
    if array.dtype.names is not None:
        return array  # a list of tuples would no longer say which struct it holds
    return array.item() if array.ndim == 0 else array.tolist()


def _to_vector(tensor: Tensor) -> Any:
    """Vectors as arrays, which slangpy's vectors become as results, and single numbers as numbers."""
    return tensor.to_numpy() if tensor.shape or tensor.element.shape else _to_list(tensor)


def _same(tensor: Tensor) -> Tensor:
    return tensor


HAND_OUT: dict[str, Callable[[Tensor], Any]] = {
    "tensor": _same,
    "numpy": Tensor.to_numpy,
    "list": _to_list,
    "vector": _to_vector,
    "scalar": _to_list,
    "torch": torch_tensor.hand_out,
    "slangpy": _to_vector,  # what has no axes, which slangpy's own calls return so too
    "texture": _same,  # beside what goes into textures
}

# Containers whose memory is made before the call, so that the kernel writes into it: from device, shape, element, arguments;
# ``None`` where the container cannot hold the result, and it is handed out
MAKE: dict[str, Callable[[Device, tuple[int, ...], Element, Sequence[Any]], Any]] = {
    "slangpy": SlangpyResults.make,
    "torch": torch_tensor.make,
}


def target_of(given: Any, device: Device, name: str, element: Element) -> Tensor | Array:
    """What a kernel, or a copy behind it, writes for a destination that the caller gave: its memory.

    Args:
        element: what is written, as which the memory of a buffer is seen.

    Raises:
        ArgumentError: for what cannot receive a result.
        ShapeError, UnsupportedArgumentError: for memory that this device does not write to.
    """
    if isinstance(given, np.ma.MaskedArray):
        error = mask_error(given)
        error.what = f"{name}: {error.what}"
        raise error
    if isinstance(given, (Tensor, np.ndarray)):
        return cast("Tensor | Array", given)
    if is_buffer(given):
        return adopt_buffer(given, element, device, name, writes=True)
    cls = cast("type[Any]", type(given))
    found = _WRITABLE.get(cls)
    if found is None:
        if torch_tensor.is_class(cls):
            found = torch_tensor.target
        elif isinstance(given, slangpy_tensor_class()):
            found = SlangpyResults.target
        else:
            raise ArgumentError(
                f"{name}: a {type(given).__name__} cannot receive a result",
                saw=repr(given)[:60],
                expected="a Tensor, a NumPy array, a torch tensor, or a tensor or buffer of slangpy",
                hint="leave it away to have the result returned",
            )
        _WRITABLE[cls] = found
    return found(given, device, name)


_WRITABLE: dict[type, Callable[[Any, Device, str], Any]] = {}


def in_grid_order(given: Tensor | Array, dims: tuple[int, ...], shape: tuple[int, ...], name: str) -> Tensor | Array:
    """A destination whose leading axes run along these dimensions of its result as a view in the order of the grid.

    Raises:
        ShapeError: if its extents are not those of the result.
    """
    wanted = tuple(shape[d] for d in dims)
    if dims == tuple(range(len(dims))):
        return given
    if given.shape[: len(dims)] != wanted:
        raise ShapeError(
            f"{name} under {ArgMap(dims)} does not fit the result",
            saw=list(given.shape),
            expected=list(wanted),
            hint=f"give a destination of that shape: the result is {list(shape)} in the order of the grid",
        )
    order = [dims.index(d) for d in range(len(dims))] + list(range(len(dims), given.ndim))
    return given.transpose(order) if isinstance(given, Tensor) else np.transpose(given, order)


def dimensions(said: ArgMap, rank: int, axes: int, name: str) -> tuple[int, ...]:
    """The dimensions of a result of `rank` axes that the leading of the axes of its destination run along.

    Raises:
        ShapeError: unless each is named once.
    """
    dims = tuple(range(rank)) if said.dims is None else said.dims
    if sorted(dims) != list(range(rank)) or len(dims) > axes:
        many = len(dims) > axes
        raise ShapeError(
            f"{name} is written to, and vmap names {len(dims)} of its {axes} axes for a result over {rank}",
            saw=ArgMap(dims),
            expected=f"{len(dims)} axes or more" if many else f"each of the dimensions {tuple(range(rank))} once",
            hint="give a destination with an axis for each dimension of the grid"
            if many
            else "name every dimension of the grid, in the order of the axes; sums over one are fp.sum of what is returned",
        )
    return dims


def check_type(said: ArgMap, result: Type, name: str) -> None:
    """Raises `UnsupportedArgumentError` for a destination under `vcast` to another type than it receives."""
    if said.type is not None and said.type is not result:
        raise UnsupportedArgumentError(
            f"{name} is cast to {said.type}, and receives {result}",
            saw=f"vcast({said.type})",
            expected=f"vcast({result}), or no cast",
            hint="what is written is not converted; take the result and convert that",
        )


def is_writable(value: Any) -> bool:
    """Whether `out` and `inout` arguments of this class are written back to."""
    known = isinstance(value, (Tensor, np.ndarray, slangpy_tensor_class())) or is_buffer(value)
    return known or torch_tensor.is_class(cast("type[Any]", type(value)))

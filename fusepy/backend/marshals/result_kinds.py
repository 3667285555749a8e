"""The kinds of results that calls return, and the destinations of results.

``return_type(…)`` and ``_result=`` name a kind of results by a word or by a class. Without them, a call returns the kind of its
arguments with the lowest precedence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np

from fusepy.backend.device.device import Device
from fusepy.backend.marshals.base import CurrentStream, ResultKind
from fusepy.backend.marshals.registry import RESULTS, host_array, kind_of_class, kind_of_value
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.torch import need_torch
from fusepy.errors import ArgumentError, FusepyError, ShapeError, UnsupportedArgumentError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.types import Type

Array = np.ndarray[Any, np.dtype[Any]]


def container_named(container: Any) -> str:
    """Returns the word for a kind of results that `return_type` takes as a word or a class.

    Raises:
        ArgumentError: for anything else.
        MissingPackageError: for torch, if it is not installed.
    """
    results = None
    if isinstance(container, str):
        results = RESULTS.get(container)
    elif isinstance(container, type):
        kind = kind_of_class(container)
        results = kind.returns if kind is not None and kind.named else None
        if kind is not None and kind.texture is not None:
            results = RESULTS["texture"]
    if results is None or not results.named:
        raise ArgumentError(
            "not a container for results",
            saw=repr(container)[:60],
            expected="'tensor', 'numpy', 'list', 'scalar', 'torch', 'slangpy', or one of their classes",
            hint="pass one of these words, e.g. 'numpy', or one of the classes",
        )
    if results.word == "torch":
        need_torch()
    return results.word


def leading(values: Iterable[Any]) -> ResultKind:
    """Returns the default kind of results for these arguments."""
    return min((kind_of_value(v).returns for v in values), key=lambda kind: kind.precedence, default=RESULTS["scalar"])


def is_writable(value: Any) -> bool:
    """True if a value can receive results, as an `out` or `inout` argument or by ``_result=``."""
    kind = kind_of_class(value.__class__)
    return kind is not None and (kind.memory is not None or kind.texture is not None)


def destination(given: Any, device: Device, name: str, element: Element) -> Tensor | Array:
    """Returns the memory of the caller's destination for a result, which a kernel or a later copy writes.

    Args:
        name: name of the destination, for messages.
        element: element type of the result; the memory of a buffer is viewed as such elements.

    Raises:
        ArgumentError: for a value that cannot receive a result.
        ShapeError, UnsupportedArgumentError, GradientError: for memory that this device cannot write.
    """
    kind = kind_of_class(given.__class__)
    if kind is not None and kind.memory is not None:
        try:
            return kind.memory(given, device, element)
        except FusepyError as error:
            error.what = f"{name}: {error.what}"
            raise
    raise ArgumentError(
        f"{name}: a {type(given).__name__} cannot receive a result",
        saw=repr(given)[:60],
        expected="a Tensor, a NumPy array, a torch tensor, or a tensor or buffer of slangpy",
        hint="omit it to get the result returned",
    )


def check_recordable(name: str, written: Sequence[Any], result: Any) -> None:
    """Raises `ArgumentError` if a call would have to read a result back: nothing is computed before the user submits.

    Args:
        written: the arguments that the call writes to.
        result: the argument ``_result=``.
    """
    for given in [*written, *(cast("Sequence[Any]", result) if isinstance(result, (tuple, list)) else [result])]:
        if host_array(given) is not None:
            raise ArgumentError(
                f"{name}.append_to(): a result cannot be written to a {type(given).__name__} before it is computed",
                saw=f"an array of shape {list(given.shape)} on the host",
                expected="a Tensor",
                hint="pass a Tensor, and read it after you have submitted the encoder",
            )


def in_grid_order(given: Tensor | Array, dims: tuple[int, ...], shape: tuple[int, ...], name: str) -> Tensor | Array:
    """Returns a view of a destination in the order of the grid; its leading axes are the dimensions `dims` of the result.

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
    turned: Any = given
    return turned.transpose(order)


def dimensions(said: ArgMap, rank: int, axes: int, name: str) -> tuple[int, ...]:
    """Returns the dimensions of a result of `rank` axes that correspond to the leading axes of its destination.

    Raises:
        ShapeError: unless each dimension is named once.
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
    """Raises `UnsupportedArgumentError` for a destination with a `vcast` to another type than the result's."""
    if said.type is not None and said.type is not result:
        raise UnsupportedArgumentError(
            f"{name} is cast to {said.type}, and receives {result}",
            saw=f"vcast({said.type})",
            expected=f"vcast({result}), or no cast",
            hint="results are not converted when they are written; take the result and convert it",
        )


def stream_of(values: Iterable[Any]) -> CurrentStream | None:
    """Returns the function that gives the CUDA stream of a call with these arguments; ``None`` if that is fusepy's own."""
    for value in values:
        kind = kind_of_class(value.__class__)
        current = None if kind is None or kind.follows is None else kind.follows(value)
        if current is not None:
            return current
    return None

"""Views of a tensor with another element type: components become axes, and axes become components."""

from __future__ import annotations

import math
from typing import Any, TypeVar, cast

import numpy as np

from fusepy.backend.memory.element import Element, element_of, scalar_type
from fusepy.backend.memory.storage import Storage
from fusepy.backend.memory.views import reshaped
from fusepy.errors import ShapeError, UnsupportedArgumentError
from fusepy.ir.strides import contiguous_strides
from fusepy.ir.types import BOOL, Kind, Type

Made = TypeVar("Made", bound=Storage)


def element_in(shape: tuple[int, ...], dtype: Any) -> tuple[Element, tuple[int, ...]]:
    """Returns the element for a ``dtype=`` argument, and `shape` without the trailing axes that the element takes.

    Raises:
        ShapeError: if the trailing axes do not fill it.
    """
    element = element_of(dtype)
    cut = len(element.shape)
    if cut and shape[-cut:] != element.shape:
        raise ShapeError(
            f"an array of shape {shape} does not hold {element.type}",
            saw=shape,
            expected=f"trailing axes {element.shape}",
            hint="reshape the array so that its last axes are the components",
        )
    return element, shape[: len(shape) - cut]


def flattened(tensor: Made) -> Made:
    """Returns a view as scalars, with the components as trailing axes. Gradients are viewed in the same way.

    Raises:
        UnsupportedArgumentError: for structs.
    """
    inner, scalar = tensor.element, tensor.dtype.scalar
    if scalar is None:
        raise no_numbers(tensor.dtype)
    factor = math.prod(inner.shape)
    strides = tuple(s * factor for s in tensor.strides) + contiguous_strides(inner.shape)
    made = tensor.viewed(Element.of(scalar), tensor.shape + inner.shape, strides)
    if tensor.grads is not None:
        made.attach(*(None if g is None else flattened(g) for g in tensor.grads))
    return made


def no_numbers(type: Type) -> UnsupportedArgumentError:
    """Returns the error for a struct where numbers are wanted."""
    return UnsupportedArgumentError(
        f"a tensor of {type} cannot be flattened to scalars",
        saw=type,
        expected="scalars, vectors, matrices or arrays",
        hint="read structs with .to_numpy(), whose fields are arrays",
    )


def reinterpret(tensor: Made, element: Element) -> Made | None:
    """Returns the same memory as elements of another type: the last axes become components. None if they do not fit."""
    cut = len(element.shape)
    if tensor.element.type.kind is not Kind.SCALAR or element.type.scalar is not tensor.dtype:
        return None
    if not cut or tensor.shape[-cut:] != element.shape or tensor.strides[-cut:] != contiguous_strides(element.shape):
        return None
    factor = math.prod(element.shape)
    if tensor.device.target.kind == "cuda" and tensor.low % min(16, element.nbytes & -element.nbytes):
        return None  # CUDA reads a vector in one piece, and aborts if it is not aligned
    if any(s % factor for s in tensor.strides[:-cut]):
        return None
    return tensor.viewed(element, tensor.shape[:-cut], tuple(s // factor for s in tensor.strides[:-cut]))


def packed_apart(tensor: Made, element: Element) -> Made | None:
    """Returns new memory for elements whose components `tensor` has as numbers along its last axes.

    ``None`` if it holds such elements already, or if its shape or scalar type does not fit them.
    """
    cut = len(element.shape)
    if tensor.element is element or not cut or tensor.element.type.kind is not Kind.SCALAR:
        return None
    if element.type.scalar is not tensor.dtype or tensor.shape[-cut:] != element.shape:
        return None
    return type(tensor)(tensor.device, element, tensor.shape[:-cut])


def field(tensor: Made, name: str) -> Made | None:
    """Returns a field of a tensor of structs as a view. Arrays, and bools, are numbers: their items are trailing axes.

    ``None`` if the element has no such field. Gradients that have the field are viewed in the same way.

    Raises:
        UnsupportedArgumentError: for a struct inside of the struct whose size does not divide that of the whole.
    """
    numbers, type = _numbers_of(tensor, name), tensor.element.members.get(name)
    vectors = type is not None and type.kind in (Kind.VECTOR, Kind.MATRIX) and type.scalar is not BOOL
    return in_vectors(numbers, Element.of(type)) if vectors and type is not None and numbers is not None else numbers


def _numbers_of(tensor: Made, name: str) -> Made | None:
    """Returns a field as a view: structs as such, others as scalars, with components as trailing axes."""
    if name not in (tensor.element.dtype.names or ()):
        return None
    stored: np.dtype[Any] = tensor.element.dtype[name]
    start: int = cast("Any", tensor.element.dtype.fields)[name][1]
    # a bool of a struct is one byte on CUDA, and four elsewhere
    base: np.dtype[Any] = np.dtype(np.uint8) if stored.base.kind == "b" else stored.base
    shape: tuple[int, ...] = stored.shape
    inner: Element = (base.metadata or {}).get("slang") or Element.of(scalar_type(base))
    own = tensor.element.nbytes
    if own % inner.nbytes:
        raise UnsupportedArgumentError(
            f"the field {name} cannot be viewed, since {own} bytes are no multiple of {inner.nbytes}",
            saw=f"{inner.type} in {tensor.dtype}",
            hint=f"compute it: fp.fuse(lambda t: t.{name})(t)",
        )
    strides = tuple(s * (own // inner.nbytes) for s in tensor.strides) + contiguous_strides(shape)
    made = tensor.viewed(inner, tensor.shape + shape, strides, start)
    if tensor.grads is not None:
        parts = [None if g is None or g.shape != tensor.shape else _numbers_of(g, name) for g in tensor.grads]
        if any(p is not None for p in parts) and all(p is None or (p.shape, p.dtype) == (made.shape, made.dtype) for p in parts):
            made.attach(*parts)
    return made


def in_vectors(numbers: Made, element: Element) -> Made:
    """Returns numbers as the vectors or matrices that their last axes form; gradients are viewed in the same way."""
    grads = [g if g is None else in_vectors(g, element) for g in numbers.grads or ()]
    made = reinterpret(numbers, element)
    if made is None:
        made = numbers.of_field(numbers.detach() if grads else numbers, element)
    if grads:
        made.attach(*grads)
    return made


def component(tensor: Made, index: Any) -> Made | None:
    """Returns a component of a single vector, a row of a single matrix or an element of a single array, as a view.

    ``None`` for a tensor with axes or of other elements, and for an index that is no integer.

    Raises:
        ShapeError: if the index is out of range.
    """
    type = tensor.dtype
    if tensor.shape or not type.shape or not isinstance(index, (int, np.integer)) or isinstance(index, bool):
        return None
    place, extent = int(cast("int", index)), type.shape[0]
    if not -extent <= place < extent:
        raise ShapeError(f"index {index} of a {type}", saw=type, expected=f"below {extent}", hint="mind the size")
    kind = Type.vector(type.scalar, type.shape[1]) if type.kind is Kind.MATRIX and type.scalar else type.element
    struct: Element | None = (tensor.element.dtype.metadata or {}).get("slang")
    inner = Element.of(kind) if kind is not None and kind.dtype is not None else struct
    if inner is None or inner.type is not kind:
        return None
    made = tensor.viewed(inner, (), (), place % extent * inner.nbytes)
    if tensor.grads is not None:
        made.attach(*(None if g is None or g.shape or g.dtype is not type else component(g, index) for g in tensor.grads))
    return made


def seen_as(tensor: Made, element: Element, shape: tuple[int, ...]) -> Made:
    """Returns a contiguous tensor as elements of another type of the same scalars, with other extents.

    Raises:
        ShapeError: if the tensor is not contiguous, has other scalars, or the sizes differ.
    """
    flat = flattened(tensor).seen(reshaped, shape + element.shape)
    seen = flat if element.same(flat.element) else reinterpret(flat, element)
    if seen is None:
        raise ShapeError(f"a tensor of {tensor.dtype} cannot be seen as {element.type}", hint="use a type of the same scalars")
    return seen


def in_place(tensor: Made, view: Made) -> Made:
    """Returns what an index of a tensor gives, to be written to.

    Raises:
        ShapeError: for elements at indices of an array, which are a copy.
    """
    if view.block is not tensor.block and tensor.size:
        hint = "write fp.where(mask, value, t), or a Slang function that stores to t[i]"
        raise ShapeError("elements at indices are a copy: writing to them changes nothing", saw=view.shape, hint=hint)
    return view

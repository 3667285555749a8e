"""`FieldTensor`: a field of a tensor of structs that holds vectors or matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

from fusepy.arguments.mapped import Mapped
from fusepy.backend.memory import contents
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.recast import in_vectors
from fusepy.backend.memory.storage import TENSORS, Storage
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ShapeError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.strides import TensorShape


class FieldTensor(Tensor):
    """A view of a field whose distances cannot be counted in vectors: 40 bytes are no multiple of a ``float3``.

    It has the shape, the type and the contents of a tensor of vectors. A call gets the numbers of the field under ``vcast``, or
    writes to them. What needs distances in vectors, such as a whole ``Tensor<float3, 1>`` in Slang, takes a copy.

    Attributes:
        numbers: the same memory as numbers, with the components as trailing axes.
    """

    __slots__ = ("numbers",)

    def __init__(self, numbers: Tensor, element: Element):
        self.numbers, self.element, self.device = numbers, element, numbers.device
        self.shape = TensorShape(numbers.shape[: numbers.ndim - len(element.shape)])
        self.size = math.prod(self.shape)
        self.block, self.origin, self.address = numbers.block, numbers.origin, numbers.address
        self.low, self.high, self.key = numbers.low, numbers.high, numbers.key
        self.linear, self.as_numbers, self.grads = False, TENSORS, None

    def get_this(self) -> Mapped:
        """Returns the argument that a call gets instead."""
        return Mapped(self.flatten_dtype(), ArgMap(None, self.dtype))

    def flatten_dtype(self) -> Tensor:
        if self.grads is None:
            return self.numbers
        made = self.numbers.detach()
        made.attach(*(None if g is None else g.flatten_dtype() for g in self.grads))
        return made

    get_numbers = flatten_dtype  # what a call writes to

    def viewed(self, element: Element, shape: tuple[int, ...], strides: tuple[int, ...], start: int = 0) -> Tensor:
        return self.numbers.viewed(element, shape, strides, start)

    def seen(self, view: Callable[..., Any], argument: Any) -> Tensor:
        own = len(self.shape)
        shape, strides, start = view(self.shape, self.numbers.strides[:own], argument)
        inner, steps = self.element.shape, self.numbers.strides[own:]
        number = self.numbers.element
        made = in_vectors(self.numbers.viewed(number, (*shape, *inner), (*strides, *steps), start * number.nbytes), self.element)
        if self.grads is not None:
            made.attach(*(g.seen(view, argument) if g is not None and g.shape == self.shape else None for g in self.grads))
        return made

    def detach(self) -> Tensor:
        return FieldTensor(self.numbers, self.element)

    def to_numpy(self) -> contents.Array:
        return self.numbers.to_numpy()

    numpy = to_numpy

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> contents.Array:
        return self.numbers.__array__(dtype, copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self.numbers.__dlpack__(**options)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.numbers.__cuda_array_interface__

    def torch(self) -> Any:
        return self.numbers.torch()

    def copy_from_numpy(self, array: contents.Array) -> None:
        self.numbers.copy_from_numpy(array)

    def copy_from(self, source: Tensor) -> None:
        self.numbers.copy_from(source.flatten_dtype())

    def clear(self) -> Tensor:
        self.numbers.clear()
        return self

    def copy(self) -> Tensor:
        return in_vectors(self.numbers.copy(), self.element)

    contiguous = __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self.copy()

    def assign(self, value: Any) -> None:
        if isinstance(value, Storage):
            self.copy_from(cast("Tensor", value).broadcast_to(self.shape))
        else:
            contents.assign(self.numbers, value)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ShapeError(
            f"a field of structs has no distances in {self.dtype}",
            saw=f"{self.dtype}{list(self.shape)}, {self.numbers.strides[0] * self.numbers.element.nbytes} bytes apart",
            hint="copy it first with t.copy(), or read its numbers, t.flatten_dtype()",
        )

    strides = offset = property(_refuse)  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    cursor = view = _refuse


Tensor.of_field = FieldTensor


def in_numbers(result: Any) -> Any:
    """Returns the destinations of a call, with the numbers of fields in place of the fields."""
    if isinstance(result, FieldTensor):
        return result.flatten_dtype()
    if not isinstance(result, (tuple, list)):
        return result
    given = cast("Sequence[Any]", result)
    return tuple(map(in_numbers, given)) if any(isinstance(g, FieldTensor) for g in given) else given


def as_given(result: Any, found: Any, numbers: Any) -> Any:
    """Returns what a call returned, with the destinations of the user in place of their numbers."""
    if found is numbers:
        return result
    if not isinstance(found, tuple) or not isinstance(numbers, tuple):
        return cast("Any", found)
    fields = {id(n): r for n, r in zip(cast("Sequence[Any]", numbers), cast("Sequence[Any]", result))}
    return tuple(fields.get(id(f), f) for f in cast("tuple[Any, ...]", found))


def without_fields(value: Any) -> Any:
    """Returns a mapped field as its mapped numbers; other values as they are."""
    if not isinstance(value, Mapped) or not isinstance(value.value, FieldTensor):
        return value
    field, said = value.value, value.map
    type = field.dtype if said.type is None else said.type
    return Mapped(field.flatten_dtype() if type.shape == field.dtype.shape else field.copy(), ArgMap(said.dims, type))

"""`FieldTensor`: a field of a tensor of structs that holds vectors or matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from fusepy.arguments.mapped import Mapped
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.recast import in_vectors
from fusepy.backend.memory.storage import TENSORS, set_attribute
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ShapeError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.strides import TensorShape


class OfField(Mapped):
    """The numbers of a field under the vcast to its vectors. A trace casts them at once, so that gradients are vectors too."""

    __slots__ = ()


class FieldTensor(Tensor):
    """A view of a field whose distances cannot be counted in vectors: 40 bytes are no multiple of a ``float3``.

    It has the shape, the type and the contents of a tensor of vectors. A call gets the numbers of the field under ``vcast``;
    results are copied to it. What needs distances in vectors, such as a whole ``Tensor<float3, 1>`` in Slang, takes a copy.

    Attributes:
        numbers: the same memory as numbers, with the components as trailing axes.
    """

    __slots__ = ("numbers",)

    def __init__(self, numbers: Tensor, element: Element):
        set_attribute(self, "__class__", self.opened)
        self.numbers, self.element, self.device = numbers, element, numbers.device
        self.shape = TensorShape(numbers.shape[: numbers.ndim - len(element.shape)])
        self.size = math.prod(self.shape)
        self.block, self.origin, self.address = numbers.block, numbers.origin, numbers.address
        self.low, self.high, self.key = numbers.low, numbers.high, numbers.key
        self.linear, self.as_numbers, self.grads = False, TENSORS, None
        set_attribute(self, "__class__", FieldTensor)

    def get_this(self) -> OfField:
        """Returns the argument that a call gets instead."""
        return OfField(self.flatten_dtype(), ArgMap(None, self.dtype))

    def flatten_dtype(self) -> Tensor:
        if self.grads is None:
            return self.numbers
        made = self.numbers.detach()
        made.attach(*(None if g is None else g.flatten_dtype() for g in self.grads))
        return made

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

    @property
    def steps(self) -> tuple[int, ...]:
        return self.numbers.steps[: len(self.shape)]

    def torch(self) -> Any:
        return self.numbers.torch()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ShapeError(
            f"a field of structs has no distances in {self.dtype}",
            saw=f"{self.dtype}{list(self.shape)}, {self.steps[0]} bytes apart",
            hint="copy it first with t.copy(), or read its numbers, t.flatten_dtype()",
        )

    strides = offset = property(_refuse)  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    cursor = view = _refuse


Tensor.of_field = FieldTensor


def without_top(values: Sequence[Any]) -> tuple[Any, ...] | None:
    """Returns the arguments with tensors in place of the fields that stand for them; ``None`` if there are no fields."""
    if FieldTensor not in map(type, values):
        return None
    return tuple([v.get_this() if v.__class__ is FieldTensor else v for v in values])


def without_fields(value: Any) -> Any:
    """Returns a mapped field as its mapped numbers; other values as they are."""
    if not isinstance(value, Mapped) or not isinstance(value.value, FieldTensor):
        return value
    field, said = value.value, value.map
    type = field.dtype if said.type is None else said.type
    return Mapped(field.flatten_dtype() if type.shape == field.dtype.shape else field.copy(), ArgMap(said.dims, type))

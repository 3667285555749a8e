"""Gradients of a tensor: their element type, and checks of those that a user passes."""

from __future__ import annotations

from typing import TypeVar, cast

from fusepy.backend.device.device import Device
from fusepy.backend.memory.contents import clear
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.storage import Storage
from fusepy.errors import ArgumentError, GradientError, ShapeError, UnsupportedArgumentError
from fusepy.ir.types import Type

Made = TypeVar("Made", bound=Storage)


def differential(element: Element, device: Device) -> Element:
    """Returns the element of a gradient. Floating-point types are their own differential; Slang derives that of a struct.

    Raises:
        GradientError: for a type without derivatives.
    """
    type = element.type
    if type.scalar is not None:
        if type.is_float:
            return element
        raise GradientError(f"{type} has no derivative", saw=type, expected="half, float or double", hint="use a float type")
    try:
        return Element.of(Type.parse(f"{type}::Differential"), device.oracle({"origin": element.origin}))  # type: ignore[dict-item]
    except UnsupportedArgumentError:
        raise GradientError(
            f"struct {type} has no derivative",
            saw=type,
            expected="IDifferentiable",
            hint=f"declare struct {type} : IDifferentiable",
        ) from None


def checked(tensor: Made, grad_in: Made | None, grad_out: Made | None, zero: bool) -> tuple[Made | None, Made | None]:
    """Returns the gradients that `Tensor.with_grads` attaches.

    Raises:
        ArgumentError, GradientError, ShapeError: see `Tensor.with_grads`.
    """
    element = differential(tensor.element, tensor.device)
    if grad_in is None and grad_out is None:
        made = tensor.alike(element)
        if zero:
            clear(made)
        return made, made
    for name, grad in (("grad_in", grad_in), ("grad_out", grad_out)):
        if grad is None:
            continue
        if not isinstance(cast("object", grad), Storage):
            raise ArgumentError(
                f"with_grads: {name} is no tensor",
                saw=type(grad).__name__,
                expected=f"a Tensor of {element.type}{list(tensor.shape)}",
                hint="make it one before, fp.Tensor(gradient)",
            )
        if grad.shape != tensor.shape or not grad.element.same(element) or grad.device is not tensor.device:
            raise ShapeError(
                f"with_grads: {name} does not fit the tensor",
                saw=f"{grad.dtype}{list(grad.shape)} on {grad.device.opened}",
                expected=f"{element.type}{list(tensor.shape)} on {tensor.device.opened}",
                hint="omit it: a new one is made",
            )
    return grad_in, grad_out

"""Types instead of values, for `resolve`: Slang's answer needs no array."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from fusepy.arguments.fields import TYPE
from fusepy.arguments.mapped import Mapped
from fusepy.arguments.nested import check_finite
from fusepy.backend.device.device import Device
from fusepy.backend.marshals.base import Description
from fusepy.backend.marshals.registry import register_kind
from fusepy.errors import ArgumentError, VerifyError
from fusepy.ir.arrivals import BUFFER, OPAQUE, arrival_named
from fusepy.ir.types import BOOL, FLOAT, INT, TEXTURE_RANKS, Kind, Type

_NUMBERS = {float: FLOAT, int: INT, bool: BOOL}
_ARRAY = re.compile(r"(Tensor|List)<(.+)>\[([\d?, ]*)\]\Z")


@dataclass(frozen=True)
class StandIn:
    """A value of which only the type is known."""

    described: Description


class StandInMarshal:
    """A marshal that describes a `StandIn`; there is no value to upload."""

    returns = "tensor"

    def key(self, value: StandIn) -> Hashable:
        return value

    def describe(self, value: StandIn) -> Description:
        return value.described

    def place(self, value: StandIn, type: Type, device: Device) -> Any:
        raise VerifyError("a type is no value", saw=value.described.type, hint="only fp.resolve makes a StandIn")


register_kind(StandIn, StandInMarshal())


def stand_in(value: Any) -> Any:
    """Returns a `StandIn` for a type, and anything else unchanged.

    Types are Slang types, their names, ``float``, ``"Texture2D<float3>"`` and, as in the textual IR, ``"Tensor<float>[?,3]"``.

    Raises:
        InvalidNameError: for text that is no type.
        ArgumentError: for an array class, which does not say what it holds.
    """
    if isinstance(value, Mapped):
        return Mapped(stand_in(value.value), value.map)
    if isinstance(value, Mapping):
        try:
            check_finite(value, "")
        except ArgumentError:  # it contains itself: the recorded call raises a better error
            return cast("Any", value)
        fields = cast("Mapping[str, Any]", value)
        return {name: inner if name == TYPE else stand_in(inner) for name, inner in fields.items()}
    if isinstance(value, str):
        return StandIn(_spelled(value))
    if isinstance(value, Type):
        return StandIn(_described(value))
    slang = getattr(value, "type", None)
    if callable(value) and isinstance(slang, Type):  # a type of a module, or `fusepy.float3`
        return StandIn(_described(slang))
    if isinstance(value, type):
        found = _NUMBERS.get(value)
        if found is None:
            raise ArgumentError(
                f"{value.__name__} does not say what it holds",
                saw=value,
                expected="float, int, bool, a Slang type, or text such as 'Tensor<float>[?,3]'",
                hint="say the element and the axes: 'Tensor<float>[?,3]'",
            )
        return StandIn(Description(found, (), "", weak=True))
    return value


def _spelled(text: str) -> Description:
    array = _ARRAY.match(text)
    if array is not None:
        dims = [d.strip() for d in array[3].split(",")] if array[3].strip() else []
        extents = tuple(int(d) if d.isdecimal() else None for d in dims)
        return Description(Type.parse(array[2]), extents, array[1], weak=array[1] == "List")
    return _described(Type.parse(text))


def _described(type: Type) -> Description:
    """Describes one value of this type; for a resource, the texture, array or buffer that such a parameter takes."""
    if type.kind is Kind.RESOURCE:
        shape = type.head.removeprefix("RW")
        if arrival_named(shape).texels and type.element is not None:
            return Description(type.element, (None,) * TEXTURE_RANKS[shape.removeprefix("Texture")], shape)
        if type.element is not None and shape == "StructuredBuffer":
            return Description(type.element, (None,), "Tensor")
        return Description(type, (), BUFFER if shape == "ByteAddressBuffer" else OPAQUE)
    if type.kind is Kind.WHOLE and type.element is not None:
        return Description(type.element, (None,) * type.rank, "Tensor")
    return Description(type, (), "")

"""Hints for textures, buffers and pointers, which are parameters that take memory and not values."""

from __future__ import annotations

from fusepy.ir.arrivals import arrival_named
from fusepy.ir.resolve.spelling import array_extents, cast_call
from fusepy.ir.resources import casts_texel, channels
from fusepy.ir.types import Kind, Type
from fusepy.ir.value import Value, is_stored

_BUFFERS = ("StructuredBuffer", "ByteAddressBuffer")


def resource_hint(value: Value, want: Type) -> str:
    """Returns the hint for a texture that does not fit, or for a value where a resource is needed."""
    if want.kind is not Kind.RESOURCE:
        if casts_texel(value.type, want):
            return f"each thread gets a texel, a {value.type}: say {cast_call(want)} to convert it or to cut channels"
        if want.kind in (Kind.SCALAR, Kind.VECTOR):
            return f"each thread gets a texel, a {value.type}, which does not fill a {want}; use a format with more channels"
        return f"each thread gets a texel, a {value.type}; pass a {want} in its place, or declare the parameter as {value.type}"
    held, shape = want.element, want.head.removeprefix("RW")
    if not value.arrival.texels or not arrival_named(shape).texels:
        return _computed_hint(want) if is_stored(value) and shape in _BUFFERS else _takes_resource(shape, held)
    if shape != value.arrival.name:
        return f"pass a texture of the type {shape}, or declare the parameter as {value.arrival.name}"
    if want.writes and held is not None and channels(held) < channels(value.type):
        return f"a write gives all channels of the format: declare the parameter as RW{value.arrival.name}<{value.type}>"
    return f"the format holds {value.type}: declare the parameter as {value.arrival.name}<{value.type}>, or use another format"


def _computed_hint(want: Type) -> str:
    """Returns the hint for a computed value, or a field, where a parameter takes memory."""
    whole = f"; or declare Tensor<{want.element}, 1>, which takes it" if want.element is not None else ""
    return f"what is computed is not in memory yet: return it, and pass that as the {want}; of a field pass t.copy(){whole}"


def _takes_resource(shape: str, held: Type | None) -> str:
    if shape == "StructuredBuffer":
        return f"pass a Buffer of slangpy, or a Tensor or array of {held}"
    if shape == "ByteAddressBuffer":
        return "pass a Buffer of slangpy, or a Tensor or array"
    if arrival_named(shape).texels:
        return "pass a Texture or a TextureView of slangpy"
    if shape == "DescriptorHandle":
        return "pass a descriptor handle of slangpy, e.g. texture.descriptor_handle_ro"
    taken = "a Sampler" if shape.startswith("Sampler") else "a scene, fp.Scene([mesh]), or an AccelerationStructure"
    return f"pass {taken} of slangpy"


def memory_hint(value: Value, want: Type) -> str:
    """Returns the hint for a pointer, or for an array of fixed size."""
    scalar, element = want.scalar, want.element or want
    if is_stored(value):
        return _computed_hint(want)
    if want.kind is Kind.POINTER:
        return f"a {want} points at what lies in memory: pass a Tensor or an array of {element}"
    numbers = f"{array_extents(want)} of {scalar}" if scalar is not None else f"{want.shape[0]} {element}"
    return f"pass an array or a list that ends in axes of {numbers} for a {want}"

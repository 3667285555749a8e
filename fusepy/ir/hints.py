"""What to pass instead: the hints of `ir.refusals` about arrays and textures that a function takes as a whole."""

from __future__ import annotations

from fusepy.ir.argmap import ArgMap
from fusepy.ir.containers import MEMORY, TEXTURES, is_stored
from fusepy.ir.graph import Value
from fusepy.ir.resources import casts_texel, channels
from fusepy.ir.types import Kind, Type
from fusepy.ir.whole import holds, spelled, writes


def whole_hint(value: Value, map: ArgMap, want: Type) -> str:
    """What to pass for a whole array."""
    whole = spelled(want)
    if map.dims:
        return f"every thread gets all of a {whole}, so none of its axes runs along the grid: leave its mapping away"
    if is_stored(value) and writes(want):
        return f"a {whole} is written, which only an argument can be; return what is computed, or take it as a Tensor"
    if writes(want) and holds(value, want, told=True):
        return "an array that is written is an argument by itself, not a member of one"
    if not is_stored(value) and value.container not in MEMORY:
        return f"a {whole} is filled from a Tensor, a NumPy array or a list"
    takes = f"a {whole} takes {_axes(want.rank)} of {want.element}; this has {_axes(value.rank)} of {value.type}"
    return takes if is_stored(value) else f"{takes}, of which trailing ones may become components"


def is_scalar_array(value: Value) -> bool:
    """Whether a value is an array of scalars, of which the last axis may be meant as components."""
    return value.type.kind is Kind.SCALAR and value.rank > 0 and value.container in ("", *MEMORY)


def components_hint(value: Value, want: Type | None = None) -> str:
    """How an array of scalars becomes one of vectors: where it is an argument; a vcast of what is computed fills all components.

    Args:
        want: the vector or matrix; by default one of the last extent.
    """
    extent = value.dims[-1] if value.rank else None
    shown = want if want is not None and want.shape else Type.vector(value.type, extent) if extent in (2, 3, 4) else "float3"
    if value.container in MEMORY:
        cast = f'fp.vcast({value.name or "x"}, "{shown}")'
        return f"the axes of an array are no components until a call takes them so: write {cast}, or declare the parameter so"
    return (
        "what is computed from an array of scalars keeps its axes: convert the argument before computing with it, "
        f'fp.vcast(x, "{shown}"), or build the vector of its components, e.g. m.{shown}(x, y, …)'
    )


def _axes(count: int) -> str:
    return "1 axis" if count == 1 else f"{count} axes"


def resource_hint(value: Value, want: Type) -> str:
    """What to do about a texture, or anything else where a resource is wanted, that does not fit."""
    if value.container not in TEXTURES:
        return f"pass what a {want.head} stands for in slangpy: a Texture, TextureView, Buffer, Sampler or AccelerationStructure"
    if want.kind is not Kind.RESOURCE:
        if casts_texel(value.type, want):
            return f"each thread gets a texel, a {value.type}; say vcast(value, m.{want.name}) to convert it or to cut channels"
        return f"each thread gets a texel, a {value.type}, which does not fill a {want}; use a format with more channels"
    held = want.element
    if want.head.removeprefix("RW") != value.container:
        return f"pass a texture of the type {want.head.removeprefix('RW')}, or declare the parameter as {value.container}"
    if want.writes and held is not None and channels(held) < channels(value.type):
        return f"a write gives all channels of the format: declare the parameter as RW{value.container}<{value.type}>"
    return f"the format holds {value.type}: declare the parameter as {value.container}<{value.type}>, or use another format"

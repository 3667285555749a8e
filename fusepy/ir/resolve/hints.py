"""Hints for the errors of `ir.resolve.refusals`. A conversion is proposed only if the call would accept it."""

from __future__ import annotations

import math

from fusepy.ir.argmap import ArgMap
from fusepy.ir.oracle import INOUT, Oracle, Param, enum_scalar, parts
from fusepy.ir.resolve.memory_hints import memory_hint, resource_hint
from fusepy.ir.resolve.offers import cast_offers
from fusepy.ir.resolve.spelling import cast_call, extents, flat_matrix_hint, numbers_of, python_name, python_type
from fusepy.ir.types import Kind, Type
from fusepy.ir.value import Value, is_stored
from fusepy.ir.whole import holds, spelled, writes

_INT = Type.parse("int")


def whole_hint(value: Value, map: ArgMap, want: Type) -> str:
    """Returns the hint for a whole array."""
    whole = spelled(want)
    if map.dims:
        return f"every thread gets all of a {whole}, so none of its axes runs along the grid: remove its mapping"
    if is_stored(value) and writes(want):
        return f"a {whole} is written: return what is computed, or take it as a Tensor; of a field of structs pass t.copy()"
    if writes(want) and holds(value, want, told=True):
        return "an array that is written is an argument by itself, not a member of one"
    if not is_stored(value) and not value.arrival.memory:
        return f"a {whole} is filled from a Tensor, a NumPy array or a list"
    element = want.element
    takes = f"a {whole} takes {_axes(want.rank)} of {element}"
    if element is not None and element.is_numeric and element.shape:
        takes += f", or {want.rank + len(element.shape)} axes of {element.scalar} that end in {extents(element)}"
    return f"{takes}; this has {_axes(value.rank)} of {value.type}"


def is_scalar_array(value: Value) -> bool:
    """True if a value is an array of scalars, whose last axis may be meant as components."""
    return value.type.kind is Kind.SCALAR and value.rank > 0 and (value.arrival.plain or value.arrival.memory)


def components_hint(value: Value, want: Type | None = None) -> str:
    """Returns the hint for an array of scalars where vectors are needed.

    Args:
        want: the vector or matrix; by default a vector with the last extent.
    """
    named = want if want is not None and want.shape else None
    count = 1 if named is None else len(named.shape)
    last = value.dims[-count:]
    if value.arrival.memory:
        shown = named or (Type.vector(value.type, last[0]) if last[0] in (2, 3, 4) else None)
        if shown is None or last != shown.shape:
            needed = "from 2 to 4" if shown is None else extents(shown)
            return f"the axes of an array are no components, and its last is not of {needed}: slice or reshape it before the call"
        name = value.name or "x"
        cast = f'fp.vcast({name}, "{shown}")'
        written = f'def f({name}: "{shown}")' if name.isidentifier() else "the parameter"
        return f"the axes of an array are no components until a call takes them so: write {cast}, or annotate {written}"
    shown = named or Type.vector(value.type, 3)
    build = f"the {shown.kind.value} of its components, e.g. {python_name(shown.name)}(x, y, …)"
    if value.rank < count:
        return f"build {build}"
    return (
        f'the axes of what is computed are no components until a call takes them so: write fp.vcast(x, "{shown}") of it'
        f" where it ends in {extents(shown)}, annotate the argument that it comes from, or build {build}"
    )


def _axes(count: int) -> str:
    return "1 axis" if count == 1 else f"{count} axes"


def mapping_hint(value: Value, map: ArgMap, param: Param) -> str:
    """Returns the hint for a mapping that does not fit the axes of a value."""
    if map.dims and param.type is not None and param.type.kind is Kind.WHOLE:
        return whole_hint(value, map, param.type)
    if not map.dims:
        return f"None in declare() means one value for all threads, and this one has {value.rank} axes; say vmapping(0), …"
    return "name a grid dimension for each leading axis, and none for those that the type takes in"


def binding_hint(value: Value, map: ArgMap, param: Param, oracle: Oracle) -> str:
    """Returns the hint for a parameter that accepts no offer of `value`."""
    want = param.type
    if want is None:
        return "choose a type with fp.vcast(value, type)"
    if want.kind is Kind.WHOLE:
        return whole_hint(value, map, want)
    if want.kind is Kind.RESOURCE or value.arrival.texels:
        return resource_hint(value, want)
    if param.direction == INOUT and want.is_numeric:  # a vcast is only for reads
        return f"what is written has the parameter's own type: pass an array or tensor of {numbers_of(want)}"
    if value.arrival.grid and want.kind is not Kind.NAMED:
        return _grid_hint(value, want, oracle)
    if want.kind in (Kind.POINTER, Kind.ARRAY):
        return memory_hint(value, want)
    taken = len(want.shape) if value.type.kind is Kind.SCALAR else 0
    if map.dims and want.is_numeric and value.rank - len(map.dims) > taken:
        return mapping_hint(value, map, param)
    if _converts(value, want, oracle):
        filled = ", which fills all components" if want.shape and not value.rank and not value.type.shape else ""
        again = " instead" if map.type is not None else ""
        return f"conversions are never silent: say {cast_call(want)}{again}{filled}"
    if want.is_numeric and value.type.is_numeric:
        return _numeric_hint(value, want)
    return _struct_hint(value, want, oracle)


def _converts(value: Value, want: Type, oracle: Oracle) -> bool:
    """True if a `vcast` to `want` gives what the parameter takes, also in the extents of the axes that become components."""
    scalar = enum_scalar(oracle, want)
    if scalar is None and not want.is_numeric:
        return False
    if scalar is not None and value.arrival.memory and value.type is not scalar:
        return False  # memory is read as an enum, not converted
    offers = cast_offers(value, want, oracle)
    return any(not o.consumed or value.dims[value.rank - o.consumed :] == want.shape for o in offers)


def _grid_hint(value: Value, want: Type, oracle: Oracle) -> str:
    if want.kind is Kind.POINTER:
        return f"coordinates lie in no memory: pass an array of {want.element}"
    if _converts(value, want, oracle):
        return f"coordinates are integers: say {cast_call(want)}"
    integers = value.type if want.kind is Kind.MATRIX or len(want.shape) > 1 else Type.vector(_INT, *want.shape or (1,))
    have = f"{value.type} or int[{value.rank}]"
    has = f"Could not find suitable coordinates: a grid of {value.rank} dimensions has those for {have}"
    if want.kind is Kind.MATRIX or (want.kind is Kind.ARRAY and want.element is not _INT):
        return f"{has}: declare the parameter so, or pass an array"
    converted = "" if want.scalar is _INT else f", and say fp.vcast(grid, {python_type(want.name)})"
    return f"{has}: give it as many dimensions as the parameter has components, {math.prod(integers.shape)}{converted}"


def _numeric_hint(value: Value, want: Type) -> str:
    have = value.type
    if want.kind is Kind.MATRIX and 1 in want.shape:
        return flat_matrix_hint()
    if is_scalar_array(value) and want.shape and value.arrival.plain:
        return components_hint(value, want)
    if have.kind is Kind.SCALAR:
        return f"a {want} takes trailing axes of {extents(want)}; reshape the array, or declare the parameter as what it holds"
    where = "" if value.arrival.plain else " in a fused function"
    if want.kind is Kind.MATRIX:
        rows = ", ".join(f"row{i}" for i in range(want.shape[0]))
        return f"build the matrix{where} of rows with {want.shape[1]} components: {python_name(want.name)}({rows})"
    if want.kind is Kind.SCALAR:
        return f"take a component{where}, such as {_row(have)}.x"
    if have.kind is Kind.MATRIX:
        return f"take a row{where}, such as {_row(have)}"
    if have.shape > want.shape:
        return f"cut components{where} with a swizzle such as .{'xyzw'[: want.shape[0]]}"
    missing = ", ".join("xyzw"[have.shape[0] : want.shape[0]])
    return f"add the components that are missing{where}: {python_name(want.name)}(value, {missing})"


def _row(have: Type) -> str:
    """Returns what takes a row of each matrix."""
    return f"fp.vcast(value, {have.name!r})[0]" if have.kind is Kind.MATRIX else "value"


def _struct_hint(value: Value, want: Type, oracle: Oracle) -> str:
    """Returns the hint for two types of which one has no components."""
    inner = want.optional
    if inner is not None:
        return f"pass a {inner}, or None"
    scalar = enum_scalar(oracle, want)
    if scalar is not None:
        return f"pass an integer, or an array of {scalar} as fp.vcast(array, {python_type(want.name)})"
    have = [p for p in oracle.fields(value.type) or () if p.type is want] if value.type.kind is Kind.NAMED else []
    if have:
        return f"take a member of it in a fused function, such as value.{have[0].name}"
    fields = parts(oracle, want) if want.kind is Kind.NAMED and value.type.kind is not Kind.NAMED else None
    if not fields:
        return f"pass a {want}"
    listed = ", ".join(f'"{p.name}": …' for p in fields[:4]) + (", …" if len(fields) > 4 else "")
    return f"give its fields, {{{listed}}}, or an array of them, of the dtype {python_name(want.name)}.dtype"

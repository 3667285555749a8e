"""Elements of arrays at indices: a call of a function of fusepy's, which has a gradient."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.device.device import Device
from fusepy.backend.marshals.generators import Grid
from fusepy.backend.sources.libraries import FOLDER
from fusepy.backend.sources.source import ModuleSource
from fusepy.derivatives.differential import differential
from fusepy.derivatives.terms import Term, Terms
from fusepy.errors import TraceError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.types import BOOL, HALF, UINT, Kind, Type
from fusepy.ir.whole import TAKE, is_taken
from fusepy.trace.moves.shapes import known_shapes
from fusepy.trace.open_trace import OpenTrace

INT_BYTES = 4  # of an index
MOST_AXES = 8  # of an array that is read at computed indices; fusepy_take.slang has functions for these


def counts(trace: OpenTrace, value: Value) -> bool:
    """True for the integers from 0 along one axis: each element is its own index."""
    if not value.arrival.grid or value.rank != 1:
        return False
    for outer in trace.chain:
        inputs, captures = outer.builder.inputs, outer.captures
        if value in inputs:
            place = inputs.index(value) - len(inputs) + len(captures)
            grid = captures[place] if place >= 0 else None  # a later call may pass another grid as an argument
            return isinstance(grid, Grid) and not any(grid.open) and (grid.offset, grid.stride) == ((0,), (1,))
    return False


def take(trace: OpenTrace, terms: Terms, value: Value, type: Type | None, indices: list[Term]) -> Term:
    """Returns the elements of an array at some indices, one for each axis, over the grid of the indices.

    Args:
        type: the type of an element, if that is not the value's own. Its scalars are converted where the elements are used.
    """
    value = texels(trace, terms, value) if value.arrival.texels else value
    count, element = len(indices), type or value.type
    own = value.type.scalar
    assert value.type is element or element.is_numeric, element  # see `parts.is_untaken`
    element = element.with_scalar(own) if element.scalar is not None and own is not None else element
    if is_apart(element, trace.device):
        return _by_components(trace, terms, value, type, element, indices)
    read = element.with_scalar(UINT) if element.is_numeric and element.scalar is BOOL else element  # as bools lie in memory
    if count > MOST_AXES:
        raise TraceError(f"elements of an array of {count} axes", expected=f"at most {MOST_AXES}", hint="reshape it first")
    name = f"take{count}" if differential(read, trace.oracle) is not None else f"pick{count}"
    frame = sorted({d for index in indices for d in index.dims})
    own = {d: i for i, d in enumerate(frame)}
    whole = Type.whole("fusepy::Tensor", read, count)
    maps = [ArgMap((), whole), *(ArgMap(tuple(own[d] for d in index.dims), index.wants) for index in indices)]
    attrs = {"module": module_of_take(trace), "function": name}
    (made,) = trace.builder.add(OPS["slang.call"], [value, *(i.value for i in indices)], maps, attrs, terms.loc)
    terms.extents.add(trace.builder.nodes[-1], maps)
    found = Term(terms, made, tuple(frame))
    if read is not element:
        found = terms.cast(found, element)
    return Term(terms, found.value, found.dims, type if type is not None and type is not element else None)


def pick_of(trace: OpenTrace, node: Node, maps: Sequence[ArgMap]) -> tuple[int, tuple[int, ...], int] | None:
    """Returns how a node takes one element of each row of an array: all indices but one are coordinates of the result.

    Returns:
        the axis along which the rows lie, the axis of each dimension of the node, and the length of a row; ``None`` otherwise.
    """
    if node.op.name != "slang.call" or not is_taken(node) or not node.text("function").startswith("take"):
        return None
    array, *indices = node.operands
    if array.type is not node.results[0].type or trace.chain[-1].moves.compares:  # the elements are stretched along their rows
        return None
    dims = [map.dims or () for map in maps[1:]]
    base = [_counted(trace, v) if len(d) == 1 else v for v, d in zip(indices, dims)]
    rows = {k: d[0] for k, d in enumerate(dims) if len(d) == 1 and counts(trace, base[k])}
    others = [k for k in range(len(indices)) if k not in rows]
    if len(others) != 1 or not rows or len(set(rows.values())) != len(rows):
        return None
    (axis,), known = others, known_shapes(trace)
    further = [d for d in range(node.grid_rank) if d not in rows.values()]
    if len(further) > 1 or any(d not in dims[axis] or not known.is_unit(indices[axis], dims[axis].index(d)) for d in further):
        return None
    shape = known.of(array)
    if any(known.of(base[k]) != (shape[k],) for k in rows):
        return None
    named = {d: k for k, d in rows.items()}
    return axis, tuple(named.get(d, axis) for d in range(node.grid_rank)), shape[axis]


def _counted(trace: OpenTrace, value: Value) -> Value:
    """Returns the generator that an index counts with: what a cast converts, or what a 0 is added to, as in ``arange(n)``.

    A cast to a type that does not hold every index makes other numbers.
    """
    made = {v: n for n in trace.builder.nodes for v in n.results}
    while (node := made.get(value)) is not None:
        last = made.get(node.operands[-1]) if node.op.name == "add" else None
        last = made.get(last.operands[0]) if last is not None and last.op.name == "cast" else last
        if node.op.name == "cast" and not _holds_indices(node.results[0].type):
            break
        if node.op.name != "cast" and (last is None or last.op.name != "const" or last.attrs["value"] != 0):
            break
        value = node.operands[0]
    return value


def _holds_indices(type: Type) -> bool:
    return type.dtype is not None and type.dtype.kind in "iu" and type.dtype.itemsize >= INT_BYTES


def texels(trace: OpenTrace, terms: Terms, texture: Value) -> Value:
    """Returns the texels of a texture as a value that kernels store: a texture has no strides, and is no array of elements."""
    key = "texels", texture, trace.moves.since
    found = trace.moves.again.get(key)
    if found is None:
        name = "texel" if differential(texture.type, trace.oracle) is not None else "plain_texel"
        attrs = {"module": module_of_take(trace), "function": name}
        maps = [ArgMap(tuple(range(texture.rank)), texture.type)]
        found = trace.builder.add(OPS["slang.call"], [texture], maps, attrs, terms.loc)
        terms.extents.add(trace.builder.nodes[-1], maps)
        trace.moves.again[key] = found
    return found[0]


def module_of_take(trace: OpenTrace) -> str:
    """Returns the alias of the module of functions that take elements."""
    source = ModuleSource.make(TAKE, (FOLDER / f"{TAKE}.slang").read_text(encoding="utf-8"))
    return trace.module(source, trace.device)


def is_apart(element: Type, device: Device) -> bool:
    """True if a device packs elements otherwise than memory has them, and has no other type that lies so."""
    return device.target.pads_halfs and element.is_numeric and element.scalar is HALF and element.shape[-1:] == (3,)


def _by_components(trace: OpenTrace, terms: Terms, value: Value, type: Type | None, element: Type, indices: list[Term]) -> Term:
    """Returns the same as `take`, made of the components, each of which is taken by itself."""
    places = (
        [(k, c) for k in range(element.shape[0]) for c in range(3)] if element.kind is Kind.MATRIX else [(c,) for c in range(3)]
    )
    parts: list[Term] = []
    for place in places:
        if value.type.kind is Kind.SCALAR:  # the components are axes in memory
            parts.append(take(trace, terms, value, None, [*indices, *map(terms.number, place)]))
            continue
        row = Term(terms, value, tuple(range(value.rank)))
        part = (row.item(place[0]) if len(place) > 1 else row).member("xyz"[place[-1]])
        parts.append(take(trace, terms, part.value, None, indices))
    made = terms.construct(element, parts)
    return Term(terms, made.value, made.dims, type if type is not None and type is not element else None)

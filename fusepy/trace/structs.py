"""Nested arguments of recorded calls: a ``struct`` node for each level, over the leaves below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fusepy.arguments.mapped import Mapped
from fusepy.arguments.nested import ITEMS, Tree, check_finite, fields_of, is_nested, naming
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.structs import StructView, as_structs
from fusepy.errors import ShapeError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Attr, Value
from fusepy.ir.ops import OPS
from fusepy.ir.oracle import Param, parts
from fusepy.ir.resolve.refusals import wrong_members
from fusepy.ir.resolve.resolve import member_offer, resolve_members
from fusepy.ir.types import Kind, Type, pair_of
from fusepy.location import user_line
from fusepy.trace.buffers import member_elements
from fusepy.trace.components.operands import Regrouping
from fusepy.trace.inputs import add_input, of_owner
from fusepy.trace.open_trace import OpenTrace
from fusepy.trace.struct_choice import list_type, struct_type, whole_or_each
from fusepy.trace.traced import Traced


def passed(trace: OpenTrace, function: str, value: Any, path: str, candidates: Sequence[Type | None]) -> tuple[Value, ArgMap]:
    """Returns an argument of a call of `function`, and its mapping; a nested one becomes a struct, one of `candidates`.

    Raises:
        ArgumentError: if its fields are not the fields of a candidate.
    """
    if not is_nested(value):
        return operand(trace, value, path, candidates)
    with naming(function):
        check_finite(value, path)
        if not isinstance(value, (list, tuple, Mapping, Mapped)):
            value = of_owner(trace.chain[-1], value)
        return operand(trace, value, path, candidates)


def operand(trace: OpenTrace, value: Any, path: str, candidates: Sequence[Type | None]) -> tuple[Value, ArgMap]:
    """Returns a leaf or a level of an argument, and its mapping."""
    tree = Tree.of(value, path)
    if tree is not None and not _is_array(tree, candidates):
        named = trace.named.get(id(value))
        tree = tree if named is None else replace(tree, type=named[1].name)
        if tree.listed:
            return listed(trace, tree, path, candidates if tree.type is None else [Type.parse(tree.type)])
        return struct(trace, tree, path, candidates)
    inner, map = (value.value, value.map) if isinstance(value, Mapped) else (value, UNSAID)
    found = trace.lift(inner, path)
    said = trace.maps.get(found, UNSAID).type or map.type  # of the argument itself, or of this use of it
    if isinstance(inner, Traced) and said is not None and said.kind is Kind.NAMED:
        seen = as_struct_input(trace, found, said)
        if seen is not None:
            return seen, ArgMap(map.dims)
    if found in trace.integers and {type.is_float for type in candidates if type is not None} == {False}:
        found = trace.integers[found]  # a member or parameter of integers
    return found, map


def _is_array(tree: Tree, candidates: Sequence[Type | None]) -> bool:
    """True for a list of values for a parameter that is a number: an array, as a list of numbers is."""
    numbers = bool(candidates) and all(c is not None and c.kind is Kind.SCALAR for c in candidates)
    return tree.listed and numbers and all(fields_of(v) in (None, ITEMS) for v in tree.fields.values())


def as_struct_input(trace: OpenTrace, value: Value, type: Type, spec: Any = None) -> Value | None:
    """Reads an argument of numbers as an input of structs, in the same memory; ``None`` if the cast is another conversion.

    Args:
        spec: the type as the user named it, if any: a type of a module adds the module to the trace.

    Raises:
        UnsupportedArgumentError: if its extents or its dtype do not fit the struct.
    """
    module = getattr(spec, "module", None)
    if module is not None:
        trace.module(module._source, module.device)
    owner = next((t for t in trace.chain if value in t.given), None)
    if owner is None or not value.rank or not value.arrival.array or value.type.kind is Kind.NAMED:
        return None
    element = _struct_element(trace, type)
    if element is None:
        return None
    found = owner.struct_inputs.get((value, type))
    if found is None:
        place, given = owner.given[value]
        made = as_structs(given, element)
        found = add_input(owner, value.name or "", made)
        owner.captures.append(StructView(place, element, made.ndim))
        owner.struct_inputs[value, type] = found
        if value in owner.maps:
            owner.maps[found] = ArgMap(owner.maps[value].dims)
    return found


def _struct_element(trace: OpenTrace, type: Type) -> Element | None:
    """Returns the layout of a struct; ``None`` for other types, such as enums."""
    if type.optional is not None or pair_of(type) is not None:
        return None
    if trace.oracle.layout(type) is None:  # its module is not in the trace yet
        known = Element.structs_named(type)
        return known[0] if len(known) == 1 else None
    found = Element.of(type, trace.oracle)
    return found if found.dtype.names is not None else None


def struct(trace: OpenTrace, tree: Tree, path: str, candidates: Sequence[Type | None]) -> tuple[Value, ArgMap]:
    """Composes one level of a nested argument."""
    loc = user_line()
    return composed(trace, tree, struct_type(trace.oracle, tree, path, candidates, loc), path)


def listed(trace: OpenTrace, tree: Tree, path: str, candidates: Sequence[Type | None]) -> tuple[Value, ArgMap]:
    """Composes a list of leaves: an array of fixed size, a vector, or the rows of a matrix."""
    loc = user_line()
    type = list_type(tree, path, whole_or_each(trace.oracle, tree, path, candidates, loc), loc)
    names = [p.name for p in parts(trace.oracle, type) or ()]
    return composed(trace, replace(tree, fields=dict(zip(names, tree.fields.values()))), type, path)


def composed(trace: OpenTrace, tree: Tree, type: Type, path: str) -> tuple[Value, ArgMap]:
    """Composes a value of this type from its members."""
    loc = user_line()
    members = {p.name: p for p in parts(trace.oracle, type) or ()}
    if set(members) != set(tree.fields):
        raise wrong_members(type, list(members), list(tree.fields), path, loc)
    operands: list[Value] = []
    maps: list[ArgMap] = []
    written: list[ArgMap] = []
    explicit = False
    for name, inner in tree.fields.items():
        value, map = operand(trace, inner, f"{path}.{name}", [members[name].type])
        said = trace.maps.get(value, UNSAID).under(map)
        if value.arrival.raw:
            value, said = member_elements(trace, value, said, members[name].type)
        operands.append(value)
        maps.append(said)
        written.append(map)
        explicit |= map.dims is not None
    names = list(tree.fields)

    def resolve(offered: Sequence[Value], maps: Sequence[ArgMap]) -> Sequence[ArgMap]:
        return resolve_members(trace.oracle, type, names, offered, maps, path, loc, trace.strict).maps

    types = [members[name].type for name in names]
    kinds = {type.kind for type in types if type is not None}
    operands, maps = Regrouping(trace, written, resolve, kinds, lambda: [types], loc).taken(operands, maps)
    maps, outer, loose = placed(trace, [members[n] for n in tree.fields], operands, maps, path, loc)
    attrs: dict[str, Attr] = {"type": type.name, "fields": tuple(tree.fields), "path": path}
    if trace.strict:
        attrs["strict"] = True
    made = trace.builder.add(OPS["struct"], operands, maps, attrs, loc)[0]
    if outer is not None:
        trace.maps[made] = outer
    if loose is not None:
        trace.loose[made] = (loose, made.rank)
    return made, outer if explicit and outer is not None else UNSAID


def placed(
    trace: OpenTrace, members: Sequence[Param], operands: Sequence[Value], maps: Sequence[ArgMap], path: str, loc: str | None
) -> tuple[list[ArgMap], ArgMap | None, str | None]:
    """Returns the maps of a struct's leaves over its own grid, the map of that grid in the call, and the path of a loose leaf.

    A struct whose leaves run along d1 only is computed over one dimension, and the call takes it under ``vmap(d1)``. A leaf
    without a mapping beside mapped leaves is *loose*: broadcasting aligns it with the last dimensions of the call, and these are
    the dimensions of the struct only if the call has no more. `check_loose` gets its path.
    """
    found = list(maps)
    if trace.body or not any(m.dims for m in maps):  # in a body, the loop or branch runs along the grid
        return found, None, None
    loose = next((trace.loose[v][0] for v in operands if v in trace.loose), None)
    rank = max(m.min_grid_rank for m in maps)
    for i, (member, value, map) in enumerate(zip(members, operands, maps)):
        if map.dims is None:
            batch = value.rank - member_offer(trace.oracle, value, map, member, path, loc, trace.strict).consumed
            if batch:
                loose, rank = f"{path}.{member.name}", max(rank, batch)
            else:
                found[i] = ArgMap((), map.type)
    if loose is not None:
        check_loose(trace, path, operands, loc, rank)
        return found, ArgMap(tuple(range(rank))), loose
    outer = tuple(sorted({d for m in found for d in m.dims or ()}))
    own = {d: i for i, d in enumerate(outer)}
    return [ArgMap(tuple(own[d] for d in m.dims or ()), m.type) for m in found], ArgMap(outer), None


def check_loose(trace: OpenTrace, what: str, operands: Sequence[Value], loc: str | None, rank: int | None = None) -> None:
    """Raises `ShapeError` for a leaf without a mapping beside mapped ones, if the grid has more dimensions than its struct.

    The grid is that of the last node, or has `rank` dimensions.
    """
    found = next((trace.loose[v] for v in operands if v in trace.loose), None)
    if found is None:
        return
    if rank is None:
        node = trace.builder.nodes[-1]
        answer = node.op.resolution(node, trace.oracle)
        rank = answer.grid_rank if answer is not None else 0
    path, own = found
    if rank > own:
        raise ShapeError(
            f"{what}: {path} does not say along which dimensions it runs, while its neighbours do",
            place=loc,
            saw=f"a struct over {own} dimensions in a grid of {rank}",
            hint=f"map {path} with vmap as well",
        )

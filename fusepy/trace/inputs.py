"""Inputs of a trace: arguments of the traced function, nested ones leaf by leaf, and captured values."""

from __future__ import annotations

from typing import Any, cast

from fusepy.arguments.field_tensor import FieldTensor, OfField
from fusepy.arguments.held import Held
from fusepy.arguments.mapped import Mapped
from fusepy.arguments.nested import Tree, bare, check_finite, is_nested, refilled
from fusepy.backend.marshals.registry import kind_of_value
from fusepy.backend.memory.storage import ARRAYS, Storage
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import FusepyError, TraceError
from fusepy.ir.argmap import UNSAID, ArgMap, check_rank
from fusepy.ir.graph import Value
from fusepy.location import user_line
from fusepy.symbolic import Symbolic
from fusepy.trace.components.dict_fields import with_attributes
from fusepy.trace.open_trace import OpenTrace
from fusepy.trace.traced import Traced

STRUCTS = "pass the structs themselves: a tensor with dtype=m.Name, or a dict of the fields"


def argument(trace: OpenTrace, name: str, value: Any, map: ArgMap | None = UNSAID) -> Any:
    """Adds an argument of the traced function as inputs, and returns it traced; nested ones keep their structure.

    Args:
        map: the mapping for every use of the argument; ``None`` is "one for all threads".
    """
    check_finite(value, name)
    return _tree(trace, name, value, map)


def _tree(trace: OpenTrace, name: str, value: Any, map: ArgMap | None) -> Any:
    """Adds one input per leaf, named by its path."""
    if map is not None and map.dims is not None and is_nested(value):
        value, map = Mapped(value, ArgMap(map.dims)), ArgMap(None, map.type)
    tree = Tree.of(value, name)
    if tree is not None:
        below = UNSAID if map is not None else None
        parts = {field: _tree(trace, f"{name}.{field}", v, below) for field, v in tree.fields.items()}
        made = with_attributes(tree.container.rebuild(value, parts))
        struct = bare(value)[1] if map is None or map.type is None else map.type
        if struct is not None:  # kept, since the fused function gets the argument in its own class
            trace.named[id(made)] = (made, struct)
        return made
    at_once = value.__class__ is OfField and value.value.grads is None  # calls add to the gradients of an input
    if isinstance(value, Mapped):
        value, map = value.value, value.map
    made = add_input(trace, name, value)
    trace.given[made] = (len(trace.builder.inputs) - 1, value)
    if map is None:
        map = UNSAID if made.arrival.plain else ArgMap(())
    if map is not UNSAID:
        trace.maps[made] = map
    traced = Traced(trace, made, user_line())
    return Traced(trace, trace.operand(traced, name, user_line())[0], user_line()) if at_once else traced


def of_owner(trace: OpenTrace, owner: Any) -> Any:
    """Returns an object of the enclosing scope as an argument of a call; its floats become parameters of the program.

    Every call looks whether the object has the same values still, see `Held`, so that it never runs with old ones.
    """
    known = next((made for seen, made in trace.held if seen.owner is owner and seen.is_current()), None)
    if known is not None:
        return known
    now = Held.of(owner)
    if any(isinstance(bare(leaf)[0], (Traced, Symbolic)) for leaf in now.leaves):
        return owner
    made = refilled(owner, iter([_number(trace, leaf) if leaf.__class__ is float else leaf for leaf in now.leaves]))
    trace.held.append((now, made))
    return made


def _number(trace: OpenTrace, number: float) -> Traced:
    """Returns a number of the enclosing scope as a parameter, so that kernels do not depend on it."""
    found = add_input(trace, "held", number)
    trace.captures.append(number)
    return Traced(trace, found, user_line())


def of_mapped(trace: OpenTrace, given: Mapped | FieldTensor, name: str) -> Value:
    """Returns a value after its vcast, as an operand of functions that move elements; a field is its numbers under one.

    Raises:
        TraceError: for a value under vmap.
    """
    given = given.get_this() if isinstance(given, FieldTensor) else given
    value, said = trace.operand(given, name, user_line())
    if said.dims is not None:
        hint = "move it first, then say the map: fp.vmap(fp.flip(x, 0), (1, 0))"
        raise TraceError("a value under vmap cannot be moved", saw=repr(given)[:80], hint=hint)
    return value


def add_input(trace: OpenTrace, name: str, value: Any) -> Value:
    """Adds one value as an input.

    Raises:
        UnsupportedArgumentError: if it cannot be an argument.
    """
    try:
        described = kind_of_value(value).describe(value)
        check_rank(len(described.dims), "the array")
    except FusepyError as error:
        error.what = f"{trace.builder.name}: argument {name!r}: {error.what}"
        raise
    if described.origin is not None:
        trace.add_origin(name, described.type, cast("ModuleSource", described.origin))
    taken = {v.name for v in trace.builder.inputs}
    unique, count = name, 1
    while unique in taken:
        count += 1
        unique = f"{name}_{count}"
    made = trace.builder.input(
        unique, described.type, described.dims, arrival=described.arrival, weak=described.weak, copied=described.copied
    )
    if isinstance(value, Storage) and value.as_numbers == ARRAYS:
        trace.hosted.add(made)
    return made

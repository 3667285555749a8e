"""The structure of results and carries, pytrees of values that a kernel can compute; and each result as a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fusepy.arguments.mapped import Mapped
from fusepy.arguments.mapping import AS_A_WHOLE
from fusepy.arguments.nested import bare, is_nested, opened
from fusepy.backend.memory.storage import Storage
from fusepy.errors import ArgumentError, UnknownNameError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.ops.base import filled_axes
from fusepy.ir.types import Kind, Type
from fusepy.ir.value import Value, is_spread
from fusepy.location import user_line
from fusepy.pytree import Structure, flatten
from fusepy.trace.maps import check_axes
from fusepy.trace.open_trace import OpenTrace
from fusepy.trace.structs import passed
from fusepy.trace.traced import Traced, TracedElement


def flatten_values(values: Any, name: str, is_leaf: Callable[[Any], bool] = lambda value: False) -> tuple[list[Any], Structure]:
    """Returns the leaves and the structure of the results or arguments of the function `name`; mapped values are leaves.

    Args:
        is_leaf: True for other containers that are leaves.

    Raises:
        ArgumentError: for a leaf that no kernel can produce.
    """
    leaves, structure = flatten(values, lambda v: isinstance(v, Mapped) or is_leaf(v))
    for leaf in leaves:
        if not isinstance(leaf, (Traced, Mapped, bool, int, float)) and not hasattr(leaf, "shape") and not is_leaf(leaf):
            raise ArgumentError(
                f"{name}() returns a {type(leaf).__name__}",
                saw=repr(leaf)[:60],
                expected="traced values, numbers, or tuples, lists, dicts and dataclasses of them",
                hint="return what the Slang calls returned",
            )
    return leaves, structure


def returned(trace: OpenTrace, given: Any, path: str) -> Value:
    """Returns the result of a traced function, converted by its vcast and vmap; a nested result needs a struct type.

    The result has the mapped axes of the array in the order of their dimensions, and then the axes that vmap does not name.

    Raises:
        ShapeError: if vmap names more axes than it has.
    """
    loc = user_line()
    if is_nested(given) or id(given) in trace.named:
        inner, type = bare(given)
        if type is None and id(inner) in trace.named:  # an argument
            type = trace.named[id(inner)][1]
        if type is None:
            raise ArgumentError(
                f"{path}() returns fields under vmap without a struct type",
                place=loc,
                saw=repr(given)[:60],
                hint="return each field under its own vmap, or say the struct with fp.vcast(value, m.Name)",
            )
        if trace.oracle.fields(type) is None:
            raise UnknownNameError(
                f"{path}() returns a value that was cast to {type}, and calls nothing of the module that has this struct",
                place=loc,
                hint=f"return m.{type}(…) of its fields, or what a function of the module gives",
            )
        return passed(trace, path, given, path, (type,))[0]
    inner, said = (given.value, given.map) if isinstance(given, Mapped) else (given, UNSAID)
    value = trace.lift(inner)
    if value in trace.grouped and not trace.moves.since and not _beside_tensors(trace):
        value = trace.grouped[value]  # NumPy gets the same array, from one thread for each vector
    elif value.type.shape and said.type is None and trace.plain.is_field(value) and _beside_tensors(trace):
        value = trace.plain.seen(value, loc)  # the arrays of a field of structs are numbers, in tensors too
    if said is UNSAID and value not in trace.maps:
        return value
    known = trace.maps.get(value, UNSAID).under(said)
    want, dims = _conversion(value, known)
    if not _converts(value, known, want) and (dims is None or list(dims) == sorted(dims)):
        check_axes("return", value, ArgMap(dims), loc)
        return value
    return trace.cast(value, want, ArgMap(dims), loc)


def called(trace: OpenTrace, found: Any, path: str) -> Any:
    """Returns what a fused function returns inside of another one: arguments in it are results, as if it had computed them.

    A `vmap` and `vcast` of such an argument becomes an operation, whose result inherits the mapping. What is cast to a struct
    stays so, for the call that takes it.
    """
    leaves, structure = flatten(found, lambda v: isinstance(v, Mapped) or id(v) in trace.named)
    if not any(isinstance(leaf, (Mapped, TracedElement)) for leaf in leaves):
        return found  # the function's own object
    return structure.fill([_called(trace, leaf, path) for leaf in leaves])


def _called(trace: OpenTrace, leaf: Any, path: str) -> Any:
    loc = user_line()
    if isinstance(leaf, TracedElement):
        return Traced(trace, trace.lift(leaf), loc)
    if not isinstance(leaf, Mapped):
        return leaf
    if is_nested(leaf):
        return leaf if leaf.map.type is not None else called(trace, opened(leaf), path)
    value = trace.lift(leaf.value)
    known = trace.maps.get(value, UNSAID).under(leaf.map)
    want, dims = _conversion(value, known)
    if _converts(value, known, want) or leaf.map.dims:
        value = trace.cast(value, want, ArgMap(dims), loc)
    return Traced(trace, value, loc)


def _conversion(value: Value, known: ArgMap) -> tuple[Type, tuple[int, ...] | None]:
    """Returns the type that a value has as a result, and the dimensions of all its axes if some are mapped."""
    want, dims = known.type, known.dims
    if want is not None and want.kind in AS_A_WHOLE:  # a pointer or a whole array: the user means its elements
        want = want.scalar if value.type.kind is Kind.SCALAR else None
    want = want or value.type
    if dims is not None and not is_spread(value):
        left, end = value.rank - filled_axes(value, want) - len(dims), max(dims, default=-1) + 1
        dims += tuple(range(end, end + left))
    return want, dims


def _converts(value: Value, known: ArgMap, want: Type) -> bool:
    """True if a result has another type than the value; a weak number takes its type from the operations that use it."""
    return want is not value.type or (value.weak and known.type is not None)


def _beside_tensors(trace: OpenTrace) -> bool:
    """True if an argument is a tensor or a texture."""
    return any(isinstance(one, Storage) or v.arrival.texels for v, (_, one) in trace.given.items())

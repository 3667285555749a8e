"""The arguments of a draw as values of its functions: for each vertex, for each instance, or one for all."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, cast

from fusepy.arguments.mapped import Mapped
from fusepy.arguments.nested import Tree, is_nested
from fusepy.backend.marshals.registry import host_array
from fusepy.errors import ShapeError
from fusepy.functions.function import Function
from fusepy.functions.fused import FusedFunction
from fusepy.functions.python_tracer import PythonTracer
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.narrowing import is_default
from fusepy.ir.pipelines.draw import INSTANCE, VERTEX
from fusepy.ir.types import FLOAT, INT, Kind, Type
from fusepy.location import user_line
from fusepy.symbolic import axes_of
from fusepy.trace.bodies import BodyTrace, Use
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced

Dims = tuple[int, ...] | None
Groups = Sequence[tuple[Mapping[str, Any], Dims]]
PER_VERTEX: Dims = (VERTEX,)
PER_INSTANCE: Dims = (INSTANCE,)
SHARED: Dims = ()


def parameters(function: Function | FusedFunction) -> dict[str, bool]:
    """Returns the names of the parameters of a function, each with True if a call must give it."""
    if isinstance(function, Function):
        return {p.name: True for p in function.tracer.declared()[0].params}
    tracer = cast("PythonTracer", function.tracer)
    return {name: p.default is p.empty for name, p in tracer.signature.parameters.items()}


def by_field(given: Any, known: Container[str]) -> Any:
    """Returns a structured array as a dict of its `known` fields; the argument itself if it has none of them."""
    array = host_array(given)
    names = [name for name in (() if array is None else array.dtype.names or ()) if name in known]
    return {name: cast("Any", array)[name] for name in names} if names else given


def attributes(trace: Trace, given: Any, vertex: Function | FusedFunction) -> Mapping[str, Any]:
    """Returns the traced attributes of vertices by name; of structs their fields, unless the function takes such structs."""
    if given is None or isinstance(given, Mapping):
        return {name: captured(trace, v, name) for name, v in cast("Mapping[str, Any]", given or {}).items()}
    names = parameters(vertex)
    first = next(iter(names), "vertices")
    whole = captured(trace, given, first)
    if not isinstance(whole, Traced) or whole.type.kind is not Kind.NAMED:
        return {first: whole}
    found = {p.name: getattr(whole, p.name) for p in trace.oracle.fields(whole.type) or ()}
    taken = [p.type for s in vertex.tracer.declared() for p in s.params] if isinstance(vertex, Function) else []
    apart = whole.type not in taken if isinstance(vertex, Function) else not names.keys().isdisjoint(found)
    return found if found and apart else {first: whole}


def captured(trace: Trace, value: Any, name: str) -> Any:
    """Returns an argument with its arrays traced; inside a fused function they may come from outside."""
    if is_nested(value):
        tree = Tree.of(value, name)
        assert tree is not None
        fields = {key: captured(trace, inner, key) for key, inner in tree.fields.items()}
        return tree.container.rebuild(value, fields)
    if isinstance(value, (Traced, Mapped, bool, int, float)):
        return value
    return trace.captured(value, name)


def under(trace: Trace, value: Any, dims: tuple[int, ...], type: Type | None = None) -> Any:
    """Returns an argument with the dimensions along which it runs; a nested argument has the dimensions of its leaves.

    Numbers that were computed become the vectors or matrices that a parameter of this type takes.
    """
    if is_nested(value):
        tree = Tree.of(value, "argument")
        assert tree is not None
        return tree.container.rebuild(value, {name: under(trace, inner, dims) for name, inner in tree.fields.items()})
    if not isinstance(value, Traced) or not axes_of(value):
        return value
    held = trace.lift(value)
    taken = len(type.shape) if type is not None and held.type.kind is Kind.SCALAR else 0
    if not dims and type is not None and type.is_numeric and held.rank > taken:
        raise ShapeError(
            f"{held.name or 'an argument'} is one {type} for all vertices and fragments",
            place=user_line(),
            saw=f"{held.type} over {held.rank} axes",
            hint="give it among the vertices or instances, for which it may differ; or declare a Tensor, which is taken whole",
        )
    if type is not None and type.is_numeric and held.type.kind is Kind.SCALAR and not held.arrival.memory:
        value = Traced(trace, trace.cast(held, type.with_scalar(held.type), UNSAID, user_line()), user_line())
    return Mapped(value, ArgMap(dims)) if axes_of(value) else value


def elements(trace: BodyTrace, value: Any, dims: tuple[int, ...]) -> Any:
    """Returns an argument as one element of a body; arrays of NumPy's default types are uploaded as the smaller ones.

    An array for all elements that is no vector or matrix stays whole, for functions of Slang that take it so.
    """
    if is_nested(value):
        tree = Tree.of(value, "argument")
        assert tree is not None
        return tree.container.rebuild(value, {name: elements(trace, inner, dims) for name, inner in tree.fields.items()})
    if not isinstance(value, Traced) or not axes_of(value):
        return value
    outer, loc = trace.parent.lift(value), user_line()
    left = trace.parent.grouping.tail(outer)[len(dims) :]
    scalar = (FLOAT if outer.type.is_float else INT) if is_default(outer) else outer.type
    small = [n for n in left if n is not None and 2 <= n <= 4]
    want = scalar if outer.type.kind is Kind.SCALAR else outer.type
    if left and (len(small) != len(left) or len(small) > 2 or outer.type.kind is not Kind.SCALAR):
        if not dims:
            return value
        raise ShapeError(
            f"{outer.name or 'an attribute'} has too many numbers for each element",
            place=loc,
            saw=f"{outer.type} over {outer.rank} axes",
            expected="numbers, vectors of 2 to 4, and matrices of these",
            hint="split it into several attributes; or write this stage in Slang, where an attribute may be an array",
        )
    if small:
        want = Type.matrix(scalar, *small) if len(small) == 2 else Type.vector(scalar, small[0])
        if not outer.arrival.memory:
            outer = trace.parent.cast(outer, want, UNSAID, loc)
    held = trace.standing_in(outer)
    element = trace.inside.element(Use(held, ArgMap(dims, None if want is held.type else want), False))
    return Traced(trace, element, loc)

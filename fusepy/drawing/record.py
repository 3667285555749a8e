"""Recording of a draw: its two functions become the bodies of one ``draw`` node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from fusepy.backend.memory.texture import texel_type
from fusepy.backend.raster.formats import format_named
from fusepy.backend.raster.state import RasterState
from fusepy.drawing.mapped import PER_INSTANCE, PER_VERTEX, SHARED, Groups, captured, parameters
from fusepy.drawing.stages import DrawStage
from fusepy.drawing.targets import targets_of
from fusepy.errors import ArgumentError, ShapeError, TraceError, UnsupportedArgumentError
from fusepy.functions.function import Function
from fusepy.functions.fused import FusedFunction
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Attr, Value
from fusepy.ir.ops import OPS
from fusepy.ir.pipelines.draw import INSTANCE, VERTEX
from fusepy.ir.types import UINT, Kind, Type
from fusepy.location import user_line
from fusepy.trace.bodies import Use
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced

_POSITION = Type.parse("float4")


@dataclass(frozen=True)
class Drawing:
    """The parts of a function over a mesh: two functions, the state, and the size and formats of the images."""

    name: str
    vertex: Function | FusedFunction
    fragment: Function | FusedFunction
    state: RasterState
    size: tuple[int, int] | None = None
    formats: str = ""


def record_draw(
    drawing: Drawing,
    trace: Trace,
    size: Any,
    vertices: Any,
    indices: Any,
    instances: Any,
    shared: Mapping[str, Any],
    formats: str,
) -> Any:
    """Records a draw, and returns its images: one, or a tuple of them.

    Args:
        size: a grid of the extents of the images.
        shared: values for all vertices and fragments, by name.
        formats: those of the colour targets, separated by commas; empty for those that hold what the fragment function returns.

    Raises:
        ArgumentError: if a parameter of a function gets no argument.
        UnsupportedArgumentError: if a target cannot hold what the fragment function returns.
    """
    loc = user_line()
    given: Sequence[Mapping[str, Any]] = (_named(vertices, drawing.vertex), instances or {}, shared)
    corners, each, shared = ({name: captured(trace, v, name) for name, v in group.items()} for group in given)
    groups: Groups = [(corners, PER_VERTEX), (each, PER_INSTANCE), (shared, SHARED)]
    vertex = DrawStage(trace, "vertex", drawing.vertex)
    interface = vertex.run(lambda _: groups)
    vertex.count(VERTEX)
    vertex.count(INSTANCE)
    _check_interface(drawing, interface, loc)
    fragment = DrawStage(trace, "fragment", drawing.fragment)
    outputs = fragment.run(lambda stage: [(_handed_on(stage, interface), None), (shared, SHARED)])
    if not outputs and not drawing.state.keeps_depth:
        raise ArgumentError(
            f"{drawing.name} draws nothing: {drawing.fragment.__name__} returns no colour, and no depth is kept",
            place=loc,
            hint="return a colour, or write .options(depth='less'), with samples=1 or with depth_resolve",
        )
    marks, targets = targets_of(
        drawing.name, drawing.fragment.__name__, [name for name, _ in outputs], [v.type for v in fragment.outputs], formats, loc
    )
    return _added(drawing, trace, (vertex, fragment), size, indices, marks, targets, [name for name, _ in interface])


def _added(
    drawing: Drawing,
    trace: Trace,
    stages: tuple[DrawStage, DrawStage],
    size: Any,
    indices: Any,
    marks: tuple[str, ...],
    formats: Sequence[str],
    varyings: Sequence[str],
) -> Any:
    """Adds the node, and returns its images."""
    loc = user_line()
    bodies, uses = zip(*(stage.close() for stage in stages))
    values, maps = [trace.lift(size, "size")], [ArgMap((0, 1))]
    if indices is not None:
        values.append(_integers(trace, indices, loc))
        maps.append(ArgMap(tuple(range(values[-1].rank))))
    read: list[Use] = [use for own in uses for use in own]
    depth = [drawing.state.depth_type] if drawing.state.keeps_depth else []
    attrs: dict[str, Attr] = {
        **drawing.state.attrs(),
        "functions": (drawing.vertex.__name__, drawing.fragment.__name__),
        "indexed": indices is not None,
        "vertex_inputs": len(uses[0]),
        "vertex_values": tuple(stages[0].values),
        "fragment_values": tuple(stages[1].values),
        "varyings": tuple(varyings),
        "outputs": marks,
        "formats": tuple(formats),
        "types": (*(texel_type(format_named(f, drawing.name)).name for f in formats), *depth),
    }
    values += [use.value for use in read]
    maps += [_settled(use, drawing.name, loc) for use in read]
    made = [Traced(trace, v, loc) for v in trace.builder.add(OPS["draw"], values, maps, attrs, loc, bodies)]
    return made[0] if len(made) == 1 else tuple(made)


def _named(given: Any, vertex: Function | FusedFunction) -> Mapping[str, Any]:
    """Returns the attributes of vertices by name; an array of structs is the first parameter of the vertex function."""
    if given is None or isinstance(given, Mapping):
        return cast("Mapping[str, Any]", given or {})
    return {next(iter(parameters(vertex)), "vertices"): given}


def _handed_on(fragment: DrawStage, interface: Sequence[tuple[str, Traced]]) -> Mapping[str, Any]:
    """Returns the values that the vertex function passes to the fragment function, by name."""
    if interface[0][0]:
        return {name: fragment.own(name, value.type) for name, value in interface}
    type = interface[0][1].type
    whole = fragment.own("varyings", type)
    fields = {p.name: getattr(whole, p.name) for p in fragment.inner.oracle.fields(type) or ()}
    return {**fields, **dict.fromkeys(_whole_in(fragment, type), whole)}


def _whole_in(fragment: DrawStage, type: Type) -> list[str]:
    """Returns the names of the parameters that take the whole struct of the vertex function."""
    function = fragment.function
    if isinstance(function, Function):
        return [p.name for s in function.tracer.declared() for p in s.params if p.type is type]
    fields = {p.name for p in fragment.inner.oracle.fields(type) or ()}
    return [name for name in list(parameters(function))[:1] if name not in fields]


def _check_interface(drawing: Drawing, interface: Sequence[tuple[str, Traced]], loc: str | None) -> None:
    """Checks that a vertex function returns a position, and only numbers."""
    (name, first), *others = interface
    if not name:
        return
    if name != "position" or first.type is not _POSITION:
        raise ArgumentError(
            f"{drawing.vertex.__name__} returns no position of the vertex first",
            place=loc,
            saw=f"{name}, a {first.type}",
            expected="a float4 in clip space",
            hint="return a dict whose first entry is called position, a float4",
        )
    wrong = [(n, v.type) for n, v in others if v.type.kind not in (Kind.SCALAR, Kind.VECTOR)]
    if wrong:
        raise UnsupportedArgumentError(
            f"{drawing.vertex.__name__} hands on {wrong[0][0]!r}, a {wrong[0][1]}",
            place=loc,
            expected="numbers and vectors",
            hint="hand on its rows or members",
        )


def _integers(trace: Trace, indices: Any, loc: str | None) -> Value:
    """Returns indices as integers of 32 bits without sign."""
    value = trace.lift(indices, "indices")
    if not value.rank or value.type.kind is not Kind.SCALAR or value.type.is_float:
        raise ShapeError(
            "indices are an array of integers",
            place=loc,
            saw=f"{value.type} over {value.rank} axes",
            hint="give the numbers of the vertices of each triangle: an array of (n, 3)",
        )
    return value if value.type is UINT else trace.cast(value, UINT, UNSAID, loc)


def _settled(use: Use, name: str, loc: str | None) -> ArgMap:
    """Returns the map of an operand, which must say along which dimensions it runs."""
    if use.map.dims is None and use.value.rank and not use.value.arrival.generated:
        raise TraceError(
            f"{name}: the array {use.value.name or 'that was computed'!r} is used element by element in a function of vertices",
            place=loc,
            saw=f"{use.value.type} over {use.value.rank} axes",
            hint="pass it among the vertices, or to a Slang function that takes the whole array",
        )
    return use.map if use.map.dims is not None else ArgMap((), use.map.type)

"""Recording of a draw: its two functions become the bodies of one ``draw`` node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from fusepy.backend.memory.texture import texel_type
from fusepy.backend.raster.formats import format_named
from fusepy.backend.raster.state import RasterState
from fusepy.backend.sources.reachable import texts_of
from fusepy.backend.sources.semantics import members_of
from fusepy.drawing.interface import check_interface, handed_on
from fusepy.drawing.mapped import PER_INSTANCE, PER_VERTEX, SHARED, Groups, attributes, captured
from fusepy.drawing.mesh_stage import MeshStage
from fusepy.drawing.stages import DrawStage
from fusepy.drawing.targets import check_blend, targets_of
from fusepy.errors import ArgumentError, ShapeError, TraceError
from fusepy.functions.function import Function
from fusepy.functions.fused import FusedFunction
from fusepy.functions.python_tracer import PythonTracer
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Attr, Value
from fusepy.ir.ops import OPS
from fusepy.ir.pipelines.draw import INSTANCE, VERTEX
from fusepy.ir.types import UINT, Kind, Type
from fusepy.location import user_line
from fusepy.trace.bodies import Use
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced


@dataclass(frozen=True)
class Drawing:
    """The parts of a function over a mesh: its functions, the state, and the size and formats of the images.

    Attributes:
        before: the vertex function; or the mesh function, behind the task function if there is one.
        mesh: true for a mesh function.
    """

    name: str
    before: tuple[Function | FusedFunction, ...]
    fragment: Function | FusedFunction
    state: RasterState
    size: tuple[int, int] | None = None
    formats: str = ""
    mesh: bool = False

    @property
    def functions(self) -> tuple[Function | FusedFunction, ...]:
        """All functions, in the order in which they run."""
        return (*self.before, self.fragment)

    @property
    def static(self) -> frozenset[str]:
        """The names of the static arguments of the fused functions."""
        fused = [cast("PythonTracer", f.tracer) for f in self.functions if isinstance(f, FusedFunction)]
        return frozenset[str]().union(*(tracer.static for tracer in fused))

    def captured(self, trace: Trace, group: Mapping[str, Any]) -> dict[str, Any]:
        """Returns arguments with their arrays traced; static ones stay Python values."""
        return {name: v if name in self.static else captured(trace, v, name) for name, v in group.items()}


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
    corners = attributes(trace, vertices, drawing.before[0])
    each, shared = drawing.captured(trace, instances or {}), drawing.captured(trace, shared)
    groups: Groups = [(corners, PER_VERTEX), (each, PER_INSTANCE), (shared, SHARED)]
    vertex = DrawStage(trace, "vertex", drawing.before[0])
    interface = vertex.run(lambda _: groups)
    vertex.count(VERTEX)
    vertex.count(INSTANCE)
    check_interface(drawing.before[0].__name__, interface, loc)
    handed = [(name, value.type) for name, value in interface]
    second = None if indices is None else _integers(trace, indices, loc)
    return _shaded(drawing, trace, [vertex], handed, size, second, shared, formats)


def record_mesh(drawing: Drawing, trace: Trace, size: Any, groups: Any, shared: Mapping[str, Any], formats: str) -> Any:
    """Records a draw whose triangles a mesh function makes, and returns its images; see `record_draw`.

    Args:
        groups: a grid of the numbers of groups.
    """
    shared = drawing.captured(trace, shared)
    kinds = ("task", "mesh")[-len(drawing.before) :]
    stages = [MeshStage(trace, kind, function) for kind, function in zip(kinds, drawing.before)]
    for stage in stages:
        stage.run(lambda _: [(shared, SHARED)])
    stages[-1].check_payload(stages[0] if len(stages) > 1 else None)
    handed = [("", stages[-1].vertex())]
    return _shaded(drawing, trace, stages, handed, size, trace.lift(groups, "groups"), shared, formats)


def _shaded(
    drawing: Drawing,
    trace: Trace,
    before: Sequence[DrawStage],
    handed: Sequence[tuple[str, Type]],
    size: Any,
    second: Value | None,
    shared: Mapping[str, Any],
    formats: str,
) -> Any:
    """Records the fragment function and the node; `handed` are the values that it gets, by name."""
    loc = user_line()
    fragment = DrawStage(trace, "fragment", drawing.fragment)
    outputs = fragment.run(lambda stage: [(handed_on(stage, handed), None), (shared, SHARED)])
    if not outputs and not drawing.state.keeps_depth:
        raise ArgumentError(
            f"{drawing.name} draws nothing: {drawing.fragment.__name__} returns no colour, and no depth is kept",
            place=loc,
            hint="return a colour, or write .options(depth='less'), with samples=1 or with depth_resolve",
        )
    marks, targets = targets_of(
        drawing.name, drawing.fragment.__name__, [name for name, _ in outputs], [v.type for v in fragment.outputs], formats, loc
    )
    check_blend(drawing.name, drawing.state.blend, targets, loc)
    return _added(drawing, trace, (*before, fragment), size, second, marks, targets, [name for name, _ in handed])


def _added(
    drawing: Drawing,
    trace: Trace,
    stages: Sequence[DrawStage],
    size: Any,
    second: Value | None,
    marks: tuple[str, ...],
    formats: Sequence[str],
    varyings: Sequence[str],
) -> Any:
    """Adds the node, and returns its images."""
    loc = user_line()
    bodies, uses = zip(*(stage.close() for stage in stages))
    values, maps = [trace.lift(size, "size")], [ArgMap((0, 1))]
    if second is not None:
        values.append(second)
        maps.append(ArgMap(tuple(range(second.rank))))
    read: list[Use] = [use for own in uses for use in own]
    depth = [drawing.state.depth_type] if drawing.state.keeps_depth else []
    attrs: dict[str, Attr] = {
        **drawing.state.attrs(),
        "functions": tuple(f.__name__ for f in drawing.functions),
        "indexed": second is not None and not drawing.mesh,
        "inputs": tuple(str(len(own)) for own in uses),
        "marks": tuple(stage.marks for stage in stages if isinstance(stage, MeshStage)),
        **{f"{stage.kind}_values": tuple(stage.values) for stage in stages},
        "varyings": tuple(varyings),
        "position": "" if drawing.mesh else _position(stages[0], varyings),
        "outputs": marks,
        "formats": tuple(formats),
        "types": (*(texel_type(format_named(f, drawing.name)).name for f in formats), *depth),
    }
    values += [use.value for use in read]
    maps += [_settled(use, drawing.name, loc) for use in read]
    made = [Traced(trace, v, loc) for v in trace.builder.add(OPS["draw"], values, maps, attrs, loc, bodies)]
    return made[0] if len(made) == 1 else tuple(made)


def _position(vertex: DrawStage, varyings: Sequence[str]) -> str:
    """Returns the member of the vertex function's result that is the position; empty if that function clips by itself."""
    if varyings[0]:
        return "o_0"
    function = cast("Function", vertex.function)
    members = members_of(vertex.outputs[0].type.name, texts_of([function.tracer.loaded.source]))
    clips = any(mark.upper().startswith("SV_CLIPDISTANCE") for mark in members.values())
    return "" if clips else next(name for name, mark in members.items() if mark == "SV_Position")


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
            hint="write fp.float3(x, y, z) of a vector of numbers, or pass it by name, as light=… of the draw; pass what differs"
            " among the vertices, and a whole array to a Slang function that takes it",
        )
    return use.map if use.map.dims is not None else ArgMap((), use.map.type)

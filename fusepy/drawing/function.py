"""`raster`: a vertex and a fragment function as one function over a mesh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from fusepy.drawing.again.like import keep, run_again
from fusepy.drawing.arguments import check_textures, counted, extents, formats_of, indices_of, targets_of
from fusepy.drawing.mapped import by_field
from fusepy.drawing.options import NAMES, STATES, check_formats, with_options
from fusepy.drawing.tracer import RasterTracer, globals_of
from fusepy.errors import ArgumentError, did_you_mean
from fusepy.functions.device_function import DeviceFunction
from fusepy.functions.options import by_name
from fusepy.functions.parts import STATIC, ProgramTable
from fusepy.inspect.lowered import Lowered
from fusepy.location import user_line

Self = TypeVar("Self", bound="Raster")


class Raster(DeviceFunction):
    """A function over a mesh, made by `raster`. It is called, recorded, fused and configured as every function is.

    Example:
        >>> import fusepy as fp
        >>> source = '''
        ... struct Corner { float4 position : SV_Position; float3 colour; };
        ... Corner vs(float2 at, float3 colour) { return { float4(at, 0, 1), colour }; }
        ... float4 fs(Corner c) { return float4(c.colour, 1); }
        ... '''
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_raster", source)
        >>> triangle = fp.raster(m, vertex="vs", fragment="fs")
        >>> corners = {"at": [[-1, -1], [3, -1], [-1, 3]], "colour": [[1, 0, 0], [1, 0, 0], [1, 0, 0]]}
        >>> triangle(corners, targets=(4, 6))[2, 3]
        array([1., 0., 0., 1.], dtype=float32)
    """

    __slots__ = ()
    known: ClassVar[Sequence[str]] = NAMES  # the names of its options
    own_names: ClassVar[Sequence[str]] = ("vertices", "indices", "instances", "targets")  # of its arguments
    tracer: RasterTracer  # pyright: ignore[reportIncompatibleVariableOverride]

    def __call__(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        vertices: Any = None,
        indices: Any = None,
        *more: Any,
        instances: Any = None,
        targets: Any = None,
        _result: Any = None,
        **shared: Any,
    ) -> Any:
        """Draws a mesh, and returns its image; with a depth buffer or several colours, a tuple of images.

        Args:
            vertices: arrays of one entry for each vertex, by the names of the parameters of the vertex function, or of the
                members of its parameter; an array of structs, or a structured array; or the number of vertices.
            indices: the numbers of the vertices of each triangle, line or point, in an array of any shape. Without them,
                vertices follow one another.
            instances: arrays of one entry for each instance, by name, or the number of instances.
            targets: ``(height, width)``, ``((height, width), formats)``, or textures of slangpy: colours first, with the usage
                ``render_target``, then depth, with ``depth_stencil``.
            _result: tensors or arrays to write the images to.
            shared: values for all vertices and fragments: parameters of either function, and globals, by name.

        Raises:
            ArgumentError: if a parameter of a function has no argument.
            ShapeError: for attributes of different lengths, an index past the vertices, an empty mesh.
            UnsupportedArgumentError: if a target cannot hold what the fragment function returns.
        """
        if more:
            raise too_many(self.__name__, 2 + len(more), "vertices and indices")
        groups = vertices, indices, instances
        made = run_again(self, targets, groups, shared, _result)
        if made is None:
            callee, given, result = self._given(vertices, indices, instances, targets, _result, shared)
            made = DeviceFunction.__call__(callee, _result=result, **given)
            if callee is self:
                keep(self, targets, groups, given, _result)
        return made

    def lower(self, *args: Any, _result: Any = None, **kwargs: Any) -> Lowered:
        """Traces a call without running it; see `Function.lower`."""
        named = dict(zip(("vertices", "indices"), args)) | kwargs
        vertices, indices, instances, targets = (named.pop(n, None) for n in ("vertices", "indices", "instances", "targets"))
        callee, given, result = self._given(vertices, indices, instances, targets, _result, named)
        return DeviceFunction.lower(callee, _result=result, **given)

    def options(self: Self, options: Mapping[str, Any] | None = None, /, **named: Any) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Returns this function with another state.

        Args:
            options: options by name; ``named`` the same by keyword.
            topology: ``"triangles"``, ``"triangle_strip"``, ``"lines"``, ``"line_strip"`` or ``"points"``.
            cull: the faces that are left out: ``"none"``, ``"back"`` or ``"front"``. `front` says which are front faces,
                as seen on the screen: ``"counter_clockwise"`` or ``"clockwise"``.
            depth: the comparison that a fragment passes, such as ``"less"``, or None without a depth buffer;
                ``depth_write=False`` keeps the buffer, ``clear_depth`` is its value before the draw, ``depth_format`` its format.
            stencil: how ``stencil_reference`` is compared with that of a pixel, or None; see docs/guide/raster.md for the others.
            blend: ``"alpha"``, ``"premultiplied"``, ``"add"``, ``"multiply"``, ``"min"``, ``"max"``, or None to replace.
            samples: 1, 2, 4 or 8 for each pixel. The image is their average; depth is a result with ``depth_resolve="min"``.
            clear: the colour before the draw. `fill` is ``"solid"`` or ``"wireframe"``, `viewport` x, y, width and height.
            size, formats: the height and width, and the formats of the colours, of calls without ``targets``.

        Raises:
            ArgumentError: for an unknown option, or a value that it does not take.
            UnknownNameError: for a format that does not exist.
        """
        asked = by_name(options, named, f"{self.__name__}.options()", 'options({"cull": "back"})')
        for name in asked:
            if name not in self.known:
                raise ArgumentError(
                    f"{self.__name__}: there is no option {name!r}", place=user_line(), hint=did_you_mean(str(name), self.known)
                )
        drawing = self.tracer.drawing
        state = with_options(drawing.state, {k: v for k, v in asked.items() if k in STATES}, self.__name__)
        changes: dict[str, Any] = {"state": state}
        if "size" in asked:
            changes["size"] = None if asked["size"] is None else extents(asked["size"], self.__name__)
        if "formats" in asked:
            changes["formats"] = check_formats(formats_of(asked["formats"] or ()), self.__name__)
        assert self.tracer.device is not None
        tracer = RasterTracer(replace(drawing, **changes), self.tracer.device)
        return self.variant(self.setup, tracer=tracer, programs=ProgramTable())

    def _given(
        self: Self, vertices: Any, indices: Any, instances: Any, targets: Any, result: Any, shared: Mapping[str, Any]
    ) -> tuple[Self, dict[str, Any], Any]:
        """Returns the function with the globals of a call, its arguments, and the destination of its results."""
        name, known = self.__name__, self.tracer.shared
        given: dict[str, Any] = {"vertices": counted(by_field(vertices, known), "vertices", name)}
        given["indices"] = indices_of(indices, given["vertices"], name)
        given["instances"] = counted(by_field(instances, known), "instances", name)
        return self.drawn({k: v for k, v in given.items() if v is not None}, targets, result, shared)

    def drawn(
        self: Self, given: Mapping[str, Any], targets: Any, result: Any, shared: Mapping[str, Any]
    ) -> tuple[Self, dict[str, Any], Any]:
        """Returns the function with the globals of a call, all its arguments, and the destination of its results.

        Args:
            given: the arguments that depend on how triangles are made.

        Raises:
            ArgumentError: for a name that is neither a parameter nor a global.
        """
        drawing, name = self.tracer.drawing, self.__name__
        known = self.tracer.shared
        own = {k: v for k, v in shared.items() if k in known}
        globals = {k: v for k, v in shared.items() if k not in own} if len(own) < len(shared) else {}
        for key in globals:
            if key not in globals_of(drawing):
                known = [*self.tracer.shared, *globals_of(drawing), *self.own_names]
                raise ArgumentError(f"{name} has no parameter {key!r}", place=user_line(), saw=key, hint=did_you_mean(key, known))
        size, formats, textures = targets_of(targets, drawing.size, drawing.formats, name)
        result = textures if result is None else result
        check_textures(drawing.state, result, shared.values(), name)
        return (
            self.set(globals) if globals else self,
            {"image_size": size, **given, "image_formats": check_formats(formats, name), **own},
            result,
        )

    def __repr__(self) -> str:
        return f"<raster {self.__name__}>"


STATIC.add(Raster)


def too_many(what: str, count: int, known: str) -> ArgumentError:
    """Returns the error for more arguments by position than a draw has; `known` are those that it has."""
    return ArgumentError(
        f"{what}: only {known} may be given by position",
        place=user_line(),
        saw=f"{count} arguments",
        hint="name the others: targets=(height, width), and each parameter of the functions",
    )

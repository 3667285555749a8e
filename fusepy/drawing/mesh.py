"""`MeshRaster`: a mesh shader and a fragment shader as one function over groups of threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from fusepy.backend.device.sink import sink_on
from fusepy.backend.kernels.values import freeze
from fusepy.backend.marshals.registry import device_of
from fusepy.backend.memory.pending import PENDING, before_effects
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.memory.texture import texel_type
from fusepy.backend.raster.formats import format_named
from fusepy.backend.raster.kernel import view_of
from fusepy.backend.raster.mesh import MeshKernel
from fusepy.backend.raster.state import RasterStage, RasterState
from fusepy.drawing.arguments import check_textures, extents, formats_of, targets_of
from fusepy.drawing.options import NAMES, STATES, check_formats, with_options
from fusepy.errors import ArgumentError, DeviceError, FusepyError, ShapeError, did_you_mean
from fusepy.functions.options import by_name, integers
from fusepy.location import user_line
from fusepy.trace.setup import Bindings, no_global
from fusepy.trace.trace import current_trace

_MOST = 65_535  # groups along one axis, on every device with mesh shaders


class MeshRaster:
    """A draw whose triangles a mesh shader makes; `raster` makes it. It is no part of fused functions and graphs.

    Example:
        >>> import fusepy as fp
        >>> source = '''
        ... struct Corner { float4 position : SV_Position; };
        ... [shader("mesh")] [numthreads(3, 1, 1)] [outputtopology("triangle")]
        ... void ms(uint k : SV_GroupThreadID, OutputVertices<Corner, 3> corners, OutputIndices<uint3, 1> triangles)
        ... {
        ...     SetMeshOutputCounts(3, 1);
        ...     corners[k] = { float4(k == 1 ? 3 : -1, k == 2 ? 3 : -1, 0, 1) };
        ...     if (k == 0) triangles[0] = uint3(0, 1, 2);
        ... }
        ... [shader("fragment")] float4 fs(Corner c) : SV_Target { return 0.5; }
        ... '''
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_mesh", source)
        >>> fp.raster(m, mesh="ms", fragment="fs")(groups=1, targets=(2, 2))[0, 1]
        array([0.5, 0.5, 0.5, 0.5], dtype=float32)
    """

    def __init__(self, module: Any, names: Mapping[str, str]):
        self.module, self.names = module, names
        self.__name__ = "/".join(names.values())
        self.state, self.size, self.formats = RasterState(), cast("tuple[int, int] | None", None), ""
        self.values = Bindings({})
        self._kernels: dict[Any, MeshKernel] = {}

    def __call__(self, groups: Any = 1, *, targets: Any = None, _result: str | None = None, **shared: Any) -> Any:
        """Runs groups of threads, draws the triangles that they make, and returns the image; with depth a tuple.

        Args:
            groups: the numbers of groups along x, y and z; of the task shader, if there is one.
            targets: ``(height, width)``, ``((height, width), formats)``, or textures with the usage ``render_target``. Without
                formats there is one colour, ``rgba32_float``.
            _result: ``"numpy"`` or ``"tensor"``; by default tensors if a value in `shared` is one.
            shared: values of globals, by name.

        Raises:
            ArgumentError: for an unknown or missing global, and inside a fused function.
            ShapeError: for more groups than devices run.
        """
        if current_trace() is not None:
            raise ArgumentError(
                f"{self.__name__}: a draw of mesh shaders cannot be fused",
                place=user_line(),
                hint="call it outside of the fused function, and pass the image to it",
            )
        if PENDING:
            before_effects()
        counts = self._groups(groups)
        grid, formats, textures = targets_of(targets, self.size, self.formats, self.__name__)
        check_textures(self.state, textures, self.__name__)
        if textures is None and not formats and "fragment" in self.names:
            formats = "rgba32_float"
        self._check_results(check_formats(formats, self.__name__), _result)
        return self._drawn(counts, tuple(grid.shape), formats, textures, _result, shared)

    def set(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> MeshRaster:
        """Returns this function with values of globals, by name."""
        return self._with(values=self._bound({**(values or {}), **named}))

    def options(self, options: Mapping[str, Any] | None = None, /, **named: Any) -> MeshRaster:
        """Returns this function with another state; see `Raster.options`. The topology is that of the mesh shader."""
        asked = by_name(options, named, f"{self.__name__}.options()", 'options({"cull": "back"})')
        for name in asked:
            if name not in NAMES or name == "topology":
                known = [n for n in NAMES if n != "topology"]
                raise ArgumentError(
                    f"{self.__name__}: there is no option {name!r}", place=user_line(), hint=did_you_mean(str(name), known)
                )
        changes: dict[str, Any] = {
            "state": with_options(self.state, {k: v for k, v in asked.items() if k in STATES}, self.__name__)
        }
        if "size" in asked:
            changes["size"] = None if asked["size"] is None else extents(asked["size"], self.__name__)
        if "formats" in asked:
            changes["formats"] = check_formats(formats_of(asked["formats"] or ()), self.__name__)
        return self._with(**changes)

    def _with(self, **changes: Any) -> MeshRaster:
        made = MeshRaster(self.module, self.names)
        vars(made).update({**vars(self), **changes})
        return made

    def _check_results(self, formats: str, result: Any) -> None:
        if not formats and not self.state.keeps_depth:
            raise ArgumentError(
                f"{self.__name__} draws nothing: it has no fragment shader, and no depth is kept",
                place=user_line(),
                hint="return a colour, or write .options(depth='less'), with samples=1 or with depth_resolve",
            )
        if result not in (None, "numpy", "tensor"):
            raise ArgumentError(
                f"{self.__name__}: a draw of mesh shaders returns arrays or tensors",
                place=user_line(),
                saw=repr(result)[:60],
                expected='"numpy" or "tensor"',
                hint="pass textures in targets= to draw into them, and leave _result away",
            )

    def _bound(self, given: Mapping[str, Any]) -> Bindings:
        known = [*self.module.device.oracle({"module": self.module._source}).globals("module")]
        for name in given:
            if name not in known:
                raise no_global(name, known, self.__name__)
        return self.values.updated({k: freeze(v, f"{self.__name__}: {k}") for k, v in given.items()})

    def _groups(self, given: Any) -> tuple[int, int, int]:
        found = [given] if isinstance(given, int) else integers(given)
        if not 1 <= len(found) <= 3 or any(type(n) is not int or not 0 <= n <= _MOST for n in found):
            raise ShapeError(
                f"{self.__name__}: groups are one to three numbers",
                place=user_line(),
                saw=repr(given)[:60],
                expected=f"0 to {_MOST:,} along each axis",
                hint="write groups=(x, y, z), and let each group make more triangles",
            )
        x, y, z = (*found, 1, 1)[:3]
        return x, y, z

    def _drawn(
        self,
        groups: tuple[int, int, int],
        size: tuple[int, int],
        formats: str,
        textures: Any,
        result: Any,
        shared: Mapping[str, Any],
    ) -> Any:
        device, source = self.module.device, self.module._source
        bindings = self._bound(shared) if shared else self.values
        colors = tuple(f for f in formats.split(",") if f)
        key = source.closure, self.state, colors
        try:
            with device.lock:
                kernel = self._kernels.get(key)
                if kernel is None:
                    stage = RasterStage(replace(self.state, topology="triangles"), colors)
                    kernel = self._kernels[key] = MeshKernel(device, source, self.names, stage)
                own = [] if textures is not None else self._tensors(colors, size)
                given = _listed(textures)
                kernel.draw(sink_on(device, "draw of meshlets"), bindings, groups, size, [view_of(one) for one in given], own)
        except FusepyError as error:
            raise error.at(user_line()) from None
        if textures is not None:
            return textures
        as_tensors = device_of(tuple(shared.values())) is not None if result is None else result == "tensor"
        made = [one if as_tensors else one.to_numpy() for one in own]
        return made[0] if len(made) == 1 else tuple(made)

    def _tensors(self, colors: tuple[str, ...], size: tuple[int, int]) -> list[Tensor]:
        types = [texel_type(format_named(f, self.__name__)) for f in colors]
        made = [Tensor.empty(self.module.device, size, type) for type in types]
        return [*made, *([Tensor.empty(self.module.device, size)] if self.state.keeps_depth else [])]

    def __repr__(self) -> str:
        return f"<raster {self.__name__}>"


def _listed(textures: Any) -> Sequence[Any]:
    return () if textures is None else cast("Any", textures) if isinstance(textures, tuple) else (textures,)


def mesh_raster(module: Any, task: Any, mesh: Any, fragment: Any) -> MeshRaster:
    """Returns a draw of mesh shaders.

    Raises:
        DeviceError: if the device has none.
        ArgumentError: if a shader is not given by its name.
    """
    named = {"task": task, "mesh": mesh, "fragment": fragment}
    names = {kind: name for kind, name in named.items() if name is not None}
    wrong = next((kind for kind, name in names.items() if not isinstance(name, str)), None)
    if module is None or wrong is not None:
        raise ArgumentError(
            f"raster: {wrong or 'mesh'} is the name of an entry point of a module",
            place=user_line(),
            saw=repr(named[wrong or "mesh"])[:60],
            hint="write fp.raster(m, mesh='name of an entry point', fragment='name of another')",
        )
    if "mesh_shader" not in module.device.features:
        raise DeviceError(
            f"{module.device.name} has no mesh shaders",
            place=user_line(),
            expected="a device with the feature mesh_shader",
            hint="make the vertices by a call, and draw them with fp.raster(m, vertex=…); or open a Vulkan device that has them",
        )
    return MeshRaster(module, names)

"""`raster`: functions, or their names, become one function over a mesh."""

from __future__ import annotations

from typing import Any, overload

from fusepy.backend.device.device import Device
from fusepy.backend.device.open import default_device
from fusepy.backend.raster.state import RasterState
from fusepy.drawing.function import Raster
from fusepy.drawing.mesh import MeshRaster
from fusepy.drawing.record import Drawing
from fusepy.drawing.tracer import RasterTracer
from fusepy.errors import ArgumentError, DeviceError
from fusepy.functions.function import Function
from fusepy.functions.fused import FusedFunction, fuse
from fusepy.location import user_line
from fusepy.modules.loading import as_module


@overload
def raster(module: Any = None, *, vertex: Any, fragment: Any = None, device: Any = None) -> Raster: ...
@overload
def raster(module: Any, *, mesh: str, fragment: Any = None, task: str | None = None) -> MeshRaster: ...
def raster(
    module: Any = None, *, vertex: Any = None, fragment: Any = None, device: Any = None, mesh: Any = None, task: Any = None
) -> Raster | MeshRaster:
    """Returns a function that draws a mesh.

    Args:
        module: the module of the functions that are given by name; one of slangpy too.
        vertex: a function that takes the attributes of a vertex, and returns its position in clip space and the values to
            interpolate: the name of a Slang function that returns a struct with a member ``float4 position : SV_Position``,
            or a Python function that returns a dict with ``"position"`` first.
        fragment: a function that takes the interpolated values and returns colours: the name of a
            Slang function, or a Python function, whose parameters have the names of the interpolated values. Without one, or
            where it returns nothing, depth is drawn only.
        device: of functions in Python, if there is no module; by default the default device.
        mesh: in place of `vertex`: the name of an entry point that makes vertices and triangles.
        task: the name of an entry point that runs before `mesh` and starts its groups.

    Raises:
        UnknownNameError: if the module has no such function.
        DeviceError: if the device cannot rasterise, or has no mesh shaders.

    Example:
        >>> import fusepy as fp
        >>> def vs(at, turn):
        ...     return {"position": fp.float4(at.x * turn, at.y, 0, 1), "shade": at.x}
        >>> def fs(shade):
        ...     return fp.float4(shade, shade, shade, 1)
        >>> fp.raster(vertex=vs, fragment=fs)({"at": [[-1.0, -1], [3, -1], [-1, 3]]}, targets=(2, 2), turn=1.0)[0, 1]
        array([0.5, 0.5, 0.5, 1. ], dtype=float32)
    """
    module = None if module is None else as_module(module)
    if vertex is None and mesh is not None:
        return _of_meshes(module, task, mesh, fragment)
    opened: Device = module.device if module is not None else default_device() if device is None else device
    if "rasterization" not in opened.features:
        raise DeviceError(
            f"{opened.name} cannot rasterise",
            place=user_line(),
            expected="a device with the feature rasterization",
            hint='open a Vulkan device, and load the module on it: device = fp.init_device("vulkan")',
        )
    stages = [_stage(module, vertex, "vertex"), _stage(module, depth_only if fragment is None else fragment, "fragment")]
    name = "/".join(stage.__name__ for stage in stages)
    return Raster(RasterTracer(Drawing(name, (stages[0],), stages[1], RasterState()), opened))


def _of_meshes(module: Any, task: Any, mesh: Any, fragment: Any) -> MeshRaster:
    """Returns a draw of mesh shaders.

    Raises:
        DeviceError: if the device has none.
        ArgumentError: if a task or a mesh shader is not given by its name.
    """
    named = {"task": task, "mesh": mesh}
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
    before = tuple(module.find_function(name) for name in names.values())
    shaded = _stage(module, depth_only if fragment is None else fragment, "fragment")
    name = "/".join(stage.__name__ for stage in (*before, *([] if fragment is None else [shaded])))
    drawing = Drawing(name, before, shaded, RasterState(), mesh=True)
    return MeshRaster(RasterTracer(drawing, module.device))


def depth_only() -> None:
    """The fragment function of draws without one."""


def _stage(module: Any, given: Any, kind: str) -> Function | FusedFunction:
    if isinstance(given, (Function, FusedFunction)):
        return given
    if isinstance(given, str) and module is not None:
        return module.find_function(given)
    if callable(given):
        return fuse(given)
    raise ArgumentError(
        f"raster: {kind} is a function, or the name of one",
        place=user_line(),
        saw=repr(given)[:60],
        hint=f"write fp.raster(m, {kind}='name of a Slang function'), or give a Python function",
    )

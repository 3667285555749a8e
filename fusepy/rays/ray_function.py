"""`ray_gen`: a Slang function that traces rays, and the functions that its rays run, as one Python callable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from fusepy.backend.rays.stage import check_pipelines
from fusepy.errors import ArgumentError, did_you_mean
from fusepy.functions.device_function import DeviceFunction
from fusepy.functions.function import Function
from fusepy.functions.fused import FusedFunction, fuse
from fusepy.functions.options import by_name
from fusepy.functions.parts import STATIC
from fusepy.functions.python_tracer import PythonTracer
from fusepy.modules.loading import as_module
from fusepy.rays.ray_tracer import FusedRayTracer, RayTracer

Self = TypeVar("Self", bound="RayCallable")
_OPTIONS = ("hit_groups", "max_recursion", "max_payload_size")


class RayCallable(DeviceFunction):
    """A function that traces rays, made by `ray_gen`. It is called and configured like any function.

    The grid of a call is the dispatch: ``DispatchRaysDimensions()`` is width, height, and the product of the other extents.
    """

    __slots__ = ()
    tracer: RayTracer | FusedRayTracer  # pyright: ignore[reportIncompatibleVariableOverride]

    def options(self: Self, options: Mapping[str, Any] | None = None, /, **named: Any) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Returns this function with another pipeline.

        Args:
            options: options by name; ``named`` the same by keyword.
            hit_groups: the rows of the shader table: names of hit groups, or `HitGroup` objects. A ray runs the row
                ``RayContributionToHitGroupIndex + Instance.hit_group``. By default each group has a row.
            max_recursion: how deep rays may be traced: 1 from the ray generation only, which is the default, up to 31.
            max_payload_size: bytes of the largest payload; by default what the functions need.

        Raises:
            ArgumentError: for an unknown option, a hit group that does not exist, a recursion out of range or less than the
                functions need, a payload that is larger than its limit.
        """
        asked = by_name(options, named, f"{self.__name__}.options()", "options(max_recursion=2)")
        return self.variant(self.setup, self.config, self.tracer.having(checked_options(self.__name__, asked)))

    def dispatch(self, *args: Any, **kwargs: Any) -> None:
        """Raises `ArgumentError`: rays are no compute threads."""
        raise ArgumentError(
            f"{self.__name__} traces rays, and is no compute kernel",
            hint=f"call it over a grid: {self.__name__}(fp.grid((h, w)), …)",
        )

    threads = dispatch  # type: ignore[assignment]  # pyright: ignore

    def __repr__(self) -> str:
        return f"<ray generation {self.__name__} of {self.tracer.rays.loaded.source.alias}>"


class RayFunction(RayCallable, Function):
    """A Slang function that traces rays."""

    __slots__ = ()
    tracer: RayTracer  # pyright: ignore


class FusedRayFunction(RayCallable, FusedFunction):
    """A fused function that calls Slang functions which trace rays."""

    __slots__ = ()
    tracer: FusedRayTracer  # pyright: ignore


def ray_gen(
    module: Any,
    name: Any,
    *,
    miss: Any = None,
    closesthit: Any = None,
    anyhit: Any = None,
    intersection: Any = None,
    callable: Any = None,
    **options: Any,
) -> RayFunction | FusedRayFunction:
    """Makes a ray-tracing pipeline of plain Slang functions: `name` runs for each point of the grid and calls ``TraceRay``.

    Args:
        module: the module of the functions that are given by name.
        name: the ray generation: any Slang function, with any parameters; or a fused function, which calls functions of the
            module that trace rays.
        miss: ``void f(inout Payload payload)``, for rays that meet nothing; a list for several, by ``MissShaderIndex``.
        closesthit: ``void f(inout Payload payload, BuiltInTriangleIntersectionAttributes hit)``, for the nearest hit. A dict of
            functions by name makes several hit groups, and so do `anyhit` and `intersection`.
        anyhit: the same, for each candidate of geometry that is not opaque.
        intersection: ``void f()``, which finds the hits in boxes and calls ``ReportHit``.
        callable: ``void f(inout Data data)``, for ``CallShader``; a list for several.
        options: those of `RayFunction.options`.

    All of these are names, functions of other modules, or (but for intersections) Python functions of the payload and the
    attributes of the hit, which return a dict of what changes in the payload. A fused `anyhit` may return whether the hit counts,
    or a pair of both. Parameters called as members of the payload, ``barycentrics``, or ``world_ray_direction``,
    ``ray_t_current``, ``instance_id`` … take these values. ``def f(payload: m.Payload)`` says which payload where several are
    possible. What functions need besides are globals, which ``set`` gives. Functions that are marked as entry points
    (``[shader("miss")]``) are taken too.

    Raises:
        DeviceError: if the device has no ray-tracing pipelines; CUDA has none.
        UnknownNameError: if the module has no function of a name.
        ArgumentError: if a function does not have the parameters of its stage, payloads do not match, or an option is wrong.

    Example:
        >>> import fusepy as fp
        >>> source = '''
        ... struct Payload { float3 color; };
        ... RaytracingAccelerationStructure tlas;
        ... void missed(inout Payload payload) { payload.color = float3(0, 0, 1); }
        ... void hit(inout Payload payload, BuiltInTriangleIntersectionAttributes at)
        ... { payload.color = float3(at.barycentrics, 0); }
        ... float3 look(float2 at)
        ... {
        ...     RayDesc ray = { float3(at, 1), 0, float3(0, 0, -1), 2 };
        ...     Payload payload = {};
        ...     TraceRay(tlas, 0, 0xff, 0, 0, 0, ray, payload);
        ...     return payload.color;
        ... }'''
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_rays", source)
        >>> scene = fp.Scene(fp.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]]))
        >>> look = fp.ray_gen(m, "look", miss="missed", closesthit="hit").set(tlas=scene)
        >>> look(fp.Tensor([[0.25, 0.5], [2, 2]])).to_numpy().tolist()
        [[0.25, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """
    home = as_module(module)
    check_pipelines(home.device.name, home.device.features)
    function = home.find_function(name) if isinstance(name, str) else name
    if not isinstance(function, (Function, FusedFunction)):
        if not isinstance(function, Callable):
            raise ArgumentError(
                "ray_gen takes the name of a Slang function, or a fused function",
                saw=repr(name)[:60],
                hint='write fp.ray_gen(m, "ray_gen", …)',
            )
        function = fuse(cast("Callable[..., Any]", function))
    stages = {"miss": miss, "closesthit": closesthit, "anyhit": anyhit, "intersection": intersection, "callable": callable}
    given = {**dict.fromkeys(_OPTIONS), **stages, **checked_options(function.__name__, options)}
    if isinstance(function, FusedFunction):
        fused = object.__new__(FusedRayFunction)
        tracer = FusedRayTracer.of(cast("PythonTracer", function.tracer), home, given)
        fused._trace_by(tracer)  # pyright: ignore[reportPrivateUsage]
        return fused.variant(function.setup, function.config, tracer)
    loaded, made = function.tracer.loaded, object.__new__(RayFunction)
    Function.__init__(made, home.device, loaded, function.__name__, home)
    return made.variant(function.setup, function.config, RayTracer(loaded, function.__name__, home, given))


def checked_options(name: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the options of a pipeline. Raises `ArgumentError` for one that does not exist."""
    for option in options:
        if option == "numthreads":
            raise ArgumentError(f"{name}: rays have no thread groups", hint="leave numthreads out; the driver decides")
        if option not in _OPTIONS:
            raise ArgumentError(f"{name}: there is no option {option!r}", hint=did_you_mean(option, _OPTIONS))
    return options


get_ray_gen = ray_gen
STATIC.update((RayFunction, FusedRayFunction))  # as an argument of a fused function

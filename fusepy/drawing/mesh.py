"""`MeshRaster`: a mesh shader and a fragment shader as one function over groups of threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from fusepy.backend.marshals.registry import device_of
from fusepy.drawing.again.like import keep, run_again
from fusepy.drawing.extents import CallExtents
from fusepy.drawing.function import Raster, too_many
from fusepy.drawing.options import NAMES
from fusepy.errors import ShapeError
from fusepy.functions.device_function import DeviceFunction
from fusepy.functions.options import integers
from fusepy.functions.parts import STATIC
from fusepy.inspect.lowered import Lowered
from fusepy.location import user_line
from fusepy.trace.trace import current_trace

Self = TypeVar("Self", bound="MeshRaster")
_NO_ARRAYS = None, None, None  # vertices, indices, instances
_MOST = 65_535  # groups along one axis, on every device with mesh shaders


class MeshRaster(Raster):
    """A draw whose triangles a mesh shader makes; `raster` makes it. It is called, recorded and fused as every function is.

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

    __slots__ = ()
    known = tuple(name for name in NAMES if name != "topology")  # that is the mesh shader's
    own_names = ("groups", "targets")

    def __call__(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, groups: Any = 1, *more: Any, targets: Any = None, _result: Any = None, **shared: Any
    ) -> Any:
        """Runs groups of threads, draws the triangles that they make, and returns the image; with depth a tuple.

        Args:
            groups: the numbers of groups along x, y and z; of the task shader, if there is one.
            targets: ``(height, width)``, ``((height, width), formats)``, or textures with the usage ``render_target``.
            _result: as of every function; by default tensors if a value in `shared` is one.
            shared: parameters of the shaders, and globals, by name.

        Raises:
            ArgumentError: for an unknown or missing parameter or global.
            ShapeError: for more groups than devices run.
        """
        if more:
            raise too_many(self.__name__, 1 + len(more), "groups")
        counts = groups if groups.__class__ is tuple else (groups,)
        told = all(n.__class__ is int for n in counts)
        made = run_again(self, targets, _NO_ARRAYS, shared, _result, counts) if told else None
        if made is None:
            callee, given, result = self._of_groups(groups, targets, _result, shared)
            made = DeviceFunction.__call__(callee, _result=result, **given)
            if callee is self and told:
                keep(self, targets, _NO_ARRAYS, given, _result, counts)
        return made

    def lower(self, *args: Any, _result: Any = None, **kwargs: Any) -> Lowered:
        """Traces a call without running it; see `Function.lower`."""
        named = dict(zip(("groups",), args)) | kwargs
        groups, targets = named.pop("groups", 1), named.pop("targets", None)
        callee, given, result = self._of_groups(groups, targets, _result, named)
        return DeviceFunction.lower(callee, _result=result, **given)

    def _of_groups(
        self: Self, groups: Any, targets: Any, result: Any, shared: Mapping[str, Any]
    ) -> tuple[Self, dict[str, Any], Any]:
        callee, given, to = self.drawn({"groups": _groups(groups, self.__name__)}, targets, result, shared)
        if to is None and current_trace() is None and callee is not self and device_of(tuple(shared.values())) is not None:
            to = "tensor"  # globals are no arguments, but decide as they do
        return callee, given, to


STATIC.add(MeshRaster)


def _groups(given: Any, what: str) -> CallExtents:
    """Returns the numbers of groups along x, y and z as a grid.

    Raises:
        ShapeError: for anything else, and for more than devices run.
    """
    found = [given] if isinstance(given, int) else integers(given)
    if not 1 <= len(found) <= 3 or any(type(n) is not int or not 0 <= n <= _MOST for n in found):
        raise ShapeError(
            f"{what}: groups are one to three numbers",
            place=user_line(),
            saw=repr(given)[:60],
            expected=f"0 to {_MOST:,} along each axis",
            hint="write groups=(x, y, z), and let each group make more triangles",
        )
    return CallExtents(*(*found, 1, 1)[:3])

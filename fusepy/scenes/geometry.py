"""`Mesh`: triangles that instances of a scene show; and the base class of geometry."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from fusepy.backend.device.device import Device
from fusepy.backend.device.open import as_device, default_device
from fusepy.backend.marshals.registry import device_of
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.scenes.levels import BottomLevel, TopLevel, check_scenes
from fusepy.backend.sealed import Sealed
from fusepy.errors import ArgumentError, MissingPackageError, ShapeError
from fusepy.ir.types import FLOAT, UINT
from fusepy.ir.value import Array
from fusepy.scenes.arrays import check_count, check_finite_rows, rows_of


def device_for(values: Sequence[Any], device: Any) -> Device:
    """Returns the given device, else that of the first value on a device, else the default one; checks that it can trace rays."""
    found = as_device(device) if device is not None else device_of(values) or default_device()
    check_scenes(found)
    return found


class Geometry(Sealed):
    """The base class of meshes and boxes.

    Attributes:
        device: the device whose memory it occupies.
        level: its acceleration structure.
        scenes: the scenes with an instance of it, which follow its changes.
    """

    _assigning = {
        "positions": "write mesh.refit(positions), or mesh.rebuild(positions) after large changes",
        "indices": "write mesh.rebuild(positions, indices)",
        **dict.fromkeys(("low", "high"), "write boxes.refit(low, high)"),
        "": "make another one: fp.Mesh(positions, indices), fp.Boxes(low, high)",
    }

    _instead = "wrap it in a scene: fp.Scene([mesh])"

    def __init__(self, device: Device, level: BottomLevel, checked: bool, source: tuple[Any, ...]):
        self.device = device
        self.level = level
        self._checked = checked
        self._source = source  # the arrays that gave its places, which `read_again` reads
        self.scenes: weakref.WeakSet[TopLevel] = weakref.WeakSet()

    def read_again(self) -> Callable[[], None]:
        """Reads the arrays of its places again, checks them, and returns what updates the structure; scenes do not follow yet."""
        return self._checked_write(self._source, None, update=True)

    def _checked_write(self, source: tuple[Any, ...], indices: Any, *, update: bool) -> Callable[[], None]:
        """Reads and checks new places, and returns the function that writes them."""
        raise NotImplementedError

    def _changed(self) -> None:
        for scene in list(self.scenes):
            scene.rebuild()


class Mesh(Geometry):
    """Triangles, with an acceleration structure over them.

    Args:
        positions: of the vertices, ``(n, 3)`` floats: an array, a list, a tensor (also of ``float3``), a torch tensor.
        indices: ``(m, 3)`` or ``(3 * m,)`` integers, three vertices for each triangle; by default each three in a row
            are one.
        device: by default that of a tensor among the arguments, else the default device.
        normals, uvs: of the vertices, ``(n, 3)`` and ``(n, 2)`` floats, for functions that shade.
        opaque: False if any-hit functions run for its triangles, or ray queries see them as candidates.
        checked: False omits the checks for NaN and for indices past the vertices, which read arrays on the device back.

    Attributes:
        vertex_count, triangle_count: numbers of vertices and triangles.
        indices, normals, uvs: tensors of plain numbers on the device, which a ``Tensor<uint3, 1>``, ``Tensor<float3, 1>`` and
            ``Tensor<float2, 1>`` of Slang takes; `normals` and `uvs` are ``None`` if there are none.

    Raises:
        ShapeError: for other shapes, no triangle, an index past the vertices, NaN or infinite positions.
        UnsupportedArgumentError: for arrays of other numbers.
        DeviceError: if the device has no ray tracing.

    Example:
        >>> import fusepy as fp
        >>> fp.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], [[0, 1, 2], [2, 1, 3]])
        <Mesh of 2 triangles, 4 vertices>
    """

    def __init__(
        self,
        positions: Any,
        indices: Any = None,
        *,
        normals: Any = None,
        uvs: Any = None,
        device: Any = None,
        opaque: bool = True,
        checked: bool = True,
    ):
        home = device_for([positions, indices, normals, uvs], device)
        places, numbers = rows_of(positions, 3, FLOAT, "positions", home, checked)
        self.vertex_count = places.shape[0]
        if indices is None:
            indices = _in_a_row(self.vertex_count)
        self.indices, order = rows_of(indices, 3, UINT, "indices", home, checked)
        self.triangle_count = self.indices.shape[0]
        if not self.triangle_count:
            raise ShapeError("a mesh without triangles", hint="give at least one row of indices, or leave the mesh out")
        _check(numbers, order, self.vertex_count)
        self.normals = self._attribute(normals, 3, "normals", home)
        self.uvs = self._attribute(uvs, 2, "uvs", home)
        super().__init__(home, BottomLevel(places, self.indices, opaque), checked, (positions,))

    def refit(self, positions: Any = None) -> None:
        """Moves the vertices, and updates the structure, which costs less than a build; scenes with the mesh follow.

        After large changes rays become slow: then `rebuild` pays.

        Args:
            positions: by default the array or tensor that was given last, which the program has changed in place.

        Raises:
            ShapeError, UnsupportedArgumentError: as for a new mesh; the number of vertices stays the same.
        """
        self._checked_write(self._source if positions is None else (positions,), None, update=True)()
        self._changed()

    def rebuild(self, positions: Any, indices: Any = None) -> None:
        """Moves the vertices, and builds the structure again; scenes with the mesh follow. `indices` may change too.

        Raises:
            ShapeError, UnsupportedArgumentError: as for a new mesh; the numbers of vertices and triangles stay the same.
        """
        self._checked_write((positions,), indices, update=False)()
        self._changed()

    def _checked_write(self, source: tuple[Any, ...], indices: Any, *, update: bool) -> Callable[[], None]:
        places, numbers = rows_of(source[0], 3, FLOAT, "positions", self.device, self._checked)
        check_count("positions", places.shape[0], self.vertex_count)
        corners = order = None
        if indices is not None:
            corners, order = rows_of(indices, 3, UINT, "indices", self.device, self._checked)
            check_count("indices", corners.shape[0], self.triangle_count)
        _check(numbers, order, self.vertex_count)

        def write() -> None:
            self.level.write(places, corners, update=update)
            self.indices, self._source = self.indices if corners is None else corners, source

        return write

    def _attribute(self, given: Any, columns: int, what: str, device: Device) -> Tensor | None:
        if given is None:
            return None
        found, _ = rows_of(given, columns, FLOAT, what, device, False)
        check_count(what, found.shape[0], self.vertex_count, f"give one row of {what} for each vertex")
        return found

    @staticmethod
    def load(path: Any, **options: Any) -> Mesh:
        """Returns the triangles of a file that the package trimesh reads, with normals, and with uvs if it has them.

        Args:
            options: those of `Mesh`.

        Raises:
            MissingPackageError: if trimesh is not installed.
            ArgumentError: if there is no such file, or trimesh cannot read it.
        """
        try:
            import trimesh  # pyright: ignore
        except ImportError as error:
            raise MissingPackageError("files of meshes need trimesh", hint="pip install trimesh, or give arrays") from error
        try:
            loaded = cast("Any", trimesh).load(path, force="mesh")
        except (OSError, ValueError, TypeError, LookupError, NotImplementedError) as error:
            hint = "give a file in a format that trimesh reads"
            raise ArgumentError(f"{path} is no mesh that can be read", saw=str(error)[:200], hint=hint) from error
        uvs = getattr(loaded.visual, "uv", None)
        read: dict[str, Any] = {"normals": np.asarray(loaded.vertex_normals, np.float32)}
        read["uvs"] = None if uvs is None else np.asarray(uvs, np.float32)
        return Mesh(np.asarray(loaded.vertices, np.float32), np.asarray(loaded.faces, np.uint32), **(read | options))

    def __repr__(self) -> str:
        return f"<Mesh of {self.triangle_count} triangle{'s' * (self.triangle_count != 1)}, {self.vertex_count} vertices>"


def _in_a_row(count: int) -> Array:
    if count % 3:
        raise ShapeError(
            "vertices that are no triangles", saw=f"{count} vertices", expected="a multiple of 3", hint="give indices"
        )
    return np.arange(count, dtype=np.uint32).reshape(-1, 3)


def _check(positions: Array | None, indices: Array | None, vertices: int) -> None:
    if positions is not None:
        check_finite_rows(positions, "positions")
    if indices is not None and indices.size and not (int(indices.min()) >= 0 and int(indices.max()) < vertices):
        row = int(np.flatnonzero(((indices < 0) | (indices >= vertices)).any(axis=-1))[0])
        raise ShapeError(
            f"indices[{row}] names a vertex that does not exist",
            saw=indices[row].tolist(),
            expected=f"0 to {vertices - 1}",
            hint="number the vertices from 0, also in formats that begin with 1",
        )

"""`Scene`: instances of meshes and boxes, as an argument of functions that trace rays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from fusepy.backend.marshals.registry import host_array
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.scenes.levels import INSTANCE, TopLevel, handle_of
from fusepy.backend.sealed import sealed
from fusepy.errors import ArgumentError, RangeError, ShapeError, did_you_mean
from fusepy.ir.value import Array
from fusepy.scenes.geometry import Geometry

_WIDE = {"id": 1 << 24, "mask": 1 << 8, "hit_group": 1 << 24}


@sealed
@dataclass(frozen=True)
class Instance:
    """A mesh or boxes at a place of a scene.

    Attributes:
        geometry: what it shows.
        transform: from its own coordinates to those of the scene: ``(3, 4)`` or ``(4, 4)`` floats, the translation in the last
            column; by default the identity.
        id: what Slang's ``InstanceID()`` returns; by default its number in the scene. 24 bits.
        mask: a ray meets it if its own mask and this one have a common bit. 8 bits.
        hit_group: for ray-tracing pipelines, a number that is added to the index of a ray's hit group, of 24 bits; or the name of
            a hit group, which stands for its first row in the shader table of the pipeline that traces the scene.
        culled: False makes its triangles two-sided for rays with ``RAY_FLAG_CULL_BACK_FACING_TRIANGLES``.
        counter_clockwise: the front of its triangles.

    Raises:
        ArgumentError: for anything else than geometry, and for numbers that are no integers.
        RangeError: for a number that does not fit its bits.
        ShapeError: for another transform.
    """

    geometry: Geometry
    transform: Any = None
    id: int | None = None
    mask: int = 0xFF
    hit_group: int | str = 0
    culled: bool = True
    counter_clockwise: bool = False
    _instead: ClassVar[str] = "wrap it in a scene: fp.Scene([instance])"
    _assigning: ClassVar[dict[str, str]] = {"": "make another one: fp.Instance(mesh, transform); scene.move(…) moves it"}

    def __post_init__(self) -> None:
        if not isinstance(self.geometry, Geometry):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError("an instance shows no geometry", saw=type(self.geometry).__name__, hint="give a Mesh, or Boxes")
        for name, end in _WIDE.items():
            number: Any = getattr(self, name)
            if name == "hit_group" and isinstance(number, str):
                continue
            if number is not None and not issubclass(number.__class__, (int, np.integer)):
                raise ArgumentError(
                    f"{name} of an instance is an integer", saw=repr(number), hint=f"choose a number from 0 to {end - 1}"
                )
            if number is not None and not 0 <= number < end:
                more = "smaller" if number >= end else "larger"
                raise RangeError(
                    f"{name} of an instance does not fit", saw=number, expected=f"0 to {end - 1}", hint=f"choose a {more} {name}"
                )
        object.__setattr__(self, "_given", self.transform)
        object.__setattr__(self, "transform", as_transform(self.transform))

    def read_again(self) -> Array:
        """Returns the transform as the array that was given holds it now, ``(3, 4)``."""
        return as_transform(vars(self)["_given"])


class Scene(TopLevel):
    """Instances of meshes and boxes. It is an argument wherever Slang wants a ``RaytracingAccelerationStructure``.

    Changes of its meshes and boxes (`Mesh.refit`, `Mesh.rebuild`) reach it at once, in the order of the program. Its own `refit`
    takes over changes of their arrays in place.

    Args:
        instances: each an `Instance`, or geometry as it is; a single one needs no list.

    Attributes:
        instances: the instances, in order.

    Raises:
        ArgumentError: without an instance, and for anything else than instances.
        ShapeError: for geometry of several devices.

    Example:
        >>> import fusepy as fp
        >>> mesh = fp.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
        >>> source = '''import fusepy_rays;
        ... float depth(RaytracingAccelerationStructure scene, float3 from)
        ... { return closest_hit(scene, ray_from(from, float3(0, 0, -1))).t; }'''
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_scene", source)
        >>> m.depth(fp.Scene(mesh), [0.25, 0.25, 2.0])
        2.0
    """

    def __init__(self, instances: Any):
        given = [instances] if isinstance(instances, (Geometry, Instance)) else instances
        if not isinstance(given, Sequence) or not given:
            raise ArgumentError(
                "a scene without instances" if isinstance(given, Sequence) else "a scene is made of instances",
                saw=None if isinstance(given, Sequence) else type(given).__name__,
                hint="give a list with at least one Mesh, Boxes or Instance",
            )
        listed = cast("Sequence[Any]", given)
        self.instances = tuple(i if isinstance(i, Instance) else Instance(i) for i in listed)
        shown = dict.fromkeys(i.geometry for i in self.instances)
        device = self.instances[0].geometry.device
        for geometry in shown:
            if geometry.device is not device:
                raise ShapeError(
                    "a scene shows geometry of two devices",
                    saw=geometry.device.opened,
                    expected=device.opened,
                    hint="make all of it with the same device=…",
                )
        super().__init__(device, len(self.instances), 1 + max(_number(i.hit_group) for i in self.instances))
        handles = {geometry: handle_of(geometry.level) for geometry in shown}
        self._records = _recorded(self.instances, handles)
        self._named = {k: i.hit_group for k, i in enumerate(self.instances) if isinstance(i.hit_group, str)}
        self._rows: tuple[int, ...] | None = None  # those of the named hit groups, once a pipeline has traced the scene
        self._others: dict[tuple[int, ...], TopLevel] = {}  # structures with other rows, for pipelines with other tables
        self._read: Array = self._records["transform"].copy()  # what the transforms were when they were read
        self._upload()
        for geometry in shown:
            geometry.scenes.add(self)

    def move(self, transforms: Any, which: Any = slice(None)) -> None:
        """Moves instances, and builds the scene again; bottom levels stay as they are.

        Args:
            transforms: ``(3, 4)`` or ``(4, 4)`` for one instance, or one such for each.
            which: the number of the instance, or numbers, or a slice; by default all.

        Raises:
            ShapeError: for other shapes, and for numbers past the instances.
        """
        given = host_array(transforms)
        array: Array = np.asarray(transforms) if given is None else given
        moved = np.arange(len(self.instances))
        try:
            moved = moved[which]
        except IndexError:
            raise ShapeError(
                "there is no such instance",
                saw=which,
                expected=f"numbers below {len(self.instances)}",
                hint="make a new Scene to add instances",
            ) from None
        if array.shape[:-2] not in ((), np.shape(moved)):
            raise ShapeError(
                "transforms for another number of instances",
                saw=array.shape,
                expected=(*np.shape(moved), 3, 4),
                hint="give one for each instance, or one for all",
            )
        self._records["transform"][which] = as_transform(array)
        self._upload()

    def refit(self) -> None:
        """Takes over what the program has changed in place, and updates the structures.

        The arrays and tensors of which its meshes and boxes were made, or refitted last, are read again, and their structures
        refitted; other scenes with them follow. So are the transforms of its instances; one that has not changed leaves what
        `move` has done. Then the level over the instances is built again.

        Raises:
            ShapeError: for positions and transforms that a new mesh or scene would not take; nothing is changed then.

        Example:
            >>> import numpy as np
            >>> import fusepy as fp
            >>> corners = np.float32([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
            >>> scene = fp.Scene(fp.Mesh(corners))
            >>> corners[:, 2] += 1
            >>> scene.refit()
        """
        now: Array = np.stack([i.read_again() for i in self.instances])
        shown = dict.fromkeys(i.geometry for i in self.instances)
        writes = [geometry.read_again() for geometry in shown]  # all are checked before the first one is written
        for write in writes:
            write()
        changed = np.flatnonzero(np.not_equal(now, self._read).any(axis=(1, 2)))
        self._records["transform"][changed] = now[changed]
        self._read = now
        self._upload()
        for scene in {scene for geometry in shown for scene in geometry.scenes} - {self}:
            scene.rebuild()

    def rebuild(self) -> None:
        """Records a build over the same instances, whose bottom levels have changed."""
        super().rebuild()
        for level in self._others.values():
            level.rebuild()

    def linked_to(self, table: Sequence[str]) -> TopLevel:
        """Returns the structure in which instances that name their hit group have its row of a shader table.

        It is this one for the first pipeline, and for others with the same rows. Other rows have a structure of their own: work
        that was recorded for one pipeline is right whatever runs in between.

        Raises:
            ArgumentError: for a name that is not in the table.
        """
        if not self._named:
            return self
        for name in self._named.values():
            if name not in table:
                raise ArgumentError(
                    "an instance of the scene names a hit group that does not exist",
                    saw=f"hit_group={name!r}",
                    expected=", ".join(dict.fromkeys(table)),
                    hint=did_you_mean(name, table),
                )
        rows = tuple(table.index(name) for name in self._named.values())
        if self._rows is None:
            self._rows = rows
            self.write_now(lambda: self._words(rows))
        if rows == self._rows:
            return self
        if rows not in self._others:
            made = self._others[rows] = TopLevel(self.device, len(self.instances), self.rows)
            made.write_now(lambda: self._words(rows))
        return self._others[rows]

    def _words(self, rows: Sequence[int] | None) -> Tensor:
        """Returns the instances as the device reads them, with these rows for the named hit groups."""
        records = cast("Any", self._records.copy())
        for k, row in zip(self._named, rows or ()):
            records["table_flags"][k] |= row
        return Tensor.from_numpy(self.device, records.view(np.uint32).reshape(len(self.instances), -1))

    def _upload(self) -> None:
        self.write(self._words(self._rows))
        for rows, level in self._others.items():
            level.write(self._words(rows))

    def __repr__(self) -> str:
        return f"<Scene of {len(self.instances)} instances>"


def as_transform(given: Any) -> Array:
    """Returns transforms as floats of shape ``(…, 3, 4)``.

    Raises:
        ShapeError: for other shapes, NaN and infinities, and for a last row other than 0, 0, 0, 1.
    """
    if given is None:
        return np.eye(3, 4, dtype=np.float32)
    host = host_array(given)
    array = np.asarray(given.to_numpy() if host is None and hasattr(given, "to_numpy") else given if host is None else host)
    shape = array.shape[-2:]
    if shape not in ((3, 4), (4, 4)) or array.dtype.kind not in "fiu":
        raise ShapeError(
            "a transform is a matrix",
            saw=f"{array.dtype} of shape {array.shape}",
            expected="floats of shape (3, 4) or (4, 4)",
            hint="put rotation and scale into the first three columns, the translation into the last",
        )
    if not np.isfinite(array).all():
        raise ShapeError("a transform is not finite", saw=array.tolist(), hint="give finite numbers")
    if shape == (4, 4) and not np.allclose(array[..., 3, :], (0, 0, 0, 1)):
        raise ShapeError(
            "a transform of a scene is affine",
            saw=f"the last row {array[..., 3, :].tolist()}",
            expected="0, 0, 0, 1",
            hint="transpose it if its translation stands in the last row; a projection belongs to the camera",
        )
    return np.ascontiguousarray(array[..., :3, :], np.float32)


def _number(hit_group: int | str) -> int:
    return 0 if isinstance(hit_group, str) else hit_group


def _recorded(instances: Sequence[Instance], handles: dict[Geometry, int]) -> Array:
    """Returns instances as the device reads them."""
    records = np.zeros(len(instances), INSTANCE)
    for record, i, number in zip(records, instances, range(len(instances))):
        flags = (0 if i.culled else 1) | (2 if i.counter_clockwise else 0)
        record["transform"] = i.transform
        record["id_mask"] = ((number if i.id is None else i.id) & 0xFFFFFF) | i.mask << 24
        record["table_flags"] = _number(i.hit_group) | flags << 24
        record["handle"] = handles[i.geometry]
    return records

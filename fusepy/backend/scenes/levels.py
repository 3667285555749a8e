"""Acceleration structures: bottom levels over triangles or boxes, and the top level over instances of these.

A structure keeps its native object, and so its binding, for as long as it lives: a refit or rebuild writes into it, in the order
of the queue. Counts are fixed, so that its size is too.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import slangpy as spy

from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import CAPTURED, sink_on
from fusepy.backend.memory.pending import PENDING, before_effects
from fusepy.backend.memory.sharing import memory_of
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.sealed import Sealed
from fusepy.errors import ArgumentError, DeviceError, ShapeError

_RETIRED = 64  # buffers of builds and structures of dropped scenes; with more they are released, which waits for the device
_Mode, _Flags, _Usage = spy.AccelerationStructureBuildMode, spy.AccelerationStructureBuildFlags, spy.BufferUsage
_Geometry = spy.AccelerationStructureGeometryFlags

# one instance, as Vulkan and Direct3D 12 read it: `id` and `mask` share a word, `table` and `flags` another
INSTANCE = np.dtype(
    [("transform", np.float32, (3, 4)), ("id_mask", np.uint32), ("table_flags", np.uint32), ("handle", np.uint64)]
)


def check_scenes(device: Device) -> None:
    """Raises `DeviceError` unless the device has acceleration structures."""
    if device.raw.info.type not in (spy.DeviceType.vulkan, spy.DeviceType.d3d12):
        features = set[str]()
    else:
        features = set(device.features)
    if not {"acceleration_structure", "ray_query"} <= features:
        raise DeviceError(
            f"{device.name} has no ray tracing",
            saw=", ".join(sorted(f for f in features if "ray" in f or "accel" in f)) or "no ray_query",
            expected="a Vulkan device with acceleration structures and ray queries",
            hint='open one: device = fp.init_device("vulkan"); lavapipe, on the CPU, has them too',
        )


def check_home(scene: TopLevel, device: Device, what: str) -> None:
    """Raises `ShapeError` if a scene is on another device."""
    if scene.device is not device:
        raise ShapeError(
            f"{what} lies on another device",
            saw=scene.device.opened,
            expected=device.opened,
            hint="make its meshes with device=… of the device that the module is on",
        )


class _Input:
    """A buffer that builds read, with the contents of a tensor: builds read no parts of larger buffers."""

    def __init__(self, device: Device, size: int):
        self._device = device
        usage = _Usage.acceleration_structure_build_input | _Usage.copy_destination | _Usage.shader_resource
        self.buffer = device.raw.create_buffer(size=size, usage=usage)

    def fill(self, tensor: Tensor) -> None:
        """Records a copy of a contiguous tensor."""
        sink_on(self._device).copy(self.buffer, 0, memory_of(tensor), tensor.byte_offset, self.buffer.size)


class Level(Sealed):
    """A structure of the graphics layer; `inputs` are the buffers that its builds read."""

    _assigning = {"": "make another scene: fp.Scene([…]); scene.move(transforms) moves the instances"}

    def __init__(
        self,
        device: Device,
        kind: spy.AccelerationStructureKind,
        desc: spy.AccelerationStructureBuildDesc,
        inputs: Sequence[_Input],
    ):
        sgl = device.raw
        sizes = sgl.get_acceleration_structure_sizes(desc)
        self.device = device
        self.structure = sgl.create_acceleration_structure(kind=kind, size=sizes.acceleration_structure_size)
        self._desc = desc
        self._scratch_size = max(sizes.scratch_size, sizes.update_scratch_size, 1)
        # work in the queue may still use what nobody holds any more, and sgl does not keep it
        weakref.finalize(self, device.retired.append, (self.structure, inputs)).atexit = False

    def __deepcopy__(self, memo: Any) -> NoReturn:
        hint = "make another one: fp.Mesh(positions, indices), fp.Boxes(low, high)"
        raise ArgumentError("meshes, boxes and scenes have no deep copy: their structures lie on the device", hint=hint)

    def record(self, update: bool = False) -> None:
        """Records a build; `update` refits the structure to changed contents. The device's lock must be held."""
        device = self.device
        if len(device.retired) > _RETIRED:
            device.release_retired()
        scratch = device.raw.create_buffer(size=self._scratch_size, usage=_Usage.unordered_access)
        device.retired.append(scratch)
        desc, made = self._desc, self.structure
        desc.mode = _Mode.update if update else _Mode.build

        def build(encoder: spy.CommandEncoder) -> None:
            encoder.build_acceleration_structure(desc, made, made if update else None, spy.BufferOffsetPair(scratch))

        sink_on(device, "acceleration structure").record(build)


def _described(inputs: Sequence[Any], flags: spy.AccelerationStructureBuildFlags) -> spy.AccelerationStructureBuildDesc:
    desc = spy.AccelerationStructureBuildDesc()
    desc.inputs = inputs
    desc.flags = flags
    return desc


class BottomLevel(Level):
    """A structure over triangles: `indices` are three per triangle; or over boxes, if there are no indices.

    Args:
        places: contiguous floats: three per vertex, or the six of the corners of each box.
        opaque: no any-hit function runs, and no candidate needs to be committed.
    """

    def __init__(self, places: Tensor, indices: Tensor | None, opaque: bool):
        device = places.device
        self._places = _Input(device, places.size * 4)
        self._indices = None if indices is None else _Input(device, indices.size * 4)
        pair = spy.BufferOffsetPair(self._places.buffer)
        if indices is None or self._indices is None:
            described: Any = spy.AccelerationStructureBuildInputProceduralPrimitives()
            described.aabb_buffers, described.aabb_stride, described.primitive_count = [pair], 24, places.size // 6
        else:
            described = spy.AccelerationStructureBuildInputTriangles()
            described.vertex_buffers, described.vertex_stride, described.vertex_count = [pair], 12, places.size // 3
            described.vertex_format, described.index_format = spy.Format.rgb32_float, spy.IndexFormat.uint32
            described.index_buffer, described.index_count = spy.BufferOffsetPair(self._indices.buffer), indices.size
        described.flags = _Geometry.opaque if opaque else _Geometry.none
        flags = _Flags.allow_update | _Flags.prefer_fast_trace
        inputs = [i for i in (self._places, self._indices) if i is not None]
        super().__init__(device, spy.AccelerationStructureKind.bottom_level, _described([described], flags), inputs)
        self.write(places, indices, update=False)

    def write(self, places: Tensor, indices: Tensor | None = None, *, update: bool) -> None:
        """Records new contents and a build, or a refit with `update`."""
        if PENDING:
            before_effects()
        with self.device.lock:
            self._places.fill(places)
            if indices is not None and self._indices is not None:
                self._indices.fill(indices)
            self.record(update)


class TopLevel(Level):
    """A structure over a fixed number of instances, which a kernel takes as a ``RaytracingAccelerationStructure``.

    Attributes:
        rows: the rows of a shader table that its instances need at least.
    """

    def __init__(self, device: Device, count: int, rows: int):
        self.rows = rows
        self._instances = _Input(device, count * INSTANCE.itemsize)
        described = spy.AccelerationStructureBuildInputInstances()
        described.instance_buffer = spy.BufferOffsetPair(self._instances.buffer)
        described.instance_stride, described.instance_count = INSTANCE.itemsize, count
        kind, flags = spy.AccelerationStructureKind.top_level, _Flags.prefer_fast_trace
        super().__init__(device, kind, _described([described], flags), [self._instances])

    def write(self, records: Tensor) -> None:
        """Records new instances, `INSTANCE` as words, and a build."""
        if PENDING:
            before_effects()
        with self.device.lock:
            self._instances.fill(records)
            self.record()

    def write_now(self, records: Callable[[], Tensor]) -> None:
        """Writes the instances of a new structure, also inside a capture, and submits the build: an encoder may read it next."""
        token = CAPTURED.set(None)
        try:
            with self.device.lock:
                self._instances.fill(records())
                self.record()
                self.device.queue.flush()
        finally:
            CAPTURED.reset(token)

    def rebuild(self) -> None:
        """Records a build over the same instances, whose bottom levels have changed."""
        with self.device.lock:
            self.record()

    def linked_to(self, table: Sequence[str]) -> TopLevel:
        """Returns the structure in which instances that name their hit group have its row of a shader table.

        Without names that is this one.

        Args:
            table: the names of the groups of its rows.
        """
        return self


def handle_of(level: BottomLevel) -> int:
    """Returns the address by which an instance refers to its bottom level."""
    desc = spy.AccelerationStructureInstanceDesc()
    desc.acceleration_structure = level.structure.handle
    return int(desc.to_numpy().view(INSTANCE)["handle"][0])

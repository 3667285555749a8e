"""All kinds of Python values, by class, and the accesses of kernels to them.

`register_kind` adds a kind. Its `place` returns one of the containers below, so that most kinds need no Slang code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import slangpy as spy
from slangpy.slangpy import Shape as SlangpyShape

from fusepy.backend.device.device import Device
from fusepy.backend.emit.operand import Access
from fusepy.backend.marshals.array import ListMarshal, MaskedMarshal, NumPyMarshal, TensorMarshal, TupleMarshal
from fusepy.backend.marshals.base import INSTEAD, Array, Marshal, ResultKind, ValueKind, kind_of_marshal
from fusepy.backend.marshals.foreign import CudaMarshal, DLPackMarshal, SlangpyMarshal
from fusepy.backend.marshals.generators import CallId, Grid, Linspace, RandFloat, Shape, ThreadId, WangHash
from fusepy.backend.marshals.grid import GridAccess, GridMarshal, LinspaceAccess, LinspaceMarshal, RangeMarshal, ShapeMarshal
from fusepy.backend.marshals.memory import MemoryAccess, PairAccess
from fusepy.backend.marshals.number import IntMarshal, NoneAccess, NoneMarshal, NumberAccess, NumberMarshal, NumPyScalarMarshal
from fusepy.backend.marshals.resource import (
    AccelerationStructureMarshal,
    BufferMarshal,
    HandleMarshal,
    ResourceAccess,
    SamplerMarshal,
    SceneMarshal,
    StorageMarshal,
)
from fusepy.backend.marshals.texture import CubeAccess, TextureAccess, TextureMarshal
from fusepy.backend.marshals.thread import CallIdAccess, GeneratorMarshal, RandFloatAccess, ThreadIdAccess, WangHashAccess
from fusepy.backend.marshals.torch import TorchMarshal
from fusepy.backend.marshals.vector import MATH_MARSHALS, UniformAccess, as_object
from fusepy.backend.memory.slangpy_names import TensorStorage
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.memory.texture import TextureKind
from fusepy.backend.scenes.levels import TopLevel
from fusepy.backend.torch import is_torch
from fusepy.errors import UnsupportedArgumentError
from fusepy.ir.arrivals import ARRIVALS, BUFFER, HANDLE, OPAQUE
from fusepy.ir.types import BOOL, FLOAT, INT, UINT, Type

_MARSHALS: dict[type, Marshal] = {
    Tensor: TensorMarshal(),
    **dict.fromkeys((np.ndarray, np.void), NumPyMarshal()),  # one element of a structured array is a void
    spy.Tensor: SlangpyMarshal(),
    list: ListMarshal(),
    float: NumberMarshal(FLOAT),
    int: IntMarshal(INT),
    bool: NumberMarshal(BOOL),
    tuple: TupleMarshal(),
    np.ma.MaskedArray: MaskedMarshal(),
    Grid: GridMarshal(),
    Shape: ShapeMarshal(),
    SlangpyShape: ShapeMarshal(),
    range: RangeMarshal(),
    type(None): NoneMarshal(),
    Linspace: LinspaceMarshal(),
    CallId: GeneratorMarshal(INT),
    ThreadId: GeneratorMarshal(UINT),
    WangHash: GeneratorMarshal(UINT),
    RandFloat: GeneratorMarshal(FLOAT),
    spy.Texture: TextureMarshal(),
    spy.TextureView: TextureMarshal(),
    spy.Sampler: SamplerMarshal(),
    spy.Buffer: BufferMarshal(),
    TensorStorage: StorageMarshal(),
    spy.AccelerationStructure: AccelerationStructureMarshal(),
    TopLevel: SceneMarshal(),
    spy.DescriptorHandle: HandleMarshal(),
    **{t: NumPyScalarMarshal(t) for t in (np.bool_, np.float16, np.float32, np.float64)},
    **{getattr(np, f"{u}int{n}"): NumPyScalarMarshal(f"{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)},
    **MATH_MARSHALS,
}

_memory = MemoryAccess()
_places: dict[str, Access] = {
    "CallId": CallIdAccess(),
    "ThreadId": ThreadIdAccess(),
    "WangHash": WangHashAccess(),
    "RandFloat": RandFloatAccess(),
}
_BY_NAME: dict[str, Access] = {
    "Tensor": _memory,
    "List": _memory,
    "Pair": PairAccess(),
    "Grid": GridAccess(),
    "Linspace": LinspaceAccess(),
    "Uniform": UniformAccess(),
    "None": NoneAccess(),
    "": NumberAccess(),
    **_places,
    **{f"{name}1": access for name, access in _places.items()},
    **dict.fromkeys((BUFFER, OPAQUE, HANDLE), ResourceAccess()),
    **{a.name: CubeAccess() if a.cube else TextureAccess() for a in ARRIVALS.values() if a.texels},
}
ACCESSES = {ARRIVALS[name]: access for name, access in _BY_NAME.items()}


def _dlpack(cls: type[Any]) -> bool:
    return hasattr(cls, "__dlpack__") and cls.__module__.partition(".")[0] != "cupy"


def _cuda(cls: type[Any]) -> bool:
    return hasattr(cls, "__cuda_array_interface__")


OBJECT, STORED = "object", "texture"  # results without a class of arguments: slangpy's objects; what is stored into textures
RESULTS = {OBJECT: ResultKind(OBJECT, 100, as_object, named=False), STORED: ResultKind(STORED, 100, TensorMarshal().hand_out)}
_ours: set[str] = set()  # words of results that are reserved, not for users' marshals
KINDS: dict[type, ValueKind] = {}
_found: dict[type, ValueKind | None] = {}  # a cache of lookups by class, including classes without a kind


def register_kind(cls: type, marshal: Marshal) -> None:
    """Registers `marshal` for a class and its subclasses.

    Raises:
        ArgumentError: if `marshal` is not a marshal.
    """
    KINDS[cls] = kind_of_marshal(marshal, RESULTS, _ours)
    _found.clear()


for _cls, _marshal in _MARSHALS.items():
    register_kind(_cls, _marshal)
# classes of packages that fusepy does not import, recognised by their attributes
_FRAMEWORKS: list[tuple[Callable[[type[Any]], bool], ValueKind]] = [
    (is_torch, kind_of_marshal(TorchMarshal(), RESULTS)),
    (_dlpack, kind_of_marshal(DLPackMarshal(), RESULTS)),
    (_cuda, kind_of_marshal(CudaMarshal(), RESULTS)),
]
_ours.update(RESULTS)


def kind_of_class(cls: Any) -> ValueKind | None:
    """Returns the kind of a class, or of the first of its bases that has one; ``None`` if there is none."""
    try:
        return _found[cls]
    except KeyError:
        kinds = [*(KINDS[base] for base in cls.__mro__ if base in KINDS), *(kind for knows, kind in _FRAMEWORKS if knows(cls))]
        found = _found[cls] = kinds[0] if kinds else None
        return found


def kind_of_value(value: Any) -> ValueKind:
    """Returns the kind of a value.

    Raises:
        UnsupportedArgumentError: if there is none.
    """
    kind = kind_of_class(value.__class__)
    if kind is not None:
        return kind
    raise UnsupportedArgumentError(
        f"a {'dict' if issubclass(type(value), dict) else type(value).__name__} cannot be passed to Slang",
        saw=repr(value)[:60],
        expected="numbers, slangpy's vectors, textures and buffers, lists, NumPy arrays, Tensors, grid() and generators",
        hint=getattr(value.__class__, INSTEAD)
        if hasattr(value.__class__, INSTEAD)
        else "an enum is given by its number or an IntEnum; a fused function takes a string as a static argument"
        if isinstance(value, str)
        else "a dict stands for a struct in calls of Slang functions: m.Name(…), its constructor, gives a struct; or take a field"
        if issubclass(type(value), dict)
        else "types stand for values in fp.resolve only: pass a value"
        if isinstance(value, type) or isinstance(getattr(value, "type", None), Type)
        else "convert it, or register a marshal for its class",
    )


def extents_of(value: Any) -> tuple[int, ...]:
    """Returns the shape on the device of an argument, or of its uploaded value."""
    kind = _found.get(value.__class__) or kind_of_class(value.__class__)
    return np.shape(value) if kind is None else kind.extents(value)


def batch_extents(value: Any, components: int) -> tuple[int, ...]:
    """Returns the extents of an array or tensor without the axes that belong to its elements, which have `components` axes."""
    kind = kind_of_value(value)
    shape = kind.extents(value)
    return shape[: len(shape) - components + len(kind.describe(value).type.shape)]


def host_array(value: Any) -> Array | None:
    """Returns the numbers of a value in host memory, without a copy; ``None`` for any other."""
    kind = kind_of_class(value.__class__)
    return None if kind is None or kind.array is None else kind.array(value)


def device_of(values: Iterable[Any]) -> Device | None:
    """Returns the device of the first value that is on one."""
    for value in values:
        kind = kind_of_class(value.__class__)
        if kind is not None and kind.device is not None and (device := kind.device(value)) is not None:
            return device
    return None


def gradients_of(value: Any) -> tuple[Any, Any] | None:
    """Returns the gradient of a value that calls read, and the one that they add to; ``None`` for a value without gradients."""
    kind = kind_of_class(value.__class__)
    return None if kind is None or kind.gradients is None else kind.gradients(value)


def texture_kind(value: Any) -> TextureKind | None:
    """Returns the part of a texture that decides about code; ``None`` for other values."""
    kind = kind_of_class(value.__class__)
    return None if kind is None or kind.texture is None else kind.texture(value)


def waits(values: Iterable[Any]) -> bool:
    """True if one of these values has a stream of another framework."""
    for value in values:
        kind = _found.get(value.__class__)
        if kind is not None and kind.stream is not None and kind.stream(value) is not None:
            return True
    return False

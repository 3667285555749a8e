"""Argument kinds by Python type, and the ways that kernels reach them.

`fusepy.register` adds a kind: an object with the methods of `Marshal` for a Python type. What it places on the device is one of
the containers below, so most kinds need no Slang of their own.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import slangpy as spy
from slangpy.slangpy import Shape as SlangpyShape

from fusepy.backend.emit.operand import Access
from fusepy.backend.marshals.array import ListMarshal, NumPyMarshal, TensorMarshal
from fusepy.backend.marshals.base import Marshal
from fusepy.backend.marshals.foreign import CudaMarshal, DLPackMarshal, SlangpyMarshal, slangpy_tensor_class
from fusepy.backend.marshals.generators import CallId, Grid, Linspace, RandFloat, Shape, ThreadId, WangHash
from fusepy.backend.marshals.grid import GridAccess, GridMarshal, LinspaceAccess, LinspaceMarshal, RangeMarshal, ShapeMarshal
from fusepy.backend.marshals.memory import MemoryAccess
from fusepy.backend.marshals.nothing import NoneAccess, NoneMarshal
from fusepy.backend.marshals.number import IntMarshal, NumberAccess, NumberMarshal, NumPyScalarMarshal
from fusepy.backend.marshals.pair import PairAccess
from fusepy.backend.marshals.resource import (
    AccelerationStructureMarshal,
    BufferMarshal,
    HandleMarshal,
    ResourceAccess,
    SamplerMarshal,
)
from fusepy.backend.marshals.texture import CubeAccess, TextureAccess, TextureMarshal
from fusepy.backend.marshals.thread import CallIdAccess, GeneratorMarshal, RandFloatAccess, ThreadIdAccess, WangHashAccess
from fusepy.backend.marshals.torch import TorchMarshal, is_class
from fusepy.backend.marshals.vector import MATH_MARSHALS, UniformAccess
from fusepy.backend.memory.host_arrays import mask_error
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import UnsupportedArgumentError
from fusepy.ir.containers import BUFFER, HANDLE, OPAQUE, TEXTURES
from fusepy.ir.types import BOOL, FLOAT, INT, UINT, Type

MARSHALS: dict[type, Marshal] = {
    Tensor: TensorMarshal(),
    np.ndarray: NumPyMarshal(),
    slangpy_tensor_class(): SlangpyMarshal(),
    list: ListMarshal(),
    tuple: ListMarshal(),
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
    spy.AccelerationStructure: AccelerationStructureMarshal(),
    spy.DescriptorHandle: HandleMarshal(),
    float: NumberMarshal(FLOAT),
    int: IntMarshal(INT),
    bool: NumberMarshal(BOOL),
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
ACCESSES: dict[str, Access] = {
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
    BUFFER: ResourceAccess(),
    OPAQUE: ResourceAccess(),
    HANDLE: ResourceAccess(),
    **{name: CubeAccess() if "Cube" in name else TextureAccess() for name in TEXTURES},
}


def marshal_of(value: Any) -> Marshal:
    """The marshal of a value's class, or of the first of its bases that has one.

    Raises:
        UnsupportedArgumentError: if there is none.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise mask_error(value)
    for cls in type(value).__mro__:
        found = MARSHALS.get(cls)
        if found is not None:
            MARSHALS[type(value)] = found
            return found
    found = _of_framework(cast("type[Any]", type(value)))
    if found is not None:
        MARSHALS[type(value)] = found
        return found
    raise UnsupportedArgumentError(
        f"a {type(value).__name__} cannot be passed to Slang",
        saw=repr(value)[:60],
        expected="numbers, slangpy's vectors, textures and buffers, lists, NumPy arrays, Tensors, grid() and generators",
        hint="an enum is given by its number or an IntEnum; a fused function takes a string as a static argument"
        if isinstance(value, str)
        else "types stand for values in fp.resolve only: pass a value"
        if isinstance(value, type) or isinstance(getattr(value, "type", None), Type)
        else "convert it, or register a marshal for its class",
    )


def _of_framework(cls: type[Any]) -> Marshal | None:
    """The marshal of another framework's arrays."""
    if is_class(cls):
        return TorchMarshal()
    if hasattr(cls, "__dlpack__") and cls.__module__.partition(".")[0] != "cupy":
        return DLPackMarshal()
    return CudaMarshal() if hasattr(cls, "__cuda_array_interface__") else None

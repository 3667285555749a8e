"""`Element`: the type of a tensor's elements, on the device and in NumPy."""

from __future__ import annotations

import math
import weakref
from typing import Any, cast

import numpy as np
import slangpy as spy
from slangpy.reflection import SlangProgramLayout
from slangpy.reflection import SlangType as Reflected

from fusepy.backend.device.device import Device
from fusepy.errors import UnsupportedArgumentError
from fusepy.ir.oracle import Layout, Oracle
from fusepy.ir.types import BOOL, SCALARS, Kind, Type

# who lays out the structs of slangpy's reflection of a module, by the identity of that reflection
PROGRAMS: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


class Element:
    """The type of one element: its Slang type, its size on the device, and its NumPy dtype.

    Attributes:
        type: the Slang type.
        nbytes: distance from one element to the next.
        origin: the module that declares a struct.
        dtype: NumPy dtype of a component, or of the whole struct; `shape` has the components' extents.
        members: the types of a struct's fields.
    """

    __slots__ = ("dtype", "members", "nbytes", "origin", "scalar", "shape", "stored", "type")
    _interned: dict[object, Element] = {}
    structs: dict[np.dtype[Any], list[Element]] = {}  # by NumPy dtype, to recognise structured arrays

    def __init__(self, type: Type, nbytes: int, dtype: np.dtype[Any], stored: np.dtype[Any], shape: tuple[int, ...]):
        self.type = type
        self.nbytes = nbytes
        self.dtype = dtype
        self.stored = stored  # differs for bool, which is four bytes on the device
        self.shape = shape
        self.origin: object = None
        self.members: dict[str, Type] = {}
        self.scalar = type.kind is Kind.SCALAR

    def same(self, other: Element) -> bool:
        """True if both are the same type with the same layout. A struct that two modules import from a third has two elements."""
        return self is other or (self.type is other.type and self.dtype == other.dtype and self.nbytes == other.nbytes)

    def key(self, rank: object, device: Device) -> object:
        """Returns one object per element, rank (or shape information) and device. It is the tensor's part of a cache key; its
        hash is cheap.
        """
        keys = device.element_keys  # stored on the device, so that they live as long as it does
        found = keys.get((self, rank))
        return keys.setdefault((self, rank), object()) if found is None else found

    @classmethod
    def structs_named(cls, type: Type) -> list[Element]:
        """Returns the structs of this name that any module of the process has laid out."""
        return [e for group in list(cls.structs.values()) for e in list(group) if e.type is type]

    @classmethod
    def of(cls, type: Type, oracle: Oracle | None = None) -> Element:
        """Returns the element of a type. `oracle` gives the layout of structs.

        Raises:
            UnsupportedArgumentError: for a type that cannot live in memory, or that no module declares.
        """
        if type.dtype is not None:
            found = cls._interned.get(type)
            if found is None:
                stored = np.dtype(np.uint32) if type.scalar is BOOL else type.dtype
                found = cls(type, stored.itemsize * math.prod(type.shape), type.dtype, stored, type.shape)
                cls._interned[type] = found
            return found
        if type.kind is Kind.ARRAY and type.element is not None:
            inner = cls.of(type.element, oracle)
            found = cls._interned.get((type, inner))
            if found is None:
                found = cls(type, inner.nbytes * type.shape[0], inner.dtype, inner.stored, type.shape)
                found.origin = inner.origin
                cls._interned[type, inner] = found
            return found
        layout = oracle.layout(type) if oracle is not None else None
        if layout is None:
            raise UnsupportedArgumentError(
                f"a tensor cannot hold {type}", hint="use a scalar, vector, matrix, or a struct as module.Name, e.g. dtype=m.Ray"
            )
        found = cls._interned.get((layout, layout.origin))
        if found is None:
            dtype = struct_dtype(layout, oracle) if layout.scalar is None else SCALARS[layout.scalar.name]
            found = cls._interned[layout, layout.origin] = cls(type, layout.stride, dtype, dtype, ())
            found.origin = layout.origin
            if layout.scalar is None:
                found.members = {field.name: field.type for field in layout.fields}
                cls.structs.setdefault(dtype, []).append(found)
                # The metadata names the struct of the array, because several structs may share a layout.
                found.dtype = found.stored = np.dtype(dtype, metadata={"slang": found})  # pyright: ignore[reportCallIssue, reportArgumentType]
        return found


def struct_dtype(layout: Layout, oracle: Oracle | None) -> np.dtype[Any]:
    """Returns the NumPy dtype of a struct, with Slang's offsets: Slang reuses tail padding, so ``align=True`` would be wrong."""
    formats: list[Any] = []
    for field in layout.fields:
        if field.type.kind is Kind.POINTER:  # an address
            formats.append(np.uint64)
            continue
        inner = Element.of(field.type, oracle)
        stored = inner.stored
        if field.type.scalar is BOOL and field.size == math.prod(inner.shape):
            stored = inner.dtype  # one byte on CUDA; the four bytes of other devices stay numbers
        formats.append((stored, inner.shape) if inner.shape else stored)
    names = [f.name for f in layout.fields]
    offsets = [f.offset for f in layout.fields]
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": layout.stride})


def element_of(dtype: Any) -> Element:
    """Returns the element for a ``dtype=`` argument: a Slang type of a module, a `Type`, a name, a NumPy dtype, or a type of
    slangpy: a math class, a reflection type, a ``ScalarType``.

    Raises:
        UnsupportedArgumentError: if a tensor cannot hold this type.
    """
    if isinstance(dtype, Element):
        return dtype
    element = getattr(dtype, "element", None)  # a type of a module, which has the layout of its structs
    if isinstance(element, Element):
        return element
    type = type_named(dtype)
    if type is not None:
        layout = getattr(dtype, "layout", None) if isinstance(dtype, Reflected) else None
        return Element.of(type, None if layout is None else PROGRAMS.get(id(layout)))
    if any(dtype is python for python in (float, int, bool)):  # Slang's types of these names; NumPy's equal Python's
        return Element.of(Type.parse(dtype.__name__))
    numpys = None if isinstance(dtype, str) and _is_slang(dtype) else _numpys(dtype)
    if numpys is None:
        return Element.of(Type.parse(cast("str", dtype)))
    return Element.of(scalar_type(numpys))


def _numpys(dtype: Any) -> np.dtype[Any] | None:
    """Returns NumPy's type of this name; ``None`` for a name that it does not have."""
    try:
        return np.dtype(dtype)
    except (TypeError, ValueError):  # ValueError: a name with commas, which NumPy takes for a list of fields
        if isinstance(dtype, str):
            return None
        hint = "write fp.zeros((2, 3)), with the extents as one argument; types are float, 'float3', np.float32, m.Ray"
        raise UnsupportedArgumentError(f"{dtype!r} is no type", hint=hint) from None


def program_layout(module: spy.SlangModule, oracle: Oracle) -> SlangProgramLayout:
    """Returns slangpy's reflection of a loaded module. Its types are dtypes: `oracle` lays out the structs.

    The object must be kept as long as its types are used.
    """
    found = SlangProgramLayout(module.layout)
    PROGRAMS[id(found)] = oracle
    return found


def type_named(spec: Any) -> Type | None:
    """Returns the type that an object stands for: a `Type`, a type of a module, or slangpy's math classes, reflection types and
    scalar types; ``None`` for any other.
    """
    if isinstance(spec, Type):
        return spec
    if isinstance(spec, Reflected):
        return Type.parse(spec.full_name)
    if isinstance(spec, spy.TypeLayoutReflection):
        spec = spec.type
    if isinstance(spec, spy.TypeReflection):
        return Type.parse(spec.full_name)
    if isinstance(spec, spy.TypeReflection.ScalarType):
        return Type.parse(spec.name if spec.name == "bool" else f"{spec.name}_t")
    if isinstance(spec, type) and spec.__module__ == "slangpy.math":
        return Type.parse(spec.__name__)
    found = getattr(spec, "type", None)
    return found if isinstance(found, Type) else None


def _is_slang(name: str) -> bool:
    """True if Slang and NumPy use the name differently: NumPy's "float" is a double, and "int4" (of ml_dtypes) has four bits."""
    return name in SCALARS or (name.isidentifier() and Type.parse(name).dtype is not None)


def scalar_type(dtype: np.dtype[Any]) -> Type:
    """Returns the Slang scalar for a NumPy dtype.

    Raises:
        UnsupportedArgumentError: for a dtype that Slang does not have.
    """
    found = Type.of_dtype(dtype) if dtype.isnative else None
    if found is None:
        raise UnsupportedArgumentError(
            f"Slang has no type for NumPy's {dtype}"
            if dtype.names is None
            else f"Structured numpy dtype {dtype} without a struct",
            saw=dtype,
            expected="bool, int8 to int64, uint8 to uint64, float16, float32, float64, or a struct as dtype=module.Name",
            hint="pass a.real and a.imag as two arrays"
            if dtype.kind == "c"
            else "say which struct it is: Tensor.from_numpy(device, array, m.Name)"
            if dtype.names is not None
            else "convert the array with .astype(np.float32)"
            if dtype.isnative
            else "convert it to this machine's byte order with a.astype(a.dtype.newbyteorder('='))",
        )
    return found

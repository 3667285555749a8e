"""Slang types as interned values: two spellings of one type are one object, so types are compared with ``is``.

`Type.parse` takes every spelling that Slang's reflection and its users write (``float3``, ``vector<float,3>``,
``float[4]``, ``Ptr<Ray>``, ``ns.Pair<float>``), by the grammar of `fusepy.ir.names`.
"""

from __future__ import annotations

import re
from enum import Enum

import numpy as np

from fusepy.ir.names import Spelling, spelling


class Kind(Enum):
    """The kind of a `Type`."""

    VOID = "void"
    SCALAR = "scalar"
    VECTOR = "vector"
    MATRIX = "matrix"
    ARRAY = "array"
    POINTER = "pointer"
    NAMED = "named"  # a struct, enum or interface of the user's module
    WHOLE = "whole"  # an array type of the Slang module of fusepy or slangpy, which user code indexes; see `ir.whole`
    RESOURCE = "resource"  # a texture, buffer, sampler or acceleration structure, see `ir.resources`


AS_ONE = (Kind.POINTER, Kind.WHOLE, Kind.RESOURCE)  # types that take an array as one value; none has a derivative
# name -> NumPy dtype of one element, in the order of promotion; the device stores bool as four bytes
SCALARS: dict[str, np.dtype] = {
    "bool": np.dtype(np.bool_),
    "int8_t": np.dtype(np.int8),
    "uint8_t": np.dtype(np.uint8),
    "int16_t": np.dtype(np.int16),
    "uint16_t": np.dtype(np.uint16),
    "int": np.dtype(np.int32),
    "uint": np.dtype(np.uint32),
    "int64_t": np.dtype(np.int64),
    "uint64_t": np.dtype(np.uint64),
    "half": np.dtype(np.float16),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
}
_ALIASES = {"int32_t": "int", "uint32_t": "uint", "float16_t": "half", "float32_t": "float", "float64_t": "double"}
_BY_DTYPE = {dtype: name for name, dtype in SCALARS.items()}
_SHORT = {"bool", "int", "uint", "half", "float", "double"}  # scalars with `float3`-like spellings in every Slang version
_LIBRARIES = ("fusepy::", "slangpy::")  # the oracle puts these in front of array types, which it knows by reflection
TEXTURE_RANKS = {"1D": 1, "2D": 2, "3D": 3, "1DArray": 2, "2DArray": 3, "Cube": 3, "CubeArray": 4}  # axes of the array of texels
_TEXTURES = frozenset(f"{access}Texture{shape}" for shape in TEXTURE_RANKS for access in ("", "RW"))
_BUFFERS = frozenset(("StructuredBuffer", "RWStructuredBuffer"))
_SAMPLERS = frozenset(("SamplerState", "SamplerComparisonState"))
_OPAQUE = _SAMPLERS | {"ByteAddressBuffer", "RWByteAddressBuffer", "RaytracingAccelerationStructure"}


class Type:
    """One Slang type.

    Attributes:
        name: its canonical spelling, e.g. ``float3``, ``vector<int64_t,2>``, ``float3x3``, ``float[4]``, ``Ptr<Ray>``.
        kind: see `Kind`.
        element: the scalar of a vector or matrix, the element of an array, texture or structured buffer, the pointee of a
            pointer; else ``None``.
        shape: extents that a value has as an array of scalars of `element`: ``()``, ``(3,)``, ``(3, 3)``.
        rank: the number of axes of a whole array.
        scalar: the innermost scalar of a scalar, vector, matrix or array; ``None`` for a struct or pointer.
        dtype: the NumPy dtype of `scalar`.
        writes: True if Slang code can write through a value of this type.

    Example:
        >>> Type.parse("vector<float, 3>") is Type.parse("float3")
        True
    """

    __slots__ = ("dtype", "element", "kind", "name", "rank", "scalar", "shape", "writes")
    _interned: dict[str, Type] = {}

    name: str
    kind: Kind
    element: Type | None
    shape: tuple[int, ...]
    rank: int
    scalar: Type | None
    dtype: np.dtype | None
    writes: bool

    __hash__ = object.__hash__  # types are interned; a scalar also equals NumPy's dtype of it: ``t.dtype == np.float32``

    def __eq__(self, other: object) -> bool:
        numpys = isinstance(other, np.dtype) or (isinstance(other, type) and issubclass(other, np.generic))
        return (self.kind is Kind.SCALAR and self.dtype == other) if numpys else NotImplemented  # then identity decides

    @classmethod
    def intern(cls, name: str, kind: Kind, element: Type | None = None, shape: tuple[int, ...] = (), rank: int = 0) -> Type:
        """Returns the object of this canonical name; for the parser, which alone makes canonical names."""
        found = cls._interned.get(name)
        if found is None:
            found = object.__new__(cls)
            found.name, found.kind, found.element, found.shape, found.rank = name, kind, element, shape, rank
            inner = element if kind in (Kind.VECTOR, Kind.MATRIX, Kind.ARRAY) else None
            found.scalar = found if kind is Kind.SCALAR else None if inner is None else inner.scalar
            found.dtype = None if found.scalar is None else SCALARS[found.scalar.name]
            through = element.name if element is not None and found.head == "DescriptorHandle" else name
            found.writes = kind is Kind.POINTER or (kind is Kind.RESOURCE and through.startswith("RW"))
            found = cls._interned.setdefault(name, found)
        return found

    @classmethod
    def parse(cls, text: str) -> Type:
        """Returns the type that `text` spells.

        Raises:
            InvalidNameError: if `text` is no type name.
        """
        return cls._interned.get(text) or _built(spelling(text))

    @classmethod
    def of_dtype(cls, dtype: np.dtype) -> Type | None:
        """Returns the scalar type with the layout of `dtype`; ``None`` if Slang has none."""
        name = _BY_DTYPE.get(dtype)
        return cls.parse(name) if name else None

    @classmethod
    def vector(cls, element: Type, count: int) -> Type:
        """Returns a vector of `count` scalars; of one, the scalar itself."""
        if count == 1:
            return element
        name = f"{element.name}{count}" if element.name in _SHORT else f"vector<{element.name},{count}>"
        return cls.intern(name, Kind.VECTOR, element, (count,))

    @classmethod
    def matrix(cls, element: Type, rows: int, cols: int) -> Type:
        """Returns a matrix of scalars."""
        name = f"{element.name}{rows}x{cols}" if element.name in _SHORT else f"matrix<{element.name},{rows},{cols}>"
        return cls.intern(name, Kind.MATRIX, element, (rows, cols))

    @classmethod
    def array(cls, element: Type, count: int) -> Type:
        """Returns an array of fixed extent."""
        return cls.intern(f"{element.name}[{count}]", Kind.ARRAY, element, (count, *element.shape))

    @classmethod
    def pair(cls, value: Type) -> Type:
        """Returns ``DifferentialPair<value>``: a value with its derivative; `element` and `shape` are the value's."""
        return cls.intern(f"DifferentialPair<{value.name}>", Kind.NAMED, value, value.shape)

    @classmethod
    def pointer(cls, element: Type) -> Type:
        """Returns a pointer to elements in device memory."""
        return cls.intern(f"Ptr<{element.name}>", Kind.POINTER, element)

    @classmethod
    def whole(cls, family: str, element: Type, rank: int) -> Type:
        """Returns an array type of a Slang module: ``whole("fusepy::Tensor", float, 2)``."""
        return cls.intern(f"{family}<{element.name},{rank}>", Kind.WHOLE, element, rank=rank)

    @classmethod
    def resource(cls, head: str, element: Type | None = None) -> Type:
        """Returns a resource type: ``Texture2D<float4>``, ``RWStructuredBuffer<Ray>``, ``SamplerState``, …"""
        return cls.intern(head if element is None else f"{head}<{element.name}>", Kind.RESOURCE, element)

    @property
    def head(self) -> str:
        """The name without its arguments: ``Texture2D``."""
        return self.name.partition("<")[0]

    @property
    def is_float(self) -> bool:
        """True if the components are floating-point numbers."""
        return self.dtype is not None and self.dtype.kind == "f"

    @property
    def is_numeric(self) -> bool:
        """True if Slang's operators apply componentwise: a scalar, a vector or a matrix."""
        return self.kind in (Kind.SCALAR, Kind.VECTOR, Kind.MATRIX)

    @property
    def optional(self) -> Type | None:
        """The type inside an ``Optional``; ``None`` for every other type."""
        return Type.parse(self.name[len("Optional<") : -1]) if self.head == "Optional" and self.name.endswith(">") else None

    def fills(self, have: Type) -> int | None:
        """Returns the number of axes of `have` elements that make one value of this type; ``None`` if they cannot.

        Example:
            >>> Type.parse("float3[2]").fills(Type.parse("float")), Type.parse("float3[2]").fills(Type.parse("float3"))
            (2, 1)
        """
        inner, axes = self, 0
        while inner is not have and inner.kind is Kind.ARRAY and inner.element is not None:
            inner, axes = inner.element, axes + 1
        if inner is have:
            return axes
        return axes + len(inner.shape) if inner.is_numeric and inner.element is have else None

    def with_scalar(self, scalar: Type) -> Type:
        """Returns this scalar, vector, matrix, or array of these with its components replaced by `scalar`."""
        if self.kind is Kind.ARRAY and self.element is not None:
            return Type.array(self.element.with_scalar(scalar), self.shape[0])
        if self.kind is Kind.VECTOR:
            return Type.vector(scalar, self.shape[0])
        if self.kind is Kind.MATRIX:
            return Type.matrix(scalar, *self.shape)
        return scalar

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Type.parse, (self.name,)


def _built(spelling: Spelling) -> Type:
    """Returns the type of a spelling."""
    outer, *declared = [(path, [_built(a) if isinstance(a, Spelling) else a for a in args]) for path, args in spelling.parts]
    found = _named(*outer)
    for path, args in declared:  # a member of a generic type: Pair<float>::make
        found = Type.intern(_written(f"{found.name}::{path}", args), Kind.NAMED)
    for extent in spelling.extents:  # Slang reads float[3][2] from the left: two arrays of three floats
        found = Type.array(found, extent)
    return found


def _named(head: str, args: list[Type | int]) -> Type:
    """Returns the type of a name with its arguments."""
    head = _ALIASES.get(head, head)
    if not args:
        if head in _TEXTURES:  # Slang's default
            return Type.resource(head, Type.vector(FLOAT, 4))
        return _builtin(head) or Type.intern(head, Kind.RESOURCE if head in _OPAQUE else Kind.NAMED)
    first = args[0]
    found = _applied(head, first, args[1:]) if isinstance(first, Type) else None
    return found or Type.intern(_written(head, args), Kind.NAMED)


def _written(head: str, args: list[Type | int]) -> str:
    return f"{head}<{','.join(map(str, args))}>" if args else head


def _applied(head: str, first: Type, rest: list[Type | int]) -> Type | None:
    """Returns a generic type that fusepy knows, applied to a type and more; ``None`` for any other."""
    match head, rest:
        case "vector", [int(count)]:
            return Type.vector(first, count)
        case "matrix", [int(rows), int(cols), *_]:
            return Type.matrix(first, rows, cols)
        case "Array", [int(count)]:
            return Type.array(first, count)
        case "Ptr", _:  # reflection adds access, address space and layout, which fusepy never varies
            return Type.pointer(first)
        case "DifferentialPair", []:
            return Type.pair(first)
        case _, [int(rank)] if head.startswith(_LIBRARIES):
            return Type.whole(head, first, rank)
        case _ if _holds(head, first, rest):
            return Type.resource(head, first)
        case _:
            return None


def _holds(head: str, first: Type, rest: list[Type | int]) -> bool:
    """True if this is a resource of elements of type `first`."""
    if head in _BUFFERS:  # sessions use scalar layout, so the default layout is that of NumPy and pointers
        return [str(a) for a in rest] in ([], ["DefaultDataLayout"], ["ScalarDataLayout"])
    return not rest and (head in _TEXTURES or (head == "DescriptorHandle" and first.kind is Kind.RESOURCE))


def _builtin(name: str) -> Type | None:
    if name == "void":
        return Type.intern("void", Kind.VOID)
    if name in SCALARS:
        return Type.intern(name, Kind.SCALAR)
    match = re.fullmatch(r"([a-z]\w*?)([1-4])(?:x([1-4]))?", name)
    scalar = match and _ALIASES.get(match[1], match[1])
    if match is None or scalar not in SCALARS:
        return None
    element = Type.parse(scalar)
    return Type.matrix(element, int(match[2]), int(match[3])) if match[3] else Type.vector(element, int(match[2]))


def pair_of(type: Type) -> Type | None:
    """Returns the type of the value in a ``DifferentialPair``; ``None`` for any other type.

    Example:
        >>> pair_of(Type.parse("DifferentialPair<float3>"))
        float3
    """
    return type.element if type.kind is Kind.NAMED else None


VOID = Type.parse("void")
BOOL = Type.parse("bool")
INT, INT64 = Type.parse("int"), Type.parse("int64_t")
UINT, UINT64 = Type.parse("uint"), Type.parse("uint64_t")
HALF = Type.parse("half")
FLOAT = Type.parse("float")
DOUBLE = Type.parse("double")

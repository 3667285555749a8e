"""Whole arrays: arguments that user code indexes, as a `Tensor<T, D>` of the Slang module of fusepy or of slangpy.

In the IR such a type starts with the name of its library, ``fusepy::Tensor<float,2>``, since both have a `Tensor`. The oracle
adds it by reflection; emitted code does not have it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fusepy.ir.graph import Graph, Node
from fusepy.ir.types import BOOL, FLOAT, HALF, UINT, Kind, Type
from fusepy.ir.value import Value, is_stored

TAKE = "fusepy_take"  # the module of the functions that read elements of arrays at indices
HOLDERS = (Kind.NAMED, Kind.ARRAY, Kind.POINTER, Kind.WHOLE)  # types that are, or may hold, a struct
LIBRARIES = ("fusepy", "slangpy")

# the families, ordered by their rights: if a generic takes several, the one with the fewest is chosen
_FAMILIES = {
    "Tensor": 0,
    "WTensor": 0,
    "PrimalTensor": 0,
    "WPrimalTensor": 0,
    "RWTensor": 1,
    "RWPrimalTensor": 1,
    "AtomicTensor": 2,
    "DiffTensor": 2,
    "WDiffTensor": 2,
    "RWDiffTensor": 3,
}
_OF_SLANGPY_ONLY = ("PrimalTensor", "WPrimalTensor", "RWPrimalTensor")
FAMILIES = {"fusepy": [f for f in _FAMILIES if f not in _OF_SLANGPY_ONLY], "slangpy": list(_FAMILIES)}
_READ_ONLY = ("Tensor", "PrimalTensor", "DiffTensor")


def library(type: Type) -> str:
    """Returns the library of a whole array, ``"fusepy"`` or ``"slangpy"``."""
    return type.name.partition("::")[0]


def family(type: Type) -> str:
    """Returns the name of the Slang type without library and arguments: ``RWTensor``."""
    return type.name.partition("::")[2].partition("<")[0]


def spelled(type: Type) -> str:
    """Returns the type as Slang spells it."""
    return type.name.partition("::")[2] if type.kind is Kind.WHOLE else type.name


def writes(type: Type) -> bool:
    """True if a function that takes a `type` may change the elements."""
    return family(type) not in _READ_ONLY


def has_gradients(type: Type) -> bool:
    """True if a `type` has gradients, to which user code may add though it only reads the elements."""
    return "Diff" in family(type)


def gathers(type: Type) -> bool:
    """True if reads of a `type` have gradients, which threads add to an array beside it, if its elements have gradients.

    Structs are added in kernels of gradients only: Slang finds no conformance of their differentials to an interface of ours.
    """
    if type.kind is not Kind.WHOLE or library(type) != "fusepy" or type.element is None:
        return False
    if family(type) == "Tensor" and innermost(type.element).kind is Kind.NAMED:
        return True
    return family(type) in ("Tensor", "DiffTensor") and type.element.is_float


def innermost(type: Type) -> Type:
    """Returns the innermost element of nested arrays of fixed size; other types as they are."""
    return innermost(type.element) if type.kind is Kind.ARRAY and type.element is not None else type


def scattered(type: Type, derived: Type) -> Type:
    """Returns the type of the array to which the gradients of a `type` are added.

    Args:
        derived: the type of the gradient of one element.
    """
    if innermost(derived).kind is Kind.NAMED:
        return Type.whole("fusepy::RWTensor", derived, type.rank)
    if family(type) == "Tensor" and derived.is_numeric and derived.scalar is HALF:
        derived = derived.with_scalar(FLOAT)  # many small gradients would be lost in a sum of halfs
    return Type.whole("fusepy::AtomicTensor", derived, type.rank)


def components(have: Type, element: Type) -> int:
    """Returns the number of stored elements in one element of the array: 3 if scalars are read as ``float3``."""
    return math.prod(element.shape) if have.kind is Kind.SCALAR and element.kind is not Kind.SCALAR else 1


def holds(value: Value, type: Type, told: bool) -> bool:
    """True if `value` can be passed as the whole array `type`; trailing axes become components where that fits.

    Args:
        told: True if the extents of trailing axes must be known, and fit; else bools can be read as the ``uint`` that they are
            in memory.
    """
    element = type.element
    if element is None or not (value.arrival.memory or (is_stored(value) and not writes(type))):
        return False
    if value.type is element or _follows(value, element) or (not told and _as_stored(value.type) is element):
        return value.rank == type.rank
    cut = len(element.shape)
    if not cut or not element.is_numeric or value.type.kind is not Kind.SCALAR or value.rank != type.rank + cut:
        return False
    scalar = element.scalar
    have = value.type if told else _as_stored(value.type)
    if scalar is None or (scalar not in (value.type, have) and not _follows(value, scalar)):
        return False
    return not told or value.dims[-cut:] == element.shape


def _as_stored(type: Type) -> Type:
    """Returns the type of the numbers as which elements lie in memory: bools are 0 or 1, of the size of a ``uint``."""
    return type.with_scalar(UINT) if type.is_numeric and type.scalar is BOOL else type


def has_extents(value: Value, type: Type) -> bool:
    """True if the trailing axes of `value` may have the extents of `type`, an array of fixed size; True for other types."""
    if type.kind is not Kind.ARRAY or value.type.kind is not Kind.SCALAR:
        return True
    for axis, (size, extent) in enumerate(zip(reversed(type.shape), reversed(value.dims))):
        if extent != size and (extent is not None or (axis < 2 and 2 <= size <= 4)):  # of the last two axes, 2 to 4 are known
            return False
        if extent is None:  # the axes before it have no known extents either
            break
    return True


def _follows(value: Value, element: Type) -> bool:
    """True if the Python numbers in a list become `element` without loss."""
    return value.weak and element.kind is Kind.SCALAR and (element.is_float or not value.type.is_float)


def candidates(value: Value, libraries: Sequence[str]) -> Iterator[Type]:
    """Yields the whole arrays that `value` can be passed as if a parameter does not state one."""
    if not value.arrival.memory and not is_stored(value):
        return
    elements = [value.type]
    *_, rows, columns = (None, None, *value.dims)
    if value.type.kind is Kind.SCALAR and columns is not None:
        elements.append(Type.vector(value.type, columns))
        if rows is not None:
            elements.append(Type.matrix(value.type, rows, columns))
    for name in libraries:
        for kind in FAMILIES[name]:
            for element in elements:
                yield Type.whole(f"{name}::{kind}", element, value.rank - (len(element.shape) - len(value.type.shape)))


def least(types: Sequence[Type]) -> tuple[int, ...]:
    """Returns the rights of each whole array in a binding; of bindings that differ only in these, the one with the fewest is
    chosen."""
    return tuple(_FAMILIES.get(family(t), 0) if t.kind is Kind.WHOLE else 0 for t in types)


def struct_in(type: Type) -> Type | None:
    """Returns the struct in a type: the type itself, its element or its pointee."""
    while type.kind in (Kind.ARRAY, Kind.POINTER, Kind.WHOLE) and type.element is not None:
        type = type.element
    return type if type.kind is Kind.NAMED else None


def taken(region: Node) -> list[int]:
    """Returns the operands of a region whose elements are read at indices by fusepy's own functions, or get their gradients."""
    found: dict[int, None] = {}
    for body in region.bodies:
        ahead = len(region.operands) - len(body.inputs)  # what follows a fold takes its results first
        values = set(_taken_values(body))
        found.update(dict.fromkeys(i + ahead for i, value in enumerate(body.inputs) if value in values))
    return list(found)


def is_taken(node: Node) -> bool:
    """True for a call that reads elements of its first operand at indices, by a function of fusepy's."""
    return str(node.attrs.get("module", "")).startswith(TAKE)


def only_taken(node: Node, place: int) -> bool:
    """True if a node reads an operand by `is_taken` calls only, itself or in its bodies."""
    if not node.bodies:
        return is_taken(node) and place == 0
    ahead = getattr(node.op, "ahead", 0) - getattr(node.op, "own", 0)
    uses: list[tuple[Node, int]] = []
    for body in node.bodies:
        if not 0 <= place - ahead < len(body.inputs):
            return False
        value = body.inputs[place - ahead]
        uses += [(inner, i) for inner in body.nodes for i, v in enumerate(inner.operands) if v is value]
    return all(only_taken(inner, i) for inner, i in uses)


def _taken_values(graph: Graph) -> Iterator[Value]:
    for node in graph.nodes:
        if is_taken(node):
            yield node.operands[0]
        ahead = getattr(node.op, "ahead", 0) - getattr(node.op, "own", 0)  # from inputs of a body to operands
        for body in node.bodies:
            inner = set(_taken_values(body))
            yield from (node.operands[i + ahead] for i, value in enumerate(body.inputs) if value in inner)

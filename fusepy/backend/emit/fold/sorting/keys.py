"""Numbers as unsigned integers in the same order, by which elements are sorted. NaN is the largest, and both zeros are equal."""

from __future__ import annotations

from fusepy.backend.emit.fold.numbers.order import order_functions
from fusepy.ir.ops.folds import DESCENDING
from fusepy.ir.types import HALF, UINT, Type

_WIDE = Type.parse("uint64_t")
_HALF = """
uint fz_order_{0}(half x)
{{
    uint bits = uint(asuint16(x));
    uint size = bits & 0x7fffu;
    if (size > 0x7c00u)
        return 0xffffu;
    return size == 0 || bits < 0x8000u ? size | 0x8000u : 0xffffu ^ bits;
}}"""


def key_type(type: Type) -> Type:
    """Returns the type of the key of a number."""
    assert type.dtype is not None, type
    return _WIDE if type.dtype.itemsize == 8 else UINT


def digits_of(type: Type) -> int:
    """Returns the number of lowest digits of 8 bits of a key that decide about the order."""
    assert type.dtype is not None, type
    return type.dtype.itemsize


def key_function(j: int, kind: str, type: Type) -> list[str]:
    """Returns the function ``fz_key_`` of sort `j`, from a number of this type to its key, which ascends or descends."""
    key = key_type(type)
    lines, value = list[str](), f"{key}(x)"
    if type is HALF:
        lines, value = _HALF.format(j).splitlines()[1:], f"fz_order_{j}(x)"
    elif type.is_float:
        lines, value = order_functions(j, "max", type, equals=True), f"fz_order_{j}(x)"
    elif type.dtype is not None and type.dtype.kind == "i":
        value = f"({value} + {1 << 8 * type.dtype.itemsize - 1:#x}{'ull' if key is _WIDE else 'u'})"
    return [*lines, f"{key} fz_key_{j}({type} x)", "{", f"    return {'~' * (kind == DESCENDING)}{value};", "}"]

"""Numbers as unsigned integers in the same order, by which elements are sorted. NaN is the largest, and both zeros are equal."""

from __future__ import annotations

from fusepy.backend.emit.fold.numbers.order import order_functions, order_type
from fusepy.ir.ops.base import convert
from fusepy.ir.ops.folds import DESCENDING
from fusepy.ir.types import FLOAT, HALF, UINT, Type

_WIDE = Type.parse("uint64_t")


def key_type(type: Type) -> Type:
    """Returns the type of the key of a number."""
    if type.is_float:
        return order_type(FLOAT if type is HALF else type)
    assert type.dtype is not None, type
    return _WIDE if type.dtype.itemsize == 8 else UINT


def key_function(j: int, kind: str, type: Type) -> list[str]:
    """Returns the function ``fz_key_`` of sort `j`, from a number of this type to its key, which ascends or descends."""
    key = key_type(type)
    lines = list[str]()
    value = f"{key}(x)"
    if type.is_float:
        number = FLOAT if type is HALF else type
        lines += order_functions(j, "max", number, equals=True)
        value = f"fz_order_{j}({convert('x', type, number)})"
    elif type.dtype is not None and type.dtype.kind == "i":
        value = f"({value} ^ {'0x8000000000000000ull' if key is _WIDE else '0x80000000u'})"
    return [*lines, f"{key} fz_key_{j}({type} x)", "{", f"    return {'~' * (kind == DESCENDING)}{value};", "}"]

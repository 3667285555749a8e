"""Python numbers of a program: the operation, and literals of Slang."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fusepy.ir.arrivals import LITERAL
from fusepy.ir.graph import Node, Op, Value
from fusepy.ir.oracle import Oracle
from fusepy.ir.ranges import check_range
from fusepy.ir.types import BOOL, SCALARS, Type
from fusepy.ir.value import Array

_SUFFIX = {"uint": "u", "int64_t": "ll", "uint64_t": "ull"}
_BITS = {
    "nan": (0x7FC00000, 0x7FF80000),
    "inf": (0x7F800000, 0x7FF00000),
    "-inf": (0xFF800000, 0xFFF00000),
}  # bits of a float, high bits of a double


def literal(value: float | bool, type: Type) -> str:
    """Returns a Slang literal that reads back to exactly `value` in the scalar `type`."""
    if type is BOOL:
        return "true" if value else "false"
    dtype = SCALARS[type.name]
    if dtype.kind in "iu":
        suffix = _SUFFIX.get(type.name, "")
        if value == np.iinfo(dtype).min and value < 0:
            return f"({int(value) + 1}{suffix} - 1)"  # -2147483648 would be read as the negation of an out-of-range literal
        text = f"{int(value)}{suffix}"
        return text if type.name in ("int", "uint", "int64_t", "uint64_t") else f"{type}({text})"
    with np.errstate(over="ignore"):
        number = float(dtype.type(value))
    if not math.isfinite(number):
        return _special(number, type)
    if type.name == "double":
        return f"{number!r}lf"
    return f"{number!r}{'f' if type.name == 'float' else 'h'}".replace("e+", "e")


def _special(number: float, type: Type) -> str:
    """Returns NaN or an infinity by its bits: compilers make 0 of ``1.0 / 0.0`` and of ``0.0 / 0.0``."""
    single, double = _BITS["nan" if math.isnan(number) else "inf" if number > 0 else "-inf"]
    if type.name == "double":
        return f"asdouble(0u, {double:#x}u)"
    return f"asfloat({single:#x}u)" if type.name == "float" else f"{type}(asfloat({single:#x}u))"


class Const(Op):
    """A Python number in the program; weak, so it takes the type that its context wants."""

    name = "const"
    arity = 0
    needs = {"type": (str,), "value": (int, float)}

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        type = Type.parse(node.text("type"))
        value = node.attrs["value"]
        assert isinstance(value, (int, float))
        check_range(value, type, "constant", node.loc)
        return [Value(type, (), arrival=LITERAL, weak=True)]

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        return [np.asarray(node.attrs["value"], node.results[0].type.dtype)]

    def expression(self, node: Node, args: Sequence[str]) -> str:
        value = node.attrs["value"]
        assert isinstance(value, (int, float))
        return literal(value, node.results[0].type)

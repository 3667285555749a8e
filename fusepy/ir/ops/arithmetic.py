"""Operators of Python on traced values: promotion like NumPy's, with Python numbers weak.

`/` is true division, `//` and `%` floor, as in Python; comparisons give bool vectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from fusepy.errors import TraceError
from fusepy.ir.graph import Node, Op, Value
from fusepy.ir.ops.base import Componentwise, common_shape, components, computed, convert, shaped, working
from fusepy.ir.ops.literal import literal
from fusepy.ir.ops.promotion import of_numbers, promote
from fusepy.ir.ops.structure import has_select
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import BOOL, FLOAT, HALF, INT, UINT, Kind, Type
from fusepy.ir.value import Array

ROUNDED = "rounded"  # the attribute of operations that call a function of ``fusepy_rounded.slang``
DIVISIONS = ("div", "floordiv", "mod", "fmod")
ROUNDS = "fzround_"  # begins the names of these functions


class Operator(Componentwise):
    """An arithmetic, bitwise, comparison or logical operator.

    Args:
        symbol: Python's spelling, for messages.
        slang: the Slang expression over ``{0}`` and ``{1}``, and their type ``{t}``; ``slang_int`` if integers need another, with
            ``{d}`` for a divisor.
        numpy: the NumPy function with the same meaning.
        domain: ``"number"``, ``"float"`` (integers become float), ``"integer"`` or ``"bool"``.
        compares: True if the result is bool.
    """

    def __init__(
        self,
        name: str,
        symbol: str,
        slang: str,
        numpy: Callable[..., Array],
        *,
        slang_int: str | None = None,
        domain: str = "number",
        compares: bool = False,
    ):
        self.name = name
        self.symbol = symbol
        self.slang = slang
        self.slang_int = slang_int or slang
        self.numpy = numpy
        self.domain = domain
        self.compares = compares
        self.arity = 2 if "{1}" in slang else 1

    def operand_scalar(self, node: Node) -> Type:
        """Returns the scalar that the operands are converted to."""
        scalar = promote([(v.type, v.weak) for v in node.operands], node.operands)
        what = f"operator {self.symbol}"
        if scalar is None:
            common_shape(node, what)
            raise TraceError(f"{what} has no meaning here", place=node.loc, hint="use scalars, vectors or matrices")
        if self.domain == "float" and not scalar.is_float:
            return FLOAT
        if self.domain == "integer" and (scalar.is_float):
            raise TraceError(
                f"{what} of {scalar} values",
                place=node.loc,
                expected="integers or bools",
                hint="convert first, with fp.vcast(value, 'int')",
            )
        if self.domain == "number" and scalar is BOOL and not self.compares:
            return INT
        if self.domain == "bool":
            return BOOL
        return scalar

    def wanted(self, node: Node, i: int) -> Type | None:
        return self.operand_scalar(node)

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        shape = common_shape(node, f"operator {self.symbol}")
        scalar = self.operand_scalar(node)
        return [computed(node, shaped(BOOL if self.compares else scalar, shape), of_numbers(node.operands))]

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        scalar = self.operand_scalar(node)
        operands = [a.astype(scalar.dtype) for a in components(args, [v.type for v in node.operands])]
        with np.errstate(all="ignore"):
            return [self.numpy(*operands).astype(node.results[0].type.dtype)]

    def by_component(self, node: Node, args: Sequence[str]) -> str:
        scalar, shape = self.operand_scalar(node), node.results[0].type.shape
        divides, rounded = self.name in DIVISIONS, node.attrs.get(ROUNDED)
        wide = self.name in DIVISIONS[1:] or rounded  # calls, whose operands must agree in shape
        want = [shaped(scalar, shape if wide else v.type.shape) for v in node.operands]
        converted = [convert(a, v.type, w) for a, v, w in zip(args, node.operands, want)]
        if scalar.is_float and self.name in _OF_ITSELF and node.operands[0] is node.operands[1]:
            type, value = shaped(scalar, node.operands[0].type.shape), _OF_ITSELF[self.name]
            return _of_itself(converted[0], type, value, self.name != "sub")
        # for halfs, spirv-opt takes c / -x for c / x, and -x / c for x / c: they are divided as floats
        halfs = scalar is HALF and divides and not (rounded and self.name == "div")
        type, at = shaped(scalar, shape), FLOAT if halfs else working(scalar)
        if self.name in DIVISIONS[1:] and node.operands[0] is node.operands[1]:  # 0 // 0 is 0, as in NumPy
            return f"{type}({converted[0]} != {type}(0))" if self.name == "floordiv" else f"{type}(0)"
        if scalar is BOOL and self.name == "invert":
            return f"!{converted[0]}"  # on CUDA a bool is promoted to an int, whose complement is never zero
        converted = [convert(c, w, shaped(at, w.shape)) for c, w in zip(converted, want)]
        divisor = "" if scalar.is_float else _divisor(converted, shaped(at, shape))
        form = self.slang if scalar.is_float else self.slang_int
        if rounded:
            form = form.replace("{0} / {1}", f"{ROUNDS}div({{0}}, {{1}})") if divides else f"{ROUNDS}{self.name}({{0}}, {{1}})"
        text = form.format(*converted, d=divisor, t=shaped(at, shape))
        return text if self.compares else convert(text, shaped(at, shape), type)


class Shift(Operator):
    """A shift. A count that is negative, or at least the number of bits, shifts all bits out, as in NumPy."""

    def __init__(self, name: str, symbol: str, numpy: Callable[..., Array]):
        super().__init__(name, symbol, f"{{0}} {symbol} {{1}}", numpy, domain="integer")

    def operand_scalar(self, node: Node) -> Type:
        scalar = super().operand_scalar(node)
        if scalar is BOOL:
            raise TraceError(
                f"operator {self.symbol} of bool values", place=node.loc, hint="convert first, with fp.vcast(value, 'int')"
            )
        return scalar

    def by_component(self, node: Node, args: Sequence[str]) -> str:
        scalar, shape = self.operand_scalar(node), node.results[0].type.shape
        narrow, type, dtype = shaped(scalar, shape), shaped(working(scalar), shape), scalar.dtype
        assert dtype is not None
        x, count = (convert(convert(a, v.type, narrow), narrow, type) for a, v in zip(args, node.operands))
        last = f"{type}({8 * dtype.itemsize - 1})"
        if self.name == "shr" and dtype.kind == "i":  # only the sign is left
            return convert(f"{x} >> (({count} & {last}) | ({last} * {type}(({count} & ~{last}) != {type}(0))))", type, narrow)
        return convert(f"({x} {self.symbol} ({count} & {last})) * {type}(({count} & ~{last}) == {type}(0))", type, narrow)


# The results for a finite number and itself. Compilers use them for NaN, infinities and 0 too, and spirv-opt writes an invalid
# constant for x / x of two or three components.
_OF_ITSELF = {"sub": 0, "div": 1, "floordiv": 1, "mod": 0, "fmod": 0}


def _of_itself(name: str, type: Type, value: int, divides: bool) -> str:
    """Returns an expression: `value` where `name` is finite, and not 0 if it divides; else NaN."""
    scalar, dtype = type.scalar, type.dtype
    assert scalar is not None
    assert dtype is not None
    bounds = f"(abs({name}) <= {type}({literal(float(np.finfo(dtype).max), scalar)}))"
    if divides:
        bounds = f"{bounds} & (abs({name}) > {type}(0))"
    return f"select({bounds}, {type}({value}), {type}({literal(np.nan, scalar)}))"


# Slang truncates: if the remainder and the divisor differ in sign, floor is one less. Adding the divisor to every remainder
# and taking the remainder again would be shorter, but overflows. The remainder is written out, since SPIR-V's is undefined for
# negative operands (an H100 and lavapipe differ).
_REST = "({0} - {0} / {d} * {1})"
_SIGNS = f"({_REST} != 0) & (({_REST} ^ {{1}}) < 0)"

_LITERAL = re.compile(r"(?:\w+\()?-?0*[1-9]\d*\w*\)?$")  # other than 0
_ANY = "{t}({1} != {t}(0))"  # 0 for a divisor of 0, as in NumPy


def _divisor(operands: Sequence[str], type: Type) -> str:
    """Returns the divisor of integers: not 0, and not -1 below the least integer, which end the process on CPUs.

    Slang 2026.12 takes the variables of a loop as if they kept their first value, and refuses a division by one that
    is 0 then. It does not look into `max`, which drivers remove; nor into halves that are put together, for `uint64_t`, whose
    `max` on CUDA is one of `int64_t`.
    """
    text = operands[-1]
    if len(operands) < 2 or (_LITERAL.match(text) and "-" not in text):
        return text
    dtype = type.dtype
    assert dtype is not None
    refused = f"({text} == {type}(0))"
    if dtype.kind == "i":
        refused += f" | (({text} == {type}(-1)) & ({operands[0]} == ({type}(1) << {type}({8 * dtype.itemsize - 1}))))"
    if dtype.kind == "u" and dtype.itemsize == 8:
        half = type.with_scalar(UINT)
        kept = f"{type}({half}({text})) | ({type}({half}({text} >> {type}(32))) << {type}(32))"
    else:
        kept = f"max({text}, {text})"
    if type.kind is Kind.VECTOR and not has_select(type):
        # A choice component by component of 64 bits is garbage on NVIDIA's Vulkan driver (580) where the divisor is a constant.
        one = f"{type}({refused})"
        return f"(({kept}) + {one})" if dtype.kind == "u" else f"(({kept}) * ({type}(1) - {one}) + {one})"
    return f"select({refused}, {type}(1), {kept})"


OPERATORS: list[Op] = [
    Operator("add", "+", "{0} + {1}", np.add),
    Operator("sub", "-", "{0} - {1}", np.subtract),
    Operator("mul", "*", "{0} * {1}", np.multiply),
    Operator("div", "/", "{0} / {1}", np.divide, domain="float"),
    Operator("floordiv", "//", "floor({0} / {1})", np.floor_divide, slang_int=f"({{0}} / {{d}} - {{t}}({_SIGNS})) * {_ANY}"),
    Operator("mod", "%", "{0} - {1} * floor({0} / {1})", np.remainder, slang_int=f"({_REST} + {{1}} * {{t}}({_SIGNS})) * {_ANY}"),
    Operator("fmod", "fmod", "{0} - {1} * trunc({0} / {1})", np.fmod, slang_int=f"{_REST} * {_ANY}"),
    Operator("neg", "-", "-{0}", np.negative),
    Operator("bitand", "&", "{0} & {1}", np.bitwise_and, domain="integer"),
    Operator("bitor", "|", "{0} | {1}", np.bitwise_or, domain="integer"),
    Operator("bitxor", "^", "{0} ^ {1}", np.bitwise_xor, domain="integer"),
    Operator("invert", "~", "~{0}", np.invert, domain="integer"),
    Shift("shl", "<<", np.left_shift),
    Shift("shr", ">>", np.right_shift),
    Operator("lt", "<", "{0} < {1}", np.less, compares=True),
    Operator("le", "<=", "{0} <= {1}", np.less_equal, compares=True),
    Operator("gt", ">", "{0} > {1}", np.greater, compares=True),
    Operator("ge", ">=", "{0} >= {1}", np.greater_equal, compares=True),
    Operator("eq", "==", "{0} == {1}", np.equal, compares=True),
    Operator("ne", "!=", "{0} != {1}", np.not_equal, compares=True),
]

"""Operators of Python on traced values: promotion like NumPy's, with Python numbers weak.

`/` is true division, `//` and `%` floor, as in Python; comparisons give bool vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fusepy.errors import TraceError
from fusepy.ir.graph import Node, Op, Value
from fusepy.ir.ops.base import Componentwise, common_shape, components, computed, convert, of_vectors, shaped, working
from fusepy.ir.ops.floats.quotients import FLOORED, REST_OF_C, REST_OF_FLOATS, ends
from fusepy.ir.ops.integers.divisors import ANY, REST, SIGNS, divisor
from fusepy.ir.ops.integers.signs import EXACT, OfBothSigns, exact, signed_like, signed_operand
from fusepy.ir.ops.literal import literal
from fusepy.ir.ops.promotion import of_numbers, promote
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import BOOL, FLOAT, HALF, INT, Type
from fusepy.ir.value import Array

# the attribute of operations that call a function of ``fusepy_rounded.slang``: true, or the number of the integer that is negated
ROUNDED = "rounded"
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
        """Returns the scalar that the operands are converted to; a comparison may name it."""
        if self.compares and "type" in node.attrs:
            return Type.parse(node.text("type"))
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
        made = computed(node, shaped(BOOL if self.compares else scalar, shape), of_numbers(node.operands))
        return [of_vectors(node, made) if shape and not self.compares else made]

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        scalar, dtype = self.operand_scalar(node), node.results[0].type.dtype
        operands = components(args, [v.type for v in node.operands])
        both = signed_operand(node, scalar) is not None
        if both and self.name in EXACT:
            return [exact(self.name, operands, scalar)]
        if not (both and self.compares):  # NumPy compares integers of both signs as they are
            operands = [a.astype(scalar.dtype) for a in operands]
        with np.errstate(all="ignore"):
            return [self.numpy(*operands).astype(dtype)]

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
        if (self.compares or self.name in EXACT) and (k := signed_operand(node, scalar)) is not None:
            signs = OfBothSigns(node, args, scalar, k)
            if self.compares:
                return signs.comparison(self.name, self.slang)
            return convert(signs.quotient(self.name), signs.type, type)
        if scalar is BOOL and self.name == "invert":
            return f"!{converted[0]}"  # on CUDA a bool is promoted to an int, whose complement is never zero
        converted = [convert(c, w, shaped(at, w.shape)) for c, w in zip(converted, want)]
        d = "" if scalar.is_float else divisor(converted, shaped(at, shape))
        form = self.slang if scalar.is_float else self.slang_int
        if rounded:
            form = _of_library(self.name, form, str(rounded))
        text = form.format(*converted, d=d, t=shaped(at, shape), **(ends(at) if "{m}" in form else {}))
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
        if self.name == "shr" and signed_operand(node, scalar) == 0:
            scalar = signed_like(scalar)
        narrow, type, dtype = shaped(scalar, shape), shaped(working(scalar), shape), scalar.dtype
        assert dtype is not None
        x, count = (convert(convert(a, v.type, narrow), narrow, type) for a, v in zip(args, node.operands))
        last = f"{type}({8 * dtype.itemsize - 1})"
        if self.name == "shr" and dtype.kind == "i":  # only the sign is left
            text = f"{x} >> (({count} & {last}) | ({last} * {type}(({count} & ~{last}) != {type}(0))))"
        else:
            text = f"({x} {self.symbol} ({count} & {last})) * {type}(({count} & ~{last}) == {type}(0))"
        return convert(text, type, node.results[0].type)


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


def _of_library(name: str, form: str, rounded: str) -> str:
    """Returns an expression that calls ``fusepy_rounded.slang``; `rounded` is the attribute `ROUNDED`."""
    if rounded.isdecimal():
        return f"{'{0} + ' * (name == 'sub')}{ROUNDS}neg({{{rounded}}})"
    return form.replace("{0} / {1}", f"{ROUNDS}div({{0}}, {{1}})") if name in DIVISIONS else f"{ROUNDS}{name}({{0}}, {{1}})"


COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
OPERATORS: list[Op] = [
    Operator("add", "+", "{0} + {1}", np.add),
    Operator("sub", "-", "{0} - {1}", np.subtract),
    Operator("mul", "*", "{0} * {1}", np.multiply),
    Operator("div", "/", "{0} / {1}", np.divide, domain="float"),
    Operator("floordiv", "//", FLOORED, np.floor_divide, slang_int=f"({{0}} / {{d}} - {{t}}({SIGNS})) * {ANY}"),
    Operator("mod", "%", REST_OF_FLOATS, np.remainder, slang_int=f"({REST} + {{1}} * {{t}}({SIGNS})) * {ANY}"),
    Operator("fmod", "fmod", REST_OF_C, np.fmod, slang_int=f"{REST} * {ANY}"),
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

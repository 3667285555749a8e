"""Powers with NumPy's meaning, of floats and integers: ``pow`` for computed exponents, ``power`` for constant ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fusepy.errors import TraceError
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.arithmetic import Operator
from fusepy.ir.ops.base import Componentwise, components, computed, convert, shaped, working
from fusepy.ir.ops.control import Control, Loop
from fusepy.ir.ops.doubles import spelled
from fusepy.ir.ops.integers.signs import OfBothSigns, signed_operand
from fusepy.ir.ops.literal import literal
from fusepy.ir.ops.promotion import of_numbers, promote
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import BOOL, FLOAT, HALF, INT, Type
from fusepy.ir.value import Array

PREFIX = "fzp_"  # of the functions in ``fusepy/slang/fusepy_powers.slang``
_WHOLE = 64  # floats with integer exponents up to this are multiplied out, here and in the Slang module
_HALVES = (0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5, -3.5)  # roots and products have a fraction of the cost and error of `pow`
_HALVES_OF_DOUBLE = (0.5, 1.5, -0.5)  # these stay within two units in the last place


def _power(x: Array, y: Array) -> Array:
    """Computes NumPy's power. Negative exponents of integers, for which NumPy raises, give the integer part, and 0 for 0.

    For a scalar exponent 0.5 NumPy takes the square root, NaN of -inf and -0 of -0; here 0.5 is as any other exponent.
    """
    if x.dtype.kind not in "iu":
        return np.power(np.where((y == 0.5) & ((x == 0) | np.isinf(x)), np.abs(x), x), y)
    power = np.power(x, np.where(y < 0, 0, y).astype(y.dtype))
    odd = np.where(y % 2 == 1, -1, 1) if x.dtype.kind == "i" else 1
    return np.where(y < 0, np.where(x == 1, 1, np.where(x == -1, odd, 0)), power).astype(x.dtype)


def _working(scalar: Type) -> Type:
    """Returns the scalar that powers are computed in."""
    return FLOAT if scalar is HALF else working(scalar)


class Power(Operator):
    """A power whose exponent is a value."""

    def __init__(self) -> None:
        super().__init__("pow", "**", f"{PREFIX}power({{0}}, {{1}})", _power)

    def by_component(self, node: Node, args: Sequence[str]) -> str:
        scalar, shape = self.operand_scalar(node), node.results[0].type.shape
        type, working = shaped(scalar, shape), shaped(_working(scalar), shape)
        k = signed_operand(node, scalar)
        if k is None:
            operands = [convert(convert(a, v.type, type), type, working) for a, v in zip(args, node.operands)]
        else:
            signs = OfBothSigns(node, args, scalar, k)
            operands, working = signs.power(), signs.type
        name = spelled("pow", scalar)
        return convert(f"{f'{PREFIX}power' if name == 'pow' else name}({', '.join(operands)})", working, type)


class FixedPower(Componentwise):
    """A power whose exponent is a constant of the program; ``type`` is the common scalar of base and exponent."""

    name = "power"
    arity = 1
    needs = {"exponent": (int, float), "type": (str,)}

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        scalar = Type.parse(node.text("type"))
        return [computed(node, shaped(scalar, node.operands[0].type.shape), of_numbers(node.operands))]

    def wanted(self, node: Node, i: int) -> Type | None:
        return node.results[0].type.scalar

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        dtype = node.results[0].type.dtype
        (x,) = components(args, [node.operands[0].type])
        with np.errstate(all="ignore"):
            return [_power(x.astype(dtype), np.asarray(node.attrs["exponent"], dtype)).astype(dtype)]

    def by_component(self, node: Node, args: Sequence[str]) -> str:
        type, exponent = node.results[0].type, node.attrs["exponent"]
        scalar = type.scalar
        assert scalar is not None
        assert isinstance(exponent, (int, float))
        native = exponent in (0, 1, 2, 0.5)  # for half these round once, as float does
        working = type if native and scalar is HALF else type.with_scalar(_working(scalar))
        x = convert(convert(args[0], node.operands[0].type, type), type, working)
        return convert(self._power(x, working, exponent), working, type)

    def _power(self, x: str, type: Type, exponent: float) -> str:
        scalar = type.scalar
        assert scalar is not None
        if scalar.is_float and scalar.dtype is not None:
            with np.errstate(over="ignore"):
                exponent = float(scalar.dtype.type(exponent))  # rounded to the scalar: 2.00000001 is 2
        whole = float(exponent).is_integer()
        short = 3 if scalar.name == "double" else 4  # so that rounding stays within two units in the last place
        if whole and (0 <= exponent <= short or (scalar.is_float and abs(exponent) <= short)):
            text = f"{type}(1)" if exponent == 0 else _product(x, abs(int(exponent)))
            return f"{type}(1) / ({text})" if exponent < 0 else text
        if scalar.is_float and exponent in (_HALVES if scalar is FLOAT else _HALVES_OF_DOUBLE):
            text = f"{PREFIX}root({x})"
            if (n := int(abs(exponent))) > 0:  # negative numbers have no root, and -infinity gives infinity
                text = f"({_product(f'abs({x})', n)}) * {text}"
            return f"{type}(1) / ({text})" if exponent < 0 else text
        if scalar is FLOAT and whole and abs(exponent) <= _WHOLE:
            return f"{PREFIX}whole({x}, {int(exponent)})"
        name = spelled("pow", scalar)  # for double it has C's meaning; Slang's own for float takes positive bases only
        if scalar is FLOAT and math.isfinite(exponent):
            name = f"{PREFIX}{('odd' if exponent % 2 else 'even') if whole else 'real'}"
        return f"{f'{PREFIX}power' if name == 'pow' else name}({x}, {type}({literal(exponent, scalar)}))"


def _product(x: str, n: int) -> str:
    return {1: x, 2: f"{x} * {x}", 3: f"{x} * ({x} * {x})", 4: f"({x} * {x}) * ({x} * {x})"}[n]


def refuse_negative(result: Type, exponent: object, place: str | None = None) -> None:
    """Raises `TraceError` for integers and a negative exponent, of the program or of a call."""
    if isinstance(exponent, (int, np.integer)) and exponent < 0 and not result.is_float:
        raise TraceError(
            "integers to negative integer powers are not allowed",
            place=place,
            saw=f"{result} ** {exponent}",
            hint="write 1 / x, or convert the base first, with fp.vcast(x, 'float')",
        )


def fixed(node: Node, exponent: float) -> Node:
    """Returns the ``pow`` of a value and a constant as a ``power``; itself for a negative exponent of an unsigned integer."""
    scalar = promote([(v.type, v.weak) for v in node.operands], node.operands)
    assert scalar is not None
    if exponent < 0 and signed_operand(node, scalar) is not None:
        return node
    attrs = {"exponent": exponent, "type": (INT if scalar is BOOL else scalar).name}
    return Node(FIXED_POWER, node.operands[:1], node.maps[:1], node.results, attrs, node.loc)


FIXED_POWER = FixedPower()
POWERS = [Power(), FIXED_POWER]

# ---- exponents that a call passes as numbers: negative ones are refused, as in the program itself ------------------------------


def given_exponents(graph: Graph) -> Iterator[tuple[Value, Type]]:
    """Yields the inputs that are the exponent of an integer power, in loops and branches too, each with the power's type."""
    yield from _within(graph, {v: v for v in graph.inputs if v.arrival.plain and not v.rank})


def _within(graph: Graph, inputs: Mapping[Value, Value]) -> Iterator[tuple[Value, Type]]:
    given = dict(inputs)
    for node in graph.nodes:
        if node.op.name == "cast" and node.operands[0] in given:  # such as that of a vcast to the type that the number has
            given[node.results[0]] = given[node.operands[0]]
        if node.op.name == "pow" and node.operands[1] in given and not node.results[0].type.is_float:
            yield given[node.operands[1]], node.results[0].type
        if isinstance(node.op, Control):
            changing = set(node.op.carries(node)) if isinstance(node.op, Loop) else set[Value]()
            for body in node.bodies:
                passed = zip(body.inputs[node.op.own :], node.operands[node.op.ahead :])
                yield from _within(body, {v: given[o] for v, o in passed if o in given and v not in changing})

"""NumPy's words of single elements as a table: the text of each, and its meaning, made of that of other steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tests.fuzz.arithmetic import absolute, as_float, bitwise, chosen, compare, negative, subtract, where
from tests.fuzz.components import dot, root
from tests.fuzz.elementwise import OPERATORS, SEVERAL, UNARY, _asked, _power, _smooth, _truth, add, divide, multiply
from tests.fuzz.values import SCALARS, WIDE, Refused, Val, convert, is_float, make, number, strong


class Word(NamedTuple):
    """A word: its text over operands and an axis, how many operands it has, and what it gives of them."""

    text: str
    count: int
    of: Callable[..., Val]


equal, less, at_most, greater = (compare(f) for f in (np.equal, np.less, np.less_equal, np.greater))
both, either, apart = (bitwise(f) for f in (np.bitwise_and, np.bitwise_or, np.bitwise_xor))


def _float(x: Val) -> Val:
    return as_float(x)[1][0]


def _signed(y: Val) -> Val:
    """A sign; that of a zero is not known."""
    _, (y,) = as_float(y)
    unknown = np.abs(y.v) <= np.broadcast_to(y.e, y.v.shape)
    return make(y.scalar, y.comp, np.where(y.v < 0, -1.0, 1.0), np.where(unknown | np.isnan(y.v), np.inf, 0), y.weak)


def _copysign(x: Val, y: Val) -> Val:
    _, (x, y) = as_float(x, y)
    return multiply(absolute(x), _signed(y))


def _sinc(x: Val) -> Val:
    angle = multiply(x, number(math.pi))
    zero = equal(angle, number(0.0))
    return where(zero, number(1.0), divide(UNARY["sin"](angle), where(zero, number(1.0), angle)))


def _heaviside(x: Val, y: Val) -> Val:
    x, y, zero = _float(x), _float(y), number(0.0)
    above = where(greater(x, zero), number(1.0), x)
    return where(equal(x, zero), y, where(less(x, zero), zero, above))


def _near(a: Val, b: Val) -> Val:
    one = number(1.0)
    a, b = multiply(one, a), multiply(one, b)
    room = add(number(1e-8), multiply(number(1e-5), absolute(b)))
    return either(equal(a, b), both(UNARY["isfinite"](b), at_most(absolute(subtract(a, b)), room)))


def _added(power: str, log: str) -> Callable[[Val, Val], Val]:
    def of(x: Val, y: Val) -> Val:
        x, y = multiply(x, number(1.0)), multiply(y, number(1.0))
        apart = where(equal(x, y), number(0.0), negative(absolute(subtract(x, y))))
        return add(SEVERAL["maximum"][1](x, y), UNARY[log](add(number(1.0), UNARY[power](apart))))

    return of


def _finite(x: Val) -> Val:
    if not is_float(x.scalar):
        return x
    most = WIDE(np.finfo(SCALARS[x.scalar]).max)
    return Val(x.scalar, x.comp, np.nan_to_num(x.v, nan=0, posinf=most, neginf=-most), x.e, x.weak)


def as_int(x: Val) -> Val:
    """A conversion to `int`; of a single number of Python it is one of them, which takes the type of what it meets."""
    made = convert(x, "int")
    return make("int", made.comp, made.v, made.e, weak=True, rounds=0) if x.weak and not x.rank else strong(made)


def _distance(a: Val, b: Val) -> Val:
    if not a.comp and not b.comp:
        raise Refused("vectors")
    apart = subtract(a, b)
    return root(dot(apart, apart))


OPERATOR_NAMES = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "floor_divide": "floordiv", "mod": "mod",
    "bitwise_and": "bitand", "bitwise_or": "bitor", "bitwise_xor": "bitxor", "left_shift": "shl", "right_shift": "shr",
    "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
    "negative": "neg", "invert": "invert",
}  # fmt: skip
_of_one: dict[str, Callable[[Val], Val]] = {
    "isinf": _asked(np.isinf),
    "isposinf": _asked(np.isposinf),
    "isneginf": _asked(np.isneginf),
    "reciprocal": lambda x: divide(number(1), x),
    "fabs": lambda x: absolute(_float(x)),
    "signbit": lambda x: less(_signed(x), number(0)),
    "deg2rad": lambda x: multiply(x, number(math.pi / 180)),
    "rad2deg": lambda x: multiply(x, number(180 / math.pi)),
    "cbrt": _smooth(np.cbrt, 64),
    "sinc": _sinc,
    "arcsinh": _smooth(np.arcsinh, 64, 4e-6),
    "arccosh": _smooth(np.arccosh, 64, 4e-6),
    "arctanh": _smooth(np.arctanh, 64, 4e-6),
    "erf": _smooth(np.vectorize(math.erf, otypes=[float]), 64, 1e-7),
    "erfc": _smooth(np.vectorize(math.erfc, otypes=[float]), 64, 0, lambda x: 1 + x * x),
    "nan_to_num": _finite,
}
_of_two: dict[str, Callable[[Val, Val], Val]] = {
    "logical_or": lambda a, b: either(_truth(a), _truth(b)),
    "logical_xor": lambda a, b: apart(_truth(a), _truth(b)),
    "copysign": _copysign,
    "fmin": chosen(np.fmin),
    "fmax": chosen(np.fmax),
    "logaddexp": _added("exp", "log"),
    "logaddexp2": _added("exp2", "log2"),
    "heaviside": _heaviside,
    "float_power": lambda a, b: _power(multiply(a, number(1.0)), b),
    "isclose": _near,
    "distance": _distance,
}
OF_ELEMENTS: dict[str, Word] = {
    **{name: Word(f"fp.{name}({{0}})", 1, f) for name, f in _of_one.items()},
    **{name: Word(f"fp.{name}({{0}}, {{1}})", 2, f) for name, f in _of_two.items()},
    **{
        name: Word(f"fp.{name}({{0}}, {{1}})" if "{1}" in text else f"fp.{name}({{0}})", 2 if "{1}" in text else 1, f)
        for name, op in OPERATOR_NAMES.items()
        for text, f in [OPERATORS[op]]
    },
    "around": Word("fp.around({0}, 1)", 1, lambda x: divide(UNARY["round"](multiply(x, number(10.0))), number(10.0))),
    "select": Word(
        "fp.select([fp.greater({0}, 0), fp.greater({1}, 0)], [{0}, {1}], 0)",
        2,
        lambda a, b: where(greater(a, number(0)), a, where(greater(b, number(0)), b, number(0))),
    ),
    "astype": Word('fp.astype({0}, "int")', 1, as_int),
}

"""Every componentwise operation: its program, its meaning in NumPy, the scalars that it takes, and how exact it is.

Bounds are units in the last place of a normal result, for half, float and double. Slang's math functions of half and float are as
exact as the driver makes them (lavapipe's are the worst that are known), those of double are fusepy's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import fusepy as fp
from fusepy.language.elementwise import apply

Array = np.ndarray[Any, Any]

SCALARS = ("bool", "int8_t", "uint8_t", "int16_t", "uint16_t", "int", "uint", "int64_t", "uint64_t", "half", "float", "double")


@dataclass(frozen=True)
class Row:
    """One operation.

    Attributes:
        takes: the kinds of scalars that it takes, by NumPy's letters; operands of others are a TraceError.
        ulps: bounds for half, float and double, and `slack` what is added to them.
        to: the scalar that it computes with: ``"same"`` (of bools int), ``"float"`` (of integers float), ``"kept"``. Where it is
            ``"bool"``, that is the scalar of the result only.
        where: which operands have a defined result.
    """

    name: str
    run: Callable[..., Any]
    numpy: Callable[..., Any]
    arity: int = 1
    takes: str = "biuf"
    ulps: tuple[float, float, float] = (0, 0, 0)
    to: str = "same"
    where: Callable[..., Any] | None = None
    slack: Callable[..., Any] | None = None


def divisible(a: Array, b: Array) -> Any:
    """Where quotients with a floor are NumPy's.

    Integers: not by 0, and not the smallest by -1, which GPUs leave undefined. Floats: of finite numbers whose quotient has no
    more digits than the type; beyond, and of infinities, they are what ``floor(a / b)`` makes of them.
    """
    if a.dtype.kind == "f":
        return np.isfinite(a) & np.isfinite(b) & (b != 0) & (np.abs(a / b) < 2.0 ** (np.finfo(a.dtype).nmant - 1))
    if a.dtype.kind == "i":
        return (b != 0) & ((a != np.iinfo(a.dtype).min) | (b != -1))
    return b != 0


def tame(low: float, high: float) -> Callable[..., Any]:
    """Operands between two numbers, where drivers know a function."""
    return lambda *xs: np.logical_and.reduce([(x >= low) & (x <= high) for x in xs])


def remainder_slack(a: Array, b: Array) -> Any:
    """The rounding of the product; and where the quotient rounds to a whole number, 0 and the divisor are neighbours."""
    q = a / b
    rounding = (np.abs(q) + 1) * np.finfo(b.dtype).eps
    return np.abs(b) * np.where(np.abs(q - np.round(q)) <= 8 * rounding, 1 + rounding, rounding)


def _smoothstep(low: Array, high: Array, x: Array) -> Array:
    t = np.minimum(np.maximum((x - low) / (high - low), 0), 1)
    return t * t * (3 - 2 * t)


def _whole(f: Any) -> Any:
    """Rounding, which NumPy before 2.1 does to floats alone."""
    return lambda x: f(x) if x.dtype.kind == "f" else x


def _clip(x: Array, low: Array, high: Array) -> Array:
    return np.minimum(np.maximum(x, low), high)


ROWS = [
    Row("add", lambda a, b: a + b, np.add, 2),
    Row("sub", lambda a, b: a - b, np.subtract, 2),
    Row("mul", lambda a, b: a * b, np.multiply, 2),
    Row("div", lambda a, b: a / b, np.divide, 2, to="float", ulps=(1, 2.5, 1)),
    Row("floordiv", lambda a, b: a // b, np.floor_divide, 2, where=divisible, slack=lambda a, b: 1.0),  # one less or more
    Row(
        *("mod", lambda a, b: a % b, np.remainder, 2),
        where=divisible,
        slack=remainder_slack,
    ),
    Row(
        *("fmod", fp.fmod, np.fmod, 2),
        where=divisible,
        slack=remainder_slack,
    ),
    Row("neg", lambda a: -a, np.negative),
    Row("lt", lambda a, b: a < b, np.less, 2, to="bool"),
    Row("le", lambda a, b: a <= b, np.less_equal, 2, to="bool"),
    Row("gt", lambda a, b: a > b, np.greater, 2, to="bool"),
    Row("ge", lambda a, b: a >= b, np.greater_equal, 2, to="bool"),
    Row("eq", lambda a, b: a == b, np.equal, 2, to="bool"),
    Row("ne", lambda a, b: a != b, np.not_equal, 2, to="bool"),
    Row("bitand", lambda a, b: a & b, np.bitwise_and, 2, takes="biu", to="kept"),
    Row("bitor", lambda a, b: a | b, np.bitwise_or, 2, takes="biu", to="kept"),
    Row("bitxor", lambda a, b: a ^ b, np.bitwise_xor, 2, takes="biu", to="kept"),
    Row("invert", lambda a: ~a, np.invert, takes="biu", to="kept"),
    Row("shl", lambda a, b: a << b, np.left_shift, 2, takes="iu"),
    Row("shr", lambda a, b: a >> b, np.right_shift, 2, takes="iu"),
    Row("minimum", fp.minimum, np.minimum, 2, to="kept"),
    Row("maximum", fp.maximum, np.maximum, 2, to="kept"),
    Row("clip", fp.clip, _clip, 3, to="kept", where=lambda x, a, b: ~(a > b)),
    Row("select", lambda a, b: fp.where(a > b, a, b), lambda a, b: np.where(a > b, a, b), 2, to="kept"),
    Row("abs", fp.abs, np.abs, to="kept"),
    Row("sign", fp.sign, lambda x: x if x.dtype.kind == "b" else np.sign(x), to="kept"),
    Row("isnan", fp.isnan, np.isnan, to="bool"),
    Row("isinf", fp.isinf, np.isinf, to="bool"),
    Row("isfinite", fp.isfinite, np.isfinite, to="bool"),
    Row("copysign", fp.copysign, np.copysign, 2, to="float"),
    Row("floor", fp.floor, _whole(np.floor), to="kept"),
    Row("ceil", fp.ceil, _whole(np.ceil), to="kept"),
    Row("trunc", fp.trunc, _whole(np.trunc), to="kept"),
    Row("round", fp.round, _whole(np.round), to="kept"),
    Row("fract", fp.fract, lambda x: x - np.floor(x), to="float"),
    Row("saturate", fp.saturate, lambda x: np.minimum(np.maximum(x, 0), 1), to="float"),
    Row("gate", lambda x, y: apply("gate", "x y", x, y), lambda x, y: np.where(y <= 0, 0, x), 2, to="float"),
    Row("relu", fp.nn.relu, lambda x: np.where(x <= 0, 0, x), to="float"),
    Row("step", fp.step, lambda e, x: np.where(x >= e, 1, 0), 2, to="float"),
    Row("sqrt", fp.sqrt, np.sqrt, to="float", ulps=(1, 3, 1)),
    Row("rsqrt", fp.rsqrt, lambda x: 1 / np.sqrt(x), to="float", ulps=(1, 4, 2), where=tame(1e-6, 1e4)),
    Row(
        *("lerp", fp.lerp, lambda a, b, t: a + (b - a) * t, 3),
        to="float",
        where=tame(-200, 200),
        slack=lambda a, b, t: 4 * (np.abs(a) + np.abs(b)) * (1 + np.abs(t)) * np.finfo(a.dtype).eps,
    ),
    Row(
        *("smoothstep", fp.smoothstep, _smoothstep, 3),
        to="float",
        where=lambda a, b, x: (a < b) & tame(-200, 200)(a, b, x),
        slack=lambda a, b, x: 32 * np.finfo(a.dtype).eps,
    ),
    Row("sin", fp.sin, np.sin, to="float", ulps=(4, 8, 2), where=tame(-7, 7), slack=lambda x: 2e-7 * (x.itemsize < 8)),
    Row("cos", fp.cos, np.cos, to="float", ulps=(4, 8, 2), where=tame(-7, 7), slack=lambda x: 2e-7 * (x.itemsize < 8)),
    Row("tan", fp.tan, np.tan, to="float", ulps=(8, 32, 2), where=tame(-3, 3), slack=lambda x: 2e-6 * (x.itemsize < 8)),
    Row("asin", fp.asin, np.arcsin, to="float", ulps=(8, 4096, 2), where=tame(-1, 1)),
    Row("acos", fp.acos, np.arccos, to="float", ulps=(8, 4096, 2), where=tame(-1, 1), slack=lambda x: 5e-4 * (x.itemsize < 8)),
    Row("atan", fp.atan, np.arctan, to="float", ulps=(4, 512, 2)),
    Row("sinh", fp.sinh, np.sinh, to="float", ulps=(8, 64, 2), where=tame(-10, 10), slack=lambda x: 1e-6 * (x.itemsize < 8)),
    Row("cosh", fp.cosh, np.cosh, to="float", ulps=(8, 64, 2), where=tame(-10, 10)),
    Row("tanh", fp.tanh, np.tanh, to="float", ulps=(8, 1024, 2), where=tame(-10, 10)),
    Row("exp", fp.exp, np.exp, to="float", ulps=(8, 32, 2), where=tame(-8, 8)),
    Row("exp2", fp.exp2, np.exp2, to="float", ulps=(2, 32, 2), where=tame(-8, 8)),
    Row("log", fp.log, np.log, to="float", ulps=(2, 64, 2), where=tame(0.1, 1e4), slack=lambda x: 2e-6 * (x.itemsize < 8)),
    Row("log2", fp.log2, np.log2, to="float", ulps=(2, 64, 2), where=tame(0.1, 1e4), slack=lambda x: 2e-6 * (x.itemsize < 8)),
    Row("log10", fp.log10, np.log10, to="float", ulps=(2, 64, 2), where=tame(0.1, 1e4), slack=lambda x: 2e-6 * (x.itemsize < 8)),
    Row("log1p", fp.log1p, np.log1p, to="float", ulps=(1, 3, 2)),
    Row("expm1", fp.expm1, np.expm1, to="float", ulps=(1, 3, 2)),
    Row(
        *("atan2", fp.atan2, np.arctan2, 2),
        to="float",
        ulps=(4, 512, 2),
        where=lambda y, x: tame(-200, 200)(y, x) & (x != 0) & (y != 0),
        slack=lambda y, x: 1e-4 * (x.itemsize < 8),
    ),
]

_LONG = [
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "exp",
    "exp2",
    "log",
    "log2",
    "log10",
    "log1p",
    "expm1",
    "atan2",
]
SHORT = [r for r in ROWS if r.name not in _LONG]  # half and double spend seconds on compiling the others

# operations with tables of their own, each over all scalars: the test that holds it
APART = {
    "pow": "test_powers.test_powers_of_floats",
    "power": "test_powers.test_powers_of_floats",
    "cast": "test_cast_table.test_every_cast_of_scalars",
    **dict.fromkeys(("dot", "cross", "length", "normalize", "reflect"), "test_structure_table.test_vector_functions"),
    "matmul": "test_structure_table.test_products",
    **dict.fromkeys(("construct", "member", "index"), "test_structure_table.test_components"),
    "struct": "test_structure_table.test_structs",
    "const": "test_structure_table.test_numbers_of_the_program",
    **dict.fromkeys(("cond", "fori_loop", "while_loop"), "test_structure_table.test_control_flow"),
    "reduce": "test_fold_table.test_every_fold_of_every_scalar",
    "contract": "test_structure_table.test_products_of_arrays",
    "scan": "test_fold_table.test_every_scan_of_every_scalar",
    "expand": "test_fold_table.test_every_scan_of_every_scalar",
    "slang.call": "test_kinds_table.test_there_and_back",
}
# no operations of programs: what fusion makes of them, and a note of which extents a generator follows
GRADIENTS = ("vjp", "jvp", "loop_vjp", "add_gradients", "field_gradient", "zero_gradient", "gradient_array", "round_sums")
# tested with what they are for: tests/derivatives, tests/passes, tests/drawing, tests/backend/emit/row
EXEMPT = ("region", "numbers", "along", "stop_gradient", "draw", "row_fold", *GRADIENTS)

"""Slang's componentwise math intrinsics as operations, under NumPy's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fusepy.ir.graph import Node, Op, Value
from fusepy.ir.ops.base import Componentwise, common_shape, components, computed, convert, shaped, working
from fusepy.ir.ops.doubles import spelled
from fusepy.ir.ops.promotion import of_numbers, promote
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import BOOL, FLOAT, UINT64, Type
from fusepy.ir.value import Array


class Intrinsic(Componentwise):
    """A function of scalars, vectors and matrices that works on each component.

    Args:
        arity: the number of operands; all are promoted to one scalar.
        slang: the intrinsic's name in Slang, if it differs.
        floats: True if integers are converted to float first.
    """

    def __init__(self, name: str, arity: int, numpy: Callable[..., Array], *, slang: str | None = None, floats: bool = True):
        self.name = name
        self.arity = arity
        self.numpy = numpy
        self.slang = slang or name
        self.floats = floats

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        shape = common_shape(node, f"{self.name}()")
        scalar = promote([(v.type, v.weak) for v in node.operands], node.operands)
        assert scalar is not None  # common_shape has checked it
        if self.floats and not scalar.is_float:
            scalar = FLOAT
        return [computed(node, shaped(scalar, shape), of_numbers(node.operands))]

    def wanted(self, node: Node, i: int) -> Type | None:
        return node.results[0].type.scalar

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        dtype = node.results[0].type.dtype
        operands = [a.astype(dtype) for a in components(args, [v.type for v in node.operands])]
        with np.errstate(all="ignore"):
            return [self.numpy(*operands).astype(dtype)]

    def by_component(self, node: Node, args: Sequence[str]) -> str:
        want = node.results[0].type
        operands = [convert(a, v.type, want) for a, v in zip(args, node.operands)]
        return f"{spelled(self.slang, want)}({', '.join(operands)})"


class Angle(Intrinsic):
    """The angle of two coordinates. Of two zeros it is undefined in Slang, and 3/4 of pi on lavapipe."""

    def by_component(self, node: Node, args: Sequence[str]) -> str:
        want = node.results[0].type
        if spelled(self.slang, want) != self.slang:  # a function of fusepy, which knows it
            return super().by_component(node, args)
        y, x = (convert(a, v.type, want) for a, v in zip(args, node.operands))
        return f"{self.slang}({y}, select(({y} == {want}(0)) & ({x} == {want}(0)), {want}(1), {x}))"


class Spelled(Intrinsic):
    """A function with an expression of its own, over ``{0}``, ``{1}``, … and their type ``{t}``.

    Args:
        slang: the expression for floats; `integers` is that for integers, `unsigned` that for bools and unsigned integers.
    """

    def __init__(
        self,
        name: str,
        numpy: Callable[..., Array],
        slang: str,
        *,
        arity: int = 1,
        integers: str = "",
        unsigned: str = "",
        floats: bool,
    ):
        super().__init__(name, arity, numpy, floats=floats)
        self.spelling = slang
        self.integers = integers or slang
        self.unsigned = unsigned or self.integers
        # CUDA takes Slang's min and max of these bits as signed
        self.unsigned64 = slang if slang.startswith(KEEPS_NAN) and not unsigned else self.unsigned

    def by_component(self, node: Node, args: Sequence[str]) -> str:
        want = node.results[0].type
        assert want.dtype is not None
        unsigned = self.unsigned64 if want.scalar is UINT64 else self.unsigned
        spelling = self.spelling if want.is_float else self.integers if want.dtype.kind == "i" else unsigned
        at = want.with_scalar(working(want.scalar)) if want.scalar is not None else want
        return convert(spelling.format(*self.texts(node, args, at), t=at), at, want)

    def texts(self, node: Node, args: Sequence[str], at: Type) -> Sequence[str]:
        """Returns the operands as the expression takes them, of type `at`."""
        want = node.results[0].type
        return [convert(convert(a, v.type, want), want, at) for a, v in zip(args, node.operands)]


class Rounding(Spelled):
    """A function to a whole number: integers stay as they are, in their own type, as in NumPy."""

    def __init__(self, name: str, numpy: Callable[..., Array], slang: str):
        super().__init__(name, numpy, slang, integers="{0}", floats=False)

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        return super().evaluate(node, args) if node.results[0].type.is_float else [np.asarray(args[0])]


class Classification(Intrinsic):
    """A question about floats: a bool for each component. Of integers the answer is `otherwise`."""

    def __init__(self, name: str, numpy: Callable[..., Array], *, otherwise: bool):
        super().__init__(name, 1, numpy, slang=f"{KEEPS_NAN}{name}", floats=False)
        self.otherwise = otherwise

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        return [computed(node, shaped(BOOL, common_shape(node, f"{self.name}()")), of_numbers(node.operands))]

    def wanted(self, node: Node, i: int) -> Type | None:
        return node.operands[0].type.scalar

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        return [np.asarray(self.numpy(*args))]

    def by_component(self, node: Node, args: Sequence[str]) -> str:
        if node.operands[0].type.is_float:
            return f"{self.slang}({args[0]})"
        return f"{node.results[0].type}({str(self.otherwise).lower()})"


# Half to even, as NumPy does: Slang's round may do either, and its rint rounds half away from zero on CUDA.
_HALF_TO_EVEN = (
    "trunc({0}) + {t}(sign({0})) * select((abs({0} - trunc({0})) > 0.5)"
    " | ((abs({0} - trunc({0})) == 0.5) & (frac(abs(trunc({0})) * 0.5) != 0)), {t}(1), {t}(0))"
)


# A NaN operand gives NaN, as in NumPy: Slang's min, max and clamp may drop it, depending on the device. These functions of
# ``fusepy/slang/fusepy_nan.slang`` keep it. They exist for uint64_t too, which Slang takes for int64_t on CUDA.
KEEPS_NAN = "fzn_"


def _sign(x: Array) -> Array:
    return x if x.dtype == bool else np.sign(x)


def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _fract(x: Array) -> Array:
    return x - np.floor(x)


def _saturate(x: Array) -> Array:
    return np.minimum(np.maximum(x, 0), 1)


def _relu(x: Array) -> Array:
    return np.where(x <= 0, 0, x)


def _gate(x: Array, y: Array) -> Array:
    return np.where(y <= 0, 0, x)


def _step(edge: Array, x: Array) -> Array:
    return np.where(x >= edge, 1, 0)


def _lerp(a: Array, b: Array, t: Array) -> Array:
    return a + (b - a) * t


def _smoothstep(low: Array, high: Array, x: Array) -> Array:
    t = _saturate((x - low) / (high - low))
    return t * t * (3 - 2 * t)


INTRINSICS: list[Op] = [
    *(Intrinsic(f.__name__, 1, f) for f in (np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh, np.exp, np.exp2)),
    *(Intrinsic(f.__name__, 1, f) for f in (np.log, np.log2, np.log10, np.sqrt)),
    *(Intrinsic(n, 1, f) for n, f in (("asin", np.arcsin), ("acos", np.arccos), ("atan", np.arctan))),
    *(Rounding(f.__name__, f, f"{f.__name__}({{0}})") for f in (np.floor, np.ceil, np.trunc)),
    Rounding("round", np.round, _HALF_TO_EVEN),
    Intrinsic("rsqrt", 1, _rsqrt),
    Intrinsic("fract", 1, _fract, slang="frac"),
    Spelled("saturate", _saturate, f"{KEEPS_NAN}saturate({{0}})", floats=True),
    Spelled("relu", _relu, "select({0} <= {t}(0), {t}(0), {0})", floats=True),
    Spelled(
        "gate", _gate, "select({1} <= {t}(0), {t}(0), {0})", arity=2, floats=True
    ),  # gradient of relu: no mask is stored for it
    # Slang's abs reads unsigned bits as signed
    Spelled("abs", np.abs, "abs({0})", integers="{0} * ({t}(1) - {t}(2) * {t}({0} < {t}(0)))", unsigned="{0}", floats=False),
    Spelled(
        "sign",
        _sign,
        f"{KEEPS_NAN}sign({{0}})",
        integers="{t}({0} > {t}(0)) - {t}({0} < {t}(0))",
        unsigned="{t}({0} != {t}(0))",
        floats=False,
    ),
    Angle("atan2", 2, np.arctan2),
    *(Intrinsic(f.__name__, 1, f) for f in (np.log1p, np.expm1)),
    Spelled("copysign", np.copysign, f"{KEEPS_NAN}copysign({{0}}, {{1}})", arity=2, floats=True),
    Classification("isnan", np.isnan, otherwise=False),
    Classification("isinf", np.isinf, otherwise=False),
    Classification("isfinite", np.isfinite, otherwise=True),
    Spelled("step", _step, "select({1} >= {0}, {t}(1), {t}(0))", arity=2, floats=True),
    Intrinsic("lerp", 3, _lerp),
    Intrinsic("smoothstep", 3, _smoothstep),
]

"""Slang's componentwise math intrinsics as operations, under NumPy's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fusepy.ir.graph import Node, Value
from fusepy.ir.ops.base import Array, Op, common_shape, components, computed, convert, shaped
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import FLOAT, promote


class Intrinsic(Op):
    """A function of scalars, vectors and matrices that works on each component.

    Args:
        arity: how many operands it takes; all are promoted to one scalar.
        slang: the intrinsic's name in Slang, where it differs.
        floats: integers are converted to float first.
    """

    def __init__(self, name: str, arity: int, numpy: Callable[..., Array], *, slang: str | None = None, floats: bool = True):
        self.name = name
        self.arity = arity
        self.numpy = numpy
        self.slang = slang or name
        self.floats = floats

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        shape = common_shape(node, f"{self.name}()")
        scalar = promote([(v.type, v.weak) for v in node.operands])
        assert scalar is not None  # common_shape has checked it
        if self.floats and not scalar.is_float:
            scalar = FLOAT
        return [computed(node, shaped(scalar, shape), all(v.weak for v in node.operands))]

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        dtype = node.results[0].type.dtype
        operands = [a.astype(dtype) for a in components(args, [v.type for v in node.operands])]
        with np.errstate(all="ignore"):
            return [self.numpy(*operands).astype(dtype)]

    def expression(self, node: Node, args: Sequence[str]) -> str:
        want = node.results[0].type
        return f"{self.slang}({', '.join(convert(a, v.type, want) for a, v in zip(args, node.operands))})"


def _lerp(a: Array, b: Array, t: Array) -> Array:
    return a + (b - a) * t


def _smoothstep(low: Array, high: Array, x: Array) -> Array:
    t = np.clip((x - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)


INTRINSICS: list[Op] = [
    *(Intrinsic(f.__name__, 1, f) for f in (np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh, np.exp, np.exp2)),
    *(Intrinsic(f.__name__, 1, f) for f in (np.log, np.log2, np.log10, np.sqrt, np.floor, np.ceil, np.trunc)),
    *(Intrinsic(n, 1, f) for n, f in (("asin", np.arcsin), ("acos", np.arccos), ("atan", np.arctan))),
    Intrinsic("round", 1, np.round, slang="rint"),  # half to even, as NumPy does; Slang's own round is free to choose
    Intrinsic("rsqrt", 1, lambda x: 1 / np.sqrt(x)),
    Intrinsic("fract", 1, lambda x: x - np.floor(x), slang="frac"),
    Intrinsic("saturate", 1, lambda x: np.clip(x, 0, 1)),
    Intrinsic("abs", 1, np.abs, floats=False),
    Intrinsic("sign", 1, np.sign, floats=True),
    Intrinsic("minimum", 2, np.minimum, slang="min", floats=False),
    Intrinsic("maximum", 2, np.maximum, slang="max", floats=False),
    Intrinsic("atan2", 2, np.arctan2),
    Intrinsic("step", 2, lambda edge, x: np.where(x >= edge, 1, 0)),
    Intrinsic("clip", 3, lambda x, low, high: np.minimum(np.maximum(x, low), high), slang="clamp", floats=False),
    Intrinsic("lerp", 3, _lerp),
    Intrinsic("smoothstep", 3, _smoothstep),
]

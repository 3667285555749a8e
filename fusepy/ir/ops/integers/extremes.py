"""The least and the largest of two values, and the nearest one between two, of integers of both signs too."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fusepy.ir.argmap import UNSAID
from fusepy.ir.graph import Node, Op, Value
from fusepy.ir.ops.base import components, shaped
from fusepy.ir.ops.integers.signs import OfBothSigns, exact, signed_operand
from fusepy.ir.ops.math import KEEPS_NAN, Spelled
from fusepy.ir.ops.promotion import promote
from fusepy.ir.types import Type
from fusepy.ir.value import Array


class Extreme(Spelled):
    """A choice of one operand by its size."""

    def __init__(self, name: str, numpy: Callable[..., Array], slang: str, integers: str, arity: int = 2):
        super().__init__(name, numpy, f"{KEEPS_NAN}{slang}", arity=arity, integers=integers, floats=False)

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        type = node.results[0].type
        if type.scalar is None or signed_operand(node, type) is None:
            return super().evaluate(node, args)
        return [exact(self.name, components(args, [v.type for v in node.operands]), type.scalar)]

    def texts(self, node: Node, args: Sequence[str], at: Type) -> Sequence[str]:
        k, scalar = signed_operand(node, at), at.scalar
        if k is None or scalar is None:
            return super().texts(node, args, at)
        return OfBothSigns(node, args, scalar, k).bounds(self.name)


class Between(Extreme):
    """``minimum(maximum(x, low), high)``."""

    def by_component(self, node: Node, args: Sequence[str]) -> str:
        result = node.results[0]
        if signed_operand(node, result.type) is None:
            return super().by_component(node, args)
        x, low, high = node.operands
        scalar = promote([(x.type, x.weak), (low.type, low.weak)])
        assert scalar is not None
        above = Value(shaped(scalar, result.type.shape))
        text = LARGEST.by_component(Node(LARGEST, (x, low), (UNSAID,) * 2, (above,), {}), args[:2])
        return LEAST.by_component(Node(LEAST, (above, high), (UNSAID,) * 2, (result,), {}), [f"({text})", args[2]])


def _clip(x: Array, low: Array, high: Array) -> Array:
    return np.minimum(np.maximum(x, low), high)


LEAST = Extreme("minimum", np.minimum, "min({0}, {1})", "min({0}, {1})")
LARGEST = Extreme("maximum", np.maximum, "max({0}, {1})", "max({0}, {1})")
EXTREMES: list[Op] = [LEAST, LARGEST, Between("clip", _clip, "clip({0}, {1}, {2})", "clamp({0}, {1}, {2})", 3)]

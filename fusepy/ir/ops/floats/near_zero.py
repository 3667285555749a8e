"""sinh and tanh, of which drivers lose the digits near 0: they subtract exponentials that are nearly equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fusepy.ir.graph import Node, Op
from fusepy.ir.ops.base import convert
from fusepy.ir.ops.doubles import spelled
from fusepy.ir.ops.math import Intrinsic
from fusepy.ir.value import Array


class Odd(Intrinsic):
    """An odd function that is `x` near 0: up to `end` a polynomial, beyond it Slang's.

    Args:
        terms: the coefficients of ``x * (1 + a * x**2 + b * x**4 + ...)``, the last one first.
    """

    def __init__(self, name: str, numpy: Callable[..., Array], end: float, terms: Sequence[float]):
        super().__init__(name, 1, numpy)
        self.end = end
        self.terms = terms

    def slangs_own(self, node: Node, args: Sequence[str]) -> str:
        """Returns the call of Slang's function."""
        return super().by_component(node, args)

    def by_component(self, node: Node, args: Sequence[str]) -> str:
        want = node.results[0].type
        if spelled(self.slang, want) != self.slang:  # a function of fusepy, which is exact
            return self.slangs_own(node, args)
        x = convert(args[0], node.operands[0].type, want)
        near = f"{want}({self.terms[0]})"
        for term in self.terms[1:]:
            near = f"({near} * ({x} * {x}) + {want}({term}))"
        return f"select(abs({x}) < {want}({self.end}), {x} * ({near} * ({x} * {x}) + {want}(1)), {self.slang}({x}))"


# coefficients of Moshier's Cephes (sinhf.c, tanhf.c)
HYPERBOLIC: list[Op] = [
    Odd("sinh", np.sinh, 1.0, (2.03721912945e-4, 8.33028376239e-3, 1.66667160211e-1)),
    Odd("tanh", np.tanh, 0.625, (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)),
]

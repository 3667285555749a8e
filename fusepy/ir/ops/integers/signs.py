"""Operations on a signed and an unsigned integer whose common type is unsigned: the answer of the numbers, wrapped to that type.

C takes a negative number as a large one there. Sums, differences and products are the same up to wrapping; what is here is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fusepy.ir.graph import Node
from fusepy.ir.ops.base import convert, shaped, working
from fusepy.ir.ops.integers.divisors import divisor
from fusepy.ir.types import Type
from fusepy.ir.value import Array

# the comparisons that are true where the signed operand is below zero: where it is the first one, and the second one
BELOW = (("lt", "le", "ne"), ("gt", "ge", "ne"))


def quotient(a: int, b: int) -> int:
    """Returns ``a // b``, and 0 for a divisor of 0, as NumPy does."""
    return a // b if b else 0


def rest(a: int, b: int) -> int:
    """Returns ``a % b``, and 0 for a divisor of 0."""
    return a % b if b else 0


def shifted_right(a: int, count: int) -> int:
    """Returns ``a >> count``; a negative count shifts all bits out."""
    return a >> (count if count >= 0 else a.bit_length())


def _rest_of_c(a: int, b: int) -> int:
    return rest(abs(a), abs(b)) * (-1 if a < 0 else 1)


def _power(a: int, n: int) -> int:
    """Returns the last 64 bits of ``a ** n``. For a negative `n`, where `a` has no sign, it is 1 for 1, and 0 else."""
    return pow(a, n, 1 << 64) if n >= 0 else int(a == 1)


def _between(x: int, low: int, high: int) -> int:
    return min(max(x, low), high)


# what operations mean for integers of any size
EXACT: dict[str, Callable[..., int]] = {
    "floordiv": quotient,
    "mod": rest,
    "fmod": _rest_of_c,
    "pow": _power,
    "shr": shifted_right,
    "minimum": min,
    "maximum": max,
    "clip": _between,
}


def signed_operand(node: Node, scalar: Type) -> int | None:
    """Returns the place of the first operand that may be negative although the operation is of `scalar`, which is unsigned; or
    ``None``. Python's numbers fit: they are checked.
    """
    if scalar.dtype is not None and scalar.dtype.kind == "u":
        for i, value in enumerate(node.operands):
            if not value.weak and value.type.dtype is not None and value.type.dtype.kind == "i":
                return i
    return None


def signed_like(scalar: Type) -> Type:
    """Returns the signed type of the size of an integer."""
    assert scalar.dtype is not None
    found = Type.of_dtype(np.dtype(f"i{scalar.dtype.itemsize}"))
    assert found is not None
    return found


def exact(op: str, args: Sequence[Array], scalar: Type) -> Array:
    """Returns what an operation gives for integers of both signs, wrapped to `scalar`, which is unsigned."""
    assert scalar.dtype is not None
    whole = np.frompyfunc(EXACT[op], len(args), 1)(*(a.astype(object) for a in args))
    return np.asarray(whole & np.iinfo(scalar.dtype).max).astype(scalar.dtype)


class OfBothSigns:
    """The Slang texts of two operands, one of which is signed, in their unsigned type of 32 bits or more.

    Attributes:
        type: the unsigned type.
        signed: the signed operand in the signed type of the same size, and `zero` in that.
        operands: both operands in the unsigned type; `k` is the place of the signed one.
        mask: all bits where the signed one is negative, else none.
    """

    def __init__(self, node: Node, args: Sequence[str], scalar: Type, k: int):
        shape = node.results[0].type.shape
        self.k, self.type = k, shaped(working(scalar), shape)
        signed = shaped(signed_like(working(scalar)), shape)
        assert signed.dtype is not None
        self.signed = convert(args[k], node.operands[k].type, signed)
        other = convert(args[1 - k], node.operands[1 - k].type, self.type)
        self.zero = f"{signed}(0)"
        self.mask = f"{self.type}({self.signed} >> {signed}({8 * signed.dtype.itemsize - 1}))"
        ends = convert(self.signed, signed, self.type), other
        self.operands = ends[k], ends[1 - k]

    def comparison(self, op: str, form: str) -> str:
        """Returns the comparison `form`."""
        within = form.format(*self.operands)
        if op in BELOW[self.k]:
            return f"({self.signed} < {self.zero}) | ({within})"
        return f"({self.signed} >= {self.zero}) & ({within})"

    def power(self) -> list[str]:
        """Returns the operands of a power. Where the exponent is negative, the base becomes 1 if it is 1, and else 0."""
        x, n = self.operands
        return [f"(({x} & ~{self.mask}) | ({self.type}({x} == {self.type}(1)) & {self.mask}))" if self.k else x, n]

    def bounds(self, op: str) -> list[str]:
        """Returns the operands of a minimum or maximum of the unsigned type that gives the right one."""
        found = list(self.operands)
        if op == "maximum":
            found[self.k] = f"({found[self.k]} & ~{self.mask})"  # at least 0, as the other one is
        else:
            found[1 - self.k] = f"({found[1 - self.k]} | {self.mask})"  # more than any negative number
        return found

    def quotient(self, op: str) -> str:
        """Returns ``floordiv``, ``mod`` or ``fmod``."""
        (x, y), m, t = self.operands, self.mask, self.type
        size = f"(({self.operands[self.k]} ^ {m}) - {m})"
        below, above = (x, size) if self.k else (size, y)
        if op == "fmod":
            rest = f"({below} - {below} / {divisor([below, above], t)} * {above})"
            return f"({rest if self.k else f'(({rest} ^ {m}) - {m})'}) * {t}({y} != {t}(0))"
        if self.k:  # the quotient of a number and a negative one is the complement of that of one less, but of 0 it is 0
            m = f"({m} * {t}({x} != {t}(0)))"
        found = f"((({f'{x} + {m}' if self.k else f'{x} ^ {m}'}) / {divisor([x, above], t)}) ^ {m})"
        return f"({found if op == 'floordiv' else f'({x} - {found} * {y})'}) * {t}({y} != {t}(0))"

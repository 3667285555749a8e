"""Python's integers as operations of a trace: `NumberView` is an integer that each call computes of its own numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fusepy.backend.memory.structs import ArgumentView
from fusepy.errors import RangeError
from fusepy.ir.ops.integers.signs import quotient, rest, shifted_right
from fusepy.ir.ops.power import refuse_negative
from fusepy.ir.types import INT

MOST_BITS = 2048  # no float is larger


def _shifted(a: int, count: int) -> int:
    _check_bits(a.bit_length() + count)
    return a << count if count >= 0 else 0


def _power(a: int, exponent: int) -> int:
    refuse_negative(INT, exponent)
    _check_bits(max(a.bit_length() - 1, a not in (-1, 0, 1)) * exponent)
    return a**exponent


def _check_bits(count: int) -> None:
    if count > MOST_BITS:
        what = "an integer of the program has more bits than any type"
        raise RangeError(what, saw=f"{count} bits", hint="compute with floats: write 2.0**n instead of 2**n")


# What operators and functions mean for Python's integers. Division by 0 and negative counts are the kernels', which compute where
# a branch is not taken too.
MEANINGS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": quotient,
    "mod": rest,
    "pow": _power,
    "neg": operator.neg,
    "abs": abs,
    "bitand": operator.and_,
    "bitor": operator.or_,
    "bitxor": operator.xor,
    "invert": operator.invert,
    "shl": _shifted,
    "shr": shifted_right,
    "minimum": min,
    "maximum": max,
}


@dataclass(frozen=True)
class Place:
    """The place of a number among the inputs of a graph."""

    at: int


@dataclass(frozen=True)
class NumberView(ArgumentView):
    """An integer that every call computes of its own numbers.

    Attributes:
        op: the operation.
        operands: numbers of the program, and the places of others.
    """

    op: str
    operands: tuple[int | Place, ...]

    def within(self, given: Callable[[int], Any]) -> int:
        found = MEANINGS[self.op](*[int(given(o.at)) if isinstance(o, Place) else o for o in self.operands])
        _check_bits(found.bit_length())
        return found

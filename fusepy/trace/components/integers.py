"""Python's integers as operations of a trace: `NumberView` is a number that each call computes of its own numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
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


def _clipped(a: int, low: int, high: int) -> int:
    return min(max(a, low), high)


def _selected(test: int, a: int, b: int) -> int:
    return a if test else b


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
    "clip": _clipped,
    "select": _selected,
}
# Tests are computed for the choices among numbers alone: kernels compute them as well.
TESTS: dict[str, Callable[..., bool]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
    "bitand": operator.and_,
    "bitor": operator.or_,
    "bitxor": operator.xor,
    "invert": operator.not_,
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
        operands: numbers of the program, the places of others, and tests.
    """

    op: str
    operands: tuple[Operand, ...]

    def within(self, given: Callable[[int], Any]) -> int:
        found: int = MEANINGS[self.op](*map(int, _found(self.operands, given)))
        _check_bits(found.bit_length())
        return found


@dataclass(frozen=True)
class NumberTest:
    """A comparison of numbers, or several combined, as an operand of a choice among integers; else as `NumberView`."""

    op: str
    operands: tuple[Operand, ...]
    classes: tuple[type, ...]  # of the operands: a number of NumPy equals Python's, and is compared with other bits

    def within(self, given: Callable[[int], Any]) -> bool:
        return bool(TESTS[self.op](*_found(self.operands, given)))


Operand = float | Place | NumberTest


def places_of(operands: Iterable[Operand]) -> Iterator[int]:
    """Yields the places of inputs among operands, and among those of their tests."""
    for operand in operands:
        if isinstance(operand, Place):
            yield operand.at
        elif isinstance(operand, NumberTest):
            yield from places_of(operand.operands)


def _found(operands: Iterable[Operand], given: Callable[[int], Any]) -> list[Any]:
    """Returns the numbers that operands are in a call: those of NumPy as they are, compared with their own bits."""
    found: list[Any] = []
    for operand in operands:
        if isinstance(operand, Place):
            found.append(given(operand.at))
        else:
            found.append(operand.within(given) if isinstance(operand, NumberTest) else operand)
    return found

"""Overflow of integers in loops and branches of Python's numbers: a flag that a kernel sets, and each call reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fusepy.backend.memory.host_arrays import contents_of
from fusepy.errors import RangeError
from fusepy.ir.graph import Attr, Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.types import BOOL, FLOAT, INT64
from fusepy.trace.bodies import BodyTrace
from fusepy.trace.components.checks import GROWS, conversions
from fusepy.trace.trace import Trace

_FLAGGED = ("cond", "fori_loop", "while_loop")
_LARGEST = 9223371487098961920.0  # the largest float below 2**63


class OverflowRequest(NamedTuple):
    """The check that all integers in a loop or branch fit their types.

    Attributes:
        values: the flag.
        op: the operation.
        place: the user's line.
    """

    values: Sequence[Value]
    op: str
    place: str | None

    def run(self, results: Iterator[Any]) -> None:
        """Raises `RangeError` if the flag is set."""
        if np.any(contents_of(next(results))):
            raise RangeError(
                f"{self.op}: an integer in the body is out of range",
                place=self.place,
                expected="integers of at most 64 bits that fit the types that they are converted to",
                hint="compute with floats: start with 1.0 instead of 1; or say the type, with fp.vcast(number, 'int64_t')",
            )


class Overflow:
    """The flag that a loop carries beside the values of the user; absent if no integer of Python's numbers can overflow."""

    def __init__(self, trace: Trace, op: str, loc: str | None):
        self.trace, self.op, self.loc, self.used = trace, op, loc, True
        self._flag: Value | None = None

    def enter(self, inner: BodyTrace) -> None:
        """Gives a body the flag of the step before."""
        carried = self.used and (inner.alone or _reports(inner.parent))
        self._flag = inner.builder.input("overflow", BOOL) if carried else None

    def step(self, inner: BodyTrace) -> list[Value]:
        """Returns the flag after a step, if there is one."""
        found = overflow_in(inner) if inner.alone or _converts(inner) else None
        flag, self.used = self._flag, found is not None
        if flag is None or found is None:
            inner.builder.inputs[:] = [v for v in inner.builder.inputs if v is not flag]
            return []
        return [_recorded(inner, "bitor", flag, found)]

    def ended(self, tester: BodyTrace, holds: Value) -> Value:
        """Returns the test of the next step, which fails once the flag is set."""
        if self._flag is None:
            return holds
        return _recorded(tester, "bitand", holds, _recorded(tester, "invert", self._flag))

    def start(self) -> list[Value]:
        """Returns the flag before the first step, if there is one."""
        return [self.trace.constant(False)] if self.used else []


def add_overflow(branches: Sequence[BodyTrace], outputs: Sequence[list[Value]]) -> bool:
    """Adds a flag to the outputs of branches; returns False if no integer can overflow.

    Branches over arrays have one where they convert numbers that they compute, and a call can read it; else that is refused.
    """
    found = [overflow_in(inner) if inner.alone or _converts(inner) else None for inner in branches]
    if not any(found):
        return False
    for inner, flag, values in zip(branches, found, outputs):
        values.append(inner.constant(False) if flag is None else flag)
    return True


def _converts(inner: BodyTrace) -> bool:
    """True for a body over arrays that converts numbers which it computes, where a call can read the flag."""
    return _reports(inner.parent) and (bool(inner.flags) or any(True for _ in conversions(inner)))


def _reports(trace: Trace) -> bool:
    """True if a call reads the flags of bodies in a trace, perhaps through the flag of the body that it is."""
    if isinstance(trace, BodyTrace):
        return trace.body in _FLAGGED and trace.builder.name != "test" and _reports(trace.parent)
    return trace.prints is not None


def report_overflow(trace: Trace, flag: Value, op: str, loc: str | None) -> None:
    """Has each call, or the body around, check the flag of an operation."""
    if flag.rank:
        axes = tuple(f"d{axis}" for axis in range(flag.rank))
        (flag,) = trace.builder.add(OPS["reduce"], [flag], None, {"kind": "any", "axes": axes}, loc)
    if trace.prints is not None:
        trace.prints.append(OverflowRequest([flag], op, loc))
    elif trace.flags is not None:
        trace.flags.append(flag)


def overflow_in(inner: BodyTrace) -> Value | None:
    """Returns a value that is true where an integer of a body does not fit; ``None`` if all fit."""
    tests = list(inner.flags or ())
    for value, want, _ in list(conversions(inner)):
        assert want.dtype is not None
        assert value.type.dtype is not None
        wanted, had = np.iinfo(want.dtype), np.iinfo(value.type.dtype)
        if had.min < wanted.min:
            tests.append(_recorded(inner, "lt", value, inner.constant(int(wanted.min), value.type)))
        if had.max > wanted.max:
            tests.append(_recorded(inner, "gt", value, inner.constant(int(wanted.max), value.type)))
    grown = [n for n in inner.builder.nodes if n.op.name in GROWS and n.results[0].weak and n.results[0].type is INT64]
    tests += [_overflown(inner, node) for node in grown]
    inner.flags = None
    found = tests[0] if tests else None
    for test in tests[1:]:
        assert found is not None
        found = _recorded(inner, "bitor", found, test)
    return found


def _overflown(inner: BodyTrace, node: Node) -> Value:
    """Returns a value that is true where the result of an operation needs more than 64 bits."""
    if node.op.name == "shl":
        return _recorded(inner, "ne", _recorded(inner, "shr", node.results[0], node.operands[1]), node.operands[0])
    operands = [_recorded(inner, "cast", v, type=FLOAT.name) for v in node.operands]
    size = _recorded(inner, "abs", _recorded(inner, node.op.name, *operands, **node.attrs))
    return _recorded(inner, "ge", size, inner.constant(_LARGEST))


def _recorded(inner: BodyTrace, op: str, *values: Value, **attrs: Attr) -> Value:
    return inner.builder.add(OPS[op], values, None, attrs, None)[0]

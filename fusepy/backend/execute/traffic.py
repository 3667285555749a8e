"""The bytes that a kernel moves: of the arrays that it reads and writes, each counted once; numbers with their units."""

from __future__ import annotations

import math

from fusepy.backend.emit.operand import addressing
from fusepy.backend.execute.tape import Tape, TapePiece
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.backend.memory.element import Element
from fusepy.ir.oracle import Oracle


def bytes_moved(piece: TapePiece, tape: Tape, oracle: Oracle) -> int:
    """Returns the bytes of the arguments and results of a region.

    An array that is passed whole counts as a whole, though user code may read less of it. The accumulators between the stages of
    a reduction do not count.
    """
    plan, slots = piece.plan, tape.slots
    read: dict[int, int] = {}
    for operand in plan.operands:
        position = plan.positions[operand.position]
        if operand.rank and addressing(ACCESSES, operand) in ("memory", "resource"):
            read[position] = math.prod(slots[position].shape) * Element.of(operand.have, oracle).nbytes
    written = sum(math.prod(slots[slot].shape) * element.nbytes for slot, element in zip(piece.results, plan.elements))
    return sum(read.values()) + written


def scaled(value: float | None, unit: str) -> str:
    """Returns a number with three digits and a decimal prefix of its unit: ``"1.25 ms"``; ``"-"`` for None."""
    if value is None:
        return "-"
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0), ("m", 1e-3), ("µ", 1e-6)):
        if abs(value) >= size and not (unit == "s" and size > 1):
            return f"{value / size:.3g} {prefix}{unit}" if value / size < 999.5 else f"{value / size:.0f} {prefix}{unit}"
    return f"{value * 1e9:.3g} n{unit}" if value else f"0 {unit}"

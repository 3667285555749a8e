"""The bytes that a kernel moves: of the arrays that it reads and writes, each counted once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fusepy.backend.emit.operand import reach
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.backend.memory.element import Element
from fusepy.ir.oracle import Oracle

if TYPE_CHECKING:
    from fusepy.backend.execute.plan import Plan


def bytes_moved(plan: Plan, shapes: Sequence[tuple[int, ...]], oracle: Oracle) -> int:
    """How many bytes arguments and results of these shapes have.

    An array that is passed whole counts as a whole, though user code may read less of it; what a reduction leaves for its next
    stage does not count.
    """
    read: dict[int, int] = {}
    for operand in plan.operands:
        position = plan.positions[operand.position]
        if operand.rank and reach(ACCESSES[operand.arrival], operand) in ("memory", "resource"):
            read[position] = math.prod(shapes[position]) * Element.of(operand.have, oracle).nbytes
    written = zip(plan.elements, plan.check(shapes).out_shapes)
    return sum(read.values()) + sum(math.prod(shape) * element.nbytes for element, shape in written)

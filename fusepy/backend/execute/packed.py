"""Arguments that are copied before a call, since a kernel takes vectors of them at indices, and their components lie apart.

The numbers of a column-major array are the components of ``float3`` values, but do not lie side by side. A kernel that loads one
element per thread reads them one by one. One that takes elements at indices reads a whole vector at its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fusepy.backend.device.sink import Sink
from fusepy.backend.execute.plan import Plan
from fusepy.backend.marshals.base import Maker
from fusepy.backend.marshals.whole import lie_together, written
from fusepy.backend.memory.contents import copy_elements
from fusepy.backend.memory.tensor import Tensor
from fusepy.ir.types import Kind


def apart(plans: Sequence[Plan], args: Sequence[Any]) -> tuple[int, ...]:
    """Returns the arguments that are copied: a kernel takes their elements at indices, and these do not lie in one piece."""
    found: dict[int, None] = {}
    for plan in plans:
        for operand in plan.memory:
            slot = plan.positions[operand.position]
            if operand.want.kind is not Kind.WHOLE or written(operand.want) or slot not in plan.taken or slot >= len(args):
                continue
            if not lie_together(operand, args[slot]):
                found[slot] = None
    return tuple(found)


def empty(args: Sequence[Any], slots: Sequence[int]) -> Sequence[Any]:
    """Returns the arguments with new memory in place of some."""
    return [Tensor(a.device, a.element, a.shape) if i in slots else a for i, a in enumerate(args)] if slots else args


def packed(args: Sequence[Any], slots: Sequence[int], sink: Sink, make: Maker | None) -> list[Any]:
    """Returns the arguments with copies in place of some, which `sink` makes; `make` makes their memory, or the pool."""
    made = list(args)
    for slot in slots:
        given: Tensor = args[slot]
        made[slot] = Tensor(given.device, given.element, given.shape) if make is None else make(given.element, given.shape)
        copy_elements(given, made[slot], sink)
    return made

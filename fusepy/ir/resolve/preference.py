"""The choice among several bindings of a call: those that fit best are kept."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.ir.oracle import OUT, Answer
from fusepy.ir.resolve.offers import Offer
from fusepy.ir.resolve.questions import Binding
from fusepy.ir.types import Kind, Type
from fusepy.ir.value import Value
from fusepy.ir.whole import has_extents, least

Found = dict[tuple[object, ...], Binding]


def preferred(found: Found, operands: Sequence[Value]) -> Found:
    """Returns the bindings with the right extents, the least power over memory, and the fewest conversions."""
    return found if len(found) < 2 else _closest(_least(_of_extents(found, operands)))


def _of_extents(found: Found, operands: Sequence[Value]) -> Found:
    """Drops bindings with arrays of other extents than an operand has, if others are left. Extents above 4 are unknown here."""
    if len(found) < 2:
        return found
    fits = {key: each for key, each in found.items() if all(map(has_extents, operands, (o.type for o in each[0])))}
    return fits or found


def _least(found: Found) -> Found:
    """Drops bindings whose whole arrays may do more than those of an equal binding: a generic that only reads is read-only."""
    if len(found) < 2:
        return found
    plain = {key: tuple(_held(o) for o in choice) for key, (choice, _) in found.items()}
    power = {key: least([o.type for o in choice]) for key, (choice, _) in found.items()}

    def beaten(key: tuple[object, ...]) -> bool:
        rivals = [k for k in found if k != key and plain[k] == plain[key] and power[k] != power[key]]
        return any(all(a <= b for a, b in zip(power[k], power[key])) for k in rivals)

    return {key: value for key, value in found.items() if not beaten(key)}


def _held(offer: Offer) -> tuple[Type | None, bool]:
    """Returns the value of a thread: an element, or a whole array of elements."""
    whole = offer.type.kind is Kind.WHOLE
    return (offer.type.element if whole else offer.type), whole


def _closest(found: Found) -> Found:
    """Drops bindings that convert more, or have more outputs, than another binding of the same offers.

    Overloads that differ in their outputs are asked about one by one; among others Slang has chosen.
    """
    if len(found) < 2:
        return found
    offered = {key: tuple((o.type, o.consumed) for o in choice) for key, (choice, _) in found.items()}
    costs = {key: _conversions(choice, answer) for key, (choice, answer) in found.items()}
    outputs = {key: sum(p.direction == OUT for p in answer.params) for key, (_, answer) in found.items()}

    def beaten(key: tuple[object, ...]) -> bool:
        rivals = [k for k in found if k != key and offered[k] == offered[key]]
        closer = [k for k in rivals if all(a <= b for a, b in zip(costs[k], costs[key]))]
        return any(costs[k] != costs[key] or outputs[k] < outputs[key] for k in closer)

    return {key: value for key, value in found.items() if not beaten(key)}


def _conversions(choice: Sequence[Offer], answer: Answer) -> tuple[int, ...]:
    """Returns for each operand 0 if it is taken as it is, 1 if it is converted, 2 if it is repeated in all components."""
    inputs = [p.type for p in answer.params if p.direction != OUT]
    return tuple(0 if t is None or t is o.type else 1 if t.shape == o.type.shape else 2 for o, t in zip(choice, inputs))

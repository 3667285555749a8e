"""Augmented assignments, ``x *= 2``, of traced values: refused where call by call they would write to what others see.

Of an array, ``x *= 2`` writes into its memory, which its views and all of its names share. A traced value does not change: the
result is another one. Both mean the same as long as nobody looks at the old value again. So arguments are refused, of which the
caller would see the new elements, and a value that has been written to cannot be used any more.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from fusepy.errors import TraceError
from fusepy.ir.value import Value
from fusepy.location import user_line

Key = int | str | None  # an index along the first axis, or the name of a member; None for anything else


class Alias(NamedTuple):
    """A traced value as a view of another one."""

    base: Any
    key: Key


FRESH = Alias(None, None)  # of a copy of an argument
Written = tuple[tuple[Key, str, "str | None"], ...]  # what has been written to a value: the part, the operator, the line


def viewed(base: Any, made: Any, key: Any = None) -> Any:
    """Says that a traced value is a view of another one, and returns it."""
    value: Value = base._value
    # parts of single numbers and vectors are numbers, and those of generators are computed
    if made is not base and (value.rank or value.arrival.memory) and not value.arrival.placed:
        made._of = Alias(base, key if key.__class__ in (int, str) else None)
    return made


def fresh(made: Any) -> Any:
    """Says that a traced value is a copy, which shares nothing with the one that it is of, and returns it."""
    made._of = FRESH
    return made


def is_view(index: Any) -> bool:
    """True for an index that takes a view of an array; elements at integers that are arrays or traced values are copies."""
    items = cast("tuple[Any, ...]", index) if isinstance(index, tuple) else (index,)
    return all(item is None or item is ... or isinstance(item, (int, np.integer, slice)) for item in items)


def overwrite(value: Any, made: Any, sign: str) -> None:
    """Notes that an augmented assignment writes to a traced value, and so to all that it is a view of.

    Args:
        made: the result.

    Raises:
        TraceError: if it is an argument, or a view of one, and if the result has another type or more axes.
    """
    if value._trace.body:
        return  # the body of a loop or branch runs for single elements, which are numbers
    parts = [Alias(value, None)]
    while (last := parts[-1].base)._of is not None and last._of.base is not None:
        parts.append(last._of)
    if last._of is None and _is_argument(last._value):
        view = "" if last is value else "a view of "
        raise TraceError(
            f"{sign}= of {view}the argument {last._value.name!r} in a program that is recorded",
            saw="call by call it would change the argument",
            hint=f"write t = t {sign} x, which changes no argument, or begin with t = t.copy()",
        )
    if value.is_weak:
        return
    if made.type is not value.type or made.rank > value.rank:
        raise TraceError(
            f"{sign}= writes to an array, which keeps its type and its axes",
            saw=f"{made.type} over {made.rank} axes for {value.type} over {value.rank}",
            hint=f"write t = t {sign} x, which is a new value",
        )
    for view in parts:
        view.base._written = (*view.base._written, (view.key, sign, user_line()))


def check_written(value: Any) -> None:
    """Raises `TraceError` for a traced value to which an augmented assignment through another name or view has written."""
    seen, key = value, None
    while seen is not None:
        for part, sign, line in seen._written:
            if part is None or key is None or not _disjoint(part, key):
                raise TraceError(
                    f"a traced value is used after {sign}= has written to it through another name or view",
                    saw=f"{sign}= at {line}",
                    hint=f"write t = t {sign} x, which changes nothing else, or begin with t = t.copy()",
                )
        seen, key = seen._of or FRESH


def _is_argument(value: Value) -> bool:
    return value.name is not None and value.arrival.memory and not value.arrival.listed


def _disjoint(a: int | str, b: int | str) -> bool:
    """True for parts without an element in common: other indices from the same end, other single components or fields."""
    if isinstance(a, int) and isinstance(b, int):
        return a != b and (a < 0) == (b < 0)
    return isinstance(a, str) and isinstance(b, str) and a != b and not (len(a) <= 4 and len(b) <= 4 and set(a) & set(b))

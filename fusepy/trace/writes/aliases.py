"""Augmented assignments, ``x *= 2``, of traced values: refused where call by call they would write to what others see.

Of an array, ``x *= 2`` writes into its memory, which its views and all of its names share. A traced value does not change: the
result is another one. Both mean the same as long as nobody looks at the old value again. So arguments are refused, of which the
caller would see the new elements, and a value that has been written to cannot be used any more.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from fusepy.errors import TraceError
from fusepy.ir.ops.structure import swizzle
from fusepy.ir.value import Value
from fusepy.location import user_line

# an index along the first axis, the name of a field, or the positions of components; None for anything else
Key = int | str | frozenset[int] | None


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
        components = swizzle(base.type, key) if key.__class__ is str else None
        key = frozenset(components) if components else key  # `x` and `r` are the same component
        made._of = Alias(base, key if key.__class__ in (int, str, frozenset) else None)
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
        TraceError: if it is an argument, or a view of one; if the result has another type or more axes; and in the body of a
            loop or branch, for an array from outside of it.
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
    if made._trace is not value._trace and _is_array(value._value):
        raise TraceError(
            f"{sign}= of a value from outside of the {made._trace.body or 'function'} that is recorded",
            saw="it would be written once, however often the body runs",
            hint=f"write t = t {sign} x, which is a value of the body, or return it from the body",
        )
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


def _is_array(value: Value) -> bool:
    """True for what call by call is an array; numbers that are passed as arguments are none, and generators are computed."""
    return bool(value.rank or value.arrival.memory or value.name is None) and not value.arrival.generated


def _disjoint(a: int | str | frozenset[int], b: int | str | frozenset[int]) -> bool:
    """True for parts without an element in common: other indices from the same end, other components or fields."""
    if isinstance(a, int) and isinstance(b, int):
        return a != b and (a < 0) == (b < 0)
    if isinstance(a, frozenset) and isinstance(b, frozenset):
        return not a & b
    return isinstance(a, str) and isinstance(b, str) and a != b

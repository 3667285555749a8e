"""The results of a node that has several, and the parts of one result; unpacking checks their number."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fusepy.errors import GraphError
from fusepy.pytree import ITEMS, Container, register


class Results(tuple[object, ...]):
    """A tuple of the results of a node. Unpacking it into another number of names raises `GraphError`."""

    def __new__(cls, name: str, values: Sequence[Any]) -> Results:
        made = super().__new__(cls, values)
        made._name = name
        return made

    _name: str

    def __iter__(self) -> Iterator[Any]:
        wanted = names_unpacked(2)
        if wanted is not None and wanted != len(self):
            raise GraphError(
                f"{self._name} has {len(self)} results, {wanted} are unpacked",
                expected=", ".join(["_"] * len(self)) + f" = {self._name}.node()(…)",
                hint="take as many as there are",
            )
        return super().__iter__()


def _plain(like: Results, parts: Mapping[int, Any]) -> tuple[Any, ...]:
    return tuple(parts.values())


register(Results, Container(ITEMS.parts, _plain))


def parts_of(value: Any, count: int) -> tuple[Any, ...]:
    """Returns the parts of a value that is unpacked into `count` names.

    Raises:
        GraphError: if it has another number of parts.
    """
    found = tuple(value)
    if len(found) != count:
        raise GraphError(f"{count} names take the parts of a value that has {len(found)}", hint="take as many as there are")
    return found


def names_unpacked(depth: int) -> int | None:
    """Returns the number of names that the caller unpacks into; ``None`` if it does something else."""
    frame = sys._getframe(depth)  # pyright: ignore[reportPrivateUsage]
    code = frame.f_code.co_code
    at = frame.f_lasti
    return code[at + 1] if 0 <= at < len(code) - 1 and dis.opname[code[at]] == "UNPACK_SEQUENCE" else None

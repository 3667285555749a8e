"""`Held`: an object whose method a fused function calls without having it as an argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fusepy.arguments.nested import collect


@dataclass(frozen=True)
class Held:
    """The values of an object when a program was made: the program is for these, and other values have another program.

    Attributes:
        owner: the object.
        leaves: its numbers, arrays and tensors. Arrays are known by identity: a program reads what they hold now.
    """

    owner: Any
    leaves: tuple[Any, ...]

    @staticmethod
    def of(owner: Any) -> Held:
        """Returns the object with the values that it has now."""
        leaves: list[Any] = []
        collect(owner, leaves)
        return Held(owner, tuple(leaves))

    def is_current(self) -> bool:
        """True if the object has the same values still."""
        now = Held.of(self.owner).leaves
        return len(now) == len(self.leaves) and all(map(_same, now, self.leaves))


def _same(now: Any, before: Any) -> bool:
    return now is before or (isinstance(now, (bool, int, float)) and now.__class__ is before.__class__ and now == before)

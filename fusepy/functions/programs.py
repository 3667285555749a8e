"""`ProgramTable`: the compiled programs of a function."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from fusepy.program.program import Program

if TYPE_CHECKING:
    from fusepy.backend.kernels.raw import RawKernel

OTHERS = 16  # programs beside the first one under a key: extents can say how many axes of structs an array of numbers has


class ProgramTable(dict[Hashable, Program]):
    """The programs of a function under one configuration, by the keys of their arguments.

    Attributes:
        variants: the tables of the same function with values for its static arguments, or with tensors as its results.
        raw: the entry point for raw dispatch, by the closure of its source.
    """

    __slots__ = ("raw", "variants")

    def __init__(self) -> None:
        super().__init__()
        self.variants: dict[Hashable, ProgramTable] = {}
        self.raw: dict[str, RawKernel] = {}

    def variant(self, key: Hashable) -> ProgramTable:
        """The table of a variant."""
        found = self.variants.get(key)
        return self.variants.setdefault(key, ProgramTable()) if found is None else found

    def hold(self, key: Hashable, program: Program) -> None:
        """Takes in a program."""
        _hold(program, self, key)

    @staticmethod
    def hold_other(first: Program, program: Program) -> None:
        """Takes in a program for the key of `first`, but for other extents."""
        while len(first.others) >= OTHERS:
            first.others.pop(next(iter(first.others)), None)
        _hold(program, first.others, object())


def _hold(program: Program, table: dict[Any, Program], key: Hashable) -> None:
    """Puts a program into a table in which calls look for it, and from which a reload takes it."""
    table[key] = program
    program.home = (table, key)
    program.device.programs.add(program)

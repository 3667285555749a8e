"""Shared memory through which the elements of a tile go to the threads that scan them, and the results back.

A thread scans neighbouring elements, but threads that are neighbours should read and write neighbouring memory. So each element
is loaded by one thread and combined by another one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fusepy.backend.emit.fold.accumulators import Accumulator
from fusepy.backend.emit.fold.sorting.keys import digits_of
from fusepy.backend.emit.fold.variant import FoldShape
from fusepy.backend.emit.tuning import SHARED_BYTES
from fusepy.ir.types import Kind, Type
from fusepy.ir.value import declare

BANKS = 32  # one cell is left out behind so many: neighbours of neighbours would lie in one bank


@dataclass(frozen=True)
class Staging:
    """The cells of a tile: one for each element, in order."""

    accumulators: Sequence[Accumulator]
    shape: FoldShape

    @staticmethod
    def of(accumulators: Sequence[Accumulator], shape: FoldShape) -> Staging | None:
        """Returns the cells; None for kernels that scan no tiles, and for elements that are too large or have no known size."""
        if not shape.ordered:
            return None
        made = Staging(accumulators, shape)
        staged = sum(_bytes(type) for type, _ in made.arrays()) * made.count
        exchanged = sum(_bytes(type) for a in accumulators for _, type in a.members()) * shape.threads
        return made if staged + exchanged <= SHARED_BYTES else None

    @property
    def count(self) -> int:
        cells = self.shape.threads * self.shape.unroll
        return cells + cells // BANKS + self.shape.short * (BANKS + 1)

    @property
    def beyond(self) -> int:
        """The cell for values that no thread reads; of short rows, some cells before it are read and not used."""
        return self.count - 1

    def arrays(self) -> list[tuple[Type, str]]:
        """Returns the arrays: of elements, and of results that have another type."""
        taken = [(a.have, self.taken(a)) for a in self.accumulators]
        return taken + [(a.want, self.made(a)) for a in self.accumulators if a.want is not a.have]

    def taken(self, a: Accumulator) -> str:
        """Returns the name of the array of the elements of a scan."""
        return f"fz_t_{a.j}"

    def made(self, a: Accumulator) -> str:
        """Returns the name of the array of the results of a scan."""
        return f"fz_t_{a.j}" if a.want is a.have else f"fz_w_{a.j}"

    def declared(self) -> list[str]:
        """Returns the declarations of the arrays, and the function that finds a cell."""
        arrays = [f"groupshared {declare(type, name)}[{self.count}];" for type, name in self.arrays()]
        return [*arrays, "", "uint fz_cell(uint place)", "{", f"    return place + place / {BANKS};", "}", ""]

    def own(self) -> str:
        """Returns the cell of the first element of a thread that scans it; the others follow, since none lies beyond a bank."""
        return f"fz_cell(fz_lane * {self.shape.unroll})"

    def near(self) -> str:
        """Returns the first cell that a thread loads or stores; the ``u``-th lies ``fz_cell(u * fz_lanes)`` behind it.

        Both numbers are powers of two, so neither the threads before it nor those beside it change what is left out.
        """
        if self.shape.short:
            return "fz_cell(fz_lane)"
        return f"fz_cell((fz_lane - fz_in) * {self.shape.unroll} + fz_in)"


def staged_bytes(accumulators: Sequence[Accumulator]) -> int:
    """Returns the bytes of an element and its results; 0 for those that have no place in shared memory. A sort has keys there."""
    if accumulators[0].fold.sorts:
        return digits_of(accumulators[0].have)
    found = sum(_bytes(type) for type, _ in Staging(accumulators, FoldShape(True, True, 1)).arrays())
    return int(found) if math.isfinite(found) else 0


def _bytes(type: Type) -> float:
    """Returns the bytes of a value in shared memory."""
    dtype = type.dtype
    if dtype is None or type.kind is Kind.MATRIX:
        return math.inf
    return max(dtype.itemsize, 4) * math.prod(type.shape)

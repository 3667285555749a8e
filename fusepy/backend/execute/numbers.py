"""`ShownNumbers`: the results of a program that are arrays of numbers to the caller, while a kernel stores vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fusepy.backend.execute.destinations import DestinationChecks
from fusepy.backend.memory.recast import flattened


class Shaped(Protocol):
    """The part of a `Tape` that tells the shapes of all results."""

    @property
    def out_shapes(self) -> list[tuple[int, ...]]: ...


@dataclass(frozen=True)
class ShownNumbers:
    """The results that are shown as numbers. No kernel writes to their destinations: the numbers are copied there.

    Attributes:
        components: the extents of the vectors, by result.
        checks: the checks of destinations of these results, in the same order.
    """

    components: Mapping[int, tuple[int, ...]]
    checks: DestinationChecks

    def shapes(self, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Returns the shapes of all results, given those of the arrays of vectors."""
        return [shape + self.components.get(j, ()) for j, shape in enumerate(shapes)]

    def shown(self, results: Sequence[Any]) -> list[Any]:
        """Returns all results, given the arrays of vectors."""
        return [flattened(made) if j in self.components else made for j, made in enumerate(results)]

    def check(self, outs: Sequence[Any], tape: Shaped) -> None:
        """Raises `ShapeError` for destinations that do not fit the results of a tape."""
        for k, j in enumerate(self.components):
            if j < len(outs) and outs[j] is not None:
                self.checks.checked(k, outs[j], tape.out_shapes[j])

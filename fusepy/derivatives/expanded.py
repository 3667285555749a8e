"""`Expanded`: gradients of broadcast values before they are summed, over the grid of the results."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.derivatives.extents import Axis
from fusepy.derivatives.folds import along, transposed
from fusepy.derivatives.terms import Term, Terms
from fusepy.errors import GradientError
from fusepy.ir.graph import Value


class Expanded:
    """The gradients of some values over the grid of a call.

    Args:
        values: the values.
        results: the results of the call, whose axes are its grid.
    """

    def __init__(self, terms: Terms, values: Sequence[Value], results: Sequence[Value]):
        self._terms = terms
        self._values = frozenset(values)
        self._grids = {self._units(terms.extents.of(v)) for v in results if terms.extents.knows(v)}
        self._of: dict[Value, Term] = {}

    def __contains__(self, value: Value) -> bool:
        return value in self._values

    def add(self, value: Value, operand: Term, part: Term, others: Sequence[Term], grid: Sequence[Axis | None]) -> None:
        """Adds the gradient of an operand, given over the grid of a node.

        Args:
            others: the operands of the node, which give the grid its extents.

        Raises:
            GradientError: if the results have another grid.
        """
        t = self._terms
        if self._grids != {self._units(grid)}:
            raise GradientError(
                f"the gradient of {value.name!r} is no value for each point of the results",
                place=t.loc,
                saw="an operation over another grid",
                expected="operations over the grid of the results only",
                hint="accumulate the gradients of a Slang function, or of a fused function without reductions",
            )
        if operand.type.is_numeric:
            part = t.fit(part, operand.type)
        for other in others:
            absent = [d for d in other.dims if d not in part.dims or (t.runs_along(other, d) and not t.runs_along(part, d))]
            if absent and other.type.is_numeric:
                part = along(t, part, other)
        if list(part.dims) != sorted(part.dims):
            part = transposed(t, part, sorted(part.dims))
        self._of[value] = self._of[value] + part if value in self._of else part

    def of(self, value: Value) -> Value | None:
        """Returns the gradient of a value; ``None`` if it has none."""
        found = self._of.get(value)
        return None if found is None else self._terms.loaded(found).value

    @staticmethod
    def _units(extents: Sequence[Axis | None]) -> tuple[bool, ...]:
        return tuple(extent is None for extent in extents)

"""`Gradients`: the gradients of values, summed over the uses of each value."""

from __future__ import annotations

from fusepy.derivatives.calls import differential
from fusepy.derivatives.folds import along, transposed
from fusepy.derivatives.terms import Term, Terms
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Attr, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.base import filled_axes
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import BOOL, FLOAT, Kind, Type
from fusepy.ir.whole import scattered


class Gradients:
    """The gradients of values, as terms over the axes of each value.

    Attributes:
        arrays: the arrays to which calls add the gradients of values that they read whole.
    """

    def __init__(self, terms: Terms, oracle: Oracle):
        self.terms = terms
        self.oracle = oracle
        self.arrays: dict[Value, Value] = {}
        self.grouped: dict[Value, Value] = {}  # gradients as numbers, and as the vectors as which the values were used
        self._of: dict[Value, dict[Type, Term]] = {}

    def __contains__(self, value: Value) -> bool:
        return value in self._of or value in self.arrays

    def array(self, value: Value, type: Type) -> Term:
        """Returns the array to which calls add the gradients of `value`, which they read whole as a `type`."""
        t = self.terms
        assert type.element is not None
        element = differential(type.element, self.oracle)
        assert element is not None, "the caller checks that there is a gradient"
        if value not in self.arrays:
            stored = element.scalar or element if value.rank > type.rank else element  # trailing axes are components
            along = Term(t, value, tuple(range(value.rank)))
            self.arrays[value] = t.op("gradient_array", along, of=str(type.element), type=str(stored)).value
        return Term(t, self.arrays[value], (), scattered(type, element))

    def seed(self, value: Value, given: Value | None) -> None:
        """Adds the gradient of a result; ``None`` is 1. The trailing axes of one that is given as numbers may be components."""
        t = self.terms
        if given is None:
            self.add(value, t.cast(t.number(1.0), value.type))
            return
        fills = given.type.kind is Kind.SCALAR and given.rank == value.rank + len(value.type.shape)
        axes = tuple(range(value.rank if fills else given.rank))
        term = t.loaded(Term(t, given, axes, value.type if fills else None))
        self.add(value, t.cast(term, value.type) if value.type.is_numeric else term)

    def add(self, value: Value, term: Term) -> None:
        """Adds a gradient of a value, over the axes of the value."""
        forms = self._of.setdefault(value, {})
        before = forms.get(term.type)
        forms[term.type] = term if before is None else self._sum(value.type, before, term)

    def _sum(self, type: Type, a: Term, b: Term) -> Term:
        return a + b if a.type.is_numeric else self.terms.op("add_gradients", a, b, of=type.name)

    def one(self, value: Value) -> Term:
        """Returns the gradient of a value. The forms of one that is used as numbers and as vectors are added as numbers."""
        if value in self.arrays:  # all calls that read the value have added to it
            made = self.arrays.pop(value)
            self.add(value, Term(self.terms, made, tuple(range(made.rank))))
        forms = list(self._of[value].values())
        if len(forms) == 1:
            return forms[0]
        t = self.terms
        return t.total([t.ungrouped(term, value.rank - len(term.type.shape)) for term in forms])

    def finished(self, value: Value) -> Value:
        """Returns the gradient of a value with all of its axes, in their order; zeros if it has none."""
        t = self.terms
        if value not in self:
            self.add(value, self._zero(value))
        term = t.loaded(self.one(value))
        rank = value.rank - filled_axes(value, term.type if term.type is not value.type else None)
        made = self._spread(value, term, rank)
        if rank == value.rank:
            return made
        numbers = t.ungrouped(Term(t, made, tuple(range(rank))), rank).value
        self.grouped[numbers] = made
        return numbers

    def _spread(self, value: Value, term: Term, rank: int) -> Value:
        """Returns a gradient with all of the first `rank` axes of a value, in their order."""
        t, frame = self.terms, sorted(term.dims)
        if list(term.dims) != frame:
            term = transposed(t, term, frame)
        extents = t.extents.of(value)[:rank]
        missing = [a for a in range(rank) if a not in term.dims]
        spread = any(extents[a] is not None and not t.runs_along(term, a) for a in range(rank))
        if spread or (missing and not self._is_stored(term.value)):
            whole = Term(t, value, tuple(range(rank)), term.type if rank != value.rank else None)
            return along(t, term, whole).value
        if missing:
            attrs: dict[str, Attr] = {"axes": tuple(f"d{a}" for a in missing)}
            return t.builder.add(OPS["expand"], [term.value], [ArgMap(term.dims)], attrs, t.loc)[0]
        return term.value

    def _is_stored(self, value: Value) -> bool:
        """True for the result of a reduction, of which there are views with more axes."""
        return any(value in node.results for node in self.terms.builder.nodes if node.op.name == "reduce")

    def _zero(self, value: Value) -> Term:
        type = FLOAT if is_number(value) else differential(value.type, self.oracle)
        assert type is not None, "the caller checks that there is a gradient"
        return self.terms.zero(value.type, type)


def is_number(value: Value) -> bool:
    """True for a Python integer among the arguments, or a list of such: 3 means 3.0."""
    return value.weak and value.type.kind is Kind.SCALAR and not value.type.is_float and value.type is not BOOL

"""`Gradients`: the gradients of values, summed over the uses of each value."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.derivatives.differential import differential
from fusepy.derivatives.folds import along, expanded, transposed
from fusepy.derivatives.scatter import Scatter
from fusepy.derivatives.terms import Term, Terms
from fusepy.errors import GradientError
from fusepy.ir.graph import Value
from fusepy.ir.ops.base import filled_axes, shaped
from fusepy.ir.oracle import Oracle, member_types
from fusepy.ir.types import BOOL, FLOAT, Kind, Type

# a value, its gradient, and the axes of the value along which that runs; ``None`` is 1 for each component, and all axes in order
Seed = tuple[Value, Value | None, tuple[int, ...] | None]


class Gradients:
    """The gradients of values, as terms over the axes of each value.

    Attributes:
        scatter: the arrays to which calls add the gradients of values that they read whole.
    """

    def __init__(self, terms: Terms, oracle: Oracle):
        self.terms = terms
        self.oracle = oracle
        self.scatter = Scatter(terms, oracle)
        self.grouped: dict[Value, Value] = {}  # gradients as numbers, and as the vectors as which the values were used
        self._of: dict[Value, dict[Type, Term]] = {}

    def __contains__(self, value: Value) -> bool:
        return value in self._of or value in self.scatter

    def seed(self, value: Value, given: Value | None, dims: tuple[int, ...] | None = None) -> None:
        """Adds the gradient of a result; see `Seed`. The trailing axes of one that is given as numbers may be components.

        Raises:
            GradientError: if the gradient has other axes than the result.
        """
        t = self.terms
        if given is None:
            self.add(value, self.terms.number(1.0) if value.weak and value.type is FLOAT else self._ones(value.type))
            return
        fills = given.type.kind is Kind.SCALAR and given.rank == value.rank + len(value.type.shape)
        axes = tuple(range(value.rank if fills else given.rank)) if dims is None else dims
        self._check_axes(value, given, axes)
        term = t.loaded(Term(t, given, axes, value.type if fills else None))
        number = value.weak and term.value.weak and term.type is value.type is FLOAT
        self.add(value, term if number else t.exact(term, value.type))

    def _check_axes(self, value: Value, given: Value, axes: Sequence[int]) -> None:
        """Raises `GradientError` unless the gradient of a result has its axes: others would be broadcast, and summed."""
        extents, number = self.terms.extents, given.weak and not given.rank
        if number or not (extents.knows(value) and extents.knows(given)):
            return
        own = extents.of(value)
        if sorted(axes) == list(range(value.rank)) and all(
            (extent is None) == (own[d] is None) for extent, d in zip(extents.of(given), axes)
        ):
            return
        raise GradientError(
            "the gradient of a result has another shape than the result",
            saw=f"{given.type}{[1 if e is None else '?' for e in extents.of(given)]} for '{given.name}'",
            expected=f"{value.type}{[1 if e is None else '?' for e in own]}, where '?' is any extent but 1",
            hint="pass one gradient for each element of the result",
        )

    def _ones(self, type: Type) -> Term:
        """Returns the gradient that is 1 for each component of a value."""
        t, derived = self.terms, differential(type, self.oracle)
        if type.is_numeric or derived is None:
            return t.cast(t.number(1.0), type)
        if type.kind is Kind.ARRAY and type.element is not None:
            return t.struct(derived, {str(k): self._ones(type.element) for k in range(type.shape[0])})
        members = member_types(self.oracle, derived) or {}
        return t.struct(derived, {name: self._ones(part) for name, part in members.items() if part is not None})

    def add(self, value: Value, term: Term) -> None:
        """Adds a gradient of a value, over the axes of the value."""
        forms = self._of.setdefault(value, {})
        before = forms.get(term.type)
        forms[term.type] = term if before is None else self._sum(value.type, before, term)

    def _sum(self, type: Type, a: Term, b: Term) -> Term:
        of = type if type.scalar is None else a.type  # numbers of the value may be taken as an array
        return a + b if a.type.is_numeric else self.terms.op("add_gradients", a, b, of=of.name)

    def one(self, value: Value) -> Term:
        """Returns the gradient of a value. The forms of one that is used as numbers and as vectors are added as numbers."""
        if value in self.scatter:  # all calls that read the value have added to its arrays
            for term in self.scatter.taken(value):
                self.add(value, term)
        forms = list(self._of[value].values())
        if len(forms) == 1:
            return forms[0]
        t = self.terms
        return t.total([t.ungrouped(term, value.rank - len(term.type.shape)) for term in forms])

    def finished(self, value: Value, held: Value | None = None) -> Value:
        """Returns the gradient of a value with all of its axes, in their order; zeros if it has none.

        Args:
            held: a gradient of the value that is added.
        """
        t = self.terms
        if value not in self:
            self.add(value, self._zero(value))
        term = t.loaded(self.one(value))
        # the axes of the value that are axes of its gradient: where numbers were used as vectors, the last ones are components
        rank = value.rank - filled_axes(value, term.type if term.type is not value.type else None)
        if held is not None:
            return self._added(value, term, held, rank)
        made = self._spread(value, term, rank)
        if rank == value.rank:
            return made
        # the user gets numbers; code that uses them as vectors again takes `made`
        numbers = t.ungrouped(Term(t, made, tuple(range(rank))), rank).value
        self.grouped[numbers] = made
        return numbers

    def _spread(self, value: Value, term: Term, rank: int) -> Value:
        """Returns a gradient with all of the first `rank` axes of a value, in their order.

        Along an axis where the value has several elements and its gradient one, the gradient is repeated. Where the gradient has
        other extents, the call is refused. Axes of extent 1 that the gradient lacks are a view of a result that is stored anyway,
        and a copy else.
        """
        t, frame = self.terms, sorted(term.dims)
        if list(term.dims) != frame:
            term = transposed(t, term, frame)
        extents = t.extents.of(value)[:rank]
        missing = [a for a in range(rank) if a not in term.dims]
        own = dict(zip(term.dims, t.extents.of(term.value)))
        # repeated along an axis; or with extents of another value, which nothing compares unless the value itself is read
        other = any(extents[a] is not None and own.get(a) != extents[a] for a in range(rank))
        if other or (missing and term.value not in t.folded):
            whole = Term(t, value, tuple(range(rank)), term.type if rank != value.rank else None)
            return along(t, term, whole).value
        return expanded(t, term, missing) if missing else term.value

    def _added(self, value: Value, term: Term, held: Value, rank: int) -> Value:
        t, type = self.terms, term.type
        if type.is_numeric and held.type.scalar is not None:
            type = shaped(held.type.scalar, type.shape)
            term = t.cast(term, type)
        before = t.loaded(Term(t, held, tuple(range(rank)), type))
        return self._sum(value.type, before, term).value

    def _zero(self, value: Value) -> Term:
        type = FLOAT if is_number(value) else differential(value.type, self.oracle)
        assert type is not None, "the caller checks that there is a gradient"
        return self.terms.zero(value.type, type)


def is_number(value: Value) -> bool:
    """True for a Python integer among the arguments, or a list of integers: 3 means 3.0."""
    return value.weak and value.type.kind is Kind.SCALAR and not value.type.is_float and value.type is not BOOL

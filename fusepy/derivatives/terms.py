"""`Term`: a value in a formula over the axes of a frame; `Terms` records the nodes of formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fusepy.derivatives.extents import Extents
from fusepy.ir.argmap import ArgMap
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Attr, Graph, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.base import shaped
from fusepy.ir.oracle import member_types
from fusepy.ir.resources import channels
from fusepy.ir.types import AS_ONE, FLOAT, HALF, Kind, Type
from fusepy.ir.value import is_spread


class Term:
    """A value whose axes run along some axes of a frame, such as the grid of a node. Operators record nodes.

    Attributes:
        dims: the axis of the frame for each axis of the value.
        wants: the type as which the value is loaded, if that is not its own: a vector of a trailing axis, for example.
        constant: the number, for a Python number of the program.
    """

    __slots__ = ("constant", "dims", "terms", "value", "wants")

    def __init__(self, terms: Terms, value: Value, dims: tuple[int, ...], wants: Type | None = None):
        self.constant: object = None
        self.terms = terms
        self.value = value
        self.dims = dims
        self.wants = None if wants is value.type else wants

    @property
    def type(self) -> Type:
        """The type of one element, as it is loaded."""
        return self.wants or self.value.type

    @property
    def map(self) -> ArgMap:
        return ArgMap(self.dims, self.wants)

    def __add__(self, other: Term | float) -> Term:
        return self.terms.op("add", self, other)

    def __sub__(self, other: Term | float) -> Term:
        return self.terms.op("sub", self, other)

    def __rsub__(self, other: float) -> Term:
        return self.terms.op("sub", other, self)

    def __mul__(self, other: Term | float) -> Term:
        return self.terms.op("mul", self, other)

    def __truediv__(self, other: Term | float) -> Term:
        return self.terms.op("div", self, other)

    def __rtruediv__(self, other: float) -> Term:
        return self.terms.op("div", other, self)

    def __neg__(self) -> Term:
        return self.terms.op("neg", self)

    def __lt__(self, other: Term | float) -> Term:
        return self.terms.op("lt", self, other)

    def __gt__(self, other: Term | float) -> Term:
        return self.terms.op("gt", self, other)

    def __le__(self, other: Term | float) -> Term:
        return self.terms.op("le", self, other)

    def __ge__(self, other: Term | float) -> Term:
        return self.terms.op("ge", self, other)

    __radd__, __rmul__ = __add__, __mul__

    def equals(self, other: Term | float) -> Term:
        """Returns where both are equal."""
        return self.terms.op("eq", self, other)

    def member(self, name: str) -> Term:
        """Returns a swizzle of a vector, or a field of a struct."""
        return self.terms.op("member", self, name=name)

    def item(self, index: int) -> Term:
        """Returns an element of an array, or a row of a matrix."""
        return self.terms.op("index", self, self.terms.number(index))


class Terms:
    """A recorder of formulas.

    Args:
        builder: gets the nodes; its oracle knows the members of structs.
        extents: gets the extents of all recorded values.
        loc: the user's line, for all nodes.
    """

    def __init__(self, builder: Builder, extents: Extents, loc: str | None):
        self.builder = builder
        self.extents = extents
        self.loc = loc
        self.folded = {v for node in builder.nodes if node.op.name == "reduce" for v in node.results}  # results of reductions

    def number(self, value: float) -> Term:
        """Returns a constant; its type follows the other operands."""
        attrs: dict[str, Attr] = {"type": "int" if isinstance(value, int) else "float", "value": value}
        return Term(self, self.builder.add(OPS["const"], [], attrs=attrs, loc=self.loc)[0], ())

    def op(self, name: str, /, *operands: Term | float, **attrs: Attr) -> Term:
        """Records an operation with one result, over the axes that its operands run along."""
        return self.node(name, operands, attrs)[0]

    def node(
        self, name: str, operands: Sequence[Term | float], attrs: Mapping[str, Attr], bodies: Sequence[Graph] = ()
    ) -> list[Term]:
        """Records a node, over the axes that its operands run along."""
        found = [t if isinstance(t, Term) else self.number(t) for t in operands]
        found = found if bodies else [self.loaded(t) for t in found]
        frame = sorted({d for t in found for d in t.dims})
        own = {d: i for i, d in enumerate(frame)}
        maps = [ArgMap(tuple(own[d] for d in t.dims), t.wants) for t in found]
        results = self.builder.add(OPS[name], [t.value for t in found], maps, attrs, self.loc, bodies)
        self.extents.add(self.builder.nodes[-1], maps)
        return [Term(self, v, tuple(frame)) for v in results]

    def loaded(self, term: Term) -> Term:
        """Returns the term as it is loaded, such as vectors of an array of numbers, for operations that convert no operands."""
        if term.wants is None or term.wants.kind in AS_ONE:
            return term
        frame = sorted(term.dims)
        own = {d: i for i, d in enumerate(frame)}
        map = ArgMap(tuple(own[d] for d in term.dims), term.wants)
        (made,) = self.builder.add(OPS["cast"], [term.value], [map], {"type": term.wants.name}, self.loc)
        self.extents.add(self.builder.nodes[-1], [map])
        return Term(self, made, tuple(frame))

    def runs_along(self, term: Term, dim: int) -> bool:
        """True if a term has more than one element along a dimension of its frame."""
        return dim in term.dims and self.extents.of(term.value)[term.dims.index(dim)] is not None

    # ---- formulas -----------------------------------------------------------------------------------------------

    def where(self, test: Term, a: Term | float, b: Term | float) -> Term:
        return self.op("select", test, a, b)

    def cast(self, term: Term, type: Type) -> Term:
        """Returns the term in another type: another scalar, or a scalar in each component. A number gets this type for good."""
        return term if term.type is type and not term.value.weak else self.op("cast", term, type=type.name)

    def wide(self, term: Term) -> Term:
        """Returns a term of halfs as one of floats: a half cannot hold a count above 65504."""
        return self.cast(term, term.type.with_scalar(FLOAT)) if term.type.scalar is HALF else term

    def exact(self, term: Term, type: Type) -> Term:
        """Returns a gradient in exactly the type of its value; gradients of structs have that type already."""
        return self.cast(term, type) if type.is_numeric else term

    def zero(self, of: Type, type: Type) -> Term:
        """Returns the gradient 0, of type `type`, of a value of type `of`."""
        return self.cast(self.number(0.0), type) if type.is_numeric else self.op("zero_gradient", of=of.name, type=type.name)

    def components(self, term: Term) -> Term:
        """Returns the sum of the components of a vector or matrix."""
        if term.type.kind is Kind.MATRIX:
            return self.components(self.total([term.item(k) for k in range(term.type.shape[0])]))
        if term.type.kind is Kind.VECTOR:
            return self.total([term.member(c) for c in "xyzw"[: term.type.shape[0]]])
        return term

    def parts_of(self, term: Term) -> dict[str, Term]:
        """Returns the members of a gradient of a struct, or the elements of an array, by name or number."""
        if term.type.kind is Kind.ARRAY:
            return {str(k): term.item(k) for k in range(term.type.shape[0])}
        return {name: term.member(name) for name in member_types(self.builder.oracle, term.type) or {}}

    def ungrouped(self, term: Term, axis: int) -> Term:
        """Returns the components of vectors or matrices as numbers, along new axes of the frame from `axis` on."""
        for place, extent in enumerate(term.type.shape):
            term = self.op("index", term, Term(self, self.extents.shapes.numbers(extent), (axis + place,)), all=True)
        return term

    def total(self, terms: Sequence[Term]) -> Term:
        """Returns the sum of at least one term."""
        return sum(terms[1:], terms[0])

    def construct(self, type: Type, parts: Sequence[Term | float]) -> Term:
        """Returns a vector or matrix of its components in order."""
        return self.op("construct", *parts, type=type.name)

    def texel(self, term: Term, value: Value) -> Term:
        """Returns the gradient of the texels of a texture of which the leading channels were read: 0 in the others."""
        if not value.arrival.texels or term.type is value.type:
            return term
        term = self.loaded(term)
        parts = [term.member(c) for c in "xyzw"[: channels(term.type)]] if term.type.shape else [term]
        return self.construct(value.type, [*parts, *[0.0] * (channels(value.type) - len(parts))])

    def struct(self, type: Type, parts: Mapping[str, Term | float]) -> Term:
        """Returns an array, matrix or struct of its members."""
        return self.op("struct", *parts.values(), type=type.name, fields=tuple(parts), path="gradient")

    def fit(self, term: Term, want: Type) -> Term:
        """Returns a gradient in the type of an operand: of one number for a vector, the sum of components. Python's stay such."""
        if term.type.is_numeric and want.is_numeric:
            if term.type.shape and not want.shape:
                term = self.components(term)
            elif want.shape and not term.type.shape:  # the same number for each component
                return self.cast(term, shaped(want.scalar or FLOAT, want.shape))
        return term if not want.is_numeric or (term.value.weak and term.type is want is FLOAT) else self.cast(term, want)


def spread(terms: Terms, value: Value, map: ArgMap) -> Term:
    """Returns an operand of a node as a term over the node's grid."""
    dims = map.dims or ()
    return Term(terms, value, dims if is_spread(value) else dims[: value.rank], map.type)

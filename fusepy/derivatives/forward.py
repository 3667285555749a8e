"""Forward mode: from the tangents of some values to those of the values that are computed from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from fusepy.derivatives.calls import jvp
from fusepy.derivatives.control import branch_tangents, copied, loop_tangents, new_names
from fusepy.derivatives.differential import differential
from fusepy.derivatives.extents import Extents, Shapes, Unasked, ViewOp, max_rank
from fusepy.derivatives.folds import along
from fusepy.derivatives.memory.rereads import Rereads
from fusepy.derivatives.refused import backwards_only, written
from fusepy.derivatives.second.calls import tangent_of_vjp
from fusepy.derivatives.second.gathers import AddedTangents
from fusepy.derivatives.second.loops import tangent_of_loop_vjp
from fusepy.derivatives.sums import is_number
from fusepy.derivatives.tangents import tangent_of
from fusepy.derivatives.terms import Term, Terms, spread
from fusepy.derivatives.visit import Adjoint
from fusepy.ir.argmap import ArgMap
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.ops.reduce import folded_axes
from fusepy.ir.oracle import Oracle
from fusepy.ir.resolve.settle import settle
from fusepy.ir.resources import channels
from fusepy.ir.types import AS_ONE, FLOAT, Kind, Type
from fusepy.ir.whole import is_taken, only_taken


class Forward:
    """Forward mode over the nodes that a builder has recorded. Every tangent has all axes of its value.

    Args:
        nodes: the nodes to go through.
        adjoint: the gradient of a body.
        shapes: record linear recurrences; ``None`` in a body.
        vectors: records a computed array of numbers as one of vectors or fixed arrays; ``None`` in a body.
    """

    def __init__(
        self,
        builder: Builder,
        nodes: Sequence[Node],
        oracle: Oracle,
        loc: str | None,
        adjoint: Adjoint,
        shapes: Shapes | None = None,
        vectors: Callable[[Value, Type], Value] | None = None,
    ):
        self.oracle, self.adjoint, self.vectors = oracle, adjoint, vectors
        self.extents = Extents(Unasked(shapes))
        self.terms = Terms(builder, self.extents, loc)
        self.settled = [(node, *settle(node, oracle)) for node in nodes]
        self.tangents: dict[Value, Value] = {}
        self.rereads = Rereads(self.terms, self.settled)
        self.added = AddedTangents(self.terms, nodes, self.tangents, oracle, self.rereads)
        self.given: dict[Value, Value] = {}  # tangents as they came: only arguments are loaded as vectors
        for node in builder.nodes if nodes else ():  # also those before, which tangents are made of
            self.extents.add(node, settle(node, oracle)[0])

    def run(self, seeds: Sequence[tuple[Value, Value]], of: Sequence[Value]) -> list[Value | None]:
        """Returns the tangents of `of`; ``None`` for those without, such as integers.

        Args:
            seeds: values with their tangents.

        Raises:
            GradientError: if an operation between them has no tangent.
        """
        for value, given in seeds:
            self.tangents[value] = given if value.type.kind is Kind.WHOLE else self.seeded(value, given)
            if given.rank == value.rank and not given.arrival.plain:
                self.given[value] = given
        for node, maps, attrs in self.settled:
            self.terms.loc = node.loc
            self.node(node, maps, attrs)
        self.added.check(of)
        return [self.finished(value) for value in of]

    def seeded(self, value: Value, given: Value) -> Value:
        """Returns a tangent in the type of a value. The trailing axes of one that is given as numbers may be components."""
        t = self.terms
        type = FLOAT if is_number(value) else differential(value.type, self.oracle)
        assert type is not None, "the caller checks that there is a tangent"
        fills = not given.type.shape and type.is_numeric and given.rank == value.rank + len(type.shape) != value.rank
        term = t.loaded(Term(t, given, tuple(range(value.rank)), type if fills else None))
        return self.typed(term, type, value).value

    def typed(self, term: Term, type: Type, value: Value) -> Term:
        """Returns a tangent in the type that belongs to a value; a number stays one beside a number."""
        number = value.weak and term.value.weak and term.type is type is FLOAT
        return term if number or not type.is_numeric else self.terms.cast(term, type)

    def finished(self, value: Value) -> Value | None:
        """Returns the tangent of a value: zeros if nothing that it depends on has one."""
        type = differential(value.type, self.oracle)
        if type is None or value in self.tangents:
            return self.tangents.get(value)
        return self.spread_out(self.terms.zero(value.type, type), value)

    def spread_out(self, term: Term, value: Value) -> Value:
        """Returns a term over the axes of a value with all of its extents."""
        if not value.rank:
            return term.value
        return along(self.terms, term, Term(self.terms, value, tuple(range(value.rank)))).value

    def node(self, node: Node, maps: Sequence[ArgMap], attrs: dict[str, Attr]) -> None:
        """Adds the tangents of the results of one node."""
        self.added.visit(node, maps)
        if not any(v in self.tangents for v in node.operands):
            return
        types = [differential(v.type, self.oracle) for v in node.results]
        if not any(types):
            return
        t = self.terms
        if isinstance(node.op, ViewOp):
            record = partial(node.op.tangent, node.results[0], self.tangents[node.operands[0]])
            self.tangents[node.results[0]] = self.extents.recorded(t.builder, self.oracle, record)
            return
        rank, folded = max(max_rank(maps), node.grid_rank), folded_axes(node)
        frame = [d for d in range(rank) if d not in folded]
        operands, first = [spread(t, v, m) for v, m in zip(node.operands, maps)], len(t.builder.nodes)
        dx = [self.operand(node, v, x) for v, x in zip(node.operands, operands)]
        if not any(dx):
            return
        operands = self.rereads.kept(node, maps, operands)
        made = self.of_bodies(node, {**node.attrs, **attrs}, operands, dx)
        if made is None:
            (value,), (type,) = node.results, types
            assert type is not None
            y = Term(t, value, tuple(frame[: value.rank]))
            made = [tangent_of(t, node, y, type, list(map(t.loaded, operands)), [d and t.loaded(d) for d in dx])]
        own = {d: i for i, d in enumerate(frame)}
        for value, type, term in zip(node.results, types, made):
            if term is not None and type is not None:
                wide = type.kind is Kind.MATRIX and not term.type.shape  # of a number beside a matrix without a tangent
                term = term + t.zero(type, type) if wide else term
                fitted = self.typed(term, type, value)
                placed = Term(t, fitted.value, tuple(own[d] for d in fitted.dims), fitted.wants)
                whole = len(node.operands) == 1 and list(placed.dims) == list(range(value.rank))
                self.tangents[value] = placed.value if whole else self.spread_out(placed, value)
        self.rereads.check(first)

    def of_bodies(
        self, node: Node, attrs: dict[str, Attr], x: Sequence[Term], dx: Sequence[Term | None]
    ) -> Sequence[Term | None] | None:
        """Returns the tangents of the results of a call, or of a node with bodies; ``None`` for others."""
        name = node.op.name
        if is_taken(node):
            return [self.terms.node(name, [dx[0] or x[0], *x[1:]], attrs)[0]]
        if name in ("slang.call", "jvp"):
            return jvp(self.terms, node, attrs, x, dx, self.oracle)
        if name == "vjp":
            return tangent_of_vjp(self.terms, node, x, dx, self.oracle)
        if name == "loop_vjp":
            return tangent_of_loop_vjp(self.terms, node, x, dx, self.oracle, self.body, self.adjoint)
        if name not in ("cond", "fori_loop", "while_loop"):
            return None
        return (branch_tangents if name == "cond" else loop_tangents)(self.terms, node, x, dx, self.oracle, self.body)

    def operand(self, node: Node, value: Value, x: Term) -> Term | None:
        """Returns the tangent of an operand as a term over the grid of its node; ``None`` if it has none."""
        tangent = self.tangents.get(value)
        if tangent is None:
            return None
        if x.type.kind in AS_ONE and x.type.element is not None and only_taken(node, node.operands.index(value)):
            return Term(self.terms, tangent, x.dims, self.whole(x.type))  # linear in the array
        if x.type.kind in AS_ONE:
            raise written(node, value) if node.op.name.endswith("vjp") else backwards_only(node, x.type)
        type = differential(x.type, self.oracle) if x.wants is not None else None
        if x.wants is not None and type is None:
            return None
        if value.arrival.texels and type is not None and type.shape != tangent.type.shape and not tangent.arrival.texels:
            return self.terms.cast(Term(self.terms, tangent, x.dims).member("xyzw"[: channels(type)]), type)
        if len(x.dims) < value.rank:
            tangent = self.given.get(value, tangent)
            if self.vectors is not None and type is not None and tangent.name is None and not tangent.type.shape:
                record = partial(self.vectors, tangent, type)
                tangent, type = self.extents.recorded(self.terms.builder, self.oracle, record), None
        return Term(self.terms, tangent, x.dims, type)

    def whole(self, type: Type) -> Type:
        """Returns the type of the tangent of an array that is read at indices, or of a value."""
        own = differential(type.element if type.kind is Kind.WHOLE and type.element is not None else type, self.oracle)
        assert own is not None, "it has a tangent"
        return Type.whole("fusepy::Tensor", own, type.rank) if type.kind is Kind.WHOLE else own

    # ---- bodies -------------------------------------------------------------------------------------------------

    def body(self, body: Graph, wrt: Sequence[int], through: Sequence[int], place: int | None = None) -> Graph:
        """Returns a body with the tangents of the inputs `wrt` as further inputs, and of the outputs `through` as outputs.

        Args:
            place: for the body of a loop, the input before which the tangents of its carries are; its outputs stay, before the
                tangents. Other tangents are the last inputs.
        """
        builder = Builder(body.name, self.oracle)
        fresh = copied(body, builder)
        given: list[tuple[Value, Value]] = []
        for i, name in zip(wrt, new_names(body.inputs, len(wrt))):
            given.append((fresh[body.inputs[i]], Value(self.whole(body.inputs[i].type), (), name=name)))
        inputs, tangents = [fresh[v] for v in body.inputs], [d for _, d in given]
        carried, rest = (0, []) if place is None else (len(through), inputs[place:])
        builder.inputs = [*inputs[:place], *tangents[:carried], *rest, *tangents[carried:]]
        forward = Forward(builder, tuple(builder.nodes), self.oracle, self.terms.loc, self.adjoint)
        moved = forward.run(given, [fresh[body.outputs[j]] for j in through])
        return builder.finish([*(fresh[v] for v in body.outputs if place is not None), *(v for v in moved if v is not None)])

"""Reverse mode: from the gradients of some values to those of the values that they were computed from.

The nodes of a program are visited from the last to the first. Each operand gets the gradient of the node by its rule, summed
along the axes along which it was broadcast. What is recorded are nodes like all others, so the passes decide what is stored,
what is computed again, and which kernels there are.
"""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.derivatives.calls import differential, vjp
from fusepy.derivatives.control import branch, loop
from fusepy.derivatives.elementwise import FORMULAS, STEPS, gradients, power
from fusepy.derivatives.extents import Axis, Extents, Shapes, max_rank
from fusepy.derivatives.folds import along, reduce_rule, reduced, scan_rule, transposed
from fusepy.derivatives.parts import RULES
from fusepy.derivatives.terms import Term, Terms, spread
from fusepy.errors import GradientError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.base import filled_axes
from fusepy.ir.ops.folds import axes_of
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import FLOAT, Kind, Type
from fusepy.passes.resolve_maps import settle

_WHOLE = (Kind.WHOLE, Kind.RESOURCE, Kind.POINTER)


class Reverse:
    """Reverse mode over the nodes that a builder has recorded.

    Args:
        nodes: the nodes to go back through.
        shapes: the extents of the inputs.
    """

    def __init__(self, builder: Builder, nodes: Sequence[Node], oracle: Oracle, shapes: Shapes, loc: str | None):
        self.oracle = oracle
        self.extents = Extents(shapes)
        self.terms = Terms(builder, self.extents, loc)
        self.settled = [(node, *settle(node, oracle)) for node in nodes]
        self.constants = {n.results[0]: n for n in builder.nodes if n.op.name == "const"}
        self.gradients: dict[Value, dict[Type, Term]] = {}
        for node, maps, _ in self.settled:
            self.extents.add(node, maps)

    def run(self, seeds: Sequence[tuple[Value, Value | None]], wrt: Sequence[Value]) -> list[Value]:
        """Returns the gradients of `wrt`, with their axes and the types of their differentials.

        Args:
            seeds: values with their gradients; ``None`` is 1 for each component.

        Raises:
            GradientError: if an operation between them has no gradient.
        """
        for value, given in seeds:
            self.add(value, self.seed(value, given))
        needed = set(wrt)
        for node, _, _ in self.settled:
            if any(v in needed for v in node.operands):
                needed.update(node.results)
        for node, maps, attrs in reversed(self.settled):
            self.node(node, maps, attrs, needed)
        return [self.finished(value) for value in wrt]

    def seed(self, value: Value, given: Value | None) -> Term:
        """Returns the gradient of a result. The trailing axes of one that is given as numbers may be its components."""
        t = self.terms
        if given is None:
            return t.cast(t.number(1.0), value.type)
        fills = given.type.kind is Kind.SCALAR and given.rank == value.rank + len(value.type.shape)
        axes = tuple(range(value.rank if fills else given.rank))
        term = t.loaded(Term(t, given, axes, value.type if fills else None))
        return t.cast(term, value.type) if value.type.is_numeric else term

    def node(self, node: Node, maps: Sequence[ArgMap], attrs: dict[str, Attr], needed: set[Value]) -> None:
        """Adds the gradients of the operands of one node."""
        found = [self.gradients.get(v) for v in node.results]
        wanted = [i for i, v in enumerate(node.operands) if v in needed and self.has_gradient(v, maps[i])]
        if not any(found) or not wanted:
            return
        self.terms.loc = node.loc
        rank = max(max_rank(maps), node.grid_rank)
        frame = _result_dims(node, rank)
        given = [None if g is None else self.on_grid(self.one(v), frame) for v, g in zip(node.results, found)]
        results = [Term(self.terms, v, tuple(frame[: v.rank])) for v in node.results]
        operands = [spread(self.terms, v, m) for v, m in zip(node.operands, maps)]
        for term in operands:
            known = self.constants.get(term.value)
            term.constant = None if known is None else known.attrs["value"]
        grid = self.extents.grid(node.operands, maps, rank)
        parts = self.rule(node, {**node.attrs, **attrs}, operands, results, given, wanted, grid)
        for i in wanted:
            part = parts[i]
            if part is not None:
                self.hand_down(node.operands[i], operands[i], part, grid)

    def rule(
        self,
        node: Node,
        attrs: dict[str, Attr],
        x: Sequence[Term],
        y: Sequence[Term],
        given: Sequence[Term | None],
        wanted: Sequence[int],
        grid: Sequence[Axis | None],
    ) -> Sequence[Term | None]:
        """Returns the gradients of the operands over the grid of the node."""
        t, name = self.terms, node.op.name
        if name == "slang.call" or node.bodies:
            whole = [i for i in wanted if x[i].type.kind in _WHOLE]
            if whole:
                raise self.error(node, f"{x[whole[0]].type} is read whole, and its gradient would be scattered")
        if name == "slang.call":
            return vjp(t, node, attrs, x, given, wanted, self.constants, self.oracle)
        if name in ("cond", "fori_loop", "while_loop"):
            return (branch if name == "cond" else loop)(t, node, x, given, wanted, self.adjoint, self.oracle)
        g = given[0]
        assert g is not None
        if name in STEPS:
            return [None] * len(x)
        if name in FORMULAS:
            loaded = [t.loaded(v) for v in x]
            if not y[0].type.is_float:
                return [None] * len(x)
            return gradients(t, name, g, y[0], loaded)
        if name == "power":
            return [power(t, node, g, t.loaded(x[0]))]
        if name in RULES:
            return RULES[name](t, node, g, y[0], [t.loaded(v) for v in x])
        if name == "reduce":
            return [reduce_rule(t, node, g, y[0], t.loaded(x[0]), lambda dims: self.count(grid, dims))]
        if name == "scan":
            return [scan_rule(t, node, g, t.loaded(x[0]))]
        if name in ("expand", "along"):
            return [g, None][: len(x)]
        if name in ("vjp", "add_gradients", "field_gradient", "zero_gradient"):
            raise self.error(node, "it is a gradient already, by Slang, which has none of the second order")
        raise self.error(node, f"the operation {name} has none")

    def adjoint(self, body: Graph, name: str, wrt: Sequence[Value], seeds: Sequence[int]) -> Graph:
        """Returns the gradient of a body as a body.

        Its inputs are those of `body`, then the gradients of the outputs `seeds`; its outputs are the gradients of `wrt`.
        """
        fresh = {v: Value(v.type, (), arrival=v.arrival, weak=v.weak, name=v.name) for v in body.inputs}
        builder = Builder(name, self.oracle)
        builder.inputs = list(fresh.values())
        for node in body.nodes:
            results = [Value(v.type, v.dims, weak=v.weak) for v in node.results]
            fresh.update(zip(node.results, results))
            operands = [fresh[v] for v in node.operands]
            builder.nodes.append(Node(node.op, operands, node.maps, results, node.attrs, node.loc, node.bodies))
        types = [differential(body.outputs[j].type, self.oracle) for j in seeds]
        given = [builder.input(f"gradient_{j}", type) for j, type in zip(seeds, types) if type is not None]
        reverse = Reverse(builder, tuple(builder.nodes), self.oracle, self.extents.shapes, self.terms.loc)
        ends = [(fresh[body.outputs[j]], g) for j, g in zip(seeds, given)]
        return builder.finish(reverse.run(ends, [fresh[v] for v in wrt]))

    # ---- frames -------------------------------------------------------------------------------------------------

    def has_gradient(self, value: Value, map: ArgMap) -> bool:
        """True if a value can have a gradient where it is loaded by `map`."""
        type = map.type if map.type is not None and map.type.kind not in _WHOLE else value.type
        if _is_number(value):
            return True
        return differential(type, self.oracle) is not None or (map.type is not None and map.type.kind in _WHOLE)

    def on_grid(self, term: Term, frame: Sequence[int]) -> Term:
        """Returns a term over the axes of a result as one over the grid of its node."""
        return Term(self.terms, term.value, tuple(frame[d] for d in term.dims), term.wants)

    def count(self, grid: Sequence[Axis | None], dims: Sequence[int]) -> Term:
        """Returns the number of points of a grid along some dimensions."""
        axes = [axis for d in dims if (axis := grid[d]) is not None]
        if not axes:
            return self.terms.number(1.0)
        return Term(self.terms, self.extents.shapes.count(axes), ())

    def hand_down(self, value: Value, operand: Term, part: Term, grid: Sequence[Axis | None]) -> None:
        """Adds the gradient of an operand, given over the grid of a node, to that of the value."""
        t = self.terms
        own = {d: a for a, d in enumerate(operand.dims)}
        axes = self.extents.of(value)
        units = [d for d, a in own.items() if a < len(axes) and axes[a] is None]
        summed = [d for d, extent in enumerate(grid) if extent is not None and (d not in own or d in units)]
        along_part = [d for d in summed if t.runs_along(part, d)]
        dropped = [d for d in part.dims if d not in own]
        want = part.type.scalar or part.type if _is_number(value) else operand.type
        if part.type.shape and want.is_numeric and not want.shape:
            part = t.components(t.loaded(part))
        if along_part or dropped:
            part = reduced(t, "sum", part, [*along_part, *dropped])
        absent = [d for d in summed if d not in along_part]
        if absent:  # it is the same at all points along these dimensions
            part = part * self.count(grid, absent)
        part = t.fit(part, want) if want.is_numeric else part
        self.add(value, Term(t, part.value, tuple(own[d] for d in part.dims), part.wants))

    # ---- sums ---------------------------------------------------------------------------------------------------

    def add(self, value: Value, term: Term) -> None:
        """Adds a gradient of a value, over the axes of the value."""
        forms = self.gradients.setdefault(value, {})
        before = forms.get(term.type)
        forms[term.type] = term if before is None else self.sum(value.type, before, term)

    def sum(self, type: Type, a: Term, b: Term) -> Term:
        return a + b if a.type.is_numeric else self.terms.op("add_gradients", a, b, of=type.name)

    def one(self, value: Value) -> Term:
        """Returns the gradient of a value in the only form that it has.

        Raises:
            GradientError: if the value was used as numbers and as vectors.
        """
        forms = self.gradients[value]
        if len(forms) > 1:
            raise GradientError(
                f"the argument {value.name!r} is used as {' and as '.join(map(str, forms))}",
                saw=f"gradients of {' and '.join(map(str, forms))}",
                hint=f"use it as one type: {value.name} = fp.vcast({value.name}, …) before the first use",
            )
        return next(iter(forms.values()))

    def finished(self, value: Value) -> Value:
        """Returns the gradient of a value with all of its axes, in their order."""
        t = self.terms
        if value not in self.gradients:
            type = FLOAT if _is_number(value) else differential(value.type, self.oracle)
            if type is None:
                raise GradientError(f"{value.name or 'a value'} of type {value.type} has no gradient", saw=value.type)
            zero = t.cast(t.number(0.0), type) if type.is_numeric else t.op("zero_gradient", of=value.type.name, type=type.name)
            self.gradients[value] = {type: zero}
        term = t.loaded(self.one(value))
        rank = value.rank - filled_axes(value, term.type if term.type is not value.type else None)
        frame = sorted(term.dims)
        if list(term.dims) != frame:
            term = transposed(t, term, frame)
        extents = self.extents.of(value)[:rank]
        missing = [a for a in range(rank) if a not in term.dims]
        if any(extents[a] is not None and not t.runs_along(term, a) for a in range(rank)):
            term = along(t, term, Term(t, value, tuple(range(value.rank)), term.type if rank != value.rank else None))
            return term.value
        if missing:
            attrs: dict[str, Attr] = {"axes": tuple(f"d{a}" for a in missing)}
            return t.builder.add(OPS["expand"], [term.value], [ArgMap(term.dims)], attrs, t.loc)[0]
        return term.value

    def error(self, node: Node, why: str) -> GradientError:
        return GradientError(
            f"{node.op.name} has no gradient here: {why}",
            place=node.loc,
            hint="take the gradient of a part of the program without it, or pass its result as an argument",
        )


def _is_number(value: Value) -> bool:
    """True for a Python integer among the arguments: 3 means 3.0."""
    return value.weak and not value.rank and value.type.kind is Kind.SCALAR and not value.type.is_float


def _result_dims(node: Node, rank: int) -> tuple[int, ...]:
    """Returns the dimension of the grid for each axis of the results."""
    if node.op.name == "reduce":
        folded = axes_of(node, "axes")
        return tuple(d for d in range(rank) if d not in folded)
    return tuple(range(rank))

"""Reverse mode: the gradients of arguments, from those of the results that were computed from them.

The nodes of a program are visited from the last to the first. Each operand gets the gradient of the node by its rule, summed
along the axes along which it was broadcast. Gradients are ordinary nodes, so the passes decide what is stored, what is computed
again, and which kernels there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from fusepy.derivatives.control import copied, new_names
from fusepy.derivatives.differential import differential
from fusepy.derivatives.expanded import Expanded
from fusepy.derivatives.extents import Extents, Shapes, ViewOp, max_rank
from fusepy.derivatives.folds import contracted, reduced
from fusepy.derivatives.forward import Forward
from fusepy.derivatives.members import Grid, count, member_gradients, on_grid, result_dims
from fusepy.derivatives.memory.picks import add_picked
from fusepy.derivatives.memory.rereads import Rereads
from fusepy.derivatives.refused import read_in_body, struct_without
from fusepy.derivatives.rules import gradients_of
from fusepy.derivatives.second.gathers import AddedGradients
from fusepy.derivatives.sums import Gradients, Seed, is_number
from fusepy.derivatives.terms import Term, Terms
from fusepy.derivatives.visit import Adjoined, Visit, operands_of
from fusepy.ir.argmap import ArgMap
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.ops.base import filled_axes
from fusepy.ir.oracle import Oracle
from fusepy.ir.resolve.settle import settle
from fusepy.ir.resources import reads_graded
from fusepy.ir.types import AS_ONE, FLOAT, Kind, Type
from fusepy.ir.whole import gathers
from fusepy.passes.effects import pointed_by


class Reverse:
    """Reverse mode over the nodes that a builder has recorded.

    Args:
        nodes: the nodes to go back through.
        shapes: the extents of the inputs.
    """

    def __init__(self, builder: Builder, nodes: Sequence[Node], oracle: Oracle, shapes: Shapes, loc: str | None):
        self.oracle, self.extents = oracle, Extents(shapes)
        self.terms = Terms(builder, self.extents, loc)
        self.settled = [(node, *settle(node, oracle)) for node in nodes]
        self.structs = {node.results[0]: (node, maps) for node, maps, _ in self.settled if node.op.name == "struct"}
        self.asked: set[Value] = set()
        self.constants = {n.results[0]: n for n in builder.nodes if n.op.name == "const"}
        self.gradients = Gradients(self.terms, oracle)
        self.expanded: Expanded | None = None
        self.pushed = Forward(builder, (), oracle, loc, self.adjoint).body
        self.added = AddedGradients(self.gradients)
        self.rereads = Rereads(self.terms, self.settled)
        self.settings: dict[Value, Value] | None = None  # of samplers and textures of a body
        own = {id(node): maps for node, maps, _ in self.settled}
        for node in builder.nodes:
            self.extents.add(node, own[id(node)] if id(node) in own else settle(node, oracle)[0])

    def run(self, seeds: Sequence[Seed], wrt: Sequence[Value], whole: Sequence[Value] = ()) -> list[Value]:
        """Returns the gradients of `wrt`, with their axes and the types of their differentials.

        Args:
            seeds: the gradients of values.
            whole: inputs that are whole arrays, whose gradients are added to arrays that are given.

        Raises:
            GradientError: if an operation between them has no gradient.
        """
        self.back(seeds, wrt, whole)
        return [self.gradients.finished(value) for value in wrt]

    def back(
        self, seeds: Sequence[Seed], wrt: Sequence[Value], whole: Sequence[Value] = (), expanded: Sequence[Value] = ()
    ) -> None:
        """Adds to `gradients` those of `wrt`; see `run`.

        Args:
            expanded: those of `wrt` whose gradients are kept over the grid of the results, and not summed.
        """
        self.asked = {*wrt, *expanded}
        if expanded:
            self.expanded = Expanded(self.terms, expanded, [value for value, _, _ in seeds])
        for value, given, dims in seeds:
            self.gradients.seed(value, given, dims)
        needed = {*wrt, *whole}
        for node, maps, _ in self.settled:
            if any(v in needed for v in node.operands):
                needed.update(v for v in node.results if v.type.scalar is None or v.type.is_float)
                needed.update(self.rereads.written(node, maps))
        for node, maps, attrs in reversed(self.settled):
            self.node(node, maps, attrs, needed)

    def node(self, node: Node, maps: Sequence[ArgMap], attrs: dict[str, Attr], needed: set[Value]) -> None:
        """Adds the gradients of the operands of one node."""
        into = self.added.reached(node, self.rereads.written(node, maps))
        reached = [v in self.gradients for v in node.results]
        if into is None and not any(reached):
            return
        if isinstance(node.op, ViewOp):
            record = partial(node.op.gradient, node.results[0], self.gradients.finished(node.results[0]))
            made = self.extents.recorded(self.terms.builder, self.oracle, record)
            self.gradients.add(node.operands[0], Term(self.terms, made, tuple(range(node.operands[0].rank))))
            return
        self.terms.loc = node.loc
        own = pointed_by(node, maps) - self.asked  # what it writes through pointers is needed behind it only
        wanted = [i for i, v in enumerate(node.operands) if v in needed and v not in own and self.has_gradient(v, maps[i])]
        if not wanted:
            return
        t, rank, first = self.terms, max(max_rank(maps), node.grid_rank), len(self.terms.builder.nodes)
        frame = result_dims(node, rank)
        operands = operands_of(t, node, maps, self.constants)
        pick = self.extents.shapes.pick(node, maps) if into is None and 0 in wanted else None
        if pick is not None and add_picked(self.gradients, t, node, operands, pick):
            return
        seen = self.rereads.kept(node, maps, operands)
        results = [Term(t, v, frame[: v.rank]) for v in node.results]
        given = [on_grid(self.gradients.one(v), frame) if found else None for v, found in zip(node.results, reached)]
        grid = self.extents.grid(node.operands, maps, rank)
        named = {**node.attrs, **attrs}
        types = [operand.type for operand in operands]
        arrays = partial(self.gradients.scatter.arrays, node, types)
        of_node = partial(count, t, grid), self.constants, arrays, partial(self.setting, node)
        held = (*of_node, self.adjoint, self.pushed, self.oracle)
        visit = Visit(t, node, named, seen, results, given, wanted, *held)
        parts = gradients_of(visit) if into is None else self.added.parts(visit, into)
        for i in wanted:
            part, times = parts[i], t.loaded(seen[1 - i]) if node.op.name == "contract" else None
            if part is not None and self.expanded is not None and node.operands[i] in self.expanded:
                self.expanded.add(node.operands[i], operands[i], part if times is None else part * times, operands, grid)
            elif part is not None:
                self.hand_down(node.operands[i], operands[i], part, grid, times)
        self.rereads.check(first)

    def setting(self, node: Node, i: int) -> Term:
        """Returns the settings of a sampler as a number; see `Shapes.setting`."""
        value = node.operands[i]
        if self.settings is not None and value not in self.settings:  # a body gets it as an input
            name = f"setting_{self.terms.builder.inputs.index(value)}"
            self.settings[value] = self.terms.builder.input(name, FLOAT)
        found = self.extents.shapes.setting(value) if self.settings is None else self.settings[value]
        if found is None:
            raise read_in_body(node, value.type)
        return Term(self.terms, found, ())

    def adjoint(self, body: Graph, name: str, wrt: Sequence[Value], seeds: Sequence[int], arrays: Sequence[Type]) -> Adjoined:
        """Returns the gradient of a body as a body, and whose settings it needs; see `Adjoint`."""
        builder = Builder(name, self.oracle)
        fresh = copied(body, builder)
        builder.inputs = [fresh[v] for v in body.inputs]
        types = [differential(body.outputs[j].type, self.oracle) for j in seeds]
        named = zip(new_names(body.inputs, len(seeds), "gradient"), types)
        given = [builder.input(name, type) for name, type in named if type is not None]
        reverse = Reverse(builder, tuple(builder.nodes), self.oracle, self.extents.shapes, self.terms.loc)
        ends = [(fresh[body.outputs[j]], g, None) for j, g in zip(seeds, given)]
        whole = [fresh[v] for v in wrt if v.type.kind in AS_ONE]
        for i, (value, into) in enumerate(zip(whole, arrays)):
            reverse.gradients.scatter.given[value] = builder.input(f"array_{i}", into)
        reverse.settings = {}
        made = builder.finish(reverse.run(ends, [fresh[v] for v in wrt if v.type.kind not in AS_ONE], whole))
        return made, [made.inputs.index(value) for value in reverse.settings]

    def has_gradient(self, value: Value, map: ArgMap) -> bool:
        """True if a value can have a gradient where it is loaded by `map`."""
        type = map.type if map.type is not None and map.type.kind not in AS_ONE else value.type
        if type.kind in AS_ONE:  # inside a body
            return gathers(type) or reads_graded(type)
        found = is_number(value) or differential(type, self.oracle) is not None
        if not found and type.kind is Kind.NAMED:
            raise struct_without(type, self.terms.loc)
        return found

    def hand_down(
        self, value: Value, operand: Term, part: Term, grid: Grid, times: Term | None = None, long: bool = False
    ) -> None:
        """Adds the gradient of an operand, given over the grid of a node, to that of the value.

        Args:
            times: a factor of the gradient; the sum of the products is then one of matrices. `long`: see `member_gradients`.
        """
        t = self.terms
        own = {d: a for a, d in enumerate(operand.dims)}
        axes = self.extents.of(value)
        units = [d for d, a in own.items() if a < len(axes) and axes[a] is None]
        summed = [d for d, extent in enumerate(grid) if extent is not None and (d not in own or d in units)]
        if times is not None:
            both = [d for d in summed if t.runs_along(part, d) and t.runs_along(times, d)]
            part, summed = contracted(t, part, times, both, operand.dims), [d for d in summed if d not in both]
        along_part = [d for d in summed if t.runs_along(part, d)]
        dropped = [d for d in part.dims if d not in own]
        made = None if value in self.asked else self.structs.get(value)
        pieces = member_gradients(t, value, operand, part, grid, made, long) if along_part or dropped else []
        for one in pieces:
            if self.has_gradient(one.value, one.operand.map):
                self.hand_down(*one, long=True)
        if pieces:
            return
        # a number that each component of a vector or matrix is
        alike = not value.type.shape and operand.type.is_numeric and not filled_axes(value, operand.wants)
        want = part.type.scalar or part.type if is_number(value) or alike else operand.type
        if want.is_numeric and want.shape == value.type.shape and not is_number(value):
            want = value.type  # which `vcast` loads as another type
        if part.type.shape and want.is_numeric and not want.shape:
            part = t.components(t.loaded(part))
        if along_part or dropped:
            part = reduced(t, "sum", part, [*along_part, *dropped])
        absent = [d for d in summed if d not in along_part]
        if absent:  # it is the same at all points along these dimensions
            part = t.cast(t.wide(part) * count(t, grid, absent), part.type)
        part = t.texel(t.fit(part, want) if want.is_numeric else part, value)
        self.gradients.add(value, Term(t, part.value, tuple(own[d] for d in part.dims), part.wants))

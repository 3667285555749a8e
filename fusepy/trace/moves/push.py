"""Moved elements of computed values: elementwise work runs on moved arguments, and nothing is stored between.

``(a + b)[1:]`` is ``a[1:] + b[1:]``: the arguments are read by other strides. Results of reductions and scans are stored, and
read at computed indices; so are arguments where no strides express the plan.
"""

from __future__ import annotations

from fusepy.derivatives.folds import expanded, transposed
from fusepy.derivatives.memory.rereads import writes_of
from fusepy.derivatives.terms import Term, Terms
from fusepy.errors import TraceError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Node, Value
from fusepy.ir.narrowing import is_default
from fusepy.ir.resolve.settle import settle
from fusepy.ir.types import AS_ONE
from fusepy.ir.value import is_spread
from fusepy.location import user_line
from fusepy.passes.effects import is_pure
from fusepy.passes.partition.levels import spread_values
from fusepy.trace.moves.inputs import owner_of, requires_gradients, view_of, viewable
from fusepy.trace.moves.parts import Below, MovedPart, is_small, is_untaken, moved_attrs, store_compounds, whole_along
from fusepy.trace.moves.plans import Coordinates, Remap, Strided
from fusepy.trace.moves.shapes import KnownShapes, known_shapes
from fusepy.trace.moves.steps import ALL, Indexed, Permuted, Run, ViewStep, shape_after, sliced
from fusepy.trace.moves.stored import Copy
from fusepy.trace.moves.take import counts, take
from fusepy.trace.open_trace import OpenTrace


def terms_of(trace: OpenTrace, known: KnownShapes) -> Terms:
    """Returns the recorder of formulas of a trace."""
    trace.oracle  # noqa: B018  # tells the builder the members of structs
    return Terms(trace.builder, known.update(), user_line())


class Pushing:
    """The moved elements of one value, by a plan."""

    def __init__(self, trace: OpenTrace, terms: Terms, plan: Remap):
        self.trace, self.plan, self.terms = trace, plan, terms
        self.known = known_shapes(trace)
        self.at = Coordinates(terms, self.known.shapes, lambda d: plan.extents[d])
        self.made: dict[MovedPart, Term] = {}
        nodes = trace.builder.nodes
        self.producer = {v: (place, node) for place, node in enumerate(nodes) for v in node.results}
        self.writes = writes_of(nodes, trace.oracle, self.known.shapes)
        self.spread = spread_values(trace.builder)  # pyright: ignore[reportArgumentType]

    def of(self, value: Value) -> Value:
        """Returns the moved elements of a value with all axes of the plan."""
        root = MovedPart(value, tuple(range(value.rank)), None)
        found: dict[MovedPart, Below | None] = {}
        stack = [root]
        while stack:
            part = stack.pop()
            if part not in found:
                found[part] = self.below(part)
                stack += [p for p in (found[part] or (None, []))[1] if p is not None]
        store_compounds(found, self.strided, lambda p: self.producer[p.value][0], self.trace.oracle)
        stack, inner = [root], dict[MovedPart, Below]()
        while stack:
            part = stack.pop()
            below = found[part]
            if part in self.made or part in inner:
                continue
            if below is None:
                self.made[part] = self.leaf(part)
            else:
                inner[part] = below
                stack += [p for p in below[1] if p is not None]
        moves = self.trace.moves
        if moves.repeats({part.value for part in inner}) and not is_untaken(root, self.trace.oracle, bool(moves.begun)):
            return self.complete(self.leaf(root))
        for part in sorted(inner, key=lambda p: self.producer[p.value][0]):
            self.made[part] = self.again(part, *inner[part])
        return self.complete(self.made[root])

    def below(self, part: MovedPart) -> Below | None:
        """Returns the node of a value that is computed element by element, with its operands; else ``None``.

        Operands that the node reads whole, and numbers, are ``None``.
        """
        found = self.producer.get(part.value)
        if found is None or part.value in self.spread or not part.value.rank:
            return None
        place, node = found
        if place < self.trace.moves.since or not node.op.spreads or not node.op.merges:
            return None
        maps = settle(node, self.trace.oracle)[0]  # behind a write it would be another value
        if not is_pure(node, maps) or (self.writes and any(self.writes.since(place, v) for v in node.operands)):
            return None
        parts: list[MovedPart | None] = []
        for value, map in zip(node.operands, maps):
            if is_spread(value) or value in self.spread:
                return None
            if not value.rank or (map.type is not None and map.type.kind in AS_ONE) or not map.dims:
                parts.append(None)
                continue
            if value.name is not None and owner_of(self.trace, value) is None and not counts(self.trace, value):
                return None
            parts.append(MovedPart(value, tuple(part.dims[d] for d in map.dims), map.type))
        return node, parts

    def again(self, part: MovedPart, node: Node, parts: list[MovedPart | None]) -> Term:
        """Records a node for the moved elements."""
        if node.op.name == "expand":  # axes of extent 1, along which a term does not run
            return Term(self.terms, node.operands[0], ()) if parts[0] is None else self.made[parts[0]]
        found = [None if p is None else self.made[p] for p in parts]
        frame = sorted({d for term in found if term is not None for d in term.dims})
        own = {d: i for i, d in enumerate(frame)}
        operands, maps = [v if term is None else term.value for v, term in zip(node.operands, found)], list[ArgMap]()
        for map, term in zip(node.maps, found):
            said = map.type if node.bodies else None  # the inputs of a body have types: float64 is converted for it
            maps.append(map if term is None else ArgMap(tuple(own[d] for d in term.dims), term.wants or said))
        attrs = moved_attrs(node, operands)
        texts = tuple((k, repr(v)) for k, v in attrs.items())
        key = node.op.name, tuple(operands), tuple(maps), texts, node.bodies, self.trace.moves.since
        results = self.trace.moves.again.get(key)
        if results is None:
            results = self.trace.builder.add(node.op, operands, maps, attrs, node.loc, node.bodies)
            self.trace.moves.again[key] = results
            self.trace.moves.repeat(results, node.results)
            self.known.update()
        made = results[node.results.index(part.value)]
        if part.type is None and not is_untaken(part, self.trace.oracle):
            self.trace.moves.copies.append(Copy(part, made, tuple(frame), self))
        converted = part.type is not None and part.type is not made.type and part.type.shape == made.type.shape
        return Term(self.terms, made, tuple(frame), part.type if converted else None)

    def leaf(self, part: MovedPart) -> Term:
        """Returns the moved elements of an argument, or of a value that is stored."""
        value = part.value
        if not value.rank:
            return Term(self.terms, value, ())
        owner = owner_of(self.trace, value)
        if owner is not None:
            found = self.viewed(owner, part)
            if found is not None:
                return found
        elif counts(self.trace, value):
            return self.at.number(0) if self.known.is_unit(value, 0) else self.at.index(self.plan.indices[part.dims[0]])
        elif value.name is not None and not value.arrival.texels:
            raise TraceError(
                f"{value.name!r} is no array in memory, so no elements of it can be taken",
                saw=value.type,
                hint="generators compute each element of a grid: make another one, such as fp.grid(shape, offset=…)",
            )
        dims = whole_along(self.plan, part)
        return self.taken(part) if dims is None else Term(self.terms, value, dims, part.type)

    def viewed(self, owner: OpenTrace, part: MovedPart) -> Term | None:
        """Returns the moved elements of an array as a view of it; ``None`` if strides do not express it."""
        plan, rank = self.plan, len(part.dims)
        said = None if part.type is None or is_default(part.value) else part.type
        step = self.step_of(owner, part)
        if step is not None:
            return Term(self.terms, self.joined(owner, part.value, [step]), tuple(range(len(plan.extents))), said)
        indices = [plan.indices[d] for d in part.dims]
        if requires_gradients(owner, part.value) or not all(isinstance(index, Strided) for index in indices):
            return None
        along = [index for index in indices if isinstance(index, Strided)]
        units = [self.known.is_unit(part.value, axis) for axis in range(rank)]
        items = [self._item(index, unit) for index, unit in zip(along, units)]
        steps: list[ViewStep] = [] if all(item == ALL for item in items) else [Indexed(rank, tuple(items))]
        dims = [index.dim for index in along if index.dim is not None]
        order = sorted(range(len(dims)), key=dims.__getitem__)
        if order != list(range(len(dims))):
            steps.append(Permuted(len(dims), tuple(order)))
        view = self.joined(owner, part.value, steps) if steps else part.value
        return Term(self.terms, view, tuple(sorted(dims)), said)

    def step_of(self, owner: OpenTrace, part: MovedPart) -> ViewStep | None:
        """Returns the step of the plan, if the argument can be viewed by it as it is."""
        step, same = self.plan.step, self.known.of(part.value)[: len(part.dims)] == self.plan.shape
        fits = step is not None and same and part.dims == tuple(range(step.rank)) and viewable(owner, part.value, step)
        return step if fits else None

    def strided(self, part: MovedPart) -> bool:
        """True if the moved elements of a leaf are a view of it, or the leaf itself."""
        owner = owner_of(self.trace, part.value)
        if owner is None or requires_gradients(owner, part.value):
            return whole_along(self.plan, part) is not None
        return self.step_of(owner, part) is not None or all(isinstance(self.plan.indices[d], Strided) for d in part.dims)

    def joined(self, owner: OpenTrace, value: Value, steps: list[ViewStep]) -> Value:
        """Returns a view of an array; of slices of slices one slice, so that equal views are one input."""
        base, before, begun = owner.moves.of.get(value, (value, (), 0))
        first = steps[0]
        if before and begun == owner.moves.innermost and isinstance(first, Indexed) and isinstance(before[-1], Indexed):
            found = sliced(before[-1], first, shape_after(before[:-1], self.known.of(base)))
            if found is not None:
                return view_of(owner, base, [*before[:-1], found, *steps[1:]])
        return view_of(owner, value, steps)

    def _item(self, index: Strided, unit: bool) -> Run | int:
        if index.dim is None:
            return 0 if unit else index.start
        count = self.plan.extents[index.dim]
        if unit:
            return ALL if count else Run(0, 0, 1)
        stop = index.start + count * index.step
        return Run(index.start, None if stop < 0 else stop, index.step)

    def taken(self, part: MovedPart) -> Term:
        """Returns the moved elements of an array in memory, or of a value that is stored, by their indices."""
        units = [self.plan.shape[d] != 1 and self.known.is_unit(part.value, axis) for axis, d in enumerate(part.dims)]
        indices = [self.at.number(0) if unit else self.at.index(self.plan.indices[d]) for d, unit in zip(part.dims, units)]
        return take(self.trace, self.terms, part.value, part.type, indices)

    def complete(self, term: Term) -> Value:
        """Returns the value of a term with all axes of the plan in their order."""
        extents, rank = self.plan.extents, range(len(self.plan.extents))
        missing = [d for d in rank if d not in term.dims]
        if missing and all(extents[d] == 1 for d in missing) and is_small(self.trace, term):
            return expanded(self.terms, term, missing)
        for d in missing:
            term = self.terms.op("along", term, self.at.along(d))
        return term.value if (term.dims, term.wants) == (tuple(rank), None) else transposed(self.terms, term, rank).value

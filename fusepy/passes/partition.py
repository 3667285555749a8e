"""Which kernels a program becomes: what each one stores, folds or does, and which values are computed again instead of stored.

A value must be stored where it is returned, where user code reads it as a whole array, and where a call that writes memory has
made it. Everything else is computed where it is used, and stored only where an earlier kernel has it at hand and `passes.cost`
says that loading costs less than computing it again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from fusepy.ir.argmap import ArgMap
from fusepy.ir.containers import PLACES
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.oracle import Oracle
from fusepy.passes.cost import compute_bytes, element_bytes
from fusepy.passes.effects import is_pure, writes_array
from fusepy.passes.levels import Folding, Leaves, Levels, reads_whole

PRICE = "what costs less"  # reasons of decisions; no order of writes has made this one
WRITTEN = "an array that it is computed from may be written before it is used"


@dataclass(eq=False)
class Part:
    """One kernel of a program.

    Attributes:
        level: how many kernels, at least, run before it.
        stored: values of which it stores an element per point of its grid.
        folding: the reductions that it makes.
        after: values computed from these on their small grid, and reductions, that it stores.
        effects: nodes that it runs for what they do.
        loads: stored values that it takes from memory, which parts before it have made.
    """

    level: int
    stored: list[Value] = field(default_factory=list[Value])
    folding: Folding | None = None
    after: list[Value] = field(default_factory=list[Value])
    effects: dict[Node, None] = field(default_factory=dict[Node, None])
    loads: dict[Value, None] = field(default_factory=dict[Value, None])

    @property
    def alone(self) -> bool:
        """Whether it holds a call that writes an array, beside which nothing else may run."""
        return any(map(writes_array, self.effects))


@dataclass(frozen=True)
class Decision:
    """Why a value that two kernels need is stored or computed again in `part`, with the bytes per element that decided it."""

    value: Value
    part: Part
    stored: bool
    load: float
    compute: float
    why: str


@dataclass(frozen=True)
class Partition:
    """The kernels of a program in the order in which they run, and what was decided about values between them."""

    graph: Graph
    parts: tuple[Part, ...]
    levels: Levels
    decisions: tuple[Decision, ...]

    def nodes(self, part: Part, roots: Iterable[Value], ends: Collection[Value] = ()) -> tuple[list[Node], list[Value]]:
        """The nodes by which `part` computes `roots` and runs its effects, in order, and the values that these start from.

        Args:
            ends: values at which to stop, beside those that the part loads.
        """
        producer = self.levels.producer
        found: dict[Node, None] = {}
        starts: dict[Value, None] = {}
        stack = [*roots, *(v for n in part.effects for v in n.results)]

        def enter(node: Node) -> None:
            found[node] = None
            for operand, map in zip(node.operands, node.maps):
                if reads_whole(map, operand):
                    starts[operand] = None  # it lies in memory, be it a view
                else:
                    stack.append(operand)

        for node in part.effects:
            enter(node)
        while stack:
            value = stack.pop()
            node = producer.get(value)
            if node is None or value in ends or (value in part.loads and value not in part.stored):
                starts[value] = None
            elif node not in found:
                enter(node)
        return sorted(found, key=self.levels.position.__getitem__), list(starts)


def partition(graph: Graph, oracle: Oracle, separate: bool = False) -> Partition:
    """Splits a resolved graph into as few kernels as its data flow allows; `separate` is that of `Levels`."""
    return _Partitioner(graph, oracle, separate).run()


def base(levels: Levels, value: Value) -> Value:
    """The value that is stored for `value`: what an ``expand`` shows with more axes."""
    node = levels.producer.get(value)
    while node is not None and node.op.name == "expand":
        value = node.operands[0]
        node = levels.producer.get(value)
    return value


class _Partitioner:
    def __init__(self, graph: Graph, oracle: Oracle, separate: bool):
        self.graph = graph
        self.oracle = oracle
        self.levels = Levels(graph, separate)
        self.parts: list[Part] = []
        self.home: dict[Value, Part] = {}  # of stored values
        self.old: set[Value] = set()  # computed from arrays that a call which takes them writes
        self.fold_part: dict[Folding, Part] = {}
        self.cones: dict[Part, set[Value]] = {}
        self.decisions: list[Decision] = []
        self.position = {v: i for i, v in enumerate(graph.values())}

    def run(self) -> Partition:
        for folding in self.levels.foldings:  # before all else, which may join them
            self.fold_part[folding] = self.new(Part(folding.level, folding=folding))
        for node in self.graph.nodes:
            self.place_node(node)
        for value in dict.fromkeys(base(self.levels, v) for v in self.graph.outputs):
            if value not in self.levels.producer and self.levels.written(value) >= 0:
                self.put(value, self.plain(self.levels.written(value) + 1))  # what is in it when the function returns
            elif value not in self.home and not self.levels.level[value] and value not in self.levels.folding:
                self.store(value, last=True)
            else:
                self.store(value)
        self.join_reductions()
        left = sorted(self.parts, key=lambda p: -p.level)
        while left:
            known = len(self.parts)
            self.slice(left.pop(0))
            if len(self.parts) > known:  # parts of lower levels, which are made to store what this one loads
                left = sorted([*left, *self.parts[known:]], key=lambda p: -p.level)
        return Partition(self.graph, tuple(sorted(self.parts, key=self.order)), self.levels, tuple(self.decisions))

    def order(self, part: Part) -> tuple[int, bool, int]:
        """Parts by level; within one, what writes an array comes after what may read it."""
        first = [*part.stored, *part.after, *(v for n in part.effects for v in n.operands)]
        return part.level, part.alone, min((self.position[v] for v in first), default=0)

    # ---- what must be stored ------------------------------------------------------------------------------------

    def place_node(self, node: Node) -> None:
        """Stores what `node` reads whole or from a reduction, and gives it a part of its own where it acts."""
        levels = self.levels
        for value, map in zip(node.operands, node.maps):
            whole = value in levels.producer and reads_whole(map, value)
            after = levels.folding.get(node.results[0]) if node.results else None
            crosses = value in levels.folding and (levels.folding[value] is not after or not node.op.spreads)
            if levels.overwrites(node, value):
                self.old.add(value)
            if (whole or crosses or value in self.old) and node.op.name != "expand":
                self.store(base(levels, value))
        if not is_pure(node):
            self.act(node)

    def new(self, part: Part) -> Part:
        self.parts.append(part)
        return part

    def act(self, node: Node) -> None:
        """Puts a node that acts into a part; its results are stored there, since it must not run twice."""
        level = self.levels.place[node]
        part = self.new(Part(level)) if writes_array(node) else self.plain(level)
        part.effects[node] = None
        for value in node.results:
            if any(self.levels.place[n] > level for n in self.levels.readers.get(value, ())):
                self.put(value, part)

    def plain(self, level: int) -> Part:
        """The part for whatever is computed element by element at a level."""
        found = [p for p in self.parts if p.level == level and p.folding is None and not p.alone]
        return found[0] if found else self.new(Part(level))

    def store(self, value: Value, last: bool = False) -> None:
        """Makes sure that a part stores `value`."""
        if value in self.home:
            return
        folding = self.levels.folding.get(value)
        if folding is not None:
            part = self.fold_part[folding]
            part.after.append(value)
            self.home[value] = part
            return
        self.put(value, self.part_for(value, last))

    def put(self, value: Value, part: Part) -> None:
        part.stored.append(value)
        self.home[value] = part
        if part in self.cones:
            self.cone([value], self.cones[part])

    def part_for(self, value: Value, last: bool) -> Part:
        """A part that can store `value`: one that reduces the same grid, its producer's, or one for elements at its level."""
        level = self.levels.level[value]
        node = self.levels.producer.get(value)
        if node is not None and not is_pure(node):
            return next(p for p in self.parts if node in p.effects)
        leaves = self.levels.leaves(value)
        if node is not None:
            for part in self.parts:
                if part.level == level and self.shares_grid(part, value, leaves):
                    return part
        if last and not self.levels.writers:  # nobody waits for it: it may join a kernel that runs later anyway
            found = [p for p in self.parts if p.level >= level and p.folding is None and not p.alone]
            if found:
                return min(found, key=lambda p: p.level)
        return self.plain(level)

    def join_reductions(self) -> None:
        """Moves stored values to reductions over their grid: one kernel reads what both need."""
        for part in [p for p in self.parts if p.folding is None and not p.effects]:
            for value in list(part.stored):
                leaves = self.levels.leaves(value)
                for other in self.parts:
                    pure = value in self.levels.producer
                    if pure and other.level == part.level and self.shares_grid(other, value, leaves):
                        part.stored.remove(value)
                        self.put(value, other)
                        break
        self.parts = [p for p in self.parts if p.stored or p.effects or p.folding is not None]

    def shares_grid(self, part: Part, value: Value, leaves: Leaves) -> bool:
        folding = part.folding
        return folding is not None and value.rank == folding.rank and self.levels.share_grid(folding.leaves, leaves)

    # ---- what is loaded, and what is computed again -------------------------------------------------------------

    def roots(self, part: Part) -> Iterator[Value]:
        """The values from which everything in a part is reached."""
        yield from part.stored
        for node in part.effects:
            yield from (v for v, m in zip(node.operands, node.maps) if not reads_whole(m, v))
        for node in part.folding.nodes if part.folding is not None else ():
            yield node.operands[0]
        yield from part.after

    def operands(self, value: Value) -> Iterator[tuple[Value, ArgMap]]:
        node = self.levels.producer.get(value)
        if node is not None:
            yield from zip(node.operands, node.maps)

    def cone(self, values: Iterable[Value], found: set[Value] | None = None) -> set[Value]:
        """Everything that is computed element by element for `values`, down to what lies in memory for certain.

        What is `found` already is added to, and not gone through again.
        """
        found = set() if found is None else found
        stack: list[Value] = []
        for value in values:
            found.add(value)
            stack += self.inputs(value)
        while stack:
            value = stack.pop()
            if value not in found:
                found.add(value)
                stack += () if value in self.home else self.inputs(value)
        return found

    def inputs(self, value: Value) -> list[Value]:
        """What `value` is computed from element by element in the kernel that computes it."""
        return [] if value in self.levels.folding else [v for v, m in self.operands(value) if not reads_whole(m, v)]

    def sources(self, value: Value) -> set[Value]:
        """The arguments that are read where `value` is computed again, element by element or whole."""
        cone = self.cone([value])
        inner = {v for v in cone if v is value or (v not in self.home and v not in self.levels.folding)}
        return {v for w in inner for v, _ in self.operands(w) if v not in self.levels.producer}

    def slice(self, part: Part) -> None:
        """Settles where a part takes values from that earlier parts compute as well."""
        levels = self.levels
        own = {v for v in self.roots(part) if self.home.get(v) in (None, part) or v in part.stored}
        inner = set(part.folding.nodes) if part.folding is not None else set[Node]()
        for node in part.effects:
            part.loads.update((v, None) for v, m in zip(node.operands, node.maps) if reads_whole(m, v) and v in levels.producer)
        crossing: list[Value] = []
        seen: set[Value] = set()
        stack = list(self.roots(part))
        while stack:
            value = base(levels, stack.pop())
            if value in seen or value not in levels.producer:
                continue
            seen.add(value)
            if value in levels.folding and levels.producer[value] in inner:
                continue
            if not (value in own and self.home.get(value) is part) and self.crosses(value, part):
                crossing.append(value)
                continue
            self.expand(value, part, stack)
        self.settle(part, crossing, seen)

    def crosses(self, value: Value, part: Part) -> bool:
        """Whether an earlier part stores `value`, or could."""
        home = self.home.get(value)
        if value in self.levels.folding:
            return self.levels.folding[value] is not part.folding
        if home is not None and home is not part:
            return home.level < part.level
        return self.levels.level[value] < part.level and value not in self.levels.spread

    def expand(self, value: Value, part: Part, stack: list[Value]) -> None:
        """Goes on to what `value` is computed from; arrays that its node reads whole are loaded."""
        for operand, map in self.operands(value):
            if not reads_whole(map, operand):
                stack.append(operand)
            elif operand in self.levels.producer:
                part.loads[base(self.levels, operand)] = None

    def settle(self, part: Part, crossing: list[Value], seen: set[Value]) -> None:
        """Decides, for each value that earlier parts compute, whether this one loads it or computes it again."""
        for value in self.latest_first(crossing):
            if value in self.levels.folding or not is_pure(self.levels.producer[value]):
                self.store(value)
                part.loads[value] = None
                continue
            if self.decide(value, part, seen):
                part.loads[value] = None
                continue
            stack: list[Value] = []
            self.expand(value, part, stack)
            more: list[Value] = []
            while stack:
                operand = base(self.levels, stack.pop())
                if operand in seen or operand not in self.levels.producer:
                    continue
                seen.add(operand)
                if self.crosses(operand, part):
                    more.append(operand)
                else:
                    self.expand(operand, part, stack)
            self.settle(part, more, seen)

    def latest_first(self, values: Iterable[Value]) -> list[Value]:
        return sorted(values, key=lambda v: self.position[v], reverse=True)

    def decide(self, value: Value, part: Part, seen: set[Value]) -> bool:
        """Whether `part` loads `value`; then an earlier part stores it."""
        levels = self.levels
        node = levels.producer[value]
        if node.op.name in ("const", "expand"):
            return False
        if part.alone and value in self.old:
            self.decisions.append(Decision(value, part, True, 0, 0, WRITTEN))
            return True
        if levels.writers and levels.written_between(self.sources(value), levels.level[value], part.level):
            self.store(value)
            self.decisions.append(Decision(value, part, True, 0, 0, WRITTEN))
            return True
        home = self.home.get(value)
        maker = home or self.maker(value, part)
        if maker is None:
            return False
        size = element_bytes(value.type, self.oracle)
        load = float(size if home is not None else 2 * size)
        compute = self.compute_again(value, seen, load)
        stored = load < compute
        self.decisions.append(Decision(value, part, stored, load, compute, PRICE))
        if stored and home is None:
            self.put(value, maker)
        return stored

    def maker(self, value: Value, part: Part) -> Part | None:
        """An earlier part that computes `value` anyway, over a grid of its own extents."""
        leaves = self.levels.leaves(value)
        for other in sorted(self.parts, key=lambda p: p.level):
            if other.level >= part.level or self.levels.level[value] > other.level or other.alone:
                continue
            fits = any(v.rank == value.rank and self.levels.leaves(v) == leaves for v in self.roots(other))
            if fits and value in self.cone_of(other):
                return other
        return None

    def cone_of(self, part: Part) -> set[Value]:
        found = self.cones.get(part)
        if found is None:
            found = self.cones[part] = self.cone(self.roots(part))
        return found

    def compute_again(self, value: Value, seen: set[Value], enough: float) -> float:
        """Bytes that computing `value` once more in a kernel that has `seen` would cost; stops counting beyond `enough`."""
        cost = 0.0
        done: set[Value] = set()
        stack = [value]
        while stack and cost <= enough:
            current = base(self.levels, stack.pop())
            if current in done or (current in seen and current is not value):
                continue
            done.add(current)
            node = self.levels.producer.get(current)
            if node is None or current in self.levels.folding or (current in self.home and current is not value):
                # an array of smaller rank is read again and again, and comes from the cache; coordinates are no memory
                along = current.rank >= value.rank and current.container not in PLACES
                cost += element_bytes(current.type, self.oracle) if along else 0
                continue
            cost += compute_bytes(node, self.oracle)
            stack += [v for v, m in zip(node.operands, node.maps) if not reads_whole(m, v)]
        return cost

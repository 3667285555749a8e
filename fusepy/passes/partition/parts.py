"""`Partition`: the kernels of a program, in order, with the decisions that led to them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from fusepy.ir.graph import Graph, Node, Value
from fusepy.passes.effects import writes_array
from fusepy.passes.partition.levels import Folding, Levels, reads_whole

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
        """True where it holds a call that writes an array, beside which nothing else may run."""
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


def base(levels: Levels, value: Value) -> Value:
    """The value that is stored for `value`: what an ``expand`` shows with more axes."""
    node = levels.producer.get(value)
    while node is not None and node.op.name == "expand":
        value = node.operands[0]
        node = levels.producer.get(value)
    return value

"""`Partition`: the kernels of a program, in order, with the decisions that led to them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from fusepy.ir.graph import Graph, Node, Value
from fusepy.passes.effects import writes_array
from fusepy.passes.partition.folding import Folding
from fusepy.passes.partition.levels import Levels, reads_whole

PRICE = "what costs less"  # a reason of `Decision`: prices were compared
WRITTEN = "an array that it is computed from may be written before it is used"


@dataclass(eq=False)
class Part:
    """One kernel of a program.

    Attributes:
        level: the number of kernels that must run before it.
        stored: values of which it stores an element per point of its grid.
        folding: the reductions that it computes.
        after: the reductions, and values computed from them on their small grid, that it stores.
        effects: nodes that it runs for their effects.
        standalone: its only node, if that is a launch of its own.
        loads: values that earlier parts have stored and that it loads.
    """

    level: int
    stored: list[Value] = field(default_factory=list[Value])
    folding: Folding | None = None
    after: list[Value] = field(default_factory=list[Value])
    effects: dict[Node, None] = field(default_factory=dict[Node, None])
    loads: dict[Value, None] = field(default_factory=dict[Value, None])
    standalone: Node | None = None

    @property
    def alone(self) -> bool:
        """True if it has a call that writes an array, beside which nothing else may run."""
        return any(map(writes_array, self.effects))


@dataclass(frozen=True)
class Decision:
    """The decision to store a value that two kernels need or to compute it again in `part`, with both prices per element."""

    value: Value
    part: Part
    stored: bool
    load: float
    compute: float
    why: str


@dataclass(frozen=True)
class Partition:
    """The kernels of a program in the order in which they run, and the decisions about values between them."""

    graph: Graph
    parts: tuple[Part, ...]
    levels: Levels
    decisions: tuple[Decision, ...]

    def nodes(self, part: Part, roots: Iterable[Value], ends: Collection[Value] = ()) -> tuple[list[Node], list[Value]]:
        """Returns the nodes that compute `roots` and run the effects of `part`, in order, and the values that these start from.

        Args:
            ends: values at which to stop, beside those that the part loads.
        """
        producer = self.levels.producer
        nodes: dict[Node, None] = {}
        starts: dict[Value, None] = {}
        stack = [*roots, *(v for n in part.effects for v in n.results)]

        def enter(node: Node) -> None:
            nodes[node] = None
            for operand, map in zip(node.operands, node.maps):
                if reads_whole(map, operand):
                    starts[operand] = None  # in memory, also a view
                else:
                    stack.append(operand)

        for node in part.effects:
            enter(node)
        while stack:
            value = stack.pop()
            node = producer.get(value)
            if node is None or value in ends or (value in part.loads and value not in part.stored):
                starts[value] = None
            elif node not in nodes:
                enter(node)
        return sorted(nodes, key=self.levels.position.__getitem__), list(starts)


def base(levels: Levels, value: Value) -> Value:
    """Returns the value that is stored for `value`: the operand of its views."""
    node = levels.producer.get(value)
    while node is not None and node.op.views:
        value = node.operands[0]
        node = levels.producer.get(value)
    return value

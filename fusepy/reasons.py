"""Why nodes that follow one another are in one kernel or in two, and what their values cost in between, for `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.oracle import Oracle
from fusepy.passes.effects import writes_array
from fusepy.passes.levels import reads_whole
from fusepy.passes.partition import PRICE, Part, Partition, base, partition


@dataclass(frozen=True)
class Neighbours:
    """Two nodes of which the second uses what the first computes.

    Attributes:
        first, second: what they are, with the lines that they were written in.
        kernel: the kernel in which the second runs.
        fused: whether the first runs in it too, so that the value between them never lies in memory.
        why: the reason.
        edit: the smallest change of the program that would fuse them; empty where they are fused, or none would.
    """

    first: str
    second: str
    kernel: int
    fused: bool
    why: str
    edit: str = ""

    def __str__(self) -> str:
        said = f"{self.first} -> {self.second}: {'fused' if self.fused else 'split'}: {self.why}"
        return f"{said}; to fuse them, {self.edit}" if self.edit else said


def label(node: Node) -> str:
    """What a node is called in reasons: the function or operation, and the user's line."""
    what = node.text("function") if node.op.name == "slang.call" else node.op.name
    if node.op.name == "struct":
        what = f"struct {node.text('path')}"
    if node.op.name in ("reduce", "scan"):
        kind = node.text("kind")
        what = node.text("function") if kind == "call" else kind
        what = f"scan {what}" if node.op.name == "scan" else what
    return f"{what} ({node.loc})" if node.loc else what


def neighbours(resolved: Graph, oracle: Oracle) -> list[Neighbours]:
    """Every pair of nodes of which one uses what the other computes, kernel by kernel."""
    found = partition(resolved, oracle)
    answers: list[Neighbours] = []
    reasons = _Reasons(found)
    for k, part in enumerate(found.parts):
        for node in reasons.nodes(part):
            answers += reasons.pairs(node, k, part)
    return list(dict.fromkeys(answers))


class _Reasons:
    def __init__(self, found: Partition):
        self.found = found
        self.levels = found.levels
        self.computed = [set(self.nodes(part)) for part in found.parts]
        self.decided = {d.value: d for d in found.decisions}

    def nodes(self, part: Part) -> list[Node]:
        """What a kernel runs, reductions included."""
        folds = part.folding.nodes if part.folding is not None else []
        roots = [*part.stored, *(n.operands[0] for n in folds), *part.after]
        nodes, _ = self.found.nodes(part, roots)
        listed = dict.fromkeys([*nodes, *folds])
        return [n for n in self.found.graph.nodes if n in listed]

    def pairs(self, node: Node, k: int, part: Part) -> Iterator[Neighbours]:
        """A node and each of those whose results it uses."""
        if node.op.name == "expand":
            return
        for value, map in zip(node.operands, node.maps):
            below = base(self.levels, value)
            first = self.levels.producer.get(below)
            if first is None or first.op.name == "const":
                continue
            fused = first in self.computed[k] and below not in part.loads
            why, edit = self.together(first, node, below, k) if fused else self.apart(first, node, below, reads_whole(map, value))
            yield Neighbours(label(first), label(node), k, fused, why, edit)

    def together(self, first: Node, second: Node, value: Value, k: int) -> tuple[str, str]:
        """Why both are in kernel `k`."""
        if not second.op.spreads:
            why = f"kernel {k} combines elements as it computes them"
        elif not first.op.spreads:
            why = f"kernel {k} goes on with what it has reduced, on the small grid"
        else:
            why = f"kernel {k} computes both element by element, on one grid"
        others = [j for j, nodes in enumerate(self.computed) if first in nodes and j < k]
        decision = self.decided.get(value)
        if others and decision is not None and not decision.stored:
            why += f"; computed again, for {decision.compute:g} bytes an element, where storing it moves {decision.load:g}"
        return why, ""

    def apart(self, first: Node, second: Node, value: Value, whole: bool) -> tuple[str, str]:
        """Why they are in two kernels, and what would change that."""
        a, b = label(first).partition(" (")[0], label(second).partition(" (")[0]
        if whole:
            why = f"{b} reads the array as a whole, so all of it must be there"
            return why, f"let {b} compute {a} in Slang for each element that it reads"
        if not first.op.spreads:
            return f"{b} needs the result of {a}, which is known when all elements have been combined", ""
        if writes_array(first):
            return f"{a} writes an array, and nothing else may run beside it", f"take {b} into {a}"
        decision = self.decided.get(value)
        if decision is None or decision.why != PRICE:
            return f"an array is written between {a} and {b}", f"call {b} before what writes"
        why = f"an earlier kernel computes {a} too, and loading {decision.load:g} bytes an element costs less than"
        return f"{why} computing it again", ""

"""Reasons why producer and consumer are in one kernel or in two, and the cost of the value between them, for `explain`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import lt as less

from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.oracle import Oracle
from fusepy.ir.pipelines.rays import generates_rays
from fusepy.ir.whole import TAKE
from fusepy.passes.effects import is_pure, writes_array
from fusepy.passes.partition.cost import compute_bytes, element_bytes
from fusepy.passes.partition.levels import reads_whole
from fusepy.passes.partition.partition import partition
from fusepy.passes.partition.parts import PRICE, Part, Partition, base

# all reasons for pairs of nodes: why they share a kernel or not, and the smallest edit that would fuse them
WAYS: dict[str, tuple[str, str]] = {
    "combined": ("kernel {k} combines elements as it computes them", ""),
    "scanned": ("kernel {k} goes on with each element that it has scanned", ""),
    "small grid": ("kernel {k} goes on with what it has reduced, on the small grid", ""),
    "one grid": ("kernel {k} computes both element by element, on one grid", ""),
    "row": ("kernel {k} goes along rows: the threads that combine {a} hold the row, and go on with it", ""),
    "again": ("; {a} is computed again, for {compute} bytes an element, where passing it through memory moves {load}", ""),
    "whole": (
        "{b} reads the array as a whole, so all of it must be there",
        "let {b} compute {a} in Slang for each element that it reads",
    ),
    "moved": (
        "views take elements of {a} at other places, and passing it through memory moves {load} bytes an element, where "
        "computing it again for another view takes {compute}",
        "",
    ),
    "reduced": ("{b} needs the result of {a}, which is known when all elements have been combined", ""),
    "behind a reduction": (
        "{a} follows a reduction, on the small grid that it leaves, so it is known when all elements have been combined",
        "",
    ),
    "alone": ("{a} writes an array, and nothing else may run beside it", "take {b} into {a}"),
    "acts": ("{a} may write memory, so it runs once, in an earlier kernel, which stores what it returns", "take {b} into {a}"),
    "rays": ("{a} traces rays in a kernel of its own, and {b} cannot run in it for each ray", ""),
    "written": ("an array from which {a} is computed may be written between {a} and {b}", "call {b} before what writes"),
    "written earlier": ("an array from which {a} is computed may be written before kernel {k} runs", ""),
    "overwritten": ("{b} is in a kernel that writes an array from which {a} is computed", "compute {a} in Slang, in what writes"),
    "price": (
        "an earlier kernel computes {a} too, and passing it through memory moves {load} bytes an element, where computing it "
        "again takes {compute} or more",
        "",
    ),
    "dear": ("{b} takes its elements on a larger grid, and computing {a} again for each of them costs more than storing it", ""),
    "drawn": ("the device's rasteriser runs {draw} by itself, between its own memory and images", ""),
    "at hand": ("kernel {k} has {a} in memory, since it reads it as a whole as well", ""),
}


@dataclass(frozen=True)
class Neighbours:
    """Two nodes; the second uses a result of the first.

    Attributes:
        first, second: their names, with the user's lines.
        kernel: the kernel that runs the second.
        fused: True if that kernel runs the first too, so that the value between them is not stored.
        why: the reason.
        edit: the smallest change of the program that would fuse them; empty if they are fused, or no edit helps.
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
    """Returns the name of a node in reasons: the function or operation, and the user's line."""
    return f"{work_of(node)} ({node.loc})" if node.loc else work_of(node)


def work_of(node: Node) -> str:
    """Returns the function or operation of a node."""
    if node.op.name == "struct":
        return f"struct {node.text('path')}"
    if node.op.name in ("reduce", "row_fold", "scan"):
        what = node.text("function") if node.text("kind") == "call" else node.text("kind")
        return f"scan {what}" if node.op.name == "scan" else what
    if node.op.name == "draw":
        return f"draw {' '.join(node.words('functions'))}"
    return node.text("function") if node.op.name == "slang.call" else node.op.name


def neighbours(resolved: Graph, oracle: Oracle, separate: bool = False, kernels: Sequence[int] = ()) -> list[Neighbours]:
    """Returns all pairs of producer and consumer, kernel by kernel.

    Args:
        separate: the option of the partition.
        kernels: for each part of the partition the number of its kernel, if some share one.
    """
    found = partition(resolved, oracle, separate)
    answers: list[Neighbours] = []
    numbers = kernels if len(kernels) == len(found.parts) else range(len(found.parts))
    reasons = _Reasons(found, numbers, oracle)
    for k, part in enumerate(found.parts):
        for node in reasons.nodes(part):
            answers += reasons.pairs(node, k, part)
    return sorted(dict.fromkeys(answers), key=lambda pair: pair.kernel)


class _Reasons:
    def __init__(self, found: Partition, numbers: Sequence[int], oracle: Oracle):
        self.found, self.numbers, self.oracle = found, numbers, oracle
        self.levels = found.levels
        self.computed = [set(self.nodes(part)) for part in found.parts]
        self.decided = {(d.value, d.part): d for d in found.decisions}

    def nodes(self, part: Part) -> list[Node]:
        """Returns the nodes of a kernel, reductions included."""
        folds = part.folding.nodes if part.folding is not None else []
        roots = [*part.stored, *(n.operands[0] for n in folds), *part.after]
        nodes, _ = self.found.nodes(part, roots)
        listed = dict.fromkeys([*nodes, *folds])
        return [n for n in self.found.graph.nodes if n in listed]

    def pairs(self, node: Node, k: int, part: Part) -> Iterator[Neighbours]:
        """Yields the pairs of a node and the producers of its operands."""
        if node.op.views:
            return
        for value, map in zip(node.operands, node.maps):
            below = base(self.levels, value)
            first = self.levels.producer.get(below)
            if first is None or first.op.name == "const":
                continue
            fused = first in self.computed[k] and below not in part.loads
            number = self.numbers[k]
            before = [j for j, nodes in enumerate(self.computed) if j != k and self.numbers[j] == number and first in nodes]
            if fused:
                ways = self.together(first, node, below, k)[: 1 if before else None]
            else:
                ways = ["row"] if before else [self.separation(first, node, below, reads_whole(map, value), part)]
            fused = fused or bool(before)
            a, b = (label(n).partition(" (")[0] for n in (first, node))
            said = {"a": a, "b": b, "k": number, "draw": a if first.op.standalone else b}
            decision = self.decided.get((below, part))
            if decision is not None or ways == ["moved"]:
                load, compute = (decision.load, decision.compute) if decision is not None else self.prices(first, below)
                said |= {"load": f"{load:g}", "compute": f"{compute:g}"}
            why = "".join(WAYS[way][0].format(**said) for way in ways)
            yield Neighbours(label(first), label(node), number, fused, why, WAYS[ways[0]][1].format(**said))

    def prices(self, first: Node, value: Value) -> tuple[float, float]:
        """Returns the bytes of storing and reading an element of a value, and those of computing it again."""
        return 2 * element_bytes(value.type, self.oracle), compute_bytes(first, self.oracle)

    def together(self, first: Node, second: Node, value: Value, k: int) -> list[str]:
        """Returns the reasons why kernel `k` runs both, as keys of `WAYS`."""
        behind = "one grid" if first.op.spreads else "scanned" if first.op.name == "scan" else "small grid"
        way = behind if second.op.spreads else "combined"
        decision = self.decided.get((value, self.found.parts[k]))
        again = decision is not None and not decision.stored and any(first in nodes for nodes in self.computed[:k])
        return [way, "again"] if again else [way]

    def separation(self, first: Node, second: Node, value: Value, whole: bool, part: Part) -> str:
        """Returns the reason why they are in two kernels, as a key of `WAYS`."""
        if first.op.standalone or second.op.standalone:
            return "drawn"
        if whole:
            taken = second.op.name == "slang.call" and second.text("module").startswith(TAKE) and first.op.spreads
            return "moved" if taken and less(*self.prices(first, value)) else "whole"
        if not first.op.spreads:
            return "reduced"
        if writes_array(first):
            return "alone"
        if value in self.levels.folding:
            return "behind a reduction"
        if generates_rays(first):
            return "rays"
        if not is_pure(first):
            return "acts"
        if value in self.levels.dear:
            return "dear"
        decision = self.decided.get((value, part))
        if decision is None or not decision.stored:
            return "at hand"
        if decision.why == PRICE:
            return "price"
        if part.alone:
            return "overwritten"
        position = self.levels.position
        return (
            "written" if any(position[first] < position[w] < position[second] for w in self.levels.writers) else "written earlier"
        )

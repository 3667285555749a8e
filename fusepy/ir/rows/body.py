"""The stages of a region that goes along rows: a stage computes elements, then combines some of them along the row."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.region import spec_of

DEAR = ("slang.call", "exp", "exp2", "log", "log2", "log10", "pow", "sin", "cos", "tan", "tanh", "atan2", "erf")
CHEAP = 2  # operations that are cheaper to compute again than to hold


@dataclass(frozen=True)
class RowStage:
    """One walk along the row.

    Attributes:
        loads: the inputs of the body that it loads, element by element.
        elements: computes `taken`, `kept` and `results` from these, from held values, and from what is known of the row.
        folds: the ``row_fold`` nodes at its end; `taken` are their operands.
        kept: values that later stages use and that threads hold from here on.
        results: the outputs of the body that it stores; only the last stage has some.
        row: computes the values of the row that later stages need, from `folds` and earlier values of the row.
    """

    loads: tuple[Value, ...]
    elements: Graph
    folds: tuple[Node, ...]
    kept: tuple[Value, ...]
    results: tuple[int, ...]
    row: Graph

    @property
    def taken(self) -> tuple[Value, ...]:
        return tuple(dict.fromkeys(n.operands[0] for n in self.folds))


class RowBody:
    """The body of a region that goes along rows.

    Attributes:
        whole: values that are the same for all elements of a row, constants apart.
        level: for each value the number of folds, one after the other, that it waits for.
        outputs: indices of the outputs that are elements; the others, `of_row`, are the same along the row.
    """

    def __init__(self, region: Node):
        assert region.body is not None
        self.region, self.body = region, region.body
        rows = set(spec_of(region).rows)
        self.producer = {v: n for n in self.body.nodes for v in n.results}
        self.position = {n: i for i, n in enumerate(self.body.nodes)}
        self.level: dict[Value, int] = dict.fromkeys(self.body.inputs, 0)
        same = {v for v, m in zip(self.body.inputs, region.maps) if not rows & {*(m.dims or ())}}
        for node in self.body.nodes:
            folds = node.op.name == "row_fold"
            level = max((self.level[v] for v in node.operands), default=0) + folds
            self.level.update(dict.fromkeys(node.results, level))
            if folds or all(v in same for v in node.operands):
                same.update(node.results)
        self.whole = same
        self.constants = {n.results[0] for n in self.body.nodes if n.op.name == "const"}
        self.folds = [n for n in self.body.nodes if n.op.name == "row_fold"]
        self.last = max((self.level[n.results[0]] for n in self.folds), default=0)
        indices = range(len(self.body.outputs))
        self.outputs = [j for j in indices if rows & {*spec_of(region).results[j].dims}]
        self.of_row = [j for j in indices if j not in self.outputs]

    def stages(self, held: bool) -> list[RowStage]:
        """Returns the stages; unless values are `held`, each stage loads and computes all that it needs."""
        needed = [self.wanted(k) for k in range(self.last + 1)]
        kept = self.held(needed) if held else [()] * (self.last + 1)
        stages: list[RowStage] = []
        before: Sequence[Value] = ()
        for k, wanted in enumerate(needed):
            fresh = tuple(v for v in kept[k] if v not in before)
            folds = tuple(n for n in self.folds if self.level[n.operands[0]] == k)
            own = [v for v in fresh if v in self.producer]
            elements = self.cut([*dict.fromkeys([*wanted, *own])], {*before, *self.whole})
            loads = [v for v in elements.inputs if v not in before and v not in self.whole]
            loads += [v for v in fresh if v not in self.producer and v not in loads]
            results = tuple(self.outputs) if k == self.last else ()
            stages.append(RowStage(tuple(loads), elements, folds, fresh, results, self.row(k)))
            before = kept[k]
        if not self.outputs:
            stages.pop()
        return stages

    def wanted(self, k: int) -> list[Value]:
        """Returns the values that stage `k` must compute: the operands of its folds, and in the last one the outputs."""
        found = [n.operands[0] for n in self.folds if self.level[n.operands[0]] == k]
        return [*dict.fromkeys(found), *((self.body.outputs[j] for j in self.outputs) if k == self.last else ())]

    def words(self) -> int:
        """Returns the largest number of 4-byte words that a thread holds for an element between two stages."""
        kept = self.held([self.wanted(k) for k in range(self.last + 1)])
        return max((sum(map(_words, values)) for values in kept), default=0)

    def held(self, needed: Sequence[Sequence[Value]]) -> list[tuple[Value, ...]]:
        """Returns for each stage the values that a thread holds after it."""
        seen: list[set[Value]] = []  # what the stages up to each one compute
        for wanted in needed:
            before = seen[-1] if seen else set[Value]()
            seen.append(before | self.cone(wanted, self.whole))
        kept: list[tuple[Value, ...]] = [()] * len(needed)
        for k in range(len(needed) - 2, -1, -1):
            found = self.frontier([*needed[k + 1], *kept[k + 1]], seen[k])
            kept[k] = tuple(self.without_cheap(found))
        return kept

    def frontier(self, values: Iterable[Value], seen: Collection[Value]) -> list[Value]:
        """Returns the first values on the way back from `values` that earlier stages have computed."""
        found: dict[Value, None] = {}
        stack, done = list(values), set[Value]()
        while stack:
            value = stack.pop()
            if value in done or value in self.whole:
                continue
            done.add(value)
            if value in seen and not self.constant(value):
                found[value] = None
            elif value in self.producer:
                stack += self.producer[value].operands
        return [v for v in self.body.values() if v in found]

    def without_cheap(self, found: list[Value]) -> list[Value]:
        """Returns `found` without values that a few operations compute from the others."""
        kept = list(found)
        for value in reversed(found):
            others = {v for v in kept if v is not value}
            cone = self.cone([value], {*others, *self.whole})
            nodes = [self.producer[v] for v in cone if v in self.producer and not self.constant(v)]
            cheap = 0 < len(nodes) <= CHEAP and not any(n.op.name in DEAR or n.bodies for n in nodes)
            if cheap and all(v in self.producer or v in others for v in cone):
                kept.remove(value)
        return kept

    def constant(self, value: Value) -> bool:
        return value in self.constants

    def cone(self, values: Iterable[Value], known: Collection[Value]) -> set[Value]:
        """Returns `values` and all that they are computed from, down to `known` ones, which are left out."""
        found: set[Value] = set()
        stack = list(values)
        while stack:
            value = stack.pop()
            if value not in found and value not in known:
                found.add(value)
                stack += self.producer[value].operands if value in self.producer else ()
        return found

    def cut(self, outputs: Sequence[Value], known: Collection[Value]) -> Graph:
        """Returns the graph that computes `outputs` from `known` values and inputs. It computes constants itself."""
        known = {*known} - self.constants
        cone = self.cone(outputs, known)
        nodes = sorted({self.producer[v] for v in cone if v in self.producer}, key=self.position.__getitem__)
        made = {v for n in nodes for v in n.results}
        used = dict.fromkeys([v for n in nodes for v in n.operands if v not in made] + [v for v in outputs if v not in made])
        return Graph(self.body.name, used, nodes, outputs)

    def row(self, k: int) -> Graph:
        """Returns the graph of the values of the row that are known behind the folds of stage `k`; ``-1`` is before the first."""
        level = k + 1
        made = {v: self.producer[v].op.name for v in self.whole if v in self.producer}
        known = {v for v in self.whole if v not in made or made[v] == "row_fold" or self.level[v] < level}
        own = [n for n in self.body.nodes for v in n.results if v in self.whole and self.level[v] == level and v not in known]
        outputs = [v for n in dict.fromkeys(own) for v in n.results if not self.constant(v) or v in self.body.outputs]
        return self.cut(outputs, known)


def _words(value: Value) -> int:
    """Returns the numbers of 4 bytes that hold a value."""
    dtype = value.type.dtype
    size = dtype.itemsize if dtype is not None else 16
    return -(-size // 4) * math.prod(value.type.shape)

"""Values that two kernels need: the later one loads what the earlier one has stored, or computes it again."""

from __future__ import annotations

from collections.abc import Iterable

from fusepy.ir.graph import Value
from fusepy.ir.oracle import Oracle
from fusepy.passes.effects import is_pure
from fusepy.passes.partition.cost import compute_bytes, element_bytes
from fusepy.passes.partition.draft import Draft
from fusepy.passes.partition.levels import reads_whole
from fusepy.passes.partition.parts import PRICE, WRITTEN, Decision, Part, base


class Recomputing:
    """The choice of values that the parts of a draft load.

    Attributes:
        old: values that are computed from an array and passed to a call that writes this array.
        decisions: those made so far.
    """

    def __init__(self, draft: Draft, oracle: Oracle, old: set[Value]):
        self.draft = draft
        self.levels = draft.levels
        self.oracle = oracle
        self.old = old
        self.decisions: list[Decision] = []

    def settle(self, part: Part) -> None:
        """Decides for values that earlier parts compute as well: `part` loads them or computes them again."""
        producer = self.levels.producer
        if part.standalone is not None:
            part.loads.update((base(self.levels, v), None) for v in part.standalone.operands if v in producer)
            return
        for node in part.effects:
            part.loads.update((v, None) for v, m in zip(node.operands, node.maps) if reads_whole(m, v) and v in producer)
        self._settle(part, self.draft.roots(part), set())

    def _settle(self, part: Part, values: Iterable[Value], seen: set[Value]) -> None:
        """Walks back from `values` and decides which of the values on the way the part loads."""
        for value in sorted(self._crossing(part, values, seen), key=self.draft.position.__getitem__, reverse=True):
            producer = self.levels.producer[value]
            kept = value in self.levels.factors or value in self.levels.dear
            if value in self.levels.folding or kept or not is_pure(producer) or producer.op.standalone or not producer.op.merges:
                self.draft.store(value)
                part.loads[value] = None
            elif self._loads(value, part, seen):
                part.loads[value] = None
            else:
                self._settle(part, self._operands(value, part), seen)

    def _crossing(self, part: Part, values: Iterable[Value], seen: set[Value]) -> list[Value]:
        """Returns the first values on the way back from `values` that earlier parts store, or could store."""
        crossing: list[Value] = []
        stack = list(values)
        while stack:
            value = base(self.levels, stack.pop())
            if value in seen or value not in self.levels.producer:
                continue
            seen.add(value)
            if self._crosses(value, part):
                crossing.append(value)
            elif self.levels.producer[value].op.name not in ("reduce", "scan"):  # whose operands are among the roots
                stack += self._operands(value, part)
        return crossing

    def _crosses(self, value: Value, part: Part) -> bool:
        """True if an earlier part stores `value`, or could store it."""
        home = self.draft.home.get(value)
        if home is part:
            return False
        if value in self.levels.folding:
            return self.levels.folding[value] is not part.folding
        if home is not None:
            return home.level < part.level
        return self.levels.level[value] < part.level and value not in self.levels.spread

    def _operands(self, value: Value, part: Part) -> list[Value]:
        """Returns the operands of `value` that are read element by element; operands that are read whole are loaded."""
        node, found = self.levels.producer[value], list[Value]()
        for operand, map in zip(node.operands, node.maps):
            if not reads_whole(map, operand):
                found.append(operand)
            elif operand in self.levels.producer:
                part.loads[base(self.levels, operand)] = None
        return found

    def _loads(self, value: Value, part: Part, seen: set[Value]) -> bool:
        """True if `part` loads `value`, which an earlier part then stores, and does not compute it. Records the decision."""
        levels, home = self.levels, self.draft.home.get(value)
        if levels.producer[value].op.views or levels.producer[value].op.name == "const":
            return False
        overwritten = part.alone and value in self.old
        if overwritten or (levels.writers and levels.written_between(self._sources(value), levels.level[value], part.level)):
            self.draft.store(value)
            self.decisions.append(Decision(value, part, True, 0, 0, WRITTEN))
            return True
        maker = home or self._maker(value, part)
        if maker is None:
            return False
        size = element_bytes(value.type, self.oracle)
        load = float(size if home is not None else 2 * size)
        compute = self._compute_again(value, seen, load)
        stored = load < compute
        self.decisions.append(Decision(value, part, stored, load, compute, PRICE))
        if stored and home is None:
            self.draft.put(value, maker)
        return stored

    def _sources(self, value: Value) -> set[Value]:
        """Returns the arguments that are read if `value` is computed again, element by element or whole."""
        producer, home = self.levels.producer, self.draft.home
        inner = {v for v in self.draft.cone([value]) if v is value or (v not in home and v not in self.levels.folding)}
        return {v for w in inner if w in producer for v in producer[w].operands if v not in producer}

    def _maker(self, value: Value, part: Part) -> Part | None:
        """Returns an earlier part that computes `value` anyway, over a grid with the extents of `value`."""
        levels, leaves = self.levels, self.levels.leaves(value)
        for other in sorted(self.draft.parts, key=lambda p: p.level):
            if other.level >= part.level or levels.level[value] > other.level or other.alone:
                continue
            fits = any(v.rank == value.rank and levels.leaves(v) == leaves for v in self.draft.roots(other))
            if fits and value in self.draft.cone_of(other):
                return other
        return None

    def _compute_again(self, value: Value, seen: set[Value], enough: float) -> float:
        """Returns the price of computing `value` once more in a kernel that has `seen`; stops counting beyond `enough`."""
        levels, home = self.levels, self.draft.home
        cost = 0.0
        done: set[Value] = set()
        stack = [value]
        while stack and cost <= enough:
            current = base(levels, stack.pop())
            if current in done or (current in seen and current is not value):
                continue
            done.add(current)
            node = levels.producer.get(current)
            if node is None or current in levels.folding or (current in home and current is not value):
                # an array of smaller rank is read repeatedly, and so from the cache; coordinates are not in memory
                along = current.rank >= value.rank and not current.arrival.placed
                cost += element_bytes(current.type, self.oracle) if along else 0
                continue
            cost += compute_bytes(node, self.oracle)
            stack += [v for v, m in zip(node.operands, node.maps) if not reads_whole(m, v)]
        return cost

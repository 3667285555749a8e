"""The loops of kernels that scan: each thread along its own chunk, or the threads of a group together."""

from __future__ import annotations

from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.fold.scans.short import ShortScanLoops
from fusepy.backend.emit.fold.scans.tiles import TileLoops
from fusepy.backend.emit.operand import BLOCK
from fusepy.ir.ops.control import block


class ScanLoops:
    """The loops of scans, over the work on one element."""

    def __init__(self, elements: FoldElements):
        self.elements, self.variant, self.chunks = elements, elements.variant, elements.chunks
        self.of_elements, self.accumulators = elements.variant.of_elements, elements.accumulators

    def lines(self) -> list[str]:
        """Returns the body of the entry point."""
        shape = self.variant.shape
        return (ShortScanLoops if shape.short else TileLoops)(self).lines() if shape.ordered else self.scan()

    def scan(self) -> list[str]:
        """Returns the loop of a thread along its chunk, which starts from the total of the chunks before."""
        found = self.elements.computed_at("fz_e", "fz_out") if self.of_elements else self.elements.partial_at("fz_e", "fz_out")
        names = {a.j: f"r_{a.j}" for a in self.accumulators}
        body = [*found, *self.passed("fz_acc", names, "found")]
        loop = ["for (; fz_e < fz_last; ++fz_e)", *block(body)]
        return self.chunks.placed([*self.carried(), *loop, *self.total()])

    def carried(self) -> list[str]:
        """Returns lines that start a chunk: from the total of the chunks before it, if that is known yet."""
        asked = [f"{BLOCK}.chunks > 1", f"{BLOCK}.totals == 0"]
        asked += [f"fz_out < {BLOCK}.outputs"] if self.variant.shape.shared else []
        at = f"{self.chunks.index} fz_from = {self.chunks.place('fz_chunk', 'fz_out', 'chunks')};"
        load = [at, *self.elements.after.load("fz_from", "before"), "fz_acc = before;"]
        return ["FzAcc fz_acc = fz_none();", f"if ({' && '.join(asked)})", *block(load)]

    def total(self) -> list[str]:
        """Returns lines that store the total of a chunk, if the kernel runs for totals."""
        return [f"if ({BLOCK}.totals != 0)", *block(self.elements.kept_as_partial("fz_acc", "fz_out"))]

    def passed(self, acc: str, names: dict[int, str], found: str) -> list[str]:
        """Returns lines that add one element and write the result up to it.

        The variables `names` hold the values of the element; or it is the accumulator `found`.
        """
        if not self.of_elements:
            stored = [f"if ({BLOCK}.totals == 0)", *block(self.elements.before.store("at", acc))]
            return [*stored, *self.joined(acc, names, found)]
        before = [f"{a.want} f{a.j} = {a.result(acc)};" for a in self.accumulators if a.fold.exclusive]
        after = [f"{a.want} f{a.j} = {a.result(acc)};" for a in self.accumulators if not a.fold.exclusive]
        staged = self.elements.staging
        if staged is not None:
            made = [f"{staged.made(a)}[{staged.own()}] = f{a.j};" for a in self.accumulators]
            return [*before, *self.joined(acc, names, found), *after, *made]
        stored = [f"if ({BLOCK}.totals == 0)", *block(self.elements.followed())]
        return [*before, *self.joined(acc, names, found), *after, *stored]

    def joined(self, acc: str, names: dict[int, str], found: str) -> list[str]:
        """Returns lines that add one element, ``e``, to an accumulator."""
        if not self.of_elements:
            return [f"fz_merge({acc}, {found}, {BLOCK}.zero);"]
        given = "".join(f"{names[a.j]}, " for a in self.accumulators)
        return ["FzRun one = fz_start();", f"fz_take(one, {given}int(e));", f"fz_gather({acc}, one, {BLOCK}.zero);"]

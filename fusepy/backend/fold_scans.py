"""The loops of kernels that scan: each thread along a chunk of its own, or the threads of a group together."""

from __future__ import annotations

from fusepy.backend.fold_places import FoldPlaces
from fusepy.backend.operand import BLOCK
from fusepy.ir.ops.base import declare
from fusepy.ir.ops.control import block


class ScanLoops(FoldPlaces):
    """What `emit_reduce.FoldKernel` does for scans."""

    def scan(self) -> list[str]:
        """Each thread goes along one chunk, from what the chunks before it come to."""
        found = self.computed_at("fz_e", "fz_out") if self.element_wise else self.partial_at("fz_e", "fz_out")
        names = {a.j: f"r_{a.j}" for a in self.accumulators}
        body = [*found, *self.passed("fz_acc", names, "found")]
        loop = ["for (; fz_e < fz_last; ++fz_e)", *block(body)]
        return [*self.placed(), *self.carried(), *loop]

    def carried(self) -> list[str]:
        """What a chunk starts from."""
        if not self.variant.carried:
            return ["FzAcc fz_acc = fz_none();"]
        at = f"{self.variant.index} fz_from = {self.place('fz_chunk', 'fz_out', 'chunks')};"
        return [at, *self.loaded_from("p", "fz_from", "fz_acc")]

    def passed(self, acc: str, names: dict[int, str], found: str) -> list[str]:
        """Passes one element, and writes what there is up to it: numbers `names`, or an accumulator `found` in memory."""
        if not self.element_wise:
            return [*self.stored_into("q", "at", acc), *self.joined(acc, names, found)]
        before = [f"{a.want} x_{a.j} = {a.result(acc)};" for a in self.accumulators if a.fold.exclusive]
        after = [f"{a.want} x_{a.j} = {a.result(acc)};" for a in self.accumulators if not a.fold.exclusive]
        return [*before, *self.joined(acc, names, found), *after, *(self.store(a.j, f"x_{a.j}") for a in self.accumulators)]

    def joined(self, acc: str, names: dict[int, str], found: str) -> list[str]:
        """Takes one element, ``e``, into an accumulator."""
        if not self.element_wise:
            return [f"fz_merge({acc}, {found}, {BLOCK}.zero);"]
        given = "".join(f"{names[a.j]}, " for a in self.accumulators)
        return ["FzRun one = fz_start();", f"fz_take(one, {given}int(e));", f"fz_gather({acc}, one, {BLOCK}.zero);"]

    # ---- by groups ----------------------------------------------------------------------------------------------

    def tiles(self) -> list[str]:
        """The threads of a group go along a chunk together, tile by tile, each with a few neighbouring elements.

        A thread combines its own elements, learns what those before it come to, and passes its own again from there. Where only
        the whole of a chunk is wanted, it need not.
        """
        index, shape = self.variant.index, self.variant.shape
        tile = [
            f"{index} fz_own = fz_e + {index}(fz_lane * {shape.unroll});",
            *self.room(),
            "FzAcc fz_mine = fz_none();",
            *self.for_own([*self.filled(), *self.joined("fz_mine", self.names(), "kept[u]")]),
            *self.summed(),
            *(self.from_before() if self.variant.scans else []),
            "FzAcc whole;",
            *self.heard(str(shape.threads - 1), "whole"),
            "GroupMemoryBarrierWithGroupSync();",
            f"fz_merge(fz_acc, whole, {BLOCK}.zero);",
        ]
        loop = [f"for (; fz_e < fz_last; fz_e += {shape.tile})", *block(tile)]
        end = [] if self.variant.scans else ["if (fz_lane != 0)", "    return;", *self.finish("fz_acc", "fz_out")]
        return [*self.grouped(), *self.carried(), *loop, *end]

    def for_own(self, lines: list[str]) -> list[str]:
        """Lines for each element of a tile that a thread has, ``u``."""
        index, count = self.variant.index, self.variant.shape.unroll
        head = f"{self.unroll} for (uint u = 0; u < {count}; ++u)"
        return [head, f"    if (fz_own + {index}(u) < fz_last)", *(f"    {line}" for line in block(lines))]

    def room(self) -> list[str]:
        """The elements of a thread, which are computed or loaded once."""
        count = self.variant.shape.unroll
        if not self.element_wise:
            return [f"FzAcc kept[{count}];"]
        return [f"{declare(a.have, f'kept_{a.j}[{count}]')};" for a in self.accumulators]

    def names(self) -> dict[int, str]:
        return {a.j: f"kept_{a.j}[u]" for a in self.accumulators}

    def filled(self) -> list[str]:
        """Loads or computes one element, and keeps it."""
        if not self.element_wise:
            return [*self.partial_at("fz_own", "fz_out", "u"), "kept[u] = found;"]
        return [*self.computed_at("fz_own", "fz_out", "u"), *(f"kept_{a.j}[u] = r_{a.j};" for a in self.accumulators)]

    def summed(self) -> list[str]:
        """Leaves in the group's memory what the elements of each thread and of those before it come to."""
        return [
            *self.told("fz_mine"),
            "GroupMemoryBarrierWithGroupSync();",
            f"for (uint n = 1; n < {self.variant.shape.threads}; n <<= 1)",
            *block(
                [
                    "FzAcc before;",
                    "if (fz_lane >= n)",
                    *block(self.heard("fz_lane - n", "before")),
                    "GroupMemoryBarrierWithGroupSync();",
                    "if (fz_lane >= n)",
                    *block([f"fz_merge(before, fz_mine, {BLOCK}.zero);", "fz_mine = before;", *self.told("fz_mine")]),
                    "GroupMemoryBarrierWithGroupSync();",
                ]
            ),
        ]

    def from_before(self) -> list[str]:
        """Passes the elements of a thread from what all before them come to."""
        before = ["FzAcc before;", *self.heard("fz_lane - 1", "before"), f"fz_merge(so_far, before, {BLOCK}.zero);"]
        at = self.located_at("fz_own", "fz_out", "u") if self.element_wise else self.partial_place("fz_own", "fz_out", "u")
        again = self.for_own([*at, *self.passed("so_far", self.names(), "kept[u]")])
        return ["FzAcc so_far = fz_acc;", "if (fz_lane > 0)", *block(before), *again]

"""The loops of kernels that scan: each thread along its own chunk, or the threads of a group together."""

from __future__ import annotations

from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.operand import BLOCK
from fusepy.backend.emit.tuning import is_light
from fusepy.ir.ops.control import block
from fusepy.ir.types import Kind
from fusepy.ir.value import declare


class ScanLoops:
    """The loops of scans, over the work on one element."""

    def __init__(self, elements: FoldElements):
        self.elements, self.variant, self.chunks, self.shared = elements, elements.variant, elements.chunks, elements.shared
        self.of_elements, self.accumulators = elements.variant.of_elements, elements.accumulators

    def lines(self) -> list[str]:
        """Returns the body of the entry point."""
        return self.tiles() if self.variant.shape.ordered else self.scan()

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
        stored = [f"if ({BLOCK}.totals == 0)", *block(self.elements.followed())]
        return [*before, *self.joined(acc, names, found), *after, *stored]

    def joined(self, acc: str, names: dict[int, str], found: str) -> list[str]:
        """Returns lines that add one element, ``e``, to an accumulator."""
        if not self.of_elements:
            return [f"fz_merge({acc}, {found}, {BLOCK}.zero);"]
        given = "".join(f"{names[a.j]}, " for a in self.accumulators)
        return ["FzRun one = fz_start();", f"fz_take(one, {given}int(e));", f"fz_gather({acc}, one, {BLOCK}.zero);"]

    # ---- by groups ----------------------------------------------------------------------------------------------

    def tiles(self) -> list[str]:
        """Returns the loop of a group along a chunk, tile by tile; each thread has a few neighbouring elements.

        A thread combines its own elements, adds the totals of the waves and of the lanes before it, and scans its own elements
        from there. If only the total of a chunk is needed, it omits this last step.
        """
        index, shape = self.chunks.index, self.variant.shape
        tile = [
            f"{index} fz_own = fz_e + {index}(fz_in * {shape.unroll});",
            *self.room(),
            "FzAcc fz_mine = fz_none();",
            *self.whole_or_cut([*self.filled(), *self.joined("fz_mine", self.names(), "kept[u]")]),
            *self.summed(),
            *self.of_lane("(WaveGetLaneIndex() - 1) & (WaveGetLaneCount() - 1)", "fz_neighbour", "fz_mine"),
            f"if ({BLOCK}.totals == 0)",
            *block(self.from_before()),
            f"fz_merge(fz_acc, whole, {BLOCK}.zero);",
            "fz_e += fz_tile;",
        ]
        # chunks of one group may differ in length, but all threads must reach each barrier
        loop = [f"{index} fz_tile = {index}(fz_lanes * {shape.unroll});", "uint fz_half = 0;"]
        loop += ["uint fz_near = fz_lanes < WaveGetLaneCount() ? fz_lanes : WaveGetLaneCount();"]
        loop += [f"for ({index} fz_gone = 0; fz_gone < {BLOCK}.chunk; fz_gone += fz_tile)", *block(tile)]
        end = [f"if (fz_in != 0 || fz_out >= {BLOCK}.outputs)", "    return;"]
        return [*self.chunks.grouped(), *self.carried(), *loop, *end, *self.total()]

    def whole_or_cut(self, lines: list[str]) -> list[str]:
        """Returns the loop of `for_own`, and one without tests for threads that have all elements: no load waits for a branch.

        A body of many operations gets only the loop of `for_own`, since two loops would double its text.
        """
        index, count = self.chunks.index, self.variant.shape.unroll
        if self.of_elements and not is_light(self.elements.text.region):
            return self.for_own(lines)
        whole = [f"{self.elements.unroll} for (uint u = 0; u < {count}; ++u)", *block(lines)]
        return [f"if (fz_own + {index}({count}) <= fz_last)", *block(whole), "else", *block(self.for_own(lines))]

    def for_own(self, lines: list[str]) -> list[str]:
        """Returns a loop of `lines` over the elements ``u`` of a thread in a tile."""
        index, count = self.chunks.index, self.variant.shape.unroll
        head = f"{self.elements.unroll} for (uint u = 0; u < {count}; ++u)"
        return [head, f"    if (fz_own + {index}(u) < fz_last)", *(f"    {line}" for line in block(lines))]

    def room(self) -> list[str]:
        """Returns declarations of arrays for the elements of a thread, which are computed or loaded once."""
        count = self.variant.shape.unroll
        if not self.of_elements:
            return [f"FzAcc kept[{count}];"]
        return [f"{declare(a.have, f'kept_{a.j}[{count}]')};" for a in self.accumulators]

    def names(self) -> dict[int, str]:
        return {a.j: f"kept_{a.j}[u]" for a in self.accumulators}

    def filled(self) -> list[str]:
        """Returns lines that load or compute one element, and keep it."""
        if not self.of_elements:
            return [*self.elements.partial_at("fz_own", "fz_out", "u"), "kept[u] = found;"]
        return [*self.elements.computed_at("fz_own", "fz_out", "u"), *(f"kept_{a.j}[u] = r_{a.j};" for a in self.accumulators)]

    def summed(self) -> list[str]:
        """Returns lines that set ``fz_mine`` to the total of a thread's elements and those of the threads before it in its wave,
        ``fz_waves`` to that of the waves before it, and ``whole`` to that of all threads of the chunk.

        Waves exchange totals through two halves of the shared memory in turn, so that one barrier a tile is enough.
        """
        index = "(WaveGetLaneIndex() - n) & (WaveGetLaneCount() - 1)"
        wave = [
            *self.of_lane(index, "before", "fz_mine"),
            f"fz_merge(before, fz_mine, {BLOCK}.zero);",
            "if ((fz_in & (fz_near - 1)) >= n)",
            "    fz_mine = before;",
        ]
        add = ["FzAcc other;", *self.shared.read("fz_at_waves + n", "other"), f"fz_merge(whole, other, {BLOCK}.zero);"]
        waves = [
            "uint fz_at_waves = fz_half + (fz_lane - fz_in) / fz_near;",
            "if ((fz_in & (fz_near - 1)) == fz_near - 1)",
            *block(self.shared.publish("fz_mine", "fz_half + fz_lane / fz_near")),
            "GroupMemoryBarrierWithGroupSync();",
            *self.shared.read("fz_at_waves", "whole"),
            "for (uint n = 1; n < fz_lanes / fz_near; ++n)",
            *block(["if (n == fz_in / fz_near)", "    fz_waves = whole;", *add]),
            f"fz_half = {self.variant.shape.threads // 2} - fz_half;",
        ]
        return [
            "for (uint n = 1; n < fz_near; n <<= 1)",
            *block(wave),
            *self.of_lane("WaveGetLaneIndex() | (fz_near - 1)", "whole", "fz_mine"),
            "FzAcc fz_waves = fz_none();",
            "if (fz_lanes > fz_near)",
            *block(waves),
        ]

    def of_lane(self, lane: str, name: str, acc: str) -> list[str]:
        """Returns lines that declare an accumulator and set it to that of a lane of the wave; all lanes must run them."""
        lines = [f"FzAcc {name};"]
        for member, type in self.shared.members:  # SPIR-V passes no matrices
            rows = [f"[{row}]" for row in range(type.shape[0])] if type.kind is Kind.MATRIX else [""]
            lines += [f"{name}.{member}{row} = WaveMaskReadLaneAt(~0u, {acc}.{member}{row}, {lane});" for row in rows]
        return lines

    def from_before(self) -> list[str]:
        """Returns lines that scan the elements of a thread, starting from the total of all elements before."""
        waves = f"fz_merge(so_far, fz_waves, {BLOCK}.zero);"
        lanes = f"fz_merge(so_far, fz_neighbour, {BLOCK}.zero);"
        at = (
            self.chunks.located_at("fz_own", "fz_out", "u")
            if self.of_elements
            else self.elements.partial_place("fz_own", "fz_out", "u")
        )
        again = self.for_own([*at, *self.passed("so_far", self.names(), "kept[u]")])
        first = ["if (fz_in >= fz_near)", f"    {waves}", "if ((fz_in & (fz_near - 1)) != 0)", f"    {lanes}"]
        return ["FzAcc so_far = fz_acc;", *first, *again]

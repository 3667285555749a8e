"""The loops of kernels that scan in tiles: the threads of a group go along a chunk together."""

from __future__ import annotations

from typing import Protocol

from fusepy.backend.emit.fold.accumulators import Accumulator
from fusepy.backend.emit.fold.ahead import Ahead
from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.fold.partials import of_lane
from fusepy.backend.emit.fold.staging import Staging
from fusepy.backend.emit.operand import BARRIER, BLOCK
from fusepy.backend.emit.tuning import is_light
from fusepy.ir.ops.control import block
from fusepy.ir.value import declare

NEAR_CELL = "fz_near_cell + fz_cell(u * fz_lanes)"
NEAR = "u * fz_lanes + fz_in"  # the place in a tile of the element u that a thread loads or stores


class OneByOne(Protocol):
    """The part of `ScanLoops` that adds one element, and that begins and ends a chunk."""

    elements: FoldElements

    def carried(self) -> list[str]: ...

    def total(self) -> list[str]: ...

    def joined(self, acc: str, names: dict[int, str], found: str) -> list[str]: ...

    def passed(self, acc: str, names: dict[int, str], found: str) -> list[str]: ...


class TileLoops:
    """The loops over the tiles of a chunk."""

    def __init__(self, loops: OneByOne):
        elements = self.elements = loops.elements
        self.loops, self.variant, self.chunks, self.shared = loops, elements.variant, elements.chunks, elements.shared
        self.of_elements, self.accumulators = elements.variant.of_elements, elements.accumulators
        self.ahead = Ahead(elements.text)
        self.early = bool(self.ahead.operands) and elements.staging is not None and is_light(elements.text.region)

    def lines(self) -> list[str]:
        """Returns the loop of a group along a chunk, tile by tile; each thread has a few neighbouring elements.

        A thread combines its own elements, adds the totals of the waves and of the lanes before it, and scans its own elements
        from there. If only the total of a chunk is needed, it omits this last step.

        Neighbouring threads read and write neighbouring memory: elements go through shared memory to the threads that combine
        them, and results the same way back. While a tile is combined, the elements of the next one are on their way.
        """
        index, shape, staged = self.chunks.index, self.variant.shape, self.elements.staging
        tile = [
            f"{index} fz_own = fz_e + {index}(fz_in * {shape.unroll});",
            *(self.loaded() if staged else ()),
            *self.combined(),
            *self.summed(),
            *self.of_lane("(WaveGetLaneIndex() - 1) & (WaveGetLaneCount() - 1)", "fz_neighbour", "fz_mine"),
            f"if ({BLOCK}.totals == 0)",
            *block(self.from_before()),
            *(["else", f"    {BARRIER}"] if staged else ()),  # the next tile takes the place of this one
            f"fz_merge(fz_acc, whole, {BLOCK}.zero);",
            "fz_e += fz_tile;",
        ]
        # chunks of one group may differ in length, but all threads must reach each barrier
        loop = [f"{index} fz_tile = {index}(fz_lanes * {shape.unroll});", "uint fz_half = 0;"]
        loop += ["uint fz_near = fz_lanes < WaveGetLaneCount() ? fz_lanes : WaveGetLaneCount();"]
        loop += [f"uint fz_own_cell = {staged.own()};", f"uint fz_near_cell = {staged.near()};"] if staged else []
        loop += self.fetched("fz_e") if self.early else []
        loop += [f"for ({index} fz_gone = 0; fz_gone < {BLOCK}.chunk; fz_gone += fz_tile)", *block(tile)]
        end = [f"if (fz_in != 0 || fz_out >= {BLOCK}.outputs)", "    return;"]
        arrays = self.ahead.arrays(shape.unroll) if staged and self.ahead.operands else []
        return [*self.chunks.grouped(), *self.loops.carried(), *arrays, *loop, *end, *self.loops.total()]

    def whole_or_cut(self, lines: list[str], always: str = "") -> list[str]:
        """Returns the loop of `for_own`, and one without tests for threads that have all elements: no load waits for a branch.

        A body of many operations gets only the loop of `for_own`, since two loops would double its text.
        """
        index, count = self.chunks.index, self.variant.shape.unroll
        cut = self.for_own(lines, always)
        if self.of_elements and self.elements.staging is None and not is_light(self.elements.text.region):
            return cut
        whole = [f"{self.elements.unroll} for (uint u = 0; u < {count}; ++u)", *block([*lines, *([always] if always else ())])]
        return [f"if (fz_own + {index}({count}) <= fz_last)", *block(whole), "else", *block(cut)]

    def for_own(self, lines: list[str], always: str = "") -> list[str]:
        """Returns a loop of `lines` over the elements ``u`` of a thread in a tile; beyond the end there is only `always`."""
        index, count = self.chunks.index, self.variant.shape.unroll
        tested = [f"if (fz_own + {index}(u) < fz_last)", *block(lines), *([always] if always else ())]
        return [f"{self.elements.unroll} for (uint u = 0; u < {count}; ++u)", *block(tested)]

    def combined(self) -> list[str]:
        """Returns lines that combine a thread's elements into ``fz_mine``, and keep what it has combined up to each of them.

        A run of so few elements needs no compensation for rounding errors, as in reductions.
        """
        count = self.variant.shape.unroll
        if not self.of_elements:
            lines = [*self.elements.partial_at("fz_own", "fz_out", "u"), "kept[u] = found;"]
            lines += self.loops.joined("fz_mine", {}, "kept[u]")
            return [f"FzAcc kept[{count}];", "FzAcc fz_mine = fz_none();", *self.whole_or_cut(lines)]
        staged = self.elements.staging
        if staged is not None:
            values = [f"{staged.taken(a)}[fz_own_cell + u]" for a in self.accumulators]
            lines = [self.chunks.numbered("fz_own", "u")]
        else:
            values = [f"r_{a.j}" for a in self.accumulators]
            lines = self.elements.computed_at("fz_own", "fz_out", "u")
        lines.append(f"fz_take(fz_run, {', '.join(values)}, int(e));")
        gather = f"fz_gather(fz_mine, fz_run, {BLOCK}.zero);"
        start = [f"FzRun fz_runs[{count}];", "FzRun fz_run = fz_start();", "FzAcc fz_mine = fz_none();"]
        return [*start, *self.whole_or_cut(lines, "fz_runs[u] = fz_run;"), gather]

    def fetched(self, first: str) -> list[str]:
        """Returns lines with which neighbouring threads load the neighbouring elements of the tile that begins at ``first``."""
        lines = [*self.chunks.located_at(first, "fz_out", NEAR), *self.ahead.load("u")]
        return self.for_near(lines, first)

    def loaded(self) -> list[str]:
        """Returns lines with which neighbouring threads compute neighbouring elements, and put them into shared memory."""
        staged = self.elements.staging
        assert staged is not None
        kept = [f"{staged.taken(a)}[{NEAR_CELL}] = r_{a.j};" for a in self.accumulators]
        lines = self.for_near([*self.elements.computed_at("fz_e", "fz_out", NEAR, self.ahead.held("u")), *kept])
        if not self.ahead.operands:
            return [*lines, BARRIER]
        if not self.early:
            return [*self.fetched("fz_e"), *lines, BARRIER]
        return [*lines, "if (fz_e + fz_tile < fz_last)", *block(self.fetched("(fz_e + fz_tile)")), BARRIER]

    def stored(self, staged: Staging) -> list[str]:
        """Returns lines with which neighbouring threads take neighbouring results out of shared memory, and write them."""
        made = [f"{declare(a.want, f'f{a.j}')} = {staged.made(a)}[{NEAR_CELL}];" for a in self.accumulators]
        lines = [*self.chunks.located_at("fz_e", "fz_out", NEAR), *made, *self.elements.followed()]
        return [BARRIER, *self.for_near(lines)]

    def for_near(self, lines: list[str], first: str = "fz_e") -> list[str]:
        """Returns a loop of `lines` over the elements ``u`` that a thread loads or stores, of the tile that begins at `first`.

        A light body has one loop more, without tests, so that no load waits for a branch.
        """
        count, body = self.variant.shape.unroll, block(lines)
        head = f"{self.elements.unroll} for (uint u = 0; u < {count}; ++u)"
        tested = [head, f"    if ({first} + {self.chunks.index}({NEAR}) < fz_last)", *(f"    {line}" for line in body)]
        if not is_light(self.elements.text.region):
            return tested
        return [f"if ({first} + fz_tile <= fz_last)", *block([head, *body]), "else", *block(tested)]

    def summed(self) -> list[str]:
        """Returns the lines of `in_wave`, and others that set ``fz_waves`` to the total of the waves before that of the thread,
        and ``whole`` to that of all threads of the chunk.

        Waves exchange totals through two halves of the shared memory in turn, so that one barrier a tile is enough.
        """
        add = ["FzAcc other;", *self.shared.read("fz_at_waves + n", "other"), f"fz_merge(whole, other, {BLOCK}.zero);"]
        waves = [
            "uint fz_at_waves = fz_half + (fz_lane - fz_in) / fz_near;",
            "if ((fz_in & (fz_near - 1)) == fz_near - 1)",
            *block(self.shared.publish("fz_mine", "fz_half + fz_lane / fz_near")),
            BARRIER,
            *self.shared.read("fz_at_waves", "whole"),
            "for (uint n = 1; n < fz_lanes / fz_near; ++n)",
            *block(["if (n == fz_in / fz_near)", "    fz_waves = whole;", *add]),
            f"fz_half = {self.variant.shape.threads // 2} - fz_half;",
        ]
        return [
            *self.in_wave(),
            *self.of_lane("WaveGetLaneIndex() | (fz_near - 1)", "whole", "fz_mine"),
            "FzAcc fz_waves = fz_none();",
            "if (fz_lanes > fz_near)",
            *block(waves),
        ]

    def in_wave(self) -> list[str]:
        """Returns lines that set ``fz_mine`` to the total of a thread's elements and those before it of its wave."""
        index = "(WaveGetLaneIndex() - n) & (WaveGetLaneCount() - 1)"
        wave = [
            *self.of_lane(index, "before", "fz_mine"),
            f"fz_merge(before, fz_mine, {BLOCK}.zero);",
            "if ((fz_in & (fz_near - 1)) >= n)",
            "    fz_mine = before;",
        ]
        return ["for (uint n = 1; n < fz_near; n <<= 1)", *block(wave)]

    def of_lane(self, lane: str, name: str, acc: str) -> list[str]:
        """Returns lines that declare an accumulator and set it to that of a lane of the wave; all lanes must run them."""
        return of_lane(self.shared.members, lane, name, acc, self.elements.text.cuda)

    def from_before(self) -> list[str]:
        """Returns lines that scan the elements of a thread, starting from the total of all elements before."""
        waves = f"fz_merge(so_far, fz_waves, {BLOCK}.zero);"
        lanes = f"fz_merge(so_far, fz_neighbour, {BLOCK}.zero);"
        staged = self.elements.staging
        if not self.of_elements:
            again = [*self.elements.partial_place("fz_own", "fz_out", "u"), *self.loops.passed("so_far", {}, "kept[u]")]
        else:
            at = [] if staged is not None else self.chunks.located_at("fz_own", "fz_out", "u")
            again = [*at, *self.passed(staged)]
        first = ["if (fz_in >= fz_near)", f"    {waves}", "if ((fz_in & (fz_near - 1)) != 0)", f"    {lanes}"]
        first += ["FzAcc fz_now = so_far;"] * self.of_elements
        if staged is None:
            return ["FzAcc so_far = fz_acc;", *first, *self.for_own(again)]
        again = [f"{self.elements.unroll} for (uint u = 0; u < {self.variant.shape.unroll}; ++u)", *block(again)]
        return ["FzAcc so_far = fz_acc;", *first, *again, *self.stored(staged)]

    def up_to(self, a: Accumulator) -> str:
        """Returns an expression for the result of a scan up to an element."""
        return a.result("fz_now")

    def passed(self, staged: Staging | None, cell: str = "fz_own_cell + u") -> list[str]:
        """Returns lines that pass on the result up to one element: all elements before the thread's, and its own run so far."""
        before = [f"{declare(a.want, f'f{a.j}')} = {a.result('fz_now')};" for a in self.accumulators if a.fold.exclusive]
        after = [f"{declare(a.want, f'f{a.j}')} = {self.up_to(a)};" for a in self.accumulators if not a.fold.exclusive]
        next = ["fz_now = so_far;", f"fz_gather(fz_now, fz_runs[u], {BLOCK}.zero);"]
        if staged is None:
            return [*before, *next, *after, *self.elements.followed()]
        return [*before, *next, *after, *(f"{staged.made(a)}[{cell}] = f{a.j};" for a in self.accumulators)]

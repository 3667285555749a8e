"""The loops of kernels that scan in tiles: the threads of a group go along a chunk together."""

from __future__ import annotations

from typing import Protocol

from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.fold.staging import Staging
from fusepy.backend.emit.operand import BLOCK
from fusepy.backend.emit.tuning import is_light
from fusepy.ir.ops.control import block
from fusepy.ir.types import Kind
from fusepy.ir.value import declare

BARRIER = "GroupMemoryBarrierWithGroupSync();"
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

    def lines(self) -> list[str]:
        """Returns the loop of a group along a chunk, tile by tile; each thread has a few neighbouring elements.

        A thread combines its own elements, adds the totals of the waves and of the lanes before it, and scans its own elements
        from there. If only the total of a chunk is needed, it omits this last step.

        Neighbouring threads read and write neighbouring memory: elements go through shared memory to the threads that combine
        them, and results the same way back.
        """
        index, shape, staged = self.chunks.index, self.variant.shape, self.elements.staging
        tile = [
            f"{index} fz_own = fz_e + {index}(fz_in * {shape.unroll});",
            *(self.loaded(staged) if staged else ()),
            *self.room(),
            "FzAcc fz_mine = fz_none();",
            *self.whole_or_cut([*self.filled(), *self.loops.joined("fz_mine", self.names(), "kept[u]")]),
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
        loop += [f"for ({index} fz_gone = 0; fz_gone < {BLOCK}.chunk; fz_gone += fz_tile)", *block(tile)]
        end = [f"if (fz_in != 0 || fz_out >= {BLOCK}.outputs)", "    return;"]
        return [*self.chunks.grouped(), *self.loops.carried(), *loop, *end, *self.loops.total()]

    def whole_or_cut(self, lines: list[str]) -> list[str]:
        """Returns the loop of `for_own`, and one without tests for threads that have all elements: no load waits for a branch.

        A body of many operations gets only the loop of `for_own`, since two loops would double its text.
        """
        index, count = self.chunks.index, self.variant.shape.unroll
        if self.of_elements and self.elements.staging is None and not is_light(self.elements.text.region):
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
        staged = self.elements.staging
        if staged is not None:
            taken = [f"kept_{a.j}[u] = {staged.taken(a)}[{staged.own()}];" for a in self.accumulators]
            return [self.chunks.numbered("fz_own", "u"), *taken]
        return [*self.elements.computed_at("fz_own", "fz_out", "u"), *(f"kept_{a.j}[u] = r_{a.j};" for a in self.accumulators)]

    def loaded(self, staged: Staging) -> list[str]:
        """Returns lines with which neighbouring threads compute neighbouring elements, and put them into shared memory."""
        kept = [f"{staged.taken(a)}[{staged.near()}] = r_{a.j};" for a in self.accumulators]
        return [*self.for_near([*self.elements.computed_at("fz_e", "fz_out", NEAR), *kept]), BARRIER]

    def stored(self, staged: Staging) -> list[str]:
        """Returns lines with which neighbouring threads take neighbouring results out of shared memory, and write them."""
        made = [f"{declare(a.want, f'f{a.j}')} = {staged.made(a)}[{staged.near()}];" for a in self.accumulators]
        lines = [*self.chunks.located_at("fz_e", "fz_out", NEAR), *made, *self.elements.followed()]
        return [BARRIER, *self.for_near(lines)]

    def for_near(self, lines: list[str]) -> list[str]:
        """Returns a loop of `lines` over the elements ``u`` of a tile that a thread loads or stores.

        A light body has one loop more, without tests, so that no load waits for a branch.
        """
        count, body = self.variant.shape.unroll, block(lines)
        head = f"{self.elements.unroll} for (uint u = 0; u < {count}; ++u)"
        tested = [head, f"    if (fz_e + {self.chunks.index}({NEAR}) < fz_last)", *(f"    {line}" for line in body)]
        if not is_light(self.elements.text.region):
            return tested
        return ["if (fz_e + fz_tile <= fz_last)", *block([head, *body]), "else", *block(tested)]

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
            BARRIER,
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
        staged = self.elements.staging
        if staged is not None:
            at = [self.chunks.numbered("fz_own", "u")]
        elif self.of_elements:
            at = self.chunks.located_at("fz_own", "fz_out", "u")
        else:
            at = self.elements.partial_place("fz_own", "fz_out", "u")
        again = self.for_own([*at, *self.loops.passed("so_far", self.names(), "kept[u]")])
        first = ["if (fz_in >= fz_near)", f"    {waves}", "if ((fz_in & (fz_near - 1)) != 0)", f"    {lanes}"]
        return ["FzAcc so_far = fz_acc;", *first, *again, *(self.stored(staged) if staged else ())]

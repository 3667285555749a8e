"""The loops of kernels that scan short rows: those of a group lie side by side in memory, and are loaded and stored as they lie.

A thread alone, or a few, scan a row. In rows of 33 four threads have 9 elements each, where a tile would have 16 for each.
"""

from __future__ import annotations

from fusepy.backend.emit.fold.accumulators import Accumulator
from fusepy.backend.emit.fold.scans.tiles import TileLoops
from fusepy.backend.emit.fold.staging import BANKS
from fusepy.backend.emit.operand import BARRIER, BLOCK
from fusepy.ir.ops.control import block
from fusepy.ir.value import declare

TOGETHER = 4  # elements between two questions whether the threads of the group have more


class ShortScanLoops(TileLoops):
    """The loops over the elements of a group's rows: as they lie, and those of each thread."""

    def lines(self) -> list[str]:
        """Returns the body of the entry point. All threads reach all barriers; those beyond the last row have no elements."""
        index, threads, staged = self.chunks.index, self.variant.shape.threads, self.elements.staging
        assert staged is not None
        arrays = self.ahead.arrays(self.variant.shape.unroll)
        near = "fz_lanes" if self.elements.text.cuda else "fz_lanes < WaveGetLaneCount() ? fz_lanes : WaveGetLaneCount()"
        return [
            f"uint fz_lanes = {BLOCK}.lanes;",  # a power of two
            "uint fz_bits = firstbithigh(fz_lanes);",
            "uint fz_in = fz_lane & (fz_lanes - 1);",
            f"uint fz_near = {near};",
            f"uint fz_reduced = uint({BLOCK}.reduced);",
            f"uint fz_count = ({threads} >> fz_bits) * fz_reduced;",
            f"{index} fz_first = {index}(fz_at) * {index}(fz_count);",
            f"{index} fz_rest = {BLOCK}.outputs * {BLOCK}.reduced - fz_first;",
            f"fz_count = fz_rest < {index}(fz_count) ? uint(fz_rest) : fz_count;",
            "int fz_room = int(fz_count) - int(fz_lane);",  # signed, so that compilers add what they know to an address last
            f"int fz_near_cell = int({staged.near()});",
            *arrays,
            *(self.as_they_lie(self.ahead.load("u")) if arrays else ()),
            *self.kept(),
            BARRIER,
            "uint fz_row = (fz_lane >> fz_bits) * fz_reduced;",
            f"uint fz_begin = fz_in * {BLOCK}.share;",
            "uint fz_own = fz_row < fz_count && fz_begin < fz_reduced ? fz_reduced - fz_begin : 0;",
            f"fz_own = fz_own < {BLOCK}.share ? fz_own : {BLOCK}.share;",
            *self.scanned(),
            BARRIER,
            *self.results(),
        ]

    def as_they_lie(self, lines: list[str]) -> list[str]:
        """Returns a loop of `lines` over the elements of the group that a thread loads or stores, at ``fz_p``."""
        return self.loop(self.if_there(lines))

    def if_there(self, lines: list[str]) -> list[str]:
        """Returns `lines` for an element of the group, if there is one at the place of the thread."""
        index, threads = self.chunks.index, self.variant.shape.threads
        place = f"{index} i = fz_first + {index}(fz_lane) + {index}(u) * {threads};"
        return [f"if (int(u) * {threads} < fz_room)", *block([place, *lines])]

    def loop(self, lines: list[str]) -> list[str]:
        """Returns a loop of `lines` over the elements ``u`` of a thread, which ends behind the last one that any thread has."""
        unroll, count = self.elements.unroll, self.variant.shape.unroll
        inner = [f"{unroll} for (uint fz_u = 0; fz_u < {TOGETHER}; ++fz_u)", *block(["uint u = fz_v + fz_u;", *lines])]
        some = [f"if (fz_v < {BLOCK}.share)", *block(inner)]  # a loop that ends early may not be unrolled
        return [f"{unroll} for (uint fz_v = 0; fz_v < {count}; fz_v += {TOGETHER})", *block(some)]

    def kept(self) -> list[str]:
        """Returns a loop that computes elements, puts what is scanned into shared memory, and stores the results of each element.

        Shared memory is read and written without a branch: CUDA's compiler would compute its address in each.
        """
        text, staged = self.elements.text, self.elements.staging
        assert staged is not None
        names = [f"fz_x{a.j}" for a in self.accumulators]
        found = [f"{name} = r_{a.j};" for a, name in zip(self.accumulators, names)]
        one = [*text.element(self.elements.stored_of_each(), self.ahead.held("u")), *found]
        return self.loop(
            [
                *(f"{declare(a.have, name)};" for a, name in zip(self.accumulators, names)),
                *self.if_there(one),
                *(f"{staged.taken(a)}[{self.near_cell}] = {name};" for a, name in zip(self.accumulators, names)),
            ]
        )

    @property
    def near_cell(self) -> str:
        """The cell of the element that a thread loads or stores."""
        threads = self.variant.shape.threads  # a multiple of the banks
        return f"fz_near_cell + int(u) * {threads + threads // BANKS}"

    def scanned(self) -> list[str]:
        """Returns lines that combine a thread's elements, add the total of the threads before it, and pass on each result."""
        staged, count, cuda = self.elements.staging, self.variant.shape.unroll, self.elements.text.cuda
        assert staged is not None
        own = "fz_cell(fz_row + fz_begin + u)"
        names = [f"fz_x{a.j}" for a in self.accumulators]
        take = [
            *(f"{declare(a.have, name)} = {staged.taken(a)}[{own}];" for a, name in zip(self.accumulators, names)),
            *self.taken(f"fz_take({{}}, {', '.join(names)}, int(fz_begin + u));"),
            "fz_runs[u] = fz_run;",
        ]
        waves = ["if (fz_in >= fz_near)", f"    fz_merge(so_far, fz_waves, {BLOCK}.zero);"]
        return [
            f"FzRun fz_runs[{count}];",
            "FzRun fz_run = fz_start();",
            "FzAcc fz_mine = fz_none();",
            *self.loop(take),
            f"fz_gather(fz_mine, fz_run, {BLOCK}.zero);",
            *(self.in_wave() if cuda else ["uint fz_half = 0;", *self.summed()]),
            *self.of_lane("(WaveGetLaneIndex() - 1) & (WaveGetLaneCount() - 1)", "fz_neighbour", "fz_mine"),
            "FzAcc so_far = fz_none();",
            *([] if cuda else waves),  # on CUDA the threads of a row are in one wave
            "if ((fz_in & (fz_near - 1)) != 0)",
            f"    fz_merge(so_far, fz_neighbour, {BLOCK}.zero);",
            *(line for a in self.accumulators for line in a.settled("so_far")),
            "FzAcc fz_now = so_far;",
            *self.loop(self.passed(staged, f"u < fz_own ? {own} : {staged.beyond}")),
        ]

    def up_to(self, a: Accumulator) -> str:
        return a.behind("so_far", "fz_runs[u]", "fz_now")

    def taken(self, take: str) -> list[str]:
        """Returns lines that add an element to the run, if it is the thread's own: a user's function sees no others."""
        if any(a.fold.kind == "call" for a in self.accumulators):
            return ["if (u < fz_own)", f"    {take.format('fz_run')}"]
        return ["FzRun fz_next = fz_run;", take.format("fz_next"), "if (u < fz_own)", "    fz_run = fz_next;"]

    def results(self) -> list[str]:
        """Returns loops that take results out of shared memory, and store them."""
        staged, count = self.elements.staging, self.variant.shape.unroll
        assert staged is not None
        held = [f"{declare(a.want, f'fz_y{a.j}[{count}]')};" for a in self.accumulators]
        read = [f"fz_y{a.j}[u] = {staged.made(a)}[{self.near_cell}];" for a in self.accumulators]
        made = [f"{declare(a.want, f'f{a.j}')} = fz_y{a.j}[u];" for a in self.accumulators]
        return [*held, *self.loop(read), *self.as_they_lie([*made, *self.elements.followed()])]

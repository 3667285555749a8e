"""Regions that fold, to Slang: kernels that combine elements, of the body or accumulators that an earlier kernel left in memory.

The elements of a result are numbered in the order of the dimensions that are folded, and cut into chunks. Either the threads of a
group stride along one chunk and merge what they have in shared memory, or each thread has chunks of its own, where neighbouring
threads work on neighbouring results. There are no atomics, and the order of all additions follows from the sizes alone, so that
the same call gives the same bits every time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from fusepy.backend.device.target import Target
from fusepy.backend.emit.fold.scans import ScanLoops
from fusepy.backend.emit.fold.variant import FoldVariant
from fusepy.backend.emit.operand import BLOCK, Access
from fusepy.backend.emit.options import NO_OPTIONS, Options
from fusepy.backend.emit.region import KernelSource
from fusepy.backend.emit.tuning import GROUPS_PER_ROW
from fusepy.ir.graph import Node
from fusepy.ir.ops.control import block


def emit_fold(
    region: Node,
    variant: FoldVariant,
    target: Target,
    accesses: Mapping[str, Access],
    imports: Mapping[str, Sequence[str]],
    taken: Collection[str] = (),
    options: Options = NO_OPTIONS,
    plain: bool = False,
) -> KernelSource:
    """The kernel of one stage of `region`; see `emit.emit` for the arguments."""
    return FoldKernel(region, variant, target, accesses, imports, taken, options, plain).build()


class FoldKernel(ScanLoops):
    """The kernel of one stage."""

    def kernel(self, entry: str) -> list[str]:
        shape = self.variant.shape
        head = [
            f'#line 1 "{self.name}_kernel"',
            '[shader("compute")]',
            f"[numthreads({shape.threads}, 1, 1)]",
            f"void {entry}(uint3 fz_group : SV_GroupID, uint fz_lane : SV_GroupIndex{self.block()})",
            "{",
            *(self.whole_arrays() if self.element_wise else ()),
            f"    uint fz_at = fz_group.y * {GROUPS_PER_ROW} + fz_group.x;",
        ]
        if self.variant.scans or shape.ordered:
            body = self.tiles() if shape.ordered else self.scan()
        else:
            body = self.by_group() if shape.group else self.by_thread()
        return [*head, *(f"    {line}" for line in body), "}"]

    def by_group(self) -> list[str]:
        """The threads of a group stride along one chunk, or some along each of several, and merge what they have in a tree."""
        shape = self.variant.shape
        first, lane, apart = str(shape.threads // 2), "fz_lane", "n"
        if shape.shared:
            first, lane, apart = "fz_lanes / 2", "fz_in", "n" if shape.inner else "n * fz_beside"
        lines = [*self.grouped(), *(self.folded_rows() if shape.rows else self.folded(lane))]
        lines += [
            *self.told("fz_acc"),
            "GroupMemoryBarrierWithGroupSync();",
            f"for (uint n = {first}; n > 0; n >>= 1)",
            "{",
            f"    if ({lane} < n)",
            "    {",
            "        FzAcc other;",
            *(f"        {line}" for line in self.heard(f"fz_lane + {apart}", "other")),
            f"        fz_merge(fz_acc, other, {BLOCK}.zero);",
            *(f"        {line}" for line in self.told("fz_acc")),
            "    }",
            "    GroupMemoryBarrierWithGroupSync();",
            "}",
            f"if ({lane} != 0{f' || fz_out >= {BLOCK}.outputs' if shape.shared else ''})",
            "    return;",
        ]
        return [*lines, *self.finish("fz_acc", "fz_out")]

    def by_thread(self) -> list[str]:
        """Each thread has chunks of its own, of several results side by side."""
        acc = "fz_acc[w]" if self.variant.shape.columns > 1 else "fz_acc"
        return [*self.placed(), *self.folded(), *self.columns(self.finish(acc, self.result), stores=True)]

    def folded(self, lane: str = "") -> list[str]:
        """A chunk into ``fz_acc``, run by run. Of the elements the threads of a group take turns, each that of its `lane`."""
        index, shape = self.variant.index, self.variant.shape
        at = "[w]" if shape.columns > 1 else ""
        first = f"fz_e + {index}({lane})" if lane else "fz_e"
        lines = self.made("FzAcc", "fz_acc", "fz_none")
        if shape.shared:
            lines.append(f"{index} fz_step = {index}(fz_lanes);")
            step, ahead, length = "fz_step", f"{shape.unroll} * fz_step", f"{shape.run} * fz_step"
        else:
            threads = shape.threads if lane else 1
            step, ahead, length = str(threads), str(shape.unroll * threads), str(shape.run * threads)
        stores = self.element_wise and any(j < self.plain for j in self.stored())
        run = self.made(self.run, "run", self.start)
        together = self.taken_at(first, self.result, f"run{at}", f"u * {'fz_lanes' if shape.shared else step}" if lane else "u")
        together = self.columns([f"{self.unroll} for (uint u = 0; u < {shape.unroll}; ++u)", *together], stores)
        single = self.columns(self.taken_at(first, self.result, f"run{at}"), stores, last=True)
        gather = self.each(self.gather.format(f"fz_acc{at}", f"run{at}"))
        if shape.columns > 1:
            rest = [f"{index} fz_rest = {BLOCK}.elements - (fz_e * {BLOCK}.outputs + fz_out);", *single]
            loop = ["for (; fz_e < fz_last; ++fz_e)", *block(rest)]
            return [*lines, *self.full_runs(run, together, gather), *run, *loop, *gather]
        if shape.unroll == shape.run > 1:
            lines += [f"for (; fz_e + {length} <= fz_last; fz_e += {length})", *block([*run, *together, *gather])]
            return [*lines, *run, f"for (; {first} < fz_last; fz_e += {step})", *single, *gather]
        run = [f"{index} fz_stop = fz_last - fz_e < {length} ? fz_last : fz_e + {length};", *run]
        if shape.unroll > 1:
            run += [f"for (; fz_e + {ahead} <= fz_stop; fz_e += {ahead})", *(f"    {line}" for line in together)]
        run += [f"for (; {first} < fz_stop; fz_e += {step})", *single, *(["fz_e = fz_stop;"] if lane else []), *gather]
        return [*lines, "while (fz_e < fz_last)", *block(run)]

    def full_runs(self, run: Sequence[str], together: Sequence[str], gather: Sequence[str]) -> list[str]:
        """The full runs of rows that have an element for every result. A row that is several may end early."""
        index, shape, whole = self.variant.index, self.variant.shape, f"{BLOCK}.full_rows"
        length = f"(fz_left < {shape.run} ? fz_left / {shape.unroll} * {shape.unroll} : {shape.run})"
        some = ["do", *block([*together, f"fz_e += {shape.unroll};"]), "while (fz_e < fz_stop);"]
        return [
            f"{index} fz_full = fz_last < {whole} ? fz_last : {whole};",
            f"while (fz_e + {shape.unroll} <= fz_full)",
            *block([f"{index} fz_left = fz_full - fz_e;", f"{index} fz_stop = fz_e + {length};", *run, *some, *gather]),
        ]

    def folded_rows(self) -> list[str]:
        """A chunk of whole rows into ``fz_acc``. What only depends on the row is the same for all threads, and computed once."""
        index, extent = self.variant.index, f"{BLOCK}.extent{self.variant.rank - 1}"
        return [
            "FzAcc fz_acc = fz_none();",
            f"{index} fz_end = fz_last / {extent};",
            f"for ({index} fz_row = fz_e / {extent}; fz_row < fz_end; ++fz_row)",
            *block([*self.decoded(self.over[:-1], "fz_row"), *self.folded_row(extent)]),
        ]

    def folded_row(self, extent: str) -> list[str]:
        """The elements of a row: full runs, then the rest.

        Full runs ask for the next at their end: lavapipe goes through the body of a loop once more to find that no lane is left.
        """
        index, shape = self.variant.index, self.variant.shape
        step, length = shape.threads, shape.run * shape.threads
        start, gather = f"{self.run} run = {self.start}();", self.gather.format("fz_acc", "run")
        some = self.taken_at(f"fz_e + {index}(u * {step} + fz_lane)", "fz_out", "run")
        some = [f"{self.unroll} for (uint u = 0; u < {shape.unroll}; ++u)", *some, f"fz_e += {shape.unroll * step};"]
        full = [f"{index} fz_stop = fz_e + {length};", start, "do", *block(some), "while (fz_e < fz_stop);", gather]
        one = self.taken_at(f"fz_e + {index}(fz_lane)", "fz_out", "run")
        return [
            "fz_e = 0;",
            f"if ({length} <= {extent})",
            *block(["do", *block(full), f"while (fz_e + {length} <= {extent});"]),
            start,
            f"for (; fz_e + {index}(fz_lane) < {extent}; fz_e += {step})",
            *one,
            gather,
        ]

    def made(self, type: str, name: str, start: str) -> list[str]:
        """A variable for each result that a thread works on."""
        columns = self.variant.shape.columns
        if columns == 1:
            return [f"{type} {name} = {start}();"]
        return [f"{type} {name}[{columns}];", *self.each(f"{name}[w] = {start}();")]

    @property
    def result(self) -> str:
        """The result that a thread works on, or the one in column ``w``."""
        shape, index = self.variant.shape, self.variant.index
        return f"(fz_out + {index}(w * {shape.threads}))" if shape.columns > 1 else "fz_out"

    def each(self, line: str) -> list[str]:
        """A line for each result that a thread works on, ``w``."""
        columns = self.variant.shape.columns
        return [line] if columns == 1 else [f"{self.unroll} for (uint w = 0; w < {columns}; ++w)", f"    {line}"]

    def columns(self, lines: Sequence[str], stores: bool, last: bool = False) -> list[str]:
        """Lines for each result that a thread works on, ``w``; where they store, only for those of this group.

        In the `last` of several rows that count as one there may be elements for some results only.
        """
        columns = self.variant.shape.columns
        if columns == 1:
            return list(lines)
        asked = [f"uint{self.result} >= fz_first"] if stores else []
        asked += [f"{self.variant.index}(w * {self.variant.shape.threads}) < fz_rest"] if last else []
        own = [f"    if ({' && '.join(asked)})"] if asked else []
        return [f"{self.unroll} for (uint w = 0; w < {columns}; ++w)", *own, *(f"    {line}" for line in block(lines))]

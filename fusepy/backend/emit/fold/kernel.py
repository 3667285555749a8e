"""Code generation for regions that fold: kernels that combine elements of the body, or accumulators of an earlier kernel.

The elements of a result are numbered in the order of the folded dimensions, and cut into chunks. Either the threads of a group
stride along one chunk and merge their accumulators in shared memory, or each thread has its own chunks, and neighbouring threads
work on neighbouring results. There are no atomic adds. The sizes, and the words of narrow elements, determine the order of all
additions, so that the same call gives the same bits every time.
"""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.emit.fold.elements import FoldElements, functions_of
from fusepy.backend.emit.fold.operands import accumulators_of, calls_of, epilogue_operands
from fusepy.backend.emit.fold.partials import merged_by_tree, merged_by_waves, merged_chunks
from fusepy.backend.emit.fold.scans.loops import ScanLoops
from fusepy.backend.emit.fold.short import ShortLoops
from fusepy.backend.emit.fold.sorting.blocks import sort_loops
from fusepy.backend.emit.fold.tile_loops import tiles_of
from fusepy.backend.emit.fold.variant import FoldVariant
from fusepy.backend.emit.intrinsics import unhidden
from fusepy.backend.emit.operand import BLOCK, Field
from fusepy.backend.emit.operands import region_operands
from fusepy.backend.emit.text import Emission, KernelSource, KernelText
from fusepy.backend.emit.tuning import GROUPS_PER_ROW, Shape
from fusepy.backend.slang.stage import THREAD_INDEX
from fusepy.ir.graph import Node
from fusepy.ir.ops.control import block


def emit_fold(region: Node, variant: FoldVariant, given: Emission) -> KernelSource:
    """Returns the kernel of one stage of `region`."""
    accumulators = accumulators_of(region, given.cuda)
    operands = region_operands(region, given.cuda, given.plain)
    then = epilogue_operands(region, operands, given.cuda, given.plain)
    text = KernelText(region, variant, given, operands, then, calls_of(region, accumulators))
    stages = [FoldElements(text, stage, accumulators) for stage in variant.stages]
    lines, functions, fields = stage_lines(stages[0]), list[str](), stages[0].fields()
    if variant.shape.tile is not None:
        functions = unhidden(tiles_of(stages[0]).functions(), given.taken, text.shims)
    for number, stage in enumerate(stages[1:], 1):
        fields += [f for f in stage.fields() if f not in fields]
        lines = [f"if ({BLOCK}.stage == {number})", *block(stage_lines(stage)), "else", *block(lines)]
    if variant.others or variant.reads == "either":
        fields = [*sorted(fields, key=lambda f: not f.type.endswith("*")), Field("uint", "stage", "stage")]
    lines = [f"uint fz_at = fz_group.y * {GROUPS_PER_ROW} + fz_group.x;", *lines]
    threads, shape = stages[0].chunks.threads, Shape(variant.shape.threads, 1, False)
    functions += functions_of(stages)
    return text.source(functions, lines, threads, THREAD_INDEX, fields, shape, variant.shape.resident)


def stage_lines(elements: FoldElements) -> list[str]:
    """Returns the statements of one stage."""
    variant, before = elements.variant, elements.text.before() if elements.variant.of_elements else ()
    loops = sort_loops if variant.sorts else ScanLoops if variant.scans else ShortLoops if variant.shape.short else FoldLoops
    return [*before, *(tiles_of if variant.shape.tile is not None else loops)(elements).lines()]


class FoldLoops:
    """The loops of folds, over the work on one element and one result."""

    def __init__(self, elements: FoldElements):
        self.elements, self.variant, self.shape = elements, elements.variant, elements.variant.shape
        self.chunks, self.shared, self.index = elements.chunks, elements.shared, elements.chunks.index

    def lines(self) -> list[str]:
        """Returns the body of the entry point."""
        return self.by_group() if self.shape.group else self.by_thread()

    def by_group(self) -> list[str]:
        """Returns the loops of a group whose threads share one chunk, or several, and merge their accumulators."""
        shape = self.shape
        lane = "fz_in" if shape.shared else "fz_lane"
        # on Vulkan, NVIDIA's driver (580) has lanes read each other before all of them have left the loop above
        waves = shape.shared and shape.inner and self.elements.text.cuda
        merged = (merged_by_waves if waves else merged_by_tree)(self.shared, shape)
        chunks = merged_chunks(self.elements.after, shape.threads, self.index, merged) if shape.waits else []
        lines = [*self.chunks.grouped(), *self.folded(lane), *merged, *chunks]
        lines += [f"if ({lane} != 0{f' || fz_out >= {BLOCK}.outputs' if shape.shared else ''})", "    return;"]
        return [*lines, *self.elements.finish("fz_acc", "fz_out")]

    def by_thread(self) -> list[str]:
        """Returns the loops of threads with their own chunks, of several results side by side."""
        acc = "fz_acc[w]" if self.shape.columns > 1 else "fz_acc"
        return self.chunks.placed([*self.folded(), *self.columns(self.elements.finish(acc, self.result), stores=True)])

    def folded(self, lane: str = "") -> list[str]:
        """Returns loops that fold a chunk into ``fz_acc``. With `lane`, the elements of threads are interleaved."""
        lines = self.made("FzAcc", "fz_acc", "fz_none")
        if self.shape.shared:
            lines.append(f"{self.index} fz_step = {self.index}(fz_lanes);")
        runs = self.folded_rows() if self.shape.rows else self.runs(lane)
        if self.variant.reads == "elements":
            return [*lines, *runs]
        first = f"fz_e + {self.index}({lane})" if lane else "fz_e"
        step = "fz_step" if self.shape.shared else str(self.shape.threads if lane else 1)
        merged = [*self.elements.partial_at(first, "fz_out"), f"fz_merge(fz_acc, found, {BLOCK}.zero);"]
        partials = [f"for (; {first} < fz_last; fz_e += {step})", *block(merged)]
        if self.variant.reads == "partials":
            return [*lines, *partials]
        if not lane:  # of an `if` lavapipe executes both sides; a loop over nothing is left at once
            ends = f"{self.index} fz_ends = {BLOCK}.stage == 1 ? fz_last : fz_e;"
            return [*lines, ends, "for (; fz_e < fz_ends; ++fz_e)", *block(merged), *runs]
        return [*lines, f"if ({BLOCK}.stage == 1)", *block(partials), "else", *block(runs)]

    def runs(self, lane: str) -> list[str]:
        """Returns loops that add elements to ``fz_acc``, run by run."""
        index, shape = self.index, self.shape
        at = "[w]" if shape.columns > 1 else ""
        first, lines = f"fz_e + {index}({lane})" if lane else "fz_e", list[str]()
        if shape.shared:
            step, ahead = "fz_step", f"{shape.unroll} * fz_step"
            length = "fz_length" if self.chunks.spread else f"{shape.run} * fz_step"
        else:
            threads = shape.threads if lane else 1
            step, ahead, length = str(threads), str(shape.unroll * threads), str(shape.run * threads)
        stores = self.variant.of_elements and bool(self.elements.stored_of_each())
        run = self.made(self.elements.run, "run", self.elements.start)
        together = self.elements.taken_at(
            first, self.result, f"run{at}", f"u * {'fz_lanes' if shape.shared else step}" if lane else "u"
        )
        together = self.columns([f"{self.elements.unroll} for (uint u = 0; u < {shape.unroll}; ++u)", *together], stores)
        single = self.columns(self.elements.taken_at(first, self.result, f"run{at}"), stores, last=True)
        gather = self.each(self.elements.gather.format(f"fz_acc{at}", f"run{at}"))
        if shape.columns > 1:
            rest = [f"{index} fz_rest = {BLOCK}.elements - (fz_e * {BLOCK}.outputs + fz_out);", *single]
            loop = ["for (; fz_e < fz_last; ++fz_e)", *block(rest)]
            return [*lines, *self.full_runs(run, together, gather), *run, *loop, *gather]
        if shape.unroll == shape.run > 1 and not self.chunks.spread:
            lines += [f"for (; fz_e + {length} <= fz_last; fz_e += {length})", *block([*run, *together, *gather])]
            return [*lines, *run, f"for (; {first} < fz_last; fz_e += {step})", *single, *gather]
        # a sum with the gap could exceed the largest index
        next = "fz_e = fz_last - fz_stop > fz_gap ? fz_stop + fz_gap : fz_last;" if self.chunks.spread else "fz_e = fz_stop;"
        run = [f"{index} fz_stop = fz_last - fz_e < {length} ? fz_last : fz_e + {length};", *run]
        if shape.unroll > 1:
            run += [f"for (; fz_e + {ahead} <= fz_stop; fz_e += {ahead})", *(f"    {line}" for line in together)]
        run += [f"for (; {first} < fz_stop; fz_e += {step})", *single, *([next] if lane else []), *gather]
        return [*lines, "while (fz_e < fz_last)", *block(run)]

    def full_runs(self, run: Sequence[str], together: Sequence[str], gather: Sequence[str]) -> list[str]:
        """Returns the loop over full runs of complete rows. If several rows count as one, the last such row may be incomplete."""
        index, shape, whole = self.index, self.shape, f"{BLOCK}.full_rows"
        length = f"(fz_left < {shape.run} ? fz_left / {shape.unroll} * {shape.unroll} : {shape.run})"
        some = ["do", *block([*together, f"fz_e += {shape.unroll};"]), "while (fz_e < fz_stop);"]
        return [
            f"{index} fz_full = fz_last < {whole} ? fz_last : {whole};",
            f"while (fz_e + {shape.unroll} <= fz_full)",
            *block([f"{index} fz_left = fz_full - fz_e;", f"{index} fz_stop = fz_e + {length};", *run, *some, *gather]),
        ]

    def folded_rows(self) -> list[str]:
        """Returns loops that fold a chunk of whole rows into ``fz_acc``. Values that depend on the row only are computed once."""
        index, extent = self.index, f"{BLOCK}.extent{self.variant.rank - 1}"
        return [
            f"{index} fz_end = fz_last / {extent};",
            f"for ({index} fz_row = fz_e / {extent}; fz_row < fz_end; ++fz_row)",
            *block([*self.chunks.decoded(self.chunks.over[:-1], "fz_row"), *self.folded_row(extent)]),
        ]

    def folded_row(self, extent: str) -> list[str]:
        """Returns the loops over a row: full runs, then the rest.

        Full runs test at their end: lavapipe would run the body of the loop once more to find that no lane is active.
        """
        index, shape = self.index, self.shape
        step, length = shape.threads, shape.run * shape.threads
        start, gather = f"{self.elements.run} run = {self.elements.start}();", self.elements.gather.format("fz_acc", "run")
        some = self.elements.taken_at(f"fz_e + {index}(u * {step} + fz_lane)", "fz_out", "run")
        some = [f"{self.elements.unroll} for (uint u = 0; u < {shape.unroll}; ++u)", *some, f"fz_e += {shape.unroll * step};"]
        full = [f"{index} fz_stop = fz_e + {length};", start, "do", *block(some), "while (fz_e < fz_stop);", gather]
        one = self.elements.taken_at(f"fz_e + {index}(fz_lane)", "fz_out", "run")
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
        """Returns the declaration of a variable for each result of a thread."""
        columns = self.shape.columns
        if columns == 1:
            return [f"{type} {name} = {start}();"]
        return [f"{type} {name}[{columns}];", *self.each(f"{name}[w] = {start}();")]

    @property
    def result(self) -> str:
        """The result of a thread, or the one in column ``w``."""
        shape, index = self.shape, self.index
        return f"(fz_out + {index}(w * {shape.threads}))" if shape.columns > 1 else "fz_out"

    def each(self, line: str) -> list[str]:
        """Returns a loop of one line over the results ``w`` of a thread."""
        columns = self.shape.columns
        return [line] if columns == 1 else [f"{self.elements.unroll} for (uint w = 0; w < {columns}; ++w)", f"    {line}"]

    def columns(self, lines: Sequence[str], stores: bool, last: bool = False) -> list[str]:
        """Returns a loop of `lines` over the results ``w`` of a thread; if they store, only for the results of this group.

        In the `last` of several rows that count as one, only some results may have elements.
        """
        columns = self.shape.columns
        if columns == 1:
            return list(lines)
        asked = [f"uint{self.result} >= fz_first"] if stores else []
        asked += [f"{self.index}(w * {self.shape.threads}) < fz_rest"] if last else []
        own = [f"    if ({' && '.join(asked)})"] if asked else []
        return [f"{self.elements.unroll} for (uint w = 0; w < {columns}; ++w)", *own, *(f"    {line}" for line in block(lines))]

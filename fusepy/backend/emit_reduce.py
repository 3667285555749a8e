"""Regions that fold, to Slang: kernels that combine elements, of the body or accumulators that an earlier kernel left in memory.

The elements of a result are numbered in the order of the dimensions that are folded, and cut into chunks. Either the threads of a
group stride along one chunk and merge what they have in shared memory, or each thread has chunks of its own, where neighbouring
threads work on neighbouring results. There are no atomics, and the order of all additions follows from the sizes alone, so that
the same call gives the same bits every time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from fusepy.backend.emit import KernelSource, Target
from fusepy.backend.fold_elements import FoldElements
from fusepy.backend.fold_variant import FoldVariant
from fusepy.backend.marshals.base import BLOCK, Access
from fusepy.backend.options import NO_OPTIONS, Options
from fusepy.backend.tuning import GROUPS_PER_ROW
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
) -> KernelSource:
    """The kernel of one stage of `region`; see `emit.emit` for the arguments."""
    return FoldKernel(region, variant, target, accesses, imports, taken, options).build()


class FoldKernel(FoldElements):
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
        body = self.scan() if self.variant.scans else self.by_group() if shape.group else self.by_thread()
        return [*head, *(f"    {line}" for line in body), "}"]

    def by_group(self) -> list[str]:
        """The threads of a group stride along one chunk, or some along each of several, and merge what they have in a tree."""
        shape = self.variant.shape
        lanes, lane, apart = shape.threads // shape.beside, "fz_lane", "n"
        if shape.beside > 1:
            lane, apart = "fz_in", "n" if shape.inner else f"n * {shape.beside}"
        lines = [*self.grouped(), *self.folded(lanes, lane)]
        for name, _ in self.members:
            lines.append(f"fz_s_{name}[fz_lane] = fz_acc.{name};")
        lines += [
            "GroupMemoryBarrierWithGroupSync();",
            f"for (uint n = {lanes // 2}; n > 0; n >>= 1)",
            "{",
            f"    if ({lane} < n)",
            "    {",
            "        FzAcc other;",
            *(f"        other.{name} = fz_s_{name}[fz_lane + {apart}];" for name, _ in self.members),
            f"        fz_merge(fz_acc, other, {BLOCK}.zero);",
            *(f"        fz_s_{name}[fz_lane] = fz_acc.{name};" for name, _ in self.members),
            "    }",
            "    GroupMemoryBarrierWithGroupSync();",
            "}",
            f"if ({lane} != 0{f' || fz_out >= {BLOCK}.outputs' if shape.beside > 1 else ''})",
            "    return;",
        ]
        return [*lines, *self.finish("fz_acc", "fz_out")]

    def grouped(self) -> list[str]:
        """Which result and chunk a thread of a group works on. Threads beyond the last result have no elements, but must wait."""
        index, shape, beside = self.variant.index, self.variant.shape, self.variant.shape.beside
        if beside > 1 and not shape.inner:
            return [
                f"uint fz_in = fz_lane / {beside};",
                f"uint fz_across = (uint({BLOCK}.outputs) + {beside - 1}) / {beside};",
                f"{index} fz_chunk = {index}(fz_at / fz_across);",
                f"{index} fz_out = {index}((fz_at % fz_across) * {beside} + fz_lane % {beside});",
                f"if (fz_chunk >= {BLOCK}.chunks)",
                "    return;",
                *self.decoded(self.kept, "fz_out"),
                *self.bounds("fz_chunk"),
                f"if (fz_out >= {BLOCK}.outputs)",
                "    fz_last = fz_e;",
            ]
        number = f"(fz_at * {beside} + fz_lane / {shape.lanes})" if beside > 1 else "fz_at"
        return [
            *([f"uint fz_in = fz_lane % {shape.lanes};"] if beside > 1 else []),
            f"{index} fz_out = {index}({number} / uint({BLOCK}.chunks));",
            f"{index} fz_chunk = {index}({number} % uint({BLOCK}.chunks));",
            *([] if beside > 1 else [f"if (fz_out >= {BLOCK}.outputs)", "    return;"]),
            *self.decoded(self.kept, "fz_out"),
            *self.bounds("fz_chunk"),
            *([f"if (fz_out >= {BLOCK}.outputs)", "    fz_last = fz_e;"] if beside > 1 else []),
        ]

    def by_thread(self) -> list[str]:
        """Each thread has chunks of its own, of several results side by side."""
        acc = "fz_acc[w]" if self.variant.shape.columns > 1 else "fz_acc"
        return [*self.placed(), *self.folded(), *self.columns(self.finish(acc, self.result), stores=True)]

    def scan(self) -> list[str]:
        """Each thread goes along one chunk, from what the chunks before it come to."""
        start = ["FzAcc fz_acc = fz_none();"]
        if self.variant.carried:
            at = f"{self.variant.index} fz_from = {self.place('fz_chunk', 'fz_out', 'chunks')};"
            start = [at, *self.loaded_from("p", "fz_from", "fz_acc")]
        loop = ["for (; fz_e < fz_last; ++fz_e)", "{"]
        if self.element_wise:
            given = "".join(f"r_{a.j}, " for a in self.accumulators)
            before = [f"{a.want} x_{a.j} = {a.result('fz_acc')};" for a in self.accumulators if a.fold.exclusive]
            after = [f"{a.want} x_{a.j} = {a.result('fz_acc')};" for a in self.accumulators if not a.fold.exclusive]
            one = ["FzRun one = fz_start();", f"fz_take(one, {given}int(e));", f"fz_gather(fz_acc, one, {BLOCK}.zero);"]
            stores = [self.store(a.j, f"x_{a.j}") for a in self.accumulators]
            body = [*self.computed_at("fz_e", "fz_out"), *before, *one, *after, *stores]
        else:
            stored = self.stored_into("q", "at", "fz_acc")
            body = [*self.partial_at("fz_e", "fz_out"), *stored, f"fz_merge(fz_acc, found, {BLOCK}.zero);"]
        return [*self.placed(), *start, *loop, *(f"    {line}" for line in body), "}"]

    def placed(self) -> list[str]:
        """Which result and which chunk a thread has; neighbours in a group are neighbours in memory."""
        index, shape = self.variant.index, self.variant.shape
        if shape.inner:
            lines = [
                f"{index} fz_chunk = {index}((fz_at * {shape.threads} + fz_lane) % uint({BLOCK}.chunks));",
                f"{index} fz_out = {index}((fz_at * {shape.threads} + fz_lane) / uint({BLOCK}.chunks));",
                f"if (fz_out >= {BLOCK}.outputs)",
                "    return;",
            ]
        elif shape.narrow:
            chunk = f"{index} fz_chunk = {index}(fz_at * {shape.threads} + fz_lane);"
            return [chunk, f"if (fz_chunk >= {BLOCK}.chunks)", "    return;", *self.bounds("fz_chunk")]
        else:
            across = shape.threads * shape.columns
            past = f" || fz_out >= {BLOCK}.outputs"
            lines = [
                f"uint fz_across = (uint({BLOCK}.outputs) + {across - 1}) / {across};",
                f"{index} fz_chunk = {index}(fz_at / fz_across);",
                *self.first_result(across),
                f"if (fz_chunk >= {BLOCK}.chunks{'' if shape.columns > 1 else past})",
                "    return;",
            ]
        return [*lines, *self.decoded(self.kept, "fz_out"), *self.bounds("fz_chunk")]

    def first_result(self, across: int) -> list[str]:
        """The result that a thread has, or the first of several, in a group for results from ``fz_first``.

        A last group that would reach past the end starts earlier instead, so that no thread has to ask at each element.
        """
        index = self.variant.index
        if self.variant.shape.columns == 1:
            return [f"{index} fz_out = {index}((fz_at % fz_across) * {across} + fz_lane);"]
        return [
            f"uint fz_first = (fz_at % fz_across) * {across};",
            f"{index} fz_out = {index}(min(fz_first, uint({BLOCK}.outputs) - {across}) + fz_lane);",
        ]

    def folded(self, step: int = 1, lane: str = "") -> list[str]:
        """A chunk into ``fz_acc``, run by run. Of every `step` elements a thread takes one: the first, or that of its `lane`."""
        index, shape = self.variant.index, self.variant.shape
        at = "[w]" if shape.columns > 1 else ""
        first = f"fz_e + {index}({lane})" if lane else "fz_e"
        ahead, length = shape.unroll * step, shape.run * step
        stores = self.element_wise and any(j < self.plain for j in self.stored())
        run = self.made(self.run, "run", self.start)
        together = self.taken_at(first, self.result, f"run{at}", f"u * {step}" if step > 1 else "u")
        together = self.columns([f"{self.unroll} for (uint u = 0; u < {shape.unroll}; ++u)", *together], stores)
        single = self.columns(self.taken_at(first, self.result, f"run{at}"), stores)
        single = single if shape.columns == 1 else [f"    {line}" for line in single]
        gather = self.each(self.gather.format(f"fz_acc{at}", f"run{at}"))
        lines = self.made("FzAcc", "fz_acc", "fz_none")
        if shape.unroll == shape.run > 1:
            lines += [f"for (; fz_e + {length} <= fz_last; fz_e += {length})", *block([*run, *together, *gather])]
            return [*lines, *run, f"for (; {first} < fz_last; fz_e += {step})", *single, *gather]
        run = [f"{index} fz_stop = fz_last - fz_e < {length} ? fz_last : fz_e + {length};", *run]
        if shape.unroll > 1:
            run += [f"for (; fz_e + {ahead} <= fz_stop; fz_e += {ahead})", *(f"    {line}" for line in together)]
        run += [f"for (; {first} < fz_stop; fz_e += {step})", *single, *(["fz_e = fz_stop;"] if lane else []), *gather]
        return [*lines, "while (fz_e < fz_last)", *block(run)]

    def made(self, type: str, name: str, start: str) -> list[str]:
        """A variable for each result that a thread works on."""
        columns = self.variant.shape.columns
        if columns == 1:
            return [f"{type} {name} = {start}();"]
        return [f"{type} {name}[{columns}];", *self.each(f"{name}[w] = {start}();")]

    @property
    def unroll(self) -> str:
        """What spells a loop out: lavapipe, since Slang takes ten times as long; other drivers would be free not to."""
        return "[unroll]" if self.software else "[ForceUnroll]"

    @property
    def result(self) -> str:
        """The result that a thread works on, or the one in column ``w``."""
        shape, index = self.variant.shape, self.variant.index
        if shape.narrow:
            return f"{index}(w)"
        return f"(fz_out + {index}(w * {shape.threads}))" if shape.columns > 1 else "fz_out"

    def each(self, line: str) -> list[str]:
        """A line for each result that a thread works on, ``w``."""
        columns = self.variant.shape.columns
        return [line] if columns == 1 else [f"{self.unroll} for (uint w = 0; w < {columns}; ++w)", f"    {line}"]

    def columns(self, lines: Sequence[str], stores: bool) -> list[str]:
        """Lines for each result that a thread works on, ``w``; where they store, only for those of this group."""
        columns = self.variant.shape.columns
        if columns == 1:
            return list(lines)
        own = [f"    if (uint{self.result} >= fz_first)"] if stores and not self.variant.shape.narrow else []
        return [f"{self.unroll} for (uint w = 0; w < {columns}; ++w)", *own, *(f"    {line}" for line in block(lines))]

    def bounds(self, chunk: str) -> list[str]:
        """The elements of a chunk."""
        index = self.variant.index
        return [
            f"{index} fz_e = {chunk} * {BLOCK}.chunk;",
            f"{index} fz_last = {BLOCK}.reduced - fz_e < {BLOCK}.chunk ? {BLOCK}.reduced : fz_e + {BLOCK}.chunk;",
        ]

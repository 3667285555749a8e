"""The work of a kernel that folds on one element, one accumulator in memory, and one result.

`fold.chunks` assigns them to threads; `fold.kernel` and `fold.scans.loops` write the loops over them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from fusepy.backend.emit.fold.accumulators import NOWHERE, Accumulator
from fusepy.backend.emit.fold.chunks import FoldChunks
from fusepy.backend.emit.fold.partials import Partials, SharedMemory, flag_functions
from fusepy.backend.emit.fold.sorting.functions import sort_functions
from fusepy.backend.emit.fold.staging import Staging
from fusepy.backend.emit.fold.structs import accumulator_text
from fusepy.backend.emit.fold.tile import ProductTile
from fusepy.backend.emit.fold.variant import FoldVariant
from fusepy.backend.emit.intrinsics import unhidden
from fusepy.backend.emit.operand import BLOCK, Field
from fusepy.backend.emit.spaces.words import count_of, load_word, of_word, operands_in_words, store_word, word_type
from fusepy.backend.emit.text import KernelText
from fusepy.ir.ops.control import block
from fusepy.ir.value import declare

NOTHING: Mapping[int, str] = MappingProxyType({})


class FoldElements:
    """The elements and results of the kernels of all stages.

    Attributes:
        chunks: the index space.
        before: partials that the kernel reads; `after` are those of its chunks.
        staging: the shared memory for the elements of scans; None if there is none.
        run: the type that gathers a few elements, with the functions `start` and `gather`. Accumulators are merged one by one.
        unroll: the loop attribute. Lavapipe unrolls itself, since Slang takes ten times as long; other drivers might not unroll.
    """

    def __init__(self, text: KernelText, variant: FoldVariant, accumulators: list[Accumulator]):
        self.text, self.variant, self.accumulators = text, variant, accumulators
        self.chunks = FoldChunks(variant, text)
        members = [m for a in accumulators for m in a.members()]
        self.before = Partials("q", "from", members, text.cuda)
        self.after = Partials("p", "into", members, text.cuda)
        self.shared = SharedMemory(members)
        self.staging = Staging.of(accumulators, variant.shape) if variant.scans and variant.of_elements else None
        self.unroll = "[unroll]" if text.software else "[ForceUnroll]" if variant.sorts else text.unroll
        self.run, self.start, gather = ("FzRun", "fz_start", "gather") if variant.of_elements else ("FzAcc", "fz_none", "merge")
        self.gather = f"fz_{gather}({{}}, {{}}, {BLOCK}.zero);"

    def stored(self) -> range:
        """Returns the indices of the results that this kernel writes."""
        text, variant = self.text, self.variant
        first = 0 if variant.of_elements else text.plain
        return range(first, len(text.types) if variant.finishes else text.plain)

    def stored_of_each(self) -> list[int]:
        """Returns the indices of the results that it stores for each element."""
        return [j for j in self.stored() if j < self.text.plain]

    def fields(self) -> list[Field]:
        """Returns the parameters, pointers first."""
        text, variant, stored = self.text, self.variant, self.stored()
        used = [*(text.operands if variant.of_elements else ()), *(text.then if variant.finishes else ())]
        listed = text.listed(used)
        fields = [f for f in listed if f.role == "pointer"] + text.stored(stored)
        fields += [] if variant.reads == "elements" else self.before.fields()
        tile = variant.shape.tile
        between = isinstance(tile, ProductTile) and tile.panels
        kept = variant.scans or variant.writes in ("partials", "either") or variant.shape.waits or between
        fields += self.after.fields() if kept else []
        fields += [self.after.flags] if variant.shape.waits else []
        return [*fields, *self.chunks.fields(), *(f for f in listed if f.role != "pointer"), *text.strides(stored)]

    # ---- one element --------------------------------------------------------------------------------------------

    def taken_at(self, e: str, out: str, run: str, ahead: str = "") -> list[str]:
        """Returns lines that add element `e` of a result, or the element `ahead` of it by so many, to a run."""
        if self.variant.of_elements:
            given = "".join(f"r_{a.j}, " for a in self.accumulators)
            take, count = f"fz_take({run}, {given}int(e));", count_of(self.variant.space)
            return block(self.word_at(count, e, out, ahead, take) if count > 1 else [*self.computed_at(e, out, ahead), take])
        merge = f"fz_merge({run}, found, {BLOCK}.zero);"
        return ["{", *(f"    {line}" for line in (*self.partial_at(e, out, ahead), merge)), "}"]

    def word_at(self, count: int, e: str, out: str, ahead: str, take: str) -> list[str]:
        """Returns lines that load word `e` of `count` neighbours, take each element, and store the words of results."""
        text, index, together = self.text, self.chunks.index, operands_in_words(self.text)
        stored = {j: text.types[j] for j in self.stored_of_each()}
        lines = [
            f"{index} fz_word = {f'{e} + {index}({ahead})' if ahead else e};",
            f"{index} fz_first = ({self.chunks.place('fz_word', out, 'reduced')}) * {count};",
        ]
        for o in together:
            lines.append(f"{word_type(o.have, count)} w_{o.name} = {load_word(f'{BLOCK}.a_{o.name} + fz_first', o.have, count)};")
        one = [
            f"{index} e = fz_word * {count} + {index}(fz_c);",
            f"{index} i = fz_first + {index}(fz_c);",
            *text.element((), {o.name: of_word(f"w_{o.name}[fz_c]", o, count) for o in together}),
            take,
            *(f"fz_r_{j}[fz_c] = r_{j};" for j in stored),
        ]
        lines += [f"{declare(type, f'fz_r_{j}')}[{count}];" for j, type in stored.items()]
        lines += [f"{text.unroll} for (uint fz_c = 0; fz_c < {count}; ++fz_c)", *block(one)]
        for j, type in stored.items():
            lines.append(store_word(f"{BLOCK}.r_{j} + fz_first", type, [f"fz_r_{j}[{c}]" for c in range(count)]))
        return unhidden(lines, text.given.taken, text.shims)

    def computed_at(self, e: str, out: str, ahead: str = "", held: Mapping[str, str] | None = None) -> list[str]:
        """Returns lines that load and compute one element, and store the results of each element.

        Totals of a scan do not store them: a result may lie in the memory of an argument, which the scan reads once more.

        Args:
            held: expressions for operands that are loaded already, by name.
        """
        lines = self.chunks.located_at(e, out, ahead)
        if not self.variant.scans:
            return [*lines, *self.text.element(self.stored_of_each(), held)]
        stored = [self.text.stores[j].write(f"r_{j}") for j in self.stored_of_each()]
        return [*lines, *self.text.element((), held), *([f"if ({BLOCK}.totals == 0)", *block(stored)] if stored else ())]

    def partial_at(self, e: str, out: str, ahead: str = "") -> list[str]:
        """Returns lines that load one accumulator."""
        return [*self.partial_place(e, out, ahead), *self.before.load("at")]

    def partial_place(self, e: str, out: str, ahead: str) -> list[str]:
        """Returns lines that set the index ``at`` of an accumulator."""
        at = f"{self.chunks.index} at = {self.chunks.place('e', out, 'reduced')};"
        return [self.chunks.numbered(e, ahead), at]

    # ---- one result ---------------------------------------------------------------------------------------------

    def finish(self, acc: str, out: str) -> list[str]:
        """Returns lines that store a result's accumulator for the next kernel, or pass it through the epilogue."""
        if not self.variant.finishes:
            return self.kept_as_partial(acc, out)
        if self.variant.writes == "results":
            return self.as_result(acc, out)
        several = f"{BLOCK}.chunks > 1" if self.variant.shape.columns == 1 else f"{BLOCK}.chunks > 1 || {BLOCK}.rows > 1"
        return [f"if ({several})", *block(self.kept_as_partial(acc, out)), "else", *block(self.as_result(acc, out))]

    def kept_as_partial(self, acc: str, out: str) -> list[str]:
        """Returns lines that store a result's accumulator. If several rows count as one, indices are converted to single rows."""
        lines: list[str] = []
        if self.variant.shape.columns > 1:
            for name in (f"{acc}.{p.name}_at" for a in self.accumulators if a.places for p in a.pieces):
                row = f"int(uint{out} / uint({BLOCK}.outputs / {BLOCK}.rows))"
                lines.append(f"{name} = {name} == {NOWHERE} ? {NOWHERE} : {name} * int({BLOCK}.rows) + {row};")
        return [*lines, f"{self.chunks.index} at = {self.chunks.place('fz_chunk', out, 'chunks')};", *self.after.store("at", acc)]

    def as_result(self, acc: str, out: str) -> list[str]:
        """Returns lines that pass a result's accumulator through the epilogue, and store the results."""
        return self.results_of([a.result(acc) for a in self.accumulators], out)

    def results_of(
        self, folded: Sequence[str], out: str, held: Mapping[int, str] = NOTHING, into: Mapping[int, str] = NOTHING
    ) -> list[str]:
        """Returns lines that pass folded values through the epilogue, and store the results.

        Args:
            held: expressions for operands of the epilogue that are loaded already, by position.
            into: variables for the results that are not stored here.
        """
        lines = [f"{self.chunks.index} i = {out};"] if self.variant.linear or self.variant.dense else []
        lines += [f"{declare(a.want, f'f{a.j}')} = {value};" for a, value in zip(self.accumulators, folded)]
        return [*lines, *self.followed(held, into)]

    def followed(self, held: Mapping[int, str] = NOTHING, into: Mapping[int, str] = NOTHING) -> list[str]:
        """Returns lines that pass the folded values ``f…`` through the epilogue, and store the results, as in `results_of`."""
        lines: list[str] = []
        text, small = self.text, range(self.text.plain, len(self.text.types))
        results = {j: f"f{a.j}" for j, a in zip(small, self.accumulators)}
        if len(text.region.bodies) > 1:
            then = [o for o in text.then if not o.is_resource]
            lines += [f"{declare(o.want, f'a_{o.name}')} = {held.get(o.position) or text.load(o)};" for o in then]
            results = {j: f"t_{j}" for j in small}
            lines += [f"{declare(text.types[j], name)};" for j, name in results.items()]
            names = [f"f{a.j}" for a in self.accumulators]
            names += [o.resource if o.is_resource else f"a_{o.name}" for o in text.then]
            lines.append(f"fz_then_{text.name}({', '.join([*names, *results.values()])});")
        return lines + [f"{into[j]} = {name};" if j in into else text.stores[j].write(name) for j, name in results.items()]


def functions_of(stages: Sequence[FoldElements]) -> list[str]:
    """Returns the functions that the stages of a kernel call: the user's program, and functions on accumulators."""
    first, lines = stages[0], list[str]()
    text, accumulators = first.text, first.accumulators
    for a in accumulators:
        if a.fold.kind == "call":
            lines += [*text.program(f"fz_join_{a.j}", a.joined, [f"a{a.j}", f"b{a.j}"]), ""]
    sorts = first.variant.sorts
    functions = sort_functions(accumulators[0], first.variant, text.cuda) if sorts else accumulator_text(accumulators)
    lines += unhidden(functions, text.given.taken, text.shims)
    if any(stage.variant.shape.group for stage in stages) and not sorts:
        lines += [*first.shared.declared(first.variant.shape.threads), ""]
    lines += flag_functions() if first.variant.shape.waits else []
    lines += next((stage.staging.declared() for stage in stages if stage.staging is not None), list[str]())
    if any(stage.variant.of_elements for stage in stages):
        lines += text.trampoline()
    if any(stage.variant.finishes for stage in stages) and len(text.region.bodies) > 1:
        inputs = [*(f"f{a.j}" for a in accumulators), *(f"a_{o.name}" for o in text.then)]
        lines += ["", *text.program(f"fz_then_{text.name}", text.region.bodies[1], inputs)]
    return lines

"""The index space of kernels that fold: the results and chunks of each thread, and the location of elements."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.emit.fold.tile import ProductTile
from fusepy.backend.emit.fold.variant import FoldVariant
from fusepy.backend.emit.operand import BLOCK, Field
from fusepy.backend.emit.spaces.space import decoded, extents, linear_index, reciprocals
from fusepy.backend.emit.text import KernelText
from fusepy.ir.ops.control import block

DIVIDING = ("software",)  # kinds of devices that divide as fast as they multiply numbers of 64 bits


class FoldChunks:
    """The chunks of each result: its elements, numbered in the order of the folded dimensions, are cut into chunks.

    A thread has these variables: its result ``fz_out``, its chunk ``fz_chunk``, and the elements of the chunk, from ``fz_e``
    up to ``fz_last`` (exclusive).

    Attributes:
        coordinates: the kernel computes the coordinates of its elements in the grid.
        quick: it divides by products and shifts, as is faster on GPUs.
        spread: the runs of a result go round its chunks, so that groups are near each other at any time. What several elements
            read, such as the neighbours of a stencil, is then still in the cache.
    """

    def __init__(self, variant: FoldVariant, text: KernelText):
        self.variant, self.shape, self.index = variant, variant.shape, variant.index
        self.over, self.kept, self.software = text.spec.over, text.kept, text.software
        self.threads = (variant.shape.threads, 1, 1)
        self.coordinates = not variant.linear or variant.shape.rows
        self.spread = self.shape.shared and self.shape.inner and not (self.shape.ordered or variant.sorts)
        self._counts = text.any_addressed("index")
        self.quick = text.given.target.kind not in DIVIDING and not (variant.wide or variant.shape.tile)

    def fields(self) -> list[Field]:
        """Returns its numbers in the parameter block."""
        variant, shape, index = self.variant, self.shape, self.index
        fields = [Field(index, role, role) for role in ("outputs", "reduced", "chunks", "chunk", "total")]
        fields += [Field("uint", "lanes", "lanes")] if shape.shared else []
        fields += [Field("uint", "turns", "turns")] if shape.turns else []
        fields += [Field("uint", "share", "share")] if shape.short and shape.ordered else []
        fields += [Field("uint", "totals", "totals")] if variant.scans else []
        if variant.digits:
            fields += [Field(index, "pairs", "pairs"), Field("uint", "shift", "shift")]
        elif variant.sorts and not variant.of_elements:
            fields.append(Field(index, "run", "run"))
        fields += [Field("uint", "last", "last")] if variant.sorts and variant.finishes and not variant.of_elements else []
        fields += (
            [Field(index, role, role) for role in ("rows", "full_rows", "elements")]
            if shape.columns > 1 and not shape.short
            else []
        )
        if shape.tile is not None:
            if isinstance(shape.tile, ProductTile):
                fields.append(Field(index, "rows_of_group", "rows_of_group"))
                fields += [Field("uint", zero, "zero") for zero in shape.tile.waits]
            fields += [Field("uint", n, n) for n in ("across", "down")]
        return [*fields, Field("uint", "zero", "zero"), *self.of_coordinates()]

    def of_coordinates(self) -> list[Field]:
        """Returns the fields of which coordinates are computed."""
        return [*extents(self.variant), *(reciprocals(self.variant) if self.quick else ())] if self.coordinates else []

    # ---- the place of a thread ----------------------------------------------------------------------------------

    def grouped(self) -> list[str]:
        """Returns lines that set the result and chunk of a thread in a group.

        Threads beyond the last result have no elements, but must reach the barriers.
        """
        index, shape = self.index, self.shape
        if not shape.shared:
            return [
                f"{index} fz_out = {index}(fz_at / uint({BLOCK}.chunks));",
                f"{index} fz_chunk = {index}(fz_at % uint({BLOCK}.chunks));",
                f"if (fz_out >= {BLOCK}.outputs)",
                "    return;",
                *self.decoded(self.kept, "fz_out"),
                *self.bounds("fz_chunk"),
            ]
        lines = [f"uint fz_lanes = {BLOCK}.lanes;", f"uint fz_beside = {shape.threads} / fz_lanes;"]
        if shape.inner:
            lines += [
                "uint fz_in = fz_lane % fz_lanes;",
                "uint fz_number = fz_at * fz_beside + fz_lane / fz_lanes;",
                f"{index} fz_out = {index}(fz_number / uint({BLOCK}.chunks));",
                f"{index} fz_chunk = {index}(fz_number % uint({BLOCK}.chunks));",
            ]
        else:
            lines += [
                "uint fz_in = fz_lane / fz_beside;",
                f"uint fz_across = (uint({BLOCK}.outputs) + fz_beside - 1) / fz_beside;",
                f"{index} fz_chunk = {index}(fz_at / fz_across);",
                f"{index} fz_out = {index}((fz_at % fz_across) * fz_beside + fz_lane % fz_beside);",
                f"if (fz_chunk >= {BLOCK}.chunks)",
                "    return;",
            ]
        lines += [*self.decoded(self.kept, "fz_out"), *self.bounds("fz_chunk")]
        return [*lines, f"if (fz_out >= {BLOCK}.outputs)", "    fz_last = fz_e;"]

    def placed(self, lines: Sequence[str]) -> list[str]:
        """Returns lines that set the result and chunk of a thread, then `lines`. Neighbouring threads read adjacent memory."""
        index, shape = self.index, self.shape
        if shape.columns > 1:
            across = shape.threads * shape.columns
            place = [
                f"uint fz_across = (uint({BLOCK}.outputs) + {across - 1}) / {across};",
                f"{index} fz_chunk = {index}(fz_at / fz_across);",
                *self.first_result(across),
                f"if (fz_chunk >= {BLOCK}.chunks)",
                "    return;",
            ]
            return [*place, *self.on_chunk(lines)]
        near, far, count = ("fz_chunk", "fz_out", "chunks") if shape.inner else ("fz_out", "fz_chunk", "outputs")
        at = f"(fz_at * {BLOCK}.turns + fz_turn)" if shape.turns else "fz_at"
        place = [
            f"uint fz_number = {at} * {shape.threads} + fz_lane;",
            f"{index} {near} = {index}(fz_number % uint({BLOCK}.{count}));",
            f"{index} {far} = {index}(fz_number / uint({BLOCK}.{count}));",
        ]
        beyond, lines = f"{far} >= {BLOCK}.{'outputs' if shape.inner else 'chunks'}", self.on_chunk(lines)
        if not shape.turns:
            return [*place, f"if ({beyond})", "    return;", *lines]
        turn = [*place, f"if (!({beyond}))", *block(lines)]
        return ["uint fz_turn = 0;", "do", *block(turn), f"while (++fz_turn < {BLOCK}.turns);"]

    def on_chunk(self, lines: Sequence[str]) -> list[str]:
        """Returns lines that set the coordinates of a result and the bounds of a chunk, then `lines`."""
        return [*self.decoded(self.kept, "fz_out"), *self.bounds("fz_chunk"), *lines]

    def first_result(self, across: int) -> list[str]:
        """Returns lines that set the first result of a thread, in a group for results from ``fz_first``.

        A last group that would exceed the end starts earlier instead, which saves a bounds check per element.
        """
        index = self.index
        return [
            f"uint fz_first = (fz_at % fz_across) * {across};",
            f"{index} fz_out = {index}(min(fz_first, uint({BLOCK}.outputs) - {across}) + fz_lane);",
        ]

    def bounds(self, chunk: str) -> list[str]:
        """Returns lines that set the first and last element of a chunk, and ``fz_gap`` from the end of a run to the next one."""
        index = self.index
        if self.spread:
            return [
                f"{index} fz_length = {self.shape.run} * {index}(fz_lanes);",
                f"{index} fz_e = {chunk} * fz_length;",
                f"{index} fz_last = {BLOCK}.reduced;",
                f"{index} fz_gap = ({BLOCK}.chunks - 1) * fz_length;",
            ]
        return [
            f"{index} fz_e = {chunk} * {BLOCK}.chunk;",
            f"{index} fz_last = {BLOCK}.reduced - fz_e < {BLOCK}.chunk ? {BLOCK}.reduced : fz_e + {BLOCK}.chunk;",
        ]

    # ---- the place of an element --------------------------------------------------------------------------------

    def located_at(self, e: str, out: str, ahead: str = "") -> list[str]:
        """Returns lines that set the number ``e`` of an element, and its coordinates or index."""
        index, last = self.index, self.variant.rank - 1
        if self.shape.rows:  # `e` is a place in the row
            lines = [f"{index} d{last} = {e};", f"{index} e = fz_row * {BLOCK}.extent{last} + d{last};"]
        else:
            lines = [self.numbered(e, ahead), *([] if self.variant.linear else self.decoded(self.over, "e"))]
        if self.variant.linear:
            lines.append(self.indexed(e, out, ahead))
        elif self._counts:
            lines.append(linear_index(self.variant))
        return lines

    def numbered(self, e: str, ahead: str) -> str:
        """Returns the line that sets the number ``e`` of an element of its result."""
        index = self.index
        return f"{index} e = {e} + {index}({ahead});" if ahead else f"{index} e = {e};"

    def indexed(self, e: str, out: str, ahead: str) -> str:
        """Returns the line that sets the index ``i`` of an element.

        On a CPU the compile-time part is added last, in 64 bits, so that it becomes the offset of the load.
        """
        shape = self.shape
        base, known = self.place(e, out, "reduced"), ahead
        if shape.short:
            known = ""
        elif not shape.inner:
            base, known = self.place("e", "fz_out", "reduced"), f"w * {shape.threads}" if shape.columns > 1 else ""
        if not self.software or not known or self._counts:
            return f"{self.index} i = {self.place('e', out, 'reduced')};"
        return f"int64_t i = int64_t({base}) + int64_t({known});"

    def place(self, e: str, out: str, count: str) -> str:
        """Returns the index of element `e` of a result among the elements of all results."""
        return f"{out} * {BLOCK}.{count} + {e}" if self.shape.inner else f"{e} * {BLOCK}.outputs + {out}"

    def decoded(self, dims: Sequence[int], number: str) -> list[str]:
        """Returns lines that compute coordinates from a number in C order, if they are needed."""
        needed = self.coordinates and (self.variant.of_elements or self.variant.finishes)
        return decoded(self.variant, number, dims, self.quick) if needed else []

"""The loops of folds of few elements each that lie far apart, as in short columns: a thread has several results by itself.

Such a fold is elementwise work: memory is busy if enough loads are in flight, and a thread has few of them for one result.
So a thread has several results, and loads a few elements of each before it uses the first. Neighbouring threads have
neighbouring results, so those of one thread lie a group apart.
"""

from __future__ import annotations

from fusepy.backend.emit.fold.ahead import Ahead
from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.operand import BLOCK
from fusepy.ir.ops.control import block


class ShortLoops:
    """The loops of a thread over `columns` results with `unroll` elements of each at a time."""

    def __init__(self, elements: FoldElements):
        self.elements, self.shape, self.chunks = elements, elements.variant.shape, elements.chunks
        self.index = elements.chunks.index
        self.ahead = Ahead(elements.text)

    def lines(self) -> list[str]:
        """Returns the body of the entry point."""
        index, shape, elements = self.index, self.shape, self.elements
        across, columns = shape.threads * shape.columns, shape.columns
        run = [
            f"{elements.run} run[{columns}];",
            *self.each([f"run[w] = {elements.start}();"]),
            f"{index} fz_stop = fz_last - fz_e < {shape.run} ? fz_last : fz_e + {shape.run};",
            f"for (; fz_e < fz_stop; fz_e += {shape.unroll})",
            *block([*self.loaded(), *self.taken()]),
            "fz_e = fz_stop;",
            *self.each([elements.gather.format("fz_acc[w]", "run[w]")]),
        ]
        finish = [*self.chunks.decoded(self.chunks.kept, "fz_out"), *elements.as_result("fz_acc[w]", "fz_out")]
        return [
            f"{index} fz_first = {index}(fz_at) * {index}({across}) + {index}(fz_lane);",
            f"if (fz_first >= {BLOCK}.outputs)",
            "    return;",
            f"FzAcc fz_acc[{columns}];",
            *self.each(["fz_acc[w] = fz_none();"]),
            f"{index} fz_e = 0;",
            f"{index} fz_last = {BLOCK}.reduced;",
            "while (fz_e < fz_last)",
            *block(run),
            *self.each([*self.place(), "if (fz_within)", *block(finish)]),
        ]

    def place(self, loading: bool = False) -> list[str]:
        """Returns lines that set the ``w``-th result of a thread. For loads beyond the last one, that is the last one."""
        at = f"fz_first + {self.index}(w * {self.shape.threads})"
        lines = [f"{self.index} fz_out = {at};", f"bool fz_within = fz_out < {BLOCK}.outputs;"]
        return [*lines, f"fz_out = fz_within ? fz_out : {BLOCK}.outputs - 1;"] if loading else lines

    def each(self, lines: list[str]) -> list[str]:
        """Returns a loop of lines over the results ``w`` of a thread."""
        return [f"{self.elements.unroll} for (uint w = 0; w < {self.shape.columns}; ++w)", *block(lines)]

    def elements_of_each(self, lines: list[str], loading: bool = False) -> list[str]:
        """Returns loops of lines over the elements ``u`` of each result ``w``: of all results first."""
        lines = [*self.chunks.decoded(self.chunks.kept, "fz_out"), *self.chunks.located_at("fz_e", "fz_out", "u"), *lines]
        inside = [*self.place(loading), *(lines if loading else ("if (fz_within)", *block(lines)))]
        index, each = self.index, self.each(inside)
        lines = [f"if (fz_e + {index}(u) < fz_stop)", *(f"    {line}" for line in each)]
        if self.shape.unroll <= 4:
            return [f"{self.elements.unroll} for (uint u = 0; u < {self.shape.unroll}; ++u)", *block(lines)]
        inner = [f"{self.elements.unroll} for (uint v = 0; v < 4; ++v)", *block(["uint u = h * 4 + v;", *lines])]
        return [
            f"{self.elements.unroll} for (uint h = 0; h < {self.shape.unroll // 4}; ++h)",
            *block([f"if (fz_e + {index}(h * 4) < fz_stop)", *block(inner)]),
        ]

    def loaded(self) -> list[str]:
        """Returns lines that load the elements."""
        if not self.ahead.operands:
            return []
        load = self.elements_of_each(self.ahead.load(f"u * {self.shape.columns} + w"), loading=True)
        return [*self.ahead.arrays(self.shape.unroll * self.shape.columns), *load]

    def taken(self) -> list[str]:
        """Returns lines that compute the elements, store the results of each, and add them to runs."""
        held = self.ahead.held(f"u * {self.shape.columns} + w")
        given = "".join(f"r_{a.j}, " for a in self.elements.accumulators)
        taken = f"fz_take(run[w], {given}int(e));"
        return self.elements_of_each([*self.elements.text.element(self.elements.stored_of_each(), held), taken])

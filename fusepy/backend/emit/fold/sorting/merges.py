"""The loops of kernels that merge sorted runs of pairs, two into one; see `fold.sorting.blocks`.

On a GPU a group loads its part of both runs into shared memory, and its threads merge that, so that neighbouring threads read and
write neighbouring memory. A thread of a CPU has a part of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.operand import BARRIER, BLOCK
from fusepy.ir.ops.control import block
from fusepy.ir.value import declare

OF_SHARED = "fz_before(fz_keys[{0}], fz_places[{0}], fz_keys[{1}], fz_places[{1}])"


class MergeLoops:
    """The loops of merges, over pairs in memory."""

    def __init__(self, elements: FoldElements):
        self.elements, self.variant, self.chunks = elements, elements.variant, elements.chunks
        (self.accumulator,) = elements.accumulators
        self.name, self.index = self.accumulator.pieces[0].name, elements.chunks.index

    def lines(self) -> list[str]:
        """Returns the body of the entry point."""
        return self.by_group() if self.variant.shape.group else self.by_thread()

    def by_thread(self) -> list[str]:
        """Returns the statements of a thread that writes some neighbouring elements."""
        take = [
            f"bool fz_right = fz_b < fz_end && (fz_a >= fz_middle || {self._before('b', 'a')});",
            "FzAcc made = a;",
            "if (fz_right)",
            "    made = b;",
            *self.chunks.located_at("fz_e", "fz_out"),
            *self._stored(f"made.{self.name}_at", "made"),
            "fz_a += fz_right ? 0 : 1;",
            "fz_b += fz_right ? 1 : 0;",
            "if (fz_right)",
            *block(["if (fz_b < fz_end)", *block(self._taken("fz_b", "b"))]),
            "else if (fz_a < fz_middle)",
            *block(self._taken("fz_a", "a")),
        ]
        lines = [
            *self._runs(),
            *self._split("fz_e - fz_start"),
            f"{self.index} fz_a = fz_start + low;",
            f"{self.index} fz_b = fz_middle + fz_before_it - low;",
            *self._loaded("fz_a < fz_middle ? fz_a : fz_start", "a"),
            *self._loaded("fz_b < fz_end ? fz_b : fz_start", "b"),
            "for (; fz_e < fz_last; ++fz_e)",
            *block(take),
        ]
        return self.chunks.placed(lines)

    def by_group(self) -> list[str]:
        """Returns the statements of a group. Its first two threads find the parts of both runs for all."""
        index, count = self.index, self.variant.shape.unroll
        near = "u * fz_lanes + fz_in"
        place = f"{near} < fz_left ? fz_a + {index}({near}) : fz_b + {index}({near} - fz_left)"
        load = [
            *self._loaded(place, "pair"),
            f"fz_keys[{near}] = pair.{self.name};",
            f"fz_places[{near}] = uint(pair.{self.name}_at);",
        ]
        made = [f"made.{self.name} = fz_keys[{near}];", f"made.{self.name}_at = int(fz_places[{near}]);"]
        store = [
            *self.chunks.located_at("fz_e", "fz_out", near),
            *self._stored(f"fz_places[{near}]", "made", ["FzAcc made;", *made]),
        ]
        return [
            *self.chunks.grouped(),
            *self._runs(),
            f"if (fz_in < 2 && fz_out < {BLOCK}.outputs)",  # the last row of groups may have more than there are
            *block([*self._split("(fz_in == 0 ? fz_e : fz_last) - fz_start"), "fz_places[fz_in] = uint(low);"]),
            "else if (fz_in < 2)",
            "    fz_places[fz_in] = 0;",
            BARRIER,
            "uint fz_first = fz_places[0];",
            "uint fz_left = fz_places[1] - fz_first;",
            f"{index} fz_a = fz_start + {index}(fz_first);",
            f"{index} fz_b = fz_middle + (fz_e - fz_start) - {index}(fz_first);",
            "uint fz_count = uint(fz_last - fz_e);",
            BARRIER,
            *self._each([f"if ({near} < fz_count)", *block(load)]),
            BARRIER,
            *self._of_shared(count),
            BARRIER,
            *self._each([f"if ({near} < fz_count)", *block(store)]),
        ]

    def _of_shared(self, count: int) -> list[str]:
        """Returns the statements of a thread that merges its neighbouring elements in shared memory."""
        key = self.accumulator.pieces[0].type
        halve = ["uint n = low + (high - low) / 2;", "uint other = fz_left + fz_own - 1 - n;"]
        halve += [f"if ({OF_SHARED.format('other', 'n')})", "    high = n;", "else", "    low = n + 1;"]
        take = [
            f"bool right = b < fz_count && (a >= fz_left || {OF_SHARED.format('b', 'a')});",
            "uint cell = right ? b : a;",
            "keys[u] = fz_keys[cell];",
            "places[u] = fz_places[cell];",
            "a += right ? 0 : 1;",
            "b += right ? 1 : 0;",
        ]
        back = ["fz_keys[fz_own + u] = keys[u];", "fz_places[fz_own + u] = places[u];"]
        inside = "if (fz_own + u < fz_count)"
        return [
            f"uint fz_own = min(fz_in * {count}, fz_count);",
            "uint low = fz_own > fz_count - fz_left ? fz_own - (fz_count - fz_left) : 0;",
            "uint high = min(fz_own, fz_left);",
            "while (low < high)",
            *block(halve),
            "uint a = low;",
            "uint b = fz_left + fz_own - low;",
            f"{declare(key, 'keys')}[{count}];",
            f"uint places[{count}];",
            *self._each([inside, *block(take)]),
            BARRIER,
            *self._each([inside, *block(back)]),
        ]

    def _runs(self) -> list[str]:
        """Returns lines that set where the first run begins, where the second one does, and where that ends."""
        last = f"{self.index} {{0}} = {BLOCK}.reduced - {{1}} < {BLOCK}.run ? {BLOCK}.reduced : {{1}} + {BLOCK}.run;"
        return [
            f"{self.index} fz_start = fz_e - fz_e % {BLOCK}.run;",
            f"fz_start -= fz_start / {BLOCK}.run % 2 * {BLOCK}.run;",
            last.format("fz_middle", "fz_start"),
            last.format("fz_end", "fz_middle"),
        ]

    def _split(self, count: str) -> list[str]:
        """Returns lines that set ``low`` to the elements of the first run among the first `count` of both, by bisection."""
        index = self.index
        halve = [
            f"{index} n = low + (high - low) / 2;",
            *self._loaded("fz_start + n", "left"),
            *self._loaded("fz_middle + fz_before_it - 1 - n", "right"),
            f"if ({self._before('right', 'left')})",
            "    high = n;",
            "else",
            "    low = n + 1;",
        ]
        return [
            f"{index} fz_before_it = {count};",
            f"{index} low = fz_before_it - (fz_end - fz_middle);",
            "low = low < 0 ? 0 : low;",
            f"{index} high = fz_before_it < fz_middle - fz_start ? fz_before_it : fz_middle - fz_start;",
            "while (low < high)",
            *block(halve),
        ]

    def _stored(self, place: str, pair: str, made: Sequence[str] = ()) -> list[str]:
        """Returns lines that pass the index of an element on as a result, or store the pair for the next merge."""
        kept = f"{self.index} at = {self.chunks.place('e', 'fz_out', 'reduced')};"
        result = [f"int f{self.accumulator.j} = int({place});", *self.elements.followed()]
        return [f"if ({BLOCK}.last != 0)", *block(result), "else", *block([kept, *made, *self.elements.after.store("at", pair)])]

    def _each(self, lines: Sequence[str]) -> list[str]:
        return [f"{self.elements.unroll} for (uint u = 0; u < {self.variant.shape.unroll}; ++u)", *block(lines)]

    def _before(self, a: str, b: str) -> str:
        return f"fz_before({a}.{self.name}, uint({a}.{self.name}_at), {b}.{self.name}, uint({b}.{self.name}_at))"

    def _loaded(self, e: str, name: str) -> list[str]:
        """Returns lines that declare a pair and load it."""
        return self.elements.before.load(f"({self.chunks.place(f'({e})', 'fz_out', 'reduced')})", name)

    def _taken(self, e: str, name: str) -> list[str]:
        """Returns lines that load a pair into a variable."""
        return [*self._loaded(e, "next"), f"{name} = next;"]

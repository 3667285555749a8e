"""The loops of kernels that sort long rows by one digit of 8 bits of their keys after the other, the lowest one first.

Rows are cut into chunks. Of each digit, one kernel counts its values in every chunk, one adds up the counts of each value, and
one moves the pairs of a key and an index to their places. The first kernel computes the keys and counts their lowest digit, the
last one passes the indices on as results. Pairs lie row by row, and counts behind them: of each row and value those of all
chunks, then the total. On a CPU a thread goes along a chunk, with counters in memory; see `fold.sorting.tiles` for groups.
"""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.fold.sorting.tuning import VALUES
from fusepy.backend.emit.operand import BLOCK
from fusepy.ir.ops.control import block


class Digits:
    """The pairs and counts of a kernel in memory, as Slang."""

    def __init__(self, elements: FoldElements):
        self.elements, self.variant, self.chunks = elements, elements.variant, elements.chunks
        (self.accumulator,) = elements.accumulators
        piece = self.accumulator.pieces[0]
        self.name, self.key, self.index = piece.name, piece.type, elements.chunks.index
        self.counts = f"{BLOCK}.{'p' if self.variant.of_elements else 'q'}_{self.name}_at"

    def pair(self, e: str) -> str:
        """Returns the index of the pair of element `e` of the thread's row."""
        return f"fz_out * {BLOCK}.reduced + {e}"

    def count(self, value: str, chunk: str = "fz_chunk") -> str:
        """Returns the count of a value of the digit in a chunk of the row; the total is behind those of all chunks."""
        of_value = f"(fz_out * {VALUES} + {self.index}({value})) * ({BLOCK}.chunks + 1)"
        return f"{self.counts}[{BLOCK}.pairs + {of_value} + {chunk}]"

    def digit(self, key: str) -> str:
        """Returns the digit of a key."""
        return f"(uint({key} >> {BLOCK}.shift) & {VALUES - 1})"

    def keyed(self, e: str, ahead: str = "") -> list[str]:
        """Returns lines that set ``key`` to that of an element, computed and stored for later kernels, or of a pair."""
        j, into = self.accumulator.j, f"{BLOCK}.p_{self.name}"
        if not self.variant.of_elements:
            return [f"{self.key} key = {BLOCK}.q_{self.name}[{self.pair(f'{e} + {ahead}' if ahead else e)}];"]
        computed = self.elements.computed_at(e, "fz_out", ahead)
        return [*computed, f"{self.key} key = fz_key_{j}(r_{j});", f"{into}[{self.pair('e')}] = key;"]

    def place(self, e: str, at: str) -> str:
        """Returns the place of pair `e` in the row that is sorted, as a ``uint``; it is at index `at` of the array."""
        return f"{BLOCK}.shift == 0 ? uint({e}) : uint({BLOCK}.q_{self.name}_at[{at}])"

    def moved(self, place: str, to: str) -> list[str]:
        """Returns lines that store the place of a number that is moved to `to`, or pass it on as a result."""
        result = [f"int f{self.accumulator.j} = int({place});", *self.elements.followed()]
        result = [*self.chunks.located_at(self.index + f"({to})", "fz_out"), *result]
        kept = [f"{BLOCK}.p_{self.name}_at[{self.pair(f'{self.index}({to})')}] = int({place});"]
        return [f"if ({BLOCK}.last != 0)", *block(result), "else", *block(kept)]

    def moved_key(self, key: str, to: str) -> list[str]:
        """Returns lines that store the key of a number that is moved to `to`, if it is used once more."""
        return [f"if ({BLOCK}.last == 0)", f"    {BLOCK}.p_{self.name}[{self.pair(f'{self.index}({to})')}] = {key};"]


class DigitLoops:
    """The loops of a CPU's threads, each along a chunk of its own."""

    def __init__(self, elements: FoldElements):
        self.variant, self.chunks, self.digits = elements.variant, elements.chunks, Digits(elements)

    def lines(self) -> list[str]:
        """Returns the body of the entry point."""
        return self.chunks.placed(self.variant.part(self.counted, self.summed, self.sorted)())

    def counted(self) -> list[str]:
        """Returns lines that count the values of a digit."""
        digits = self.digits
        one = [*digits.keyed("fz_e"), f"{digits.count(digits.digit('key'))} += 1;"]
        return [*self.values([f"{digits.count('value')} = 0;"]), "for (; fz_e < fz_last; ++fz_e)", *block(one)]

    def summed(self) -> list[str]:
        """Returns lines that replace the counts of one value by sums of those before them; there, a row has one value."""
        digits = self.digits
        cell = f"{digits.counts}[{BLOCK}.pairs + {digits.pair('n')}]"
        step = [f"int count = {cell};", f"{cell} = sum;", "sum += count;"]
        return ["int sum = 0;", f"for ({digits.index} n = 0; n < {BLOCK}.reduced; ++n)", *block(step)]

    def sorted(self) -> list[str]:
        """Returns lines that move each pair to the next place of its digit's value."""
        digits = self.digits
        start = [f"int total = {digits.count('value', f'{BLOCK}.chunks')};", f"{digits.count('value')} += sum;", "sum += total;"]
        one = [
            *digits.keyed("fz_e"),
            f"uint place = {digits.place('fz_e', digits.pair('fz_e'))};",
            f"{digits.index} cell = {digits.index}({digits.digit('key')});",
            f"int to = {digits.count('cell')};",
            f"{digits.count('cell')} = to + 1;",
            *digits.moved_key("key", "to"),
            *digits.moved("place", "to"),
        ]
        return ["int sum = 0;", *self.values(start), "for (; fz_e < fz_last; ++fz_e)", *block(one)]

    def values(self, lines: Sequence[str]) -> list[str]:
        """Returns a loop of `lines` over the values of a digit."""
        return [f"for (int value = 0; value < {VALUES}; ++value)", *block(lines)]

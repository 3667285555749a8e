"""The loops of groups that sort by a digit: chunks are cut into tiles, which are sorted in shared memory.

Threads that number equal digits together are a wave here, of 32 neighbouring threads; a wave of the device may have more, and if
it has fewer, the whole group waits.
"""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.fold.sorting.digits import Digits
from fusepy.backend.emit.fold.sorting.tuning import COPIES, VALUES, WAVE
from fusepy.backend.emit.operand import BARRIER, BLOCK
from fusepy.ir.ops.control import block
from fusepy.ir.types import UINT
from fusepy.ir.value import declare

AHEAD = 4  # elements of a thread that counts whose loads are in flight together


class DigitTiles:
    """The loops of groups, each along a chunk."""

    def __init__(self, elements: FoldElements):
        self.elements, self.variant, self.chunks, self.digits = elements, elements.variant, elements.chunks, Digits(elements)
        self.index, shape = elements.chunks.index, elements.variant.shape
        self.threads, self.count, self.tile = shape.threads, shape.unroll, shape.threads * shape.unroll
        self.own, self.wide = VALUES // self.threads, self.digits.key is not UINT
        self.counters = VALUES * self.threads // WAVE  # of each wave; the bits of its threads lie before them

    def lines(self) -> list[str]:
        """Returns the body of the entry point."""
        return [*self.chunks.grouped(), *self.variant.part(self.counted, self.summed, self.sorted)()]

    def counted(self) -> list[str]:
        """Returns lines that count the values of a digit."""
        digits, ahead = self.digits, f"{self.index}(u * {self.threads} + fz_lane)"
        cell = f"fz_cells[{digits.digit('key')} * {COPIES} + fz_lane % {COPIES}]"
        one = [f"if (fz_e + {ahead} < fz_last)", *block([*digits.keyed("fz_e", ahead), f"InterlockedAdd({cell}, 1u);"])]
        total = [
            "uint count = 0;",
            f"{self.elements.unroll} for (uint n = 0; n < {COPIES}; ++n)",
            f"    count += fz_cells[value * {COPIES} + n];",
            f"{digits.count('value')} = int(count);",
        ]
        return [
            f"for (uint n = fz_lane; n < {COPIES * VALUES}; n += {self.threads})",
            "    fz_cells[n] = 0;",
            BARRIER,
            f"for (; fz_e < fz_last; fz_e += {AHEAD * self.threads})",
            *block([f"{self.elements.unroll} for (uint u = 0; u < {AHEAD}; ++u)", *block(one)]),
            BARRIER,
            f"for (uint value = fz_lane; value < {VALUES}; value += {self.threads})",
            *block(total),
        ]

    def summed(self) -> list[str]:
        """Returns lines that replace the counts of one value by sums of those before them; there, a row has one value."""
        cell = f"{self.digits.counts}[{BLOCK}.pairs + {self.digits.pair('n')}]"
        own = f"for ({self.index} n = fz_own; n < fz_end; ++n)"
        return [
            f"{self.index} fz_share = ({BLOCK}.reduced + {self.threads - 1}) / {self.threads};",
            f"{self.index} fz_own = {self.index}(fz_lane) * fz_share;",
            f"{self.index} fz_end = fz_own + fz_share < {BLOCK}.reduced ? fz_own + fz_share : {BLOCK}.reduced;",
            "uint sum = 0;",
            own,
            f"    sum += uint({cell});",
            "sum = fz_sum_before(fz_lane, sum);",
            own,
            *block([f"uint count = uint({cell});", f"{cell} = int(sum);", "sum += count;"]),
        ]

    def sorted(self) -> list[str]:
        """Returns lines that move the pairs of a chunk, tile by tile. ``fz_next`` are the next places of a thread's values."""
        digits, own = self.digits, f"fz_lane * {self.own} + i"
        total, next = f"uint({digits.count(own, f'{BLOCK}.chunks')})", f"uint({digits.count(own)})"
        return [
            f"uint fz_next[{self.own}];",
            "uint fz_sum = 0;",
            *self._values([f"fz_next[i] = {total};", "fz_sum += fz_next[i];"]),
            "fz_sum = fz_sum_before(fz_lane, fz_sum);",
            *self._values(["uint total = fz_next[i];", f"fz_next[i] = fz_sum + {next};", "fz_sum += total;"]),
            f"uint fz_wave = fz_lane / {WAVE} * {VALUES};",
            f"uint fz_first = fz_lane / {WAVE} * {WAVE * self.count} + fz_lane % {WAVE};",
            f"uint fz_bit = 1u << (fz_lane % {WAVE});",
            f"for (; fz_e < fz_last; fz_e += {self.tile})",
            *block([*self._ranked(), *self._added(), *self._written()]),
        ]

    def _ranked(self) -> list[str]:
        """Returns lines that load the keys of a tile, and number those of a wave with the same digit in order.

        Cells beyond the end of a row have the largest key, so that they are the last ones of the sorted tile.
        """
        digits = self.digits
        number = [
            f"uint cell = fz_wave + {digits.digit('keys[u]')};",
            "InterlockedOr(fz_cells[cell], fz_bit);",
            "fz_meet();",
            "uint same = fz_cells[cell];",
            f"uint before = fz_cells[cell + {self.counters}];",
            "fz_meet();",
            "if ((same & (fz_bit - 1)) == 0)",
            *block(["fz_cells[cell] = 0;", f"fz_cells[cell + {self.counters}] = before + countbits(same);"]),
            "fz_meet();",
            *self._set("ranks", "before + countbits(same & (fz_bit - 1))", 2),
        ]
        load = [f"keys[u] = ~{digits.key}(0);", f"if ({self.near} < fz_count)"]
        load.append(f"    keys[u] = {BLOCK}.q_{digits.name}[fz_from + {self.index}(u * {WAVE})];")
        return [
            f"uint fz_count = uint(fz_last - fz_e < {self.tile} ? fz_last - fz_e : {self.tile});",
            f"{self.index} fz_from = {digits.pair(f'fz_e + {self.index}(fz_first)')};",
            f"for (uint n = fz_lane; n < {2 * self.counters}; n += {self.threads})",
            "    fz_cells[n] = 0;",
            f"{declare(digits.key, 'keys')}[{self.count}];",
            f"uint ranks[{-(-self.count // 2)}];",
            *self._each(load),
            BARRIER,
            *self._each(number),
            BARRIER,
        ]

    def _added(self) -> list[str]:
        """Returns lines that set ``ranks`` to the places of a thread's pairs in the sorted tile.

        ``fz_starts`` of a value is its first place there, and ``fz_shifts`` what leads from its places there to those in the row.
        """
        wave = [
            f"uint cell = {self.counters} + n * {VALUES} + fz_lane * {self.own} + i;",
            "uint count = fz_cells[cell];",
            "fz_cells[cell] = fz_totals[i];",
            "fz_totals[i] += count;",
        ]
        waves = [f"{self.elements.unroll} for (uint n = 0; n < {self.threads // WAVE}; ++n)", *block(wave)]
        start = [
            f"fz_starts[fz_lane * {self.own} + i] = fz_start;",
            f"fz_shifts[fz_lane * {self.own} + i] = fz_next[i] - fz_start;",
            "fz_next[i] += fz_totals[i];",
            "fz_start += fz_totals[i];",
        ]
        digit, before = f"uint digit = {self.digits.digit('keys[u]')};", f"fz_cells[{self.counters} + fz_wave + digit]"
        return [
            f"uint fz_totals[{self.own}];",
            "uint fz_start = 0;",
            *self._values(["fz_totals[i] = 0;", *waves, "fz_start += fz_totals[i];"]),
            "fz_start = fz_sum_before(fz_lane, fz_start);",
            *self._values(start),
            BARRIER,
            *self._each([digit, f"ranks[u / 2] += (fz_starts[digit] + {before}) << (u % 2 * 16);"]),
            BARRIER,
        ]

    def _written(self) -> list[str]:
        """Returns lines with which neighbouring threads write the neighbours of a sorted tile: all keys, then all places."""
        digits, rank = self.digits, "(ranks[u / 2] >> (u % 2 * 16) & 0xffff)"
        key = f"{digits.key}(fz_cells[n])"
        if self.wide:
            key = f"({key} | {digits.key}(fz_cells[n + {self.tile}]) << 32)"
        keys = [f"fz_cells[{rank} + {self.tile}] = uint(keys[u] >> 32);"] if self.wide else []
        inside = [f"uint n = u * {self.threads} + fz_lane;", "if (n < fz_count)"]
        write = [
            *inside[:1],
            f"{digits.key} key = {key};",
            f"uint digit = {digits.digit('key')};",
            *self._set("values", "digit", 4),
            *(inside[1], *block(digits.moved_key("key", "fz_shifts[digit] + n"))),
        ]
        place = digits.place(f"fz_e + {self.index}({self.near})", f"fz_from + {self.index}(u * {WAVE})")
        to = "fz_shifts[values[u / 4] >> (u % 4 * 8) & 0xff] + n"
        return [
            *self._each([f"fz_cells[{rank}] = uint(keys[u]);", *keys]),
            BARRIER,
            f"uint values[{-(-self.count // 4)}];",
            *self._each(write),
            BARRIER,
            *self._each([f"if ({self.near} < fz_count)", f"    fz_cells[{rank}] = {place};"]),
            BARRIER,
            *self._each([*inside, *block([f"uint to = {to};", *digits.moved("fz_cells[n]", "to")])]),
            BARRIER,
        ]

    @property
    def near(self) -> str:
        """The place in a tile of the key ``u`` of a thread: those of a wave lie side by side."""
        return f"fz_first + u * {WAVE}"

    def _set(self, name: str, value: str, count: int) -> list[str]:
        """Returns lines that set number ``u`` of an array whose words hold `count` small numbers each: registers are few."""
        bits = 32 // count
        word, shifted = f"{name}[u / {count}]", f"({value}) << (u % {count} * {bits})"
        return [f"{word} = u % {count} == 0 ? {value} : {word} | {shifted};"]

    def _each(self, lines: Sequence[str]) -> list[str]:
        """Returns a loop of `lines` over the pairs of a thread in a tile."""
        return [f"{self.elements.unroll} for (uint u = 0; u < {self.count}; ++u)", *block(lines)]

    def _values(self, lines: Sequence[str]) -> list[str]:
        """Returns a loop of `lines` over the values of the digit that a thread has."""
        return [f"{self.elements.unroll} for (uint i = 0; i < {self.own}; ++i)", *block(lines)]

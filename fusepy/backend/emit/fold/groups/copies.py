"""Copies of matrices of halfs from memory into shared memory, for tensor cores, while the threads go on.

Shared memory has three sets of 32 terms of the tile's rows and columns: one is multiplied while the next ones are on their way.
Parts of eight halfs lie where `fusepy_cores.slang` says, so that those which are read at a time are in different banks.
"""

from __future__ import annotations

from fusepy.backend.emit.fold.factors import least
from fusepy.backend.emit.fold.groups.factors import GroupFactor
from fusepy.backend.emit.fold.tile import GroupTile
from fusepy.backend.emit.operand import BLOCK, Operand
from fusepy.backend.emit.text import KernelText

TERMS = 32  # of a set; the places of `fusepy_cores.slang` depend on it
SETS = 3


class CoreFactor(GroupFactor):
    """One matrix: the copies of a thread, and its tiles in shared memory."""

    def __init__(self, text: KernelText, tile: GroupTile, index: str, operand: Operand, right: bool):
        super().__init__(text, tile, index, operand, right)
        self.wide = tile.cores[right]
        self.loads = self.count * TERMS // (self.wide * tile.threads)
        self.idle = False
        self.bytes = self.count * TERMS * 2

    @property
    def shared(self) -> str:
        """The declaration of its tiles in shared memory."""
        return f"groupshared uint4 fz_s{self.name}[{SETS * self.bytes // 16}];"

    def start(self, first: str, last: str) -> list[str]:
        """Returns lines that compute where the copies of a thread begin and end; see `GroupFactor.start`."""
        *lines, _ = super().start(first, last)
        place = self._place("fz_p", "fz_u / 8") if self.by_term else self._place("fz_p / 8", "fz_u")
        near = "fz_u" if self.by_term else "fz_p"
        return [
            *lines,
            f"uint fz_shared_{self.name} = fzcore_address(fz_s{self.name}[0]);",
            f"uint fz_to_{self.name}[{self.loads}];",
            *self._loop([f"fz_to_{self.name}[fz_l] = {place} + {near} % 8 * 2;"]),
        ]

    def _place(self, place: str, term: str) -> str:
        """Returns the place of eight halfs; that of the dimension in which they are neighbours is an eighth."""
        if self.by_term:
            return f"fzcore_by_place({place}, {term})"
        return f"fzcore_by_term({term}, {place}, {self.count * 2})"

    def fetch(self) -> list[str]:
        """Returns lines that copy the terms from ``fz_e`` on to the set ``fz_free``."""
        first = f"fz_at_{self.name}[fz_l]"
        to = f"fz_shared_{self.name} + fz_free * {self.bytes} + fz_to_{self.name}[fz_l]"
        if self.tile.whole:
            on = f"{first} += {TERMS} * fz_step_{self.name};"
            return self._loop([*self._copied(to, first, ""), on], located=False)
        last = f"fz_last - {self.wide if self.by_term else 1}"
        at = f"{first} + {least('fz_k', last)} * fz_step_{self.name}"
        return self._loop([f"{self.index} fz_k = fz_e + {self.index}(fz_u);", *self._copied(to, at, "fz_k < fz_last")])

    def _copied(self, to: str, at: str, inside: str) -> list[str]:
        """Returns lines that copy neighbours, or zeros where the condition `inside` is false."""
        own = f"{BLOCK}.a_{self.operand.name}"
        if self.wide == 1:
            one = f"{own}[{at}]"
            return [f"fzcore_put({to}, {f'{inside} ? {one} : half(0.0)' if inside else one});"]
        count = 2 * self.wide
        return [f"fzcore_copy_{self.wide}({to}, {own} + ({at}), {f'{inside} ? {count} : 0' if inside else count});"]

    def matrices(self, first: str, place_bit: str, term_bit: str) -> str:
        """Returns four matrices of 8 x 8 halfs: of the 16 places from `first` on, and of 16 terms.

        Args:
            place_bit, term_bit: 0 or 1 for each thread: which eight of the 16 places, and of the 16 terms, its address is in.
        """
        start = f"fz_shared_{self.name} + fz_set * {self.bytes}"
        if self.by_term:
            return f"fzcore_rows({start} + {self._place(f'{first} + fz_in % 8 + {place_bit} * 8', f'fz_u * 2 + {term_bit}')})"
        return f"fzcore_turned({start} + {self._place(f'{first} / 8 + {place_bit}', f'fz_u * 16 + fz_in % 8 + {term_bit} * 8')})"

"""Loads of the two arrays of a tile on a GPU: from memory into registers, from there into the shared memory of a group.

A tile of an array has `places`, its rows or columns, and terms of what is folded. In shared memory four neighbouring places of a
term are one ``float4`` for products of matrices, and numbers by themselves for other pairs. Neighbouring threads load what lies
side by side, four numbers at once where memory is aligned. Elements beyond an edge are the last ones again; terms beyond the end
of a sum are 0.
"""

from __future__ import annotations

from fusepy.backend.emit.fold.factors import least
from fusepy.backend.emit.fold.tile import GroupTile
from fusepy.backend.emit.operand import BLOCK, Operand
from fusepy.backend.emit.text import KernelText
from fusepy.ir.ops.control import block

FUNCTIONS = [
    *("float fz_fma(float a, float b, float c)", "{", "    return mad(a, b, c);", "}", ""),
    *("float4 fz_four(float* at)", "{", "    return ((float4*)at)[0];", "}", ""),
    "void fz_store_four(float* at, float a, float b, float c, float d)",
    *("{", "    ((float4*)at)[0] = float4(a, b, c, d);", "}", ""),
]
OF_HALFS = ["float4 fz_four(half* at)", "{", "    return float4(((half4*)at)[0]);", "}", ""]


class GroupFactor:
    """One matrix, or other array: the loads of a thread, and its tile in shared memory.

    Attributes:
        name: ``a`` for the left matrix, ``b`` for the right one.
        place: the dimension of the grid along which only this matrix runs; the tile has `count` places. `other` is that of the
            other matrix, along which this one may be stretched.
        wide: the elements that a thread loads at once, `loads` times.
        by_term: neighbouring threads load neighbouring terms, otherwise neighbouring places.
        idle: some threads load nothing.
    """

    def __init__(self, text: KernelText, tile: GroupTile, index: str, operand: Operand, right: bool):
        self.text, self.tile, self.index, self.operand = text, tile, index, operand
        self.name = "ab"[right]
        self.place, self.count = (tile.column, tile.columns) if right else (tile.row, tile.rows)
        self.other = tile.row if right else tile.column
        along, four = tile.right if right else tile.left, tile.fours[right]
        self.wide = 4 if four else 1
        (self.sum,) = text.spec.over
        self.by_term = along == self.sum
        self.loads = -(-self.count * tile.terms // (self.wide * tile.threads))
        self.idle = tile.threads * self.wide > self.count * tile.terms
        self.type = "float4" if four else str(operand.want)

    @property
    def shared(self) -> str:
        """The declaration of its tiles in shared memory, of which one is loaded while the other is used.

        Threads that store terms of one place side by side would all meet in one bank, but for the place between rows.
        """
        if self.tile.pair:
            turns = 2 if self.tile.runs else 1
            return f"groupshared {self.type} fz_s{self.name}[{turns}][{self.tile.terms}][{self.count + self.by_term}];"
        return f"groupshared float4 fz_s{self.name}[2][{self.tile.terms}][{self.count // 4 + self.by_term}];"

    def _located(self) -> list[str]:
        """Returns lines that set the first place ``fz_p`` and term ``fz_u`` of load ``fz_l`` inside the tile."""
        number = f"uint fz_v = fz_lane + fz_l * {self.tile.threads};"
        near = (self.tile.terms if self.by_term else self.count) // self.wide
        first, second = f"fz_v % {near}{f' * {self.wide}' * (self.wide > 1)}", f"fz_v / {near}"
        p, u = (second, first) if self.by_term else (first, second)
        return [number, f"uint fz_p = {p};", f"uint fz_u = {u};"]

    def _loop(self, lines: list[str], located: bool = True, guarded: bool = True) -> list[str]:
        """Returns a loop of `lines` over the loads of a thread."""
        lines = [*(self._located() if located else ()), *lines]
        if self.idle and guarded:
            lines = [f"if (fz_lane < {self.count * self.tile.terms // self.wide})", *block(lines)]
        return [unrolled("l", self.loads), *block(lines)]

    def start(self, first: str, last: str) -> list[str]:
        """Returns lines that compute where the loads of a thread begin; those beyond the edge are of the last places.

        Args:
            first, last: expressions for the first place of the tile and the number of all places.
        """
        index, d, pointer = self.index, self.place, f"{BLOCK}.a_{self.operand.name}"
        step = f"{index} fz_step_{self.name} = {pointer}_s{self.operand.dims.index(self.sum)};"
        steps = [f"d{e} * {pointer}_s{axis}" for axis, e in enumerate(self.operand.dims) if e not in (self.sum, self.other)]
        if self.tile.whole:
            steps.append(f"(fz_e + {index}(fz_u)) * fz_step_{self.name}")
        edge = 1 if self.by_term else self.wide
        lines = [
            f"{index} d{d} = {first} + {index}(fz_p);",
            f"d{d} = {least(f'd{d}', f'{last} - {edge}')};",
            f"fz_at_{self.name}[fz_l] = {' + '.join([f'{pointer}_b', *steps])};",
        ]
        return [
            step,
            f"{index} fz_at_{self.name}[{self.loads}];",  # no pointers: steps back from one are wrong on NVIDIA's Vulkan
            *self._loop(lines, guarded=False),
            f"{self.type} fz_next_{self.name}[{self.loads}];",
        ]

    def fetch(self) -> list[str]:
        """Returns lines that load the terms from ``fz_e`` on into registers."""
        into, first = f"fz_next_{self.name}[fz_l]", f"fz_at_{self.name}[fz_l]"
        if self.tile.whole:
            on = f"{first} += {self.tile.terms} * fz_step_{self.name};"
            return self._loop([f"{into} = {self._value(first)};", on], located=False)
        last = f"fz_last - {self.wide if self.by_term else 1}"
        at = f"{first} + {least('fz_k', last)} * fz_step_{self.name}"
        return self._loop(
            [
                f"{self.index} fz_k = fz_e + {self.index}(fz_u);",
                f"{self.type} fz_found = {self._value(at)};",
                f"{into} = {'fz_found' if self.tile.pair else f'fz_k < fz_last ? fz_found : {self.type}(0.0)'};",
            ]
        )

    def _value(self, at: str) -> str:
        own = f"{BLOCK}.a_{self.operand.name}"
        if self.wide == 4:
            return f"fz_four({own} + ({at}))"
        place = [f"{own}_b", *(f"d{d} * {own}_s{axis}" for axis, d in enumerate(self.operand.dims))]
        load, known = self.text.load(self.operand), f"{own}[{' + '.join(place)}]"
        assert known in load, load
        return load.replace(known, f"{own}[{at}]")

    def keep(self, turn: str) -> list[str]:
        """Returns lines that store what was loaded in shared memory."""
        into, x = f"fz_s{self.name}[{turn}]", f"fz_next_{self.name}[fz_l]"
        if self.tile.pair:
            return self._loop([f"{into}[fz_u][fz_p] = {x};"])
        if self.wide == 1:
            return self._loop([f"{into}[fz_u][fz_p / 4][fz_p % 4] = {x};"])
        if self.by_term:
            return self._loop([f"{into}[fz_u + {h}][fz_p / 4][fz_p % 4] = {x}.{'xyzw'[h]};" for h in range(4)])
        return self._loop([f"{into}[fz_u][fz_p / 4] = {x};"])


def unrolled(name: str, count: int, step: int = 1) -> str:
    """Returns the head of a loop over ``fz_`` and `name` that Slang unrolls, so that what it indexes stays in registers."""
    return f"[ForceUnroll] for (uint fz_{name} = 0; fz_{name} < {count}; fz_{name} += {step})"

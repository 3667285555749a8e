"""`Variant`: how the kernels of a region find their elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Variant:
    """An indexing scheme: ``linear`` (same-shape contiguous arguments) or by strides over a grid of `rank`; `wide` is 64-bit.

    `tile` is the size of a thread group along the last two or three dimensions, last one first, if the user sets it.
    `space` names one of `region.SPACES`. `dense`: results are contiguous, operands are not. `packed`: whole arrays are.
    `turned` are the positions of the operands that groups read in squares, see `backend.emit.spaces.turned`.
    `near` is a dimension along which the elements of all arrays are neighbours: no stride is multiplied. Those of the operands
    at the positions `flat` are the same along it.
    """

    linear: bool
    rank: int
    wide: bool = False
    tile: tuple[int, ...] = ()
    space: str = ""
    dense: bool = False
    packed: bool = False
    turned: tuple[int, ...] = ()
    near: int | None = None
    flat: tuple[int, ...] = ()

    @property
    def index(self) -> str:
        return "int64_t" if self.wide else "int"

    def offset(self, pointer: str, dims: Sequence[int], position: int = -1) -> str:
        """Returns the place of an element behind a pointer of the parameter block, whose axes run along `dims`.

        Args:
            position: the position of the operand behind it, if it is one.
        """
        if position in self.flat:
            along = [f"d{d} * {pointer}_s{axis}" for axis, d in enumerate(dims) if d != self.near]
            return " + ".join([f"{pointer}_b", *along])
        steps = [f"d{d}" if d == self.near else f"d{d} * {pointer}_s{axis}" for axis, d in enumerate(dims)]
        return " + ".join([f"{pointer}_b", *steps])

    def __str__(self) -> str:
        way = "linear" if self.linear else f"strided{self.rank}"
        way += ("_64" if self.wide else "") + (f" by {self.space}" if self.space else "") + ", whole arrays packed" * self.packed
        way += f", {len(self.turned)} read in squares" if self.turned else ""
        return way + (f", tiles of {'x'.join(map(str, self.tile))}" if self.tile else "")

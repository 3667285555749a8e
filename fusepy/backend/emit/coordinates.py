"""Places in the grid, as Slang: coordinates from a number in C order, and the number from coordinates."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.emit.operand import BLOCK, Variant


def decoded(variant: Variant, number: str, dims: Sequence[int]) -> list[str]:
    """The coordinates along `dims`, slowest first, of a number that counts along these in C order."""
    index, rest, lines = variant.index, number, list[str]()
    for d in reversed(dims[1:]):
        lines += [f"{index} d{d} = {rest} % {BLOCK}.extent{d};", f"{index} rest{d} = {rest} / {BLOCK}.extent{d};"]
        rest = f"rest{d}"
    return [*lines, f"{index} d{dims[0]} = {rest};"] if dims else lines


def linear_index(variant: Variant) -> str:
    """The place of an element in its grid in C order, for what is computed from that."""
    place = "d0"
    for d in range(1, variant.rank):
        place = f"({place} * {BLOCK}.extent{d} + d{d})"
    return f"{variant.index} i = {place};"

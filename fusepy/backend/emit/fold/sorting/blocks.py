"""The loops of groups that sort blocks of elements in shared memory, which kernels of `fold.sorting.merges` merge then.

Each element is a key, an unsigned integer in the order of the numbers, and its index. No two pairs are equal, so equal elements
keep their order whatever the network does.
"""

from __future__ import annotations

from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.fold.sorting.digits import DigitLoops
from fusepy.backend.emit.fold.sorting.merges import MergeLoops
from fusepy.backend.emit.fold.sorting.tiles import DigitTiles
from fusepy.backend.emit.operand import BARRIER, BLOCK
from fusepy.ir.ops.control import block
from fusepy.ir.value import declare

BEYOND = 0xFFFFFFFF  # the index of a cell without an element, which stands behind all others


class SortLoops:
    """The loops of sorts, over the work on one element."""

    def __init__(self, elements: FoldElements):
        self.elements, self.variant, self.chunks = elements, elements.variant, elements.chunks
        (self.accumulator,) = elements.accumulators
        self.name = self.accumulator.pieces[0].name

    def lines(self) -> list[str]:
        """Returns the body of the entry point. Blocks are whole rows if these are short."""
        index, shape = self.chunks.index, self.variant.shape
        at, j = "fz_cell + u * fz_lanes", self.accumulator.j
        none = [f"fz_keys[{at}] = ~{self.accumulator.pieces[0].type}(0);", f"fz_places[{at}] = {BEYOND:#x}u;"]
        key = [f"fz_keys[{at}] = fz_key_{j}(r_{j});", f"fz_places[{at}] = uint(e);"]
        element = self.elements.computed_at("fz_e", "fz_out", "u * fz_lanes + fz_in")
        load = [*none, f"if (fz_e + {index}(u * fz_lanes + fz_in) < fz_last)", *block([*element, *key])]
        final = [f"int f{j} = int(fz_places[{at}]);", *self.elements.followed()]
        kept = [
            f"{index} at = {self.chunks.place('e', 'fz_out', 'reduced')};",
            "FzAcc made;",
            f"made.{self.name} = fz_keys[{at}];",
            f"made.{self.name}_at = int(fz_places[{at}]);",
            *self.elements.after.store("at", "made"),
        ]
        place = self.chunks.located_at("fz_e", "fz_out", "u * fz_lanes + fz_in")
        store = [*place, f"if ({BLOCK}.chunks > 1)", *block(kept), "else", *block(final)]
        each = f"{self.elements.unroll} for (uint u = 0; u < {shape.unroll}; ++u)"
        row = "fz_lane / fz_lanes" if shape.inner else "fz_lane % fz_beside"
        return [
            *self.chunks.grouped(),
            f"uint fz_first_cell = ({row}) * fz_lanes * {shape.unroll};",
            "uint fz_cell = fz_first_cell + fz_in;",
            each,
            *block(load),
            BARRIER,
            f"for (uint size = 2; size <= fz_lanes * {shape.unroll}; size <<= 1)",
            *block(["for (uint apart = size >> 1; apart > 0; apart >>= 1)", *block(self.compared())]),
            each,
            f"    if (fz_e + {index}(u * fz_lanes + fz_in) < fz_last)",
            *(f"    {line}" for line in block(store)),
        ]

    def compared(self) -> list[str]:
        """Returns lines that order all pairs of one step of a bitonic network.

        The first step of a merge compares the elements from both ends, so that all runs ascend.
        """
        pair = [
            "uint n = u * fz_lanes + fz_in;",
            "uint low = (n & ~(apart - 1)) * 2 + (n & (apart - 1));",
            "uint a = fz_first_cell + low;",
            "uint b = fz_first_cell + (apart * 2 == size ? low ^ (size - 1) : low + apart);",
            "if (fz_before(fz_keys[b], fz_places[b], fz_keys[a], fz_places[a]))",
            *block(
                [
                    f"{declare(self.accumulator.pieces[0].type, 'key')} = fz_keys[a];",
                    "uint place = fz_places[a];",
                    "fz_keys[a] = fz_keys[b];",
                    "fz_places[a] = fz_places[b];",
                    "fz_keys[b] = key;",
                    "fz_places[b] = place;",
                ]
            ),
        ]
        half = self.variant.shape.unroll // 2
        return [f"{self.elements.unroll} for (uint u = 0; u < {half}; ++u)", *block(pair), BARRIER]


def sort_loops(elements: FoldElements) -> SortLoops | MergeLoops | DigitLoops | DigitTiles:
    """Returns the loops of a sort: of blocks of elements, of runs, or by a digit."""
    if elements.variant.digits:
        return (DigitTiles if elements.variant.shape.group else DigitLoops)(elements)
    return SortLoops(elements) if elements.variant.of_elements else MergeLoops(elements)

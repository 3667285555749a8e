"""The folds of one stage: each thread combines its elements, then the threads that share a row combine their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fusepy.backend.emit.fold.accumulators import Accumulator
from fusepy.backend.emit.fold.structs import stage_text
from fusepy.backend.emit.operand import BLOCK
from fusepy.backend.emit.row.variant import RowShape
from fusepy.backend.memory.element import Element
from fusepy.ir.graph import Node
from fusepy.ir.ops.control import block
from fusepy.ir.ops.folds import Fold
from fusepy.ir.rows.body import RowStage
from fusepy.ir.value import declare

FEWEST = 4  # threads of a wave, at least


def exchanged_bytes(folds: Sequence[Node]) -> int:
    """Returns the bytes in which a thread passes on what it has combined, for ``row_fold`` nodes; each has memory of its own."""
    members = [t for n in folds for _, t in Accumulator(0, Fold.of_node(n), n.operands[0].type).members()]
    return sum(Element.of(t).nbytes for t in members)


class StageFolds:
    """The folds at the end of a stage. All threads of a row get the same bits: of its first thread, or of one fixed order.

    Args:
        places: the number of each ``row_fold`` in the body.
    """

    def __init__(self, number: int, stage: RowStage, places: Mapping[Node, int], shape: RowShape):
        self.number, self.stage, self.shape = number, stage, shape
        self.accumulators = [Accumulator(places[n], Fold.of_node(n), n.operands[0].type) for n in stage.folds]
        self.members = [m for a in self.accumulators for m in a.members()]

    def functions(self) -> list[str]:
        """Returns the structs and functions, with the shared memory of the group."""
        lines = stage_text(self.accumulators, self.number)
        if self.shape.reach == "group":
            count = self.shape.threads if self.shape.columns else self.shape.threads // FEWEST
            lines += [*(f"groupshared {declare(t, f'fz_s{self.number}_{n}')}[{count}];" for n, t in self.members), ""]
        return lines

    def start(self) -> list[str]:
        return [f"FzAcc{self.number} fz_acc{self.number} = fz_none{self.number}();"]

    def running(self, lines: Sequence[str]) -> list[str]:
        """Returns `lines`, which add elements to a run, with the lines around them that begin the run and add it to the rest."""
        if not self.accumulators:
            return list(lines)
        k = self.number
        gather = f"fz_gather{k}(fz_acc{k}, fz_run, {BLOCK}.zero);"
        return [f"FzRun{k} fz_run = fz_start{k}();", *lines, gather]

    def take(self, spelled: Sequence[str], place: str) -> str:
        """Returns the statement that adds an element; `spelled` are the folded values."""
        return f"fz_take{self.number}(fz_run, {', '.join(spelled)}, int({place}));"

    def across(self) -> list[str]:
        """Returns the lines after which each thread of a row has the total of the row."""
        if self.shape.reach == "thread":
            return []
        if self.shape.columns:
            return self.in_columns()
        return [*self.in_wave(), *(self.in_group() if self.shape.reach == "group" else ())]

    def merged(self, read: str) -> list[str]:
        """Returns lines that merge another accumulator, member by member `read`, into that of this thread."""
        k = self.number
        fetched = [f"fz_other.{n} = {read.format(n)};" for n, _ in self.members]
        return [f"FzAcc{k} fz_other;", *fetched, f"fz_merge{k}(fz_acc{k}, fz_other, {BLOCK}.zero);"]

    def in_wave(self) -> list[str]:
        """Returns lines that combine the threads of a wave that share a row. Halves differ in rounding, so the first decides."""
        k = self.number
        other = f"WaveMaskReadLaneAt(~0u, fz_acc{k}.{{}}, WaveGetLaneIndex() ^ fz_n)"
        first = [
            f"fz_acc{k}.{n} = WaveMaskReadLaneAt(~0u, fz_acc{k}.{n}, WaveGetLaneIndex() & ~(fz_near - 1));"
            for n, _ in self.members
        ]
        return ["for (uint fz_n = 1; fz_n < fz_near; fz_n <<= 1)", *block(self.merged(other)), *first]

    def in_columns(self) -> list[str]:
        """Returns lines that combine the threads of each column. Every thread adds all of its column, in the same order."""
        k = self.number
        shared = [f"fz_s{k}_{n}[fz_lane] = fz_acc{k}.{n};" for n, _ in self.members]
        back = [f"fz_acc{k}.{n} = fz_s{k}_{n}[fz_lane % fz_side];" for n, _ in self.members]
        merged = self.merged(f"fz_s{k}_{{}}[fz_lane % fz_side + fz_n * fz_side]")
        loop = ["for (uint fz_n = 1; fz_n < fz_lanes; ++fz_n)", *block(merged)]
        return [*shared, "GroupMemoryBarrierWithGroupSync();", *back, *loop]

    def in_group(self) -> list[str]:
        """Returns lines that combine the waves of a row. Every thread adds all of them, in the same order."""
        k = self.number
        shared = [f"fz_s{k}_{n}[fz_lane / fz_near] = fz_acc{k}.{n};" for n, _ in self.members]
        back = [f"fz_acc{k}.{n} = fz_s{k}_{n}[fz_first];" for n, _ in self.members]
        loop = ["for (uint fz_n = 1; fz_n < fz_lanes / fz_near; ++fz_n)", *block(self.merged(f"fz_s{k}_{{}}[fz_first + fz_n]"))]
        inside = ["if (fz_lane % fz_near == 0)", *block(shared), "GroupMemoryBarrierWithGroupSync();"]
        return ["if (fz_lanes > fz_near)", *block([*inside, "uint fz_first = (fz_lane - fz_in) / fz_near;", *back, *loop])]

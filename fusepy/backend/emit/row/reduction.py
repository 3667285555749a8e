"""The folds of one stage: each thread combines its elements, then the threads that share a row combine their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fusepy.backend.emit.fold.accumulators import Accumulator
from fusepy.backend.emit.fold.partials import SharedMemory, read_lane
from fusepy.backend.emit.fold.structs import accumulator_text
from fusepy.backend.emit.operand import BARRIER, BLOCK
from fusepy.backend.emit.row.variant import RowShape
from fusepy.backend.memory.element import Element
from fusepy.ir.graph import Node
from fusepy.ir.ops.control import block
from fusepy.ir.ops.folds import Fold
from fusepy.ir.rows.body import RowStage

FEWEST = 4  # threads of a wave, at least
WARP = 32  # threads of a wave on CUDA


def exchanged_bytes(folds: Sequence[Node]) -> int:
    """Returns the bytes in which a thread passes on what it has combined, for ``row_fold`` nodes; each has memory of its own."""
    members = [t for n in folds for _, t in Accumulator(0, Fold.of_node(n), n.operands[0].type).members()]
    return sum(Element.of(t).nbytes for t in members)


class StageFolds:
    """The folds at the end of a stage. All threads of a row get the same bits: of its first thread, or of one fixed order.

    Args:
        places: the number of each ``row_fold`` in the body.
        cuda: the kernel is for CUDA.
    """

    def __init__(self, number: int, stage: RowStage, places: Mapping[Node, int], shape: RowShape, cuda: bool = False):
        self.number, self.stage, self.shape, self.cuda = number, stage, shape, cuda
        one = cuda and 0 < shape.lanes <= WARP
        self.waves = shape.reach == "group" and not one  # a row may take several waves
        self.accumulators = [Accumulator(places[n], Fold.of_node(n), n.operands[0].type, cuda) for n in stage.folds]
        self.members = [m for a in self.accumulators for m in a.members()]
        self.shared, self.acc = SharedMemory(self.members, f"fz_s{number}"), f"fz_acc{number}"

    def functions(self) -> list[str]:
        """Returns the structs and functions, with the shared memory of the group."""
        lines = accumulator_text(self.accumulators, self.number)
        if self.waves:
            count = self.shape.threads if self.shape.columns else self.shape.threads // FEWEST
            lines += [*self.shared.declared(count), ""]
        return lines

    def start(self) -> list[str]:
        return [f"FzAcc{self.number} {self.acc} = fz_none{self.number}();"]

    def running(self, lines: Sequence[str]) -> list[str]:
        """Returns `lines`, which add elements to a run, with the lines around them that begin the run and add it to the rest."""
        if not self.accumulators:
            return list(lines)
        k = self.number
        gather = f"fz_gather{k}({self.acc}, fz_run, {BLOCK}.zero);"
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
        return [*self.in_wave(), *(self.in_group() if self.waves else ())]

    def merged(self, read: Sequence[str]) -> list[str]:
        """Returns lines that merge another accumulator, ``fz_other``, which the lines `read` set, into that of this thread."""
        k = self.number
        return [f"FzAcc{k} fz_other;", *read, f"fz_merge{k}({self.acc}, fz_other, {BLOCK}.zero);"]

    def in_wave(self) -> list[str]:
        """Returns lines that combine the threads of a wave that share a row. Halves differ in rounding, so the first decides."""
        other = read_lane(self.members, "WaveGetLaneIndex() ^ fz_n", "fz_other", self.acc)
        each = self.shape.reach == "wave"  # lanes with rows of their own skip all: lavapipe leaves a loop over nothing at once
        first = read_lane(self.members, f"WaveGetLaneIndex() & ~({'2 * fz_n' if each else 'fz_near'} - 1)", self.acc, self.acc)
        loop = [*self.merged(other), *(first if each else ())]
        return ["for (uint fz_n = 1; fz_n < fz_near; fz_n <<= 1)", *block(loop), *(() if each else first)]

    def in_columns(self) -> list[str]:
        """Returns lines that combine the threads of each column. Every thread adds all of its column, in the same order."""
        other = self.merged(self.shared.read("fz_lane % fz_side + fz_n * fz_side", "fz_other"))
        return [
            *self.shared.publish(self.acc),
            BARRIER,
            *self.shared.read("fz_lane % fz_side", self.acc),
            *("for (uint fz_n = 1; fz_n < fz_lanes; ++fz_n)", *block(other)),
        ]

    def in_group(self) -> list[str]:
        """Returns lines that combine the waves of a row. Every thread adds all of them, in the same order."""
        other = self.merged(self.shared.read("fz_first + fz_n", "fz_other"))
        inside = [
            *("if (fz_lane % fz_near == 0)", *block(self.shared.publish(self.acc, "fz_lane / fz_near"))),
            BARRIER,
            "uint fz_first = (fz_lane - fz_in) / fz_near;",
            *self.shared.read("fz_first", self.acc),
            *("for (uint fz_n = 1; fz_n < fz_lanes / fz_near; ++fz_n)", *block(other)),
        ]
        return ["if (fz_lanes > fz_near)", *block(inside)]

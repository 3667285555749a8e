"""The thread shapes of kernels that scan, per device kind."""

from __future__ import annotations

from dataclasses import replace

from fusepy.backend.emit.fold.tuning import FULL, GROUPS_OF_GPU, power_between
from fusepy.backend.emit.fold.variant import FoldShape
from fusepy.backend.emit.tuning import SHARED_BYTES, power_above

SCANNED = 16  # neighbouring elements of a thread of a GPU's group that scans, a run: waves exchange totals once for them
SCANNING = 128  # threads of such a group
SLACK = 64  # threads at least of a group that scans short rows, and more cells than it needs beyond its elements
SHORT_SCANS = 256  # the longest such rows: in longer ones a wave loads a line of memory at a time


def scan_shape(
    kind: str, outputs: int, reduced: int, inner: bool, nbytes: int = 8, staged: int = 4, *, beside: bool = False
) -> tuple[FoldShape, int]:
    """Returns the shape of all kernels of a scan, and the number of chunks. Threads go along a chunk in order.

    On a GPU, whole groups share a chunk if threads with their own chunks would read far from each other. More than one chunk is
    read twice, so rows are cut only if they leave most multiprocessors idle.

    Args:
        nbytes: bytes of an accumulator.
        staged: bytes of an element and its results in shared memory; 0 if they have no place there.
        beside: rows lie side by side in memory, so that those of a group may be loaded as they lie.
    """
    if kind != "software" and inner:
        threads = power_between(SHARED_BYTES // (nbytes + staged * SCANNED * 33 // 32), 16, SCANNING)
        shape = FoldShape(True, True, threads, SCANNED, ordered=True, shared=True)
        if beside and staged and reduced <= SHORT_SCANS:
            most = (SHARED_BYTES - SLACK * staged) // (nbytes + staged * SCANNED * 33 // 32)
            if most >= SLACK:
                return replace(shape, threads=power_between(most, SLACK, SCANNING), short=True), 1
        lanes = scan_lanes(outputs, reduced, threads)
        chunks = GROUPS_OF_GPU // max(outputs, 1)
        return shape, max(1, min(reduced // (16 * lanes), chunks)) if chunks >= 4 else 1
    shape = FoldShape(False, inner, 8 if kind == "software" else 256)
    threads = 256 if kind == "software" else 1 << 18
    return shape, max(1, min(-(-reduced // 64), -(-threads // max(outputs, 1))))


def scan_lanes(outputs: int, reduced: int, threads: int) -> int:
    """Returns the number of threads of a group that share one chunk: as many as have elements in one tile.

    Of many rows it is a wave, whose threads wait for no other wave's total.
    """
    return min(power_above(-(-reduced // SCANNED)), power_between(FULL // max(outputs, 1), 32, threads), threads)

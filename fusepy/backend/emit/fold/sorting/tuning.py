"""The thread shapes of kernels that sort, per device kind, and the choice between merges and digits (decision 037)."""

from __future__ import annotations

from fusepy.backend.emit.fold.tuning import GROUPS_OF_GPU, power_between
from fusepy.backend.emit.fold.variant import FoldShape
from fusepy.backend.emit.tuning import LANES, SHARED_BYTES

VALUES = 256  # of a digit
COPIES = 8  # counters of a value in shared memory, each for every eighth thread: additions to one counter wait for each other
WAVE = 32  # threads that number equal digits together
# Merges of runs that take as long as a pass by a digit, which is a byte of the key. A row is sorted by digits if it would need
# more merges than so many for each digit, and one for the beginning
MERGES_OF_A_PASS = {"software": 0.6}
MERGES_OF_A_PASS_ON_GPU = 1.25
RESIDENT_TILES = {"cuda": 5}  # its compiler would take 168 registers, room for 3 groups; with 96 it stores 10 of them


def sort_shape(kind: str, inner: bool) -> FoldShape:
    """Returns the shape of a group that sorts blocks of ``threads * unroll`` elements."""
    return FoldShape(True, inner, LANES if kind == "software" else 256, 4, shared=True)


def merge_shape(kind: str, inner: bool, nbytes: int = 8) -> tuple[FoldShape, int]:
    """Returns the shape of what merges sorted runs, and the number of elements that a thread, or a group, writes.

    Args:
        nbytes: bytes of a key and an index.
    """
    if kind == "software":
        return FoldShape(False, inner, LANES), 64
    shape = FoldShape(True, inner, 256, 8 if nbytes * 256 * 8 <= SHARED_BYTES else 4, shared=True)
    return shape, shape.threads * shape.unroll


def has_digits(kind: str, reduced: int, digits: int, block: int) -> bool:
    """True if rows of `reduced` elements are sorted by digits; else blocks of so many elements are merged."""
    merges = max(-(-reduced // block) - 1, 0).bit_length()
    return merges > 1 + digits * MERGES_OF_A_PASS.get(kind, MERGES_OF_A_PASS_ON_GPU)


def digit_shape(kind: str, inner: bool, nbytes: int = 8) -> FoldShape:
    """Returns the shape of the kernels that sort by a digit. A group moves tiles of ``threads * unroll`` elements."""
    if kind == "software":
        return FoldShape(False, inner, LANES)
    return FoldShape(True, inner, 128, 24 if nbytes <= 8 else 12, resident=RESIDENT_TILES.get(kind, 0))


def digit_chunks(kind: str, outputs: int, reduced: int, tile: int) -> int:
    """Returns the maximal number of chunks of a row: each has counters of its own for all digits."""
    if kind == "software":
        filling = power_between(64 * LANES // max(outputs, 1), LANES, 64 * LANES)  # the lanes of a vector share a row's cache
        return power_between(reduced // 512, 1, filling)
    return max(1, min(-(-reduced // tile), 2 * GROUPS_OF_GPU // max(outputs, 1)))

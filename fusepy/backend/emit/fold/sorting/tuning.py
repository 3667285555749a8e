"""The thread shapes of kernels that sort, per device kind, and the choice between merges and digits (decision 037)."""

from __future__ import annotations

from fusepy.backend.emit.fold.tuning import GROUPS_OF_GPU, power_between
from fusepy.backend.emit.fold.variant import FoldShape
from fusepy.backend.emit.tuning import LANES, SHARED_BYTES

VALUES = 256  # of a digit
COPIES = 8  # counters of a value in shared memory, each for every eighth thread: additions to one counter wait for each other
WAVE = 32  # threads that number equal digits together
MERGES_OF_A_PASS = 0.6  # merges of runs that take as long, on a CPU, as a pass by a digit, which is a byte of the key
COUNTS = 1 << 25  # at most, on a CPU, of rows that have more counts than elements: those of a million rows of 65 bytes took 5 GB
FULL = 1 << 19  # elements from which on a GPU is busy; below, the number of launches decides
# Threads of a group that sorts by a digit, its elements for each, and the groups whose threads share the registers of a
# multiprocessor. CUDA's takes 20 KiB of shared memory, more than each Vulkan device has
TILES = {"cuda": (256, 12, 3)}
TILE_ON_GPU = (128, 24, 0)


def sort_shape(kind: str, inner: bool) -> FoldShape:
    """Returns the shape of a group that sorts blocks of ``threads * unroll`` elements."""
    return FoldShape(True, inner, LANES if kind == "software" else 256, 4, shared=True)


def merge_shape(kind: str, inner: bool, nbytes: int = 8) -> tuple[FoldShape, int]:
    """Returns the shape of kernels that merge sorted runs, and the number of elements that a thread, or a group, writes.

    Args:
        nbytes: bytes of a key and an index.
    """
    if kind == "software":
        return FoldShape(False, inner, LANES), 64
    shape = FoldShape(True, inner, 256, 8 if nbytes * 256 * 8 <= SHARED_BYTES else 4, shared=True)
    return shape, shape.threads * shape.unroll


def has_digits(kind: str, outputs: int, reduced: int, digits: int, block: int) -> bool:
    """True if rows of `reduced` elements are sorted by digits; else blocks of so many elements are merged."""
    merges = max(-(-reduced // block) - 1, 0).bit_length()
    if kind == "software":
        counts = 2 * VALUES  # of a short row, which is one chunk, and their totals
        return merges > 1 + digits * MERGES_OF_A_PASS and (reduced >= counts or outputs * counts <= COUNTS)
    return merges > (digits + 2 if outputs * reduced >= FULL else 3 * digits - 1)


def digit_shape(kind: str, inner: bool, nbytes: int = 8) -> FoldShape:
    """Returns the shape of the kernels that sort by a digit. A group moves tiles of ``threads * unroll`` elements."""
    if kind == "software":
        return FoldShape(False, inner, LANES)
    threads, each, resident = TILES.get(kind, TILE_ON_GPU)
    return FoldShape(True, inner, threads, each if nbytes <= 8 else each // 2, resident=resident)


def digit_chunks(kind: str, outputs: int, reduced: int, tile: int) -> int:
    """Returns the maximal number of chunks of a row: each has counters of its own for all digits."""
    if kind == "software":
        filling = power_between(64 * LANES // max(outputs, 1), LANES, 64 * LANES)  # the lanes of a vector share a row's cache
        return power_between(reduced // 512, 1, filling)
    return max(1, min(-(-reduced // tile), 2 * GROUPS_OF_GPU // max(outputs, 1)))

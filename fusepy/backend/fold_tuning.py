"""How the threads of kernels that fold are shaped, per device kind.

Lavapipe runs a group on one CPU thread: small groups whose threads have several runs under way keep its vector units busy, and a
group should see 16 k elements or more (a sum of 16 M floats: 0.9 of copy speed with groups of 8, 0.3 to 0.8 with 64 or more).
A GPU wants enough groups to fill it, and 16 or more elements a thread.
"""

from __future__ import annotations

from dataclasses import replace

from fusepy.backend.fold_variant import FoldShape

GROUPS = {"software": 64}  # that fill a device; a GPU of 132 multiprocessors takes 8 of 256 threads on each
GROUPS_OF_GPU = 1056


def fold_shape(kind: str, outputs: int, reduced: int, inner: bool, partials: bool = False) -> tuple[FoldShape, int]:
    """The shape for `outputs` results of `reduced` elements each, and into how many chunks these are cut.

    Args:
        inner: the elements of one result are neighbours in memory, and not those of one place in neighbouring results.
        partials: the elements are accumulators, of which there are few.
    """
    software = kind == "software"
    few = 32 if software else 256
    if reduced < few if inner else outputs >= (64 if software else 1024) or reduced < few:
        shape = _by_thread(software, outputs, inner)
        across = -(-outputs // (shape.threads * shape.columns))
        least = 512 if software else 64
    else:
        shape = FoldShape(True, inner, 8, 4, 16) if software else FoldShape(True, inner, _power(reduced // 8, 32, 256), 4, 4)
        across = outputs
        least = 1 << 17 if software else 4096
    groups = GROUPS.get(kind, GROUPS_OF_GPU)
    chunks = 1 if partials else max(1, min(-(-reduced // least), -(-groups // max(across, 1))))
    return shape, chunks


def _by_thread(software: bool, outputs: int, inner: bool) -> FoldShape:
    if inner:
        return FoldShape(False, True, 64 if software else 256)
    if software:
        return FoldShape(False, False, 8, 1, 16, 32 if outputs >= 256 else 8)
    return FoldShape(False, False, 256, 4, 4)


def scan_shape(kind: str, outputs: int, reduced: int, inner: bool) -> tuple[FoldShape, int]:
    """The shape of all kernels of a scan, whose threads go along their chunks in order, and how many chunks there are."""
    shape = FoldShape(False, inner, 8 if kind == "software" else 256)
    threads = 256 if kind == "software" else 1 << 18
    return shape, max(1, min(-(-reduced // 64), -(-threads // max(outputs, 1))))


def as_strided(shape: FoldShape) -> FoldShape:
    """The shape where each element's place is computed from coordinates: results side by side would need those of each."""
    return replace(shape, columns=1)


def _power(number: int, low: int, high: int) -> int:
    """The power of two at or below `number`, within bounds."""
    return max(low, min(high, 1 << max(number, 1).bit_length() - 1))

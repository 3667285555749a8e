"""How the threads of kernels that fold are shaped, per device kind; decision 011 has the measurements.

Lavapipe runs a group as loops of 8 lanes on one CPU thread, and loads what lanes read one by one, wherever it lies. So each lane
has a stretch of memory of its own, which misses the caches in 8 places at a time, and some elements are spelled out one after the
other, since what a loop changes is masked in each round. Columns are the exception: lanes side by side walk down rows of 2 KiB.
A GPU wants neighbouring threads at neighbouring elements: a line of memory for each load of 32 threads, 8 elements or more a
thread, and as many groups as it runs at a time. So the threads of a group share rows or columns side by side.
"""

from __future__ import annotations

import math
from dataclasses import replace

from fusepy.backend.fold_variant import FoldShape
from fusepy.backend.tuning import LANES, is_light
from fusepy.element import Element
from fusepy.ir.graph import Node
from fusepy.ir.ops.folds import folds_of
from fusepy.ir.types import Kind

GROUPS = {"software": 64}  # that fill a device; a GPU of 132 multiprocessors takes 8 of 256 threads on each
GROUPS_OF_GPU = 1056
SHARED_BYTES = 1 << 14  # of memory that the threads of a group share: what every Vulkan device has
HEAVY, LIGHT, LEAN = 32, 128, 512  # for how many elements bodies are spelled out at most; compiling takes up to a second
NARROW = 8  # results at most that one thread has all of; there is a kernel for each number
ROW = 64  # the shortest row of the grid that the lanes of a group share
ROW_GROUPS = 256


def copies_of(region: Node) -> int:
    """For how many elements the body may be spelled out. It is lean if one number is held for a result, and nothing is stored."""
    assert region.body is not None
    if not is_light(region):
        return HEAVY
    types = [v.type for v in region.body.outputs]
    simple = [f.kind not in ("argmax", "argmin", "call") for f in folds_of(region)]
    small = types[0].kind is Kind.SCALAR and Element.of(types[0]).nbytes <= 4
    return LEAN if simple == [True] and len(types) == 1 and small else LIGHT


def fold_shape(
    kind: str, outputs: int, reduced: int, inner: bool, *, partials: bool = False, copies: int = LEAN, nbytes: int = 8
) -> tuple[FoldShape, int]:
    """The shape for `outputs` results of `reduced` elements each, and into how many chunks these are cut at most.

    Args:
        inner: the elements of one result are neighbours in memory, and not those of one place in neighbouring results.
        partials: the elements are accumulators, of which there are few.
        copies: for how many elements the body may be spelled out.
        nbytes: of an accumulator.
    """
    if kind == "software":
        shape, across, least = _software(outputs, reduced, inner, partials, copies)
    else:
        most = 4 if partials or copies < LIGHT else 16
        shape, across, least = _gpu(outputs, reduced, inner, most, _power(SHARED_BYTES // nbytes, 32, 256))
    share = GROUPS.get(kind, GROUPS_OF_GPU) / max(across, 1 / 64)
    # a few groups more than a GPU runs at a time would take as long as twice as many
    chunks = 1 if partials else max(1, min(-(-reduced // least), math.ceil(share) if kind == "software" else int(share)))
    return shape, chunks


def _software(outputs: int, reduced: int, inner: bool, partials: bool, copies: int) -> tuple[FoldShape, float, int]:
    """The shape, how many groups there are for each chunk, and the fewest elements that are worth a chunk."""
    alone = outputs < LANES and reduced >= 32  # too few results for lanes
    if inner:
        if partials:
            return FoldShape(True, True, LANES, 4, 16), outputs, 1 << 17
        threads = 64 if outputs >= 4096 else LANES
        return FoldShape(False, True, threads, 16 if copies >= LIGHT else 4, 16), outputs / threads, 4096 if alone else 1024
    if 1 < outputs <= NARROW and not partials and outputs * reduced >= 1 << 17:
        unroll = _power(copies // outputs, 1, 16)
        return FoldShape(False, False, LANES, unroll, 16, outputs, narrow=True), 1 / LANES, -(-1024 // outputs)
    if alone:
        return FoldShape(True, False, LANES, 4, 16), outputs, 1 << 17
    most = 1 if partials else outputs // LANES
    columns = max(n for n in (1, 2, 8, 32, 64 if copies >= LEAN else 1) if n <= max(most, 1))
    unroll = min(8, copies // columns) if columns >= 32 else 4
    return FoldShape(False, False, LANES, unroll, 16, columns), -(-outputs // (LANES * columns)), 512


def _gpu(outputs: int, reduced: int, inner: bool, most: int, threads: int) -> tuple[FoldShape, float, int]:
    """See `_software`. At `most` so many elements are spelled out, and groups that share memory have so many `threads`."""
    if reduced < 32:
        return FoldShape(False, inner, 256, _power(reduced, 1, most)), -(-outputs // 256), 32
    if inner:
        lanes = _power(reduced // 8, 4, threads)
        return FoldShape(True, True, threads, min(most, 8), 16, lanes=lanes), outputs * lanes / threads, 16 * lanes
    beside = _power(2 * outputs - 1, 1, 32)  # of 4 bytes each that is a line of memory
    lanes = threads // beside
    if lanes < 2:
        return FoldShape(False, False, 256, min(most, 4)), -(-outputs // 256), 64
    return FoldShape(True, False, threads, min(most, 8), 16, lanes=lanes), -(-outputs // beside), 16 * lanes


def shape_along_rows(reduced: int, row: int) -> tuple[FoldShape, int]:
    """The shape for bodies that ask where in the grid they are, on the CPU: neighbours read what is near to each other."""
    chunks = min(ROW_GROUPS, -(-reduced // 8192), reduced // row)
    return FoldShape(True, True, LANES, 8, 16, rows=True), max(1, chunks)


def scan_shape(kind: str, outputs: int, reduced: int, inner: bool, nbytes: int = 8) -> tuple[FoldShape, int]:
    """The shape of all kernels of a scan, and how many chunks there are, along which threads go in order.

    On a GPU whole groups do, where threads with chunks of their own would read far from each other.
    """
    if kind != "software" and inner and reduced >= 64:
        threads = _power(min(SHARED_BYTES // nbytes, reduced // 4), 16, 256)
        shape = FoldShape(True, True, threads, 4, ordered=True)
        return shape, max(1, min(reduced // (16 * threads), GROUPS_OF_GPU // max(outputs, 1)))
    shape = FoldShape(False, inner, 8 if kind == "software" else 256)
    threads = 256 if kind == "software" else 1 << 18
    return shape, max(1, min(-(-reduced // 64), -(-threads // max(outputs, 1))))


def as_strided(shape: FoldShape) -> FoldShape:
    """The shape where each element's place is computed from coordinates: results side by side would need those of each."""
    return replace(shape, columns=1, narrow=False, inner=shape.inner or shape.narrow)


def _power(number: int, low: int, high: int) -> int:
    """The power of two at or below `number`, within bounds."""
    return max(low, min(high, 1 << max(number, 1).bit_length() - 1))

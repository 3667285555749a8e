"""How the threads of kernels that fold are shaped, per device kind; decision 011 has the measurements.

Lavapipe runs a group as loops of 8 lanes on one CPU thread, and loads what lanes read one by one, wherever it lies. So each lane
has a stretch of memory of its own, which misses the caches in 8 places at a time, and some elements are spelled out one after the
other, since what a loop changes is masked in each round. Columns are the exception: lanes side by side walk down rows of 2 KiB,
and several shorter rows count as one.
A GPU wants neighbouring threads at neighbouring elements: a line of memory for each load of 32 threads, 8 elements or more a
thread, and as many groups as it runs at a time. So the threads of a group share rows or columns side by side.
"""

from __future__ import annotations

import math

from fusepy.backend.emit.fold.variant import FoldShape
from fusepy.backend.emit.tuning import LANES, is_light
from fusepy.backend.memory.element import Element
from fusepy.ir.graph import Node
from fusepy.ir.ops.region import folds_of
from fusepy.ir.types import Kind

GROUPS = {"software": 64}  # that fill a device; a GPU of 132 multiprocessors takes 8 of 256 threads on each
GROUPS_OF_GPU = 1056
SHARED_BYTES = 1 << 14  # of memory that the threads of a group share: what every Vulkan device has
HEAVY, LIGHT, LEAN = 32, 128, 512  # for how many elements bodies are spelled out at most; compiling takes up to a second
PAGE = 1024  # numbers of 4 bytes
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
    kind: str,
    outputs: int,
    reduced: int,
    inner: bool,
    *,
    partials: bool = False,
    copies: int = LEAN,
    nbytes: int = 8,
    linear: bool = True,
    placed: bool = False,
) -> tuple[FoldShape, int]:
    """The shape for `outputs` results of `reduced` elements each, and into how many chunks these are cut at most.

    There are at most three for each kind of device and order of elements, one of them for `partials` (decision 015).

    Args:
        inner: the elements of one result are neighbours in memory, and not those of one place in neighbouring results.
        partials: the elements are accumulators, of which there are few.
        copies: for how many elements the body may be spelled out.
        nbytes: of an accumulator.
        linear: elements lie as they are counted. Elsewhere the places of results side by side would be computed one by one.
        placed: the body asks where in the grid it is, so that other sizes may ask for `shape_along_rows`.
    """
    if kind == "software":
        shape, across, least = _software(outputs, reduced, inner, partials, copies, linear, placed)
    else:
        most = 4 if partials or copies < LIGHT else 8
        shape, across, least = _gpu(outputs, reduced, inner, partials, most, _power(SHARED_BYTES // nbytes, 32, 256))
    share = GROUPS.get(kind, GROUPS_OF_GPU) / max(across, 1 / 64)
    # a few groups more than a GPU runs at a time would take as long as twice as many
    chunks = 1 if partials else max(1, min(-(-reduced // least), math.ceil(share) if kind == "software" else int(share)))
    return shape, chunks


def _software(
    outputs: int, reduced: int, inner: bool, partials: bool, copies: int, linear: bool, placed: bool
) -> tuple[FoldShape, float, int]:
    """The shape, how many groups there are for each chunk, and the fewest elements that are worth a chunk."""
    alone = outputs < LANES and reduced >= 32  # too few results for lanes
    if inner:
        if partials:
            return FoldShape(True, True, LANES, 4, 16), outputs, 1
        threads = 64 if outputs >= 4096 or placed else LANES
        return FoldShape(False, True, threads, 16 if copies >= LIGHT else 4, 16), outputs / threads, 4096 if alone else 1024
    columns = 64 if copies >= LEAN else 32
    if partials:
        return FoldShape(True, False, 64, 4, 16, shared=True), outputs, 1
    rows = rows_as_one(outputs, reduced, LANES * columns) if linear and outputs else 0
    if not rows or (rows > 1 and outputs * reduced < 1 << 17):
        return FoldShape(False, False, LANES, 4, 16), outputs / LANES, 1024 if alone else 512
    across = -(-outputs * rows // (LANES * columns))
    return FoldShape(False, False, LANES, min(8, copies // columns), 16, columns), across, 512 if rows == 1 else 128 * rows


def rows_as_one(outputs: int, reduced: int, width: int) -> int:
    """How many rows of `outputs` numbers count as one for groups of so many `width`; 0 where there are too few of them.

    Best are whole pages, where the pieces that a group reads lie alike, and some groups side by side. Else these should be full.
    """
    pages = PAGE // math.gcd(outputs, PAGE)
    pages *= max(1, 8 * width // (outputs * pages))
    if pages <= max(1, reduced // 16) and pages * outputs <= 32 * width:
        return pages

    def waste(rows: int) -> float:
        numbers = rows * outputs
        return -(-numbers // width) * width / numbers if numbers >= width else math.inf

    found, least = int(outputs >= width), waste(1)
    for groups in range(8, 0, -1):
        rows = groups * width // outputs
        if 1 < rows <= reduced // 16 and waste(rows) < least - 0.05:
            found, least = rows, waste(rows)
    return found


def _gpu(outputs: int, reduced: int, inner: bool, partials: bool, most: int, threads: int) -> tuple[FoldShape, float, int]:
    """See `_software`. At `most` so many elements are spelled out, and groups that share memory have so many `threads`."""
    if reduced < 32 and not partials:
        return FoldShape(False, inner, 256, 4), -(-outputs // 256), 32
    lanes = lanes_for(outputs, reduced, inner, threads, partials)
    across = outputs * lanes / threads if inner else -(-outputs // (threads // lanes))
    return FoldShape(True, inner, threads, most, 16, shared=True), across, 16 * lanes


def lanes_for(outputs: int, reduced: int, inner: bool, threads: int, partials: bool) -> int:
    """How many of a group's `threads` share one chunk on a GPU."""
    if inner:
        return _power(reduced // 8, 1 if partials else 4, threads)
    lanes = threads // _power(2 * outputs - 1, 1, 32)  # 32 side by side, of 4 bytes each, are a line of memory
    return min(lanes, _power(reduced // 8, 1, threads)) if partials else lanes


def shape_along_rows(reduced: int, row: int) -> tuple[FoldShape, int]:
    """The shape for bodies that ask where in the grid they are, on the CPU: neighbours read what is near to each other."""
    chunks = min(ROW_GROUPS, -(-reduced // 8192), reduced // row)
    return FoldShape(True, True, LANES, 8, 16, rows=True), max(1, chunks)


def scan_shape(kind: str, outputs: int, reduced: int, inner: bool, nbytes: int = 8) -> tuple[FoldShape, int]:
    """The shape of all kernels of a scan, and how many chunks there are, along which threads go in order.

    On a GPU whole groups do, where threads with chunks of their own would read far from each other.
    """
    if kind != "software" and inner:
        shape = FoldShape(True, True, _power(SHARED_BYTES // nbytes, 16, 256), 4, ordered=True, shared=True)
        lanes = scan_lanes(reduced, shape.threads)
        return shape, max(1, min(reduced // (16 * lanes), GROUPS_OF_GPU // max(outputs, 1)))
    shape = FoldShape(False, inner, 8 if kind == "software" else 256)
    threads = 256 if kind == "software" else 1 << 18
    return shape, max(1, min(-(-reduced // 64), -(-threads // max(outputs, 1))))


def scan_lanes(reduced: int, threads: int) -> int:
    """How many threads of a group go along one chunk together."""
    return _power(reduced // 4, 1, threads)


def _power(number: int, low: int, high: int) -> int:
    """The power of two at or below `number`, within bounds."""
    return max(low, min(high, 1 << max(number, 1).bit_length() - 1))

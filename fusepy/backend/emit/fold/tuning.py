"""The thread shapes of kernels that fold, per device kind; decision 011 has the measurements.

Lavapipe runs a group as loops of 8 lanes on one CPU thread, and loads the elements of the lanes one by one, wherever they are.
Therefore each lane has its own range of memory, which gives 8 cache misses in parallel, and some elements are unrolled, since the
variables that a loop changes are masked in each iteration. Columns are the exception: lanes side by side walk down rows of 1 KiB,
and several shorter rows count as one.
A GPU is fastest if neighbouring threads access neighbouring elements: one cache line for each load of 32 threads, 8 elements or
more per thread, and as many groups as it runs at a time. Therefore the threads of a group share rows or columns side by side.
"""

from __future__ import annotations

import math
from dataclasses import replace

from fusepy.backend.emit.fold.accumulators import SPREADS
from fusepy.backend.emit.fold.variant import FoldShape
from fusepy.backend.emit.tuning import ANGLE_WEIGHT, LANES, LIGHT_NODES, SHARED_BYTES, is_light, weight_of
from fusepy.backend.memory.element import Element
from fusepy.ir.graph import Node
from fusepy.ir.ops.region import folds_of
from fusepy.ir.types import Kind

GROUPS = {"software": 64}  # groups that fill a device; a GPU of 132 multiprocessors runs 8 groups of 256 threads on each
GROUPS_OF_GPU = 1056
# A body of several streams or results needs more registers: a multiprocessor runs 3 to 7 groups at a time, and only the driver
# knows how many. If all take as long, the last ones leave no room idle where that number divides 24; for 5 a 25th, for 7 a 7th.
# Of 8 groups, 6 at a time leave a third idle. CUDA's compiler can be told the number: 5, with 48 registers a thread, in one turn.
GROUPS_OF_MORE, RESIDENT = (3168, 0), {"cuda": (660, 5)}
FEW_BYTES = 32  # of accumulators, for which 48 registers are enough
DEAR, HEAVY, LIGHT, LEAN = 1, 32, 128, 256  # the most elements that a body is unrolled for; compiling takes up to half a second
PAGE = 1024  # numbers of 4 bytes
ROW = 64  # the shortest row of the grid that the lanes of a group share
ROW_GROUPS = 256
SHORT, SHORT_OF_MANY = 31, 64  # the longest columns of which a thread of a GPU has some by itself; if there are many
SHORT_ROW = 8  # the longest rows of which a thread of a GPU has some by itself
MANY_ROWS = 4096  # rows that fill a GPU with 32 threads for each
FULL = 1 << 18  # threads that fill a GPU
COLUMN = FoldShape(False, False, LANES, 4, 16, turns=True)


def copies_of(region: Node, kind: str) -> int:
    """Returns the number of elements that the body may be unrolled for.

    A body is lean if it has one number per result, and stores nothing for each element. On a CPU, what compiles long is spelled
    out less often: twelve sines for 512 elements took 30 s, one sine of doubles for 32, and a variance of 64 columns 3 s.
    """
    assert region.body is not None
    weight = weight_of(region.body.nodes) if kind == "software" else 0
    if weight >= ANGLE_WEIGHT:
        return DEAR
    if not is_light(region) or weight > 4 * LIGHT_NODES:
        return HEAVY
    types, kinds = [v.type for v in region.body.outputs], [f.kind for f in folds_of(region)]
    dear = ("argmax", "argmin", "call", *(SPREADS if kind == "software" else ()))
    simple = [k not in dear for k in kinds]
    small = types[0].kind is Kind.SCALAR and Element.of(types[0]).nbytes <= 4
    return LEAN if simple == [True] and len(types) == 1 and small and weight <= LIGHT_NODES else LIGHT


def fold_shape(
    kind: str, outputs: int, reduced: int, inner: bool, *, copies: int = LEAN, nbytes: int = 8, linear: bool = True,
    waits: bool = True,
) -> tuple[FoldShape, int]:  # fmt: skip
    """Returns the shape for `outputs` results of `reduced` elements each, and the maximal number of chunks per result.

    There is one shape for each kind of device and order of elements, and two for columns on a CPU (decision 015).

    Args:
        inner: the elements of one result are neighbours in memory; otherwise those of neighbouring results are.
        copies: the number of elements that the body may be unrolled for.
        nbytes: bytes of an accumulator.
        linear: elements are contiguous in the order of their numbers. Otherwise each column would compute its own index.
        waits: groups may wait for others.
    """
    if kind == "software":
        (shape, across, least), groups = _software(outputs, reduced, inner, copies, linear), GROUPS[kind]
    else:
        most = 4 if copies < LIGHT else 8
        if reduced <= (SHORT_ROW if inner else SHORT_OF_MANY if outputs >= FULL else SHORT):
            return _short(copies, inner), 1
        shape, across, least = _gpu(outputs, reduced, inner, most, power_between(SHARED_BYTES // nbytes, 32, 256))
        more = RESIDENT.get(kind, GROUPS_OF_MORE) if nbytes <= FEW_BYTES else GROUPS_OF_MORE
        groups, resident = more if copies < LEAN else (GROUPS_OF_GPU, 0)
        shape = replace(shape, waits=inner and waits, resident=resident)
    share = groups / max(across, 1 / 64)
    # a few more groups than a GPU runs at a time would take as long as twice as many
    chunks = max(1, min(-(-reduced // least), math.ceil(share) if kind == "software" else int(share)))
    return shape, chunks


def _software(outputs: int, reduced: int, inner: bool, copies: int, linear: bool) -> tuple[FoldShape, float, int]:
    """Returns the shape, the number of groups per chunk, and the minimal number of elements in a chunk."""
    alone = outputs < LANES and reduced >= 32  # fewer results than lanes
    if inner:
        shape = FoldShape(False, True, LANES, 16 if copies >= LIGHT else min(4, copies), 16, turns=True)
        return shape, outputs / LANES, 4096 if alone else 1024
    columns = 32 if copies >= HEAVY else 1
    rows = rows_as_one(outputs, reduced, LANES * columns) if linear and outputs and columns > 1 else 0
    if not rows or (rows > 1 and outputs * reduced < 1 << 17):
        return replace(COLUMN, unroll=min(4, copies)), outputs / LANES, 1024 if alone else 512
    across = -(-outputs * rows // (LANES * columns))
    return FoldShape(False, False, LANES, min(8, copies // columns), 16, columns), across, 512 if rows == 1 else 128 * rows


def rows_as_one(outputs: int, reduced: int, width: int) -> int:
    """Returns the number of rows of `outputs` numbers that count as one, for groups of `width` numbers; 0 if rows are too few.

    Whole pages are best, since all reads of a group are then aligned alike, with some groups side by side. Otherwise it chooses
    the number that leaves the fewest threads of these groups idle.
    """
    pages = PAGE // math.gcd(outputs, PAGE)
    pages *= max(1, 8 * width // (outputs * pages))
    if pages <= max(1, reduced // 16) and pages * outputs <= 32 * width:
        return pages

    def waste(rows: int) -> float:
        numbers = rows * outputs
        return -(-numbers // width) * width / numbers if numbers >= width else math.inf

    best, least = int(outputs >= width), waste(1)
    for groups in range(8, 0, -1):
        rows = groups * width // outputs
        if 1 < rows <= reduced // 16 and waste(rows) < least - 0.05:
            best, least = rows, waste(rows)
    return best


def _gpu(outputs: int, reduced: int, inner: bool, most: int, threads: int) -> tuple[FoldShape, float, int]:
    """Returns the same as `_software`. At most `most` elements are unrolled, and groups with shared memory have `threads`."""
    lanes = lanes_for(outputs, reduced, inner, threads, partials=False)
    across = outputs * lanes / threads if inner else -(-outputs // (threads // lanes))
    shape = FoldShape(True, inner, threads, most, 16, shared=True)
    return shape, across, max(reduced, 1) if inner and lanes < threads else max(32, 16 * lanes)  # a chunk is of a whole group


def _short(copies: int, inner: bool) -> FoldShape:
    """Returns the shape of a GPU's threads that have short rows or columns by themselves: 32 loads of 4 bytes are in flight."""
    columns = 4 if copies >= LEAN else 2 if copies >= LIGHT else 1
    return FoldShape(False, inner, 128, 8 if copies >= LEAN else 4, 16, columns, short=True)


def lanes_for(outputs: int, reduced: int, inner: bool, threads: int, partials: bool) -> int:
    """Returns the number of a group's `threads` that share one chunk on a GPU."""
    if reduced < 32 and not partials:
        return 1
    if inner and outputs < MANY_ROWS:
        return power_between(reduced // 8, 4, threads)
    if inner:  # in its wave a thread waits for no other; what each does once takes as long as some elements
        filling = min(power_between(-(-FULL // outputs), 1, threads), power_between(reduced // 8, 4, threads))
        return min(threads, max(power_between(reduced // 16, 4, 32), power_between(reduced // 32, 4, threads), filling))
    if partials:  # few bytes, and a load of each thread waits for the one before it: more threads a result
        return min(threads // power_between(2 * outputs - 1, 1, 4), power_between(reduced // 8, 1, threads))
    return threads // power_between(2 * outputs - 1, 1, 32)  # 32 numbers of 4 bytes are a cache line


def turns_of(threads: int) -> int:
    """Returns the number of places that a group on the CPU takes one after the other, since starting a group takes 90 ns."""
    return power_between(threads // (2 * LANES * GROUPS["software"]), 1, 32)


def shape_along_rows(reduced: int, row: int, copies: int) -> tuple[FoldShape, int]:
    """Returns the shape on the CPU for bodies that use their coordinates: neighbouring threads read neighbouring memory."""
    chunks = min(ROW_GROUPS, -(-reduced // 8192), reduced // row)
    return FoldShape(True, True, LANES, min(8, copies), 16, rows=True), max(1, chunks)


def power_between(number: int, low: int, high: int) -> int:
    """Returns the power of two at or below `number`, within bounds."""
    return max(low, min(high, 1 << max(number, 1).bit_length() - 1))

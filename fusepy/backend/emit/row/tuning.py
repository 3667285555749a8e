"""The thread shapes of kernels that go along rows, per device kind, and whether such a kernel is worth it.

On a GPU the threads of a group hold the row in registers, so that memory is read once. Up to 1,024 elements a wave by itself is
best, with 32 a thread, since no thread waits at a barrier (H100, softmax of 65,536 x 1,000: 188 µs, and 201 with two waves). Rows
of 32,000 are faster with 64 numbers a thread and few threads (519 µs) than read again (682). Longer ones are read once for each
stage, from the second time on out of the device's cache. On lavapipe a row that is read again comes out of the processor's cache.
There each lane goes along a row of its own, unless rows are few or long (decision 031); one kernel does both.

Columns lie side by side, so each thread has one by itself, or those that share one stand in several waves, each of which has
neighbouring columns. On lavapipe a lane that holds a column of up to 32 elements takes half as long as one that reads it again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fusepy.backend.emit.row.variant import RowShape
from fusepy.backend.emit.tuning import SHARED_BYTES, power_above

REGISTERS = 32  # numbers of 4 bytes that a thread holds; twice as many only if rows would be read again
REGISTERS_OF_THREES = 48  # the same for 16 elements of three numbers each
HEAVY = (8, 4)  # elements that a thread holds of rows, or of columns, if the body is many operations
HELD = (5, 8, 9, 16, 20, 24, REGISTERS)  # elements of a row that a thread may hold
SURE = {20: 16, 24: 20}  # elements that threads have for certain: fewer would hold any shorter row
OVERHEAD = 6  # elements whose work takes as long as all that a thread does once
TURNS = 8  # places of a group on the CPU that it takes one after the other
NEAR = 8  # threads of a row at least, if it is not shorter: they load 32 bytes side by side
CONSTANT = {"cuda": 1}  # threads of a row from which on their number is a constant; on Vulkan shorter rows took 5 to 10 % longer
WAVE = 32  # threads that share a row without a barrier
HOLDING = 512  # threads of a group that holds rows in registers
OWN_ROW = 1024  # the longest row on the CPU of which each lane has one by itself: the rows of a vector stay in the cache
FEWEST = 128  # threads of a group on a GPU
LONGEST = 1024  # threads of a group
FULL = 1 << 16  # threads that keep a GPU's memory busy
ALONE = 1 << 14  # columns from which on each thread of a GPU has one by itself
SIDE = 32  # columns side by side in a group of a GPU; fewer if there are less than 4,096 in all, or if threads pass on much
NARROW = 8  # columns side by side at least: loads of 32 bytes
SHARING = 64  # threads that share a column
LAUNCH = {"software": 1 << 17}  # bytes that memory moves while a kernel starts and ends
LAUNCH_OF_GPU = 1 << 23


@dataclass(frozen=True)
class RowWork:
    """The work of a region that goes along rows: `rows` rows of `length` elements each.

    Attributes:
        words: the numbers of 4 bytes that a thread holds for an element between two stages.
        loaded: the bytes that each stage reads for an element.
        moved: the bytes that are read and written for an element in all.
        again, stored: as in `Joined`.
        light: the body is a few operations, so loops over it may be unrolled.
        columns: the rows lie side by side, as columns do.
        axes: the dimensions of a row; for several, each element costs divisions.
        exchanged: the bytes in which a thread passes what it has combined to the others, for all folds.
        together: the elements of a word, which are loaded and stored together; threads hold whole words.
    """

    rows: int
    length: int
    words: int
    loaded: tuple[int, ...]
    moved: int
    light: bool
    again: float = 0.0
    stored: int = 0
    columns: bool = False
    axes: int = 1
    exchanged: int = 0
    together: int = 1


def row_shape(kind: str, lanes: int, work: RowWork) -> tuple[RowShape, int]:
    """Returns the shape and the number of threads that share a row.

    Args:
        lanes: the width of the vectors of a driver that runs on the CPU.
    """
    if kind == "software":
        width = max(lanes, 1)
        if work.columns:
            return _columns_of_lanes(width, work), 1
        reach = "thread" if width == 1 else "wave"
        own = width == 1 or work.length < 4 * width or (work.length <= OWN_ROW and work.rows >= 2 * width)
        return RowShape(width, 0, 8 if work.light else 2, reach, exact=True, turns=True), 1 if own else width
    if work.columns:
        return _column_shape(work)
    held = _held_in_registers(work)
    if held is None:
        threads = LONGEST if work.light else 256
        return RowShape(threads, 0, 8 if work.light else 2, lanes=threads), threads
    lanes = power_above(-(-work.length // held))
    threads = FEWEST if lanes <= FEWEST else 256 if lanes <= 256 else HOLDING
    sure = next((n for n in (held, held - 1, SURE.get(held, held // 2)) if n * lanes <= work.length), 0)
    sure -= sure % work.together
    known = lanes if lanes >= CONSTANT.get(kind, WAVE) else 0
    return RowShape(threads, held, 16 if held > 8 else 8, exact=lanes * held == work.length, sure=sure, lanes=known), lanes


def _held_in_registers(work: RowWork) -> int | None:
    """Returns how many elements of a row each thread of a GPU holds; None if the row is too long.

    A thread costs as much as `OVERHEAD` elements, and an element beyond the end of the row as any other: 129 elements are 8
    threads with 20 each, and not 16 with 9 or 32 with 5. Long rows of which nothing is stored for each element are held by half
    as many threads.
    """
    most = most_held(work)
    step = 2 * work.together if work.together > 1 else 1  # two runs may have half of the words each
    found = [n for n in HELD if n <= most and n % step == 0] or [most] * (most > 0)
    lanes = {n: power_above(-(-work.length // n)) for n in found}
    least = min(NEAR, max(lanes.values(), default=0))
    fits = [n for n in found if least <= lanes[n] <= HOLDING]
    twice = work.light and work.words == 1 and work.length <= 2 * REGISTERS * HOLDING
    if twice and (not fits or (work.length > REGISTERS * WAVE and work.moved == sum(work.loaded))):
        return 2 * REGISTERS
    return min(fits, key=lambda n: lanes[n] * (n + OVERHEAD)) if fits else None


def most_held(work: RowWork) -> int:
    """Returns the most elements that a thread of a GPU holds, 0 if they are too large."""
    registers = REGISTERS_OF_THREES if work.words == 3 and not work.columns else REGISTERS
    most = registers // max(work.words, 1)
    return min(most, HEAVY[work.columns]) if not work.light else 1 << most.bit_length() - 1 if most else 0


def _columns_of_lanes(width: int, work: RowWork) -> RowShape:
    """Returns the shape on the CPU, where each lane has a column by itself, and holds it if it is short."""
    for held in (4, 8, 16, 32) if work.axes == 1 else (4, 8):
        if work.light and work.length <= held <= most_held(work):
            return RowShape(width, held, min(held, 16), "thread", columns=True, turns=True)
    return RowShape(width, 0, 4 if work.light else 1, "thread", exact=True, columns=True, turns=True)


def turns_of(shape: RowShape, lanes: int, rows: int) -> int:
    """Returns the number of places that a group takes one after the other: of many on the CPU, where starting one takes 90 ns."""
    return TURNS if shape.turns and lanes == 1 and rows >= 16 * TURNS * shape.threads else 1


def _column_shape(work: RowWork) -> tuple[RowShape, int]:
    """Returns the shape on a GPU, and the number of threads that share a column; nothing is held of columns that are too long.

    Few columns are shared by more threads, in smaller groups, so that more multiprocessors have some.
    """
    most, few = most_held(work), work.rows < SIDE * FEWEST
    many = [(2 * REGISTERS, WAVE)] if work.light and work.words == 1 else []
    alone = [(n, 1) for n in (4, 8, 16, REGISTERS)] + [(n, 1) for n, _ in many]
    shared = [(16, SHARING), (REGISTERS, SHARING)] if few else [(REGISTERS, WAVE), *many, (REGISTERS, SHARING)]
    for held, limit in [*(alone if work.length <= 8 or work.rows >= ALONE else ()), *shared]:
        held = min(held, 2 * REGISTERS if many else most)
        lanes = power_above(-(-work.length // max(held, 1)))
        fit = 1 << max(SHARED_BYTES // max(work.exchanged, 1), 1).bit_length() - 1 if lanes > 1 else FEWEST
        threads = min(fit, HOLDING, max(FEWEST, (NARROW if few else SIDE) * lanes))
        if held and lanes <= limit and threads >= NARROW * lanes:
            reach = "thread" if lanes == 1 else "group"
            return RowShape(threads, held, 16 if held > 8 else 8, reach, lanes * held == work.length, True), lanes
    return RowShape(256, 0, 2, columns=True), 8


def cost(kind: str, lanes: int, work: RowWork) -> tuple[float, float]:
    """Returns the cost of one kernel, and the cost of a kernel for each stage: in bytes of memory traffic.

    A kernel of few rows leaves most of the device idle; separate kernels divide each row among more threads. Columns that are too
    long cost infinitely much: the threads of a GPU cannot hold them, and on the CPU they leave the caches before they are read
    again, since a line of memory has elements of several columns. Nor does the CPU find the places of several axes again.
    """
    launch = LAUNCH.get(kind, LAUNCH_OF_GPU)
    shape, threads = row_shape(kind, lanes, work)
    elements = work.rows * work.length
    written = work.moved - sum(work.loaded)
    between = min(work.again, 2.0 * work.stored) if work.stored else work.again
    separate = (sum(work.loaded) + between + written) * elements + launch * len(work.loaded)
    if kind == "software":
        busy = min(1.0, work.rows * threads / (2 * max(lanes, 1)))
    else:
        busy = min(1.0, work.rows * threads / FULL)
    once = work.loaded[0] + written + sum(max(n - work.loaded[0], 0) for n in work.loaded[1:])
    if work.columns and not shape.held and (kind != "software" or work.length > OWN_ROW or work.axes > 1):
        return math.inf, float(separate)
    again = 0.0 if shape.held else work.again + 0.3 * (sum(work.loaded) - work.loaded[0])  # out of a cache
    return (once + again) * elements / max(busy, 1e-9) + launch, float(separate)

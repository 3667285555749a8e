"""Operands that lie turned: their neighbours in memory are below each other in the grid, as those of ``image.T`` are.

A group reads a square of such an operand in the order of memory, keeps it in shared memory, and takes its elements from there.
On an H200 the exponentials of a transposed image of 8,192 x 8,192 take 156 µs on CUDA and 160 on Vulkan; without squares, 286
and 300.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fusepy.backend.emit.operand import BARRIER, Operand
from fusepy.backend.emit.text import KernelText
from fusepy.backend.emit.tuning import SHARED_BYTES
from fusepy.backend.memory.element import Element
from fusepy.ir.ops.control import block
from fusepy.ir.value import declare

SIDE = 32  # elements of a square along x and y
ROW = SIDE + 1  # one more, so that the elements of a column are in different banks of shared memory


def turned_operands(
    operands: Sequence[Operand], strides: Sequence[Sequence[int]], raw: Mapping[int, Sequence[int]], grid: Sequence[int]
) -> tuple[int, ...]:
    """Returns the positions of the operands in memory that a group reads in squares.

    The order of strides decides alone, so that no size compiles another kernel.

    Args:
        strides: the steps of each operand along the grid by its position, in its elements; 0 where it is the same for all.
        raw: the strides of the arrays, which count along axes of extent 1.
    """
    x, y = len(grid) - 1, len(grid) - 2
    found, left = list[int](), SHARED_BYTES
    for o in operands:
        nbytes = 0 if o.want.dtype is None else SIDE * ROW * Element.of(o.want).nbytes
        if o.is_whole or not {x, y} <= set(o.dims) or not 0 < nbytes <= left:
            continue
        axes = [(d, o.dims.index(d)) for d in (x, y)]
        across, down = (abs((raw if grid[d] == 1 else strides)[o.position][axis]) for d, axis in axes)
        if 0 < down < across or (1 < down == across and 1 in (grid[x], grid[y])):
            found.append(o.position)
            left -= nbytes
    return tuple(found)


class Squares:
    """The squares of a group's turned operands, for groups of 32 x 8 threads with four rows each."""

    def __init__(self, text: KernelText):
        self._text = text
        self.operands = [o for o in text.loaded if o.position in text.variant.turned]

    def declared(self) -> list[str]:
        """Returns the declarations of the shared memory."""
        return [f"groupshared {declare(o.want, f'fz_square_{o.name}[{SIDE * ROW}]')};" for o in self.operands]

    def held(self) -> dict[str, str]:
        """Returns expressions for the elements ``k`` of a thread, by name."""
        return {f"a_{o.name}": f"fz_square_{o.name}[fz_lane.x * {ROW} + fz_lane.y + k * {SIDE // 4}]" for o in self.operands}

    def filled(self, place: Sequence[str]) -> list[str]:
        """Returns lines that read the squares; `place` are those that set the coordinates of a thread's element ``k``."""
        if not self.operands:
            return []
        loop = "[ForceUnroll] for (uint k = 0; k < 4; ++k)"
        read = [*place, *(f"l_{o.name}[k] = {self._text.load(o)};" for o in self.operands)]
        keep = [f"fz_square_{o.name}[(fz_lane.y + k * {SIDE // 4}) * {ROW} + fz_lane.x] = l_{o.name}[k];" for o in self.operands]
        arrays = [f"{declare(o.want, f'l_{o.name}[4]')};" for o in self.operands]
        return [*block([*arrays, loop, *block(read), loop, *block(keep)]), BARRIER]

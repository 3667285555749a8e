"""Arguments that are computed on the device instead of being read from memory."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.errors import ShapeError


class Grid:
    """Integer coordinates of a grid; made by `grid`."""

    __slots__ = ("offset", "shape", "stride")

    def __init__(self, shape: tuple[int, ...], offset: tuple[int, ...], stride: tuple[int, ...]):
        self.shape = shape
        self.offset = offset
        self.stride = stride

    def __repr__(self) -> str:
        return f"grid({self.shape}, offset={self.offset}, stride={self.stride})"


def grid(shape: Sequence[int], *, offset: Sequence[int] | None = None, stride: Sequence[int] | None = None) -> Grid:
    """Coordinates of every point of a grid, for an ``int``, ``int2``, ``int3`` or ``int4`` parameter.

    Args:
        shape: extents, slowest dimension first, as in NumPy: ``(height, width)`` for an image.
        offset: added to the index of each dimension; 0 by default.
        stride: factor of the index of each dimension; 1 by default.

    A vector parameter gets the last dimension as ``.x``, so ``grid((height, width))`` gives pixel coordinates ``int2(x, y)``.

    Raises:
        ShapeError: for more than four dimensions, negative extents, or lengths that differ.

    Example:
        >>> grid((4, 6))
        grid((4, 6), offset=(0, 0), stride=(1, 1))
    """
    extents = tuple(int(n) for n in shape)
    if not 1 <= len(extents) <= 4:
        raise ShapeError(f"grid: {len(extents)} dimensions", expected="1 to 4", hint="a coordinate is an int up to an int4")
    if min(extents) < 0:
        raise ShapeError("grid: a negative extent", saw=extents, hint="extents are 0 or more")
    offsets = tuple(int(n) for n in offset) if offset is not None else (0,) * len(extents)
    strides = tuple(int(n) for n in stride) if stride is not None else (1,) * len(extents)
    for name, given in (("offset", offsets), ("stride", strides)):
        if len(given) != len(extents):
            raise ShapeError(
                f"grid: {name} has another length than shape", saw=given, expected=extents, hint="one number per dimension"
            )
    return Grid(extents, offsets, strides)

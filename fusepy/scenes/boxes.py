"""`Boxes`: axis-aligned boxes around shapes that Slang computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fusepy.backend.device.device import Device
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.scenes.levels import BottomLevel
from fusepy.errors import ShapeError
from fusepy.ir.types import FLOAT
from fusepy.scenes.arrays import check_count, check_finite_rows, rows_of
from fusepy.scenes.geometry import Geometry, device_for


class Boxes(Geometry):
    """Axis-aligned boxes around shapes that Slang computes: an intersection function, or a ray query, finds the hits in them.

    Args:
        low: the lowest corner of each box, ``(n, 3)`` floats; `high` the highest.
        device: by default that of a tensor among the arguments, else the default device.
        opaque: False if any-hit functions run for the hits.
        checked: False omits the checks for NaN and for corners in the wrong order.

    Raises:
        ShapeError: for other shapes, no box, a box whose `low` is above its `high`, NaN or infinite corners.
        UnsupportedArgumentError: for arrays of other numbers.
        DeviceError: if the device has no ray tracing.

    Example:
        >>> import fusepy as fp
        >>> fp.Boxes([[-1, -1, -1]], [[1, 1, 1]])
        <Boxes: 1>
    """

    _instead = "wrap it in a scene: fp.Scene([boxes])"

    def __init__(self, low: Any, high: Any, *, device: Any = None, opaque: bool = True, checked: bool = True):
        home = device_for([low, high], device)
        self._checked = checked
        corners = self._corners(low, high, home)
        self.count = corners.shape[0]
        super().__init__(home, BottomLevel(corners, None, opaque), checked, (low, high))

    def refit(self, low: Any = None, high: Any = None) -> None:
        """Moves the boxes, and updates the structure; scenes with the boxes follow. The number of boxes stays the same.

        Args:
            low, high: by default the arrays or tensors that were given last, which the program has changed in place.
        """
        given = zip((low, high), self._source)
        self._checked_write(tuple(old if new is None else new for new, old in given), None, update=True)()
        self._changed()

    def rebuild(self, low: Any, high: Any) -> None:
        """Moves the boxes, and builds the structure again; scenes with the boxes follow. The number of boxes stays the same."""
        self._checked_write((low, high), None, update=False)()
        self._changed()

    def _checked_write(self, source: tuple[Any, ...], indices: Any, *, update: bool) -> Callable[[], None]:
        low, high = source
        corners = self._corners(low, high, self.device)
        check_count("low", corners.shape[0], self.count)

        def write() -> None:
            self.level.write(corners, update=update)
            self._source = source

        return write

    def _corners(self, low: Any, high: Any, device: Device) -> Tensor:
        lows, first = rows_of(low, 3, FLOAT, "low", device, self._checked)
        highs, last = rows_of(high, 3, FLOAT, "high", device, self._checked)
        check_count("high", highs.shape[0], lows.shape[0], "give one row of low and of high for each box")
        if not lows.shape[0]:
            raise ShapeError("no boxes", hint="give at least one box, or leave them out")
        if first is not None and last is not None:
            check_finite_rows(first, "low")
            check_finite_rows(last, "high")
            wrong = np.flatnonzero((first > last).any(axis=-1))
            if wrong.size:
                row = int(wrong[0])
                raise ShapeError(
                    f"box {row}: low is above high",
                    saw=f"{first[row].tolist()} and {last[row].tolist()}",
                    hint="swap them: np.minimum(low, high), np.maximum(low, high)",
                )
        made = Tensor.empty(device, (lows.shape[0], 6))
        made[:, :3] = lows
        made[:, 3:] = highs
        return made

    def __repr__(self) -> str:
        return f"<Boxes: {self.count}>"

"""Cursors: they read and write single elements of a tensor by index and field. The names are slangpy's.

A cursor loads the contents once and works on that copy. `BufferCursor.apply` writes the copy back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fusepy.backend.memory.contents import copy_from_numpy, to_numpy
from fusepy.backend.memory.element_cursor import Array, ElementCursor
from fusepy.backend.memory.pending import PENDING, before_write
from fusepy.backend.memory.storage import Storage
from fusepy.backend.sealed import Sealed
from fusepy.errors import ShapeError


class BufferCursor(Sealed):
    """The elements of a tensor, in C order, as a list of `ElementCursor`.

    Args:
        start, count: the range of elements; all by default.

    Raises:
        ShapeError: if the range exceeds the tensor.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_pixel", "struct Pixel { float r; float g; int count; };")
        >>> pixels = fp.NDBuffer(fp.default_device(), dtype=m.Pixel, shape=(4,))
        >>> cursor = pixels.cursor()
        >>> cursor[1].g = 0.5
        >>> cursor[2] = {"r": 1.0, "g": 2.0, "count": 3}
        >>> cursor.apply()
        >>> pixels.to_numpy()["g"].tolist()
        [0.0, 0.5, 2.0, 0.0]
    """

    _assigning = {"": "write to an element: cursor[0].position = x"}

    def __init__(self, tensor: Storage, start: int = 0, count: int | None = None):
        stop = tensor.size if count is None else start + count
        if not 0 <= start <= stop <= tensor.size:
            raise ShapeError(
                "a cursor exceeds its tensor",
                saw=f"elements {start} to {stop}",
                expected=f"0 to {tensor.size}",
                hint="see t.size",
            )
        self._tensor = tensor
        self._range = range(start, stop)
        self._whole: Array | None = None

    @property
    def element_count(self) -> int:
        """The number of elements."""
        return len(self._range)

    @property
    def element_size(self) -> int:
        """The size of one element in bytes."""
        return self._tensor.element.nbytes

    element_stride = element_size

    @property
    def size(self) -> int:
        """The size of all elements in bytes."""
        return len(self._range) * self._tensor.element.nbytes

    @property
    def is_loaded(self) -> bool:
        """True once the contents have been read."""
        return self._whole is not None

    def load(self) -> None:
        """Reads the contents. Drops changes that were not applied."""
        self._whole = to_numpy(self._tensor)

    def apply(self) -> None:
        """Writes the elements back to the tensor."""
        if self._whole is not None:
            if PENDING:
                before_write(self._tensor)
            copy_from_numpy(self._tensor, self._whole)

    def find_element(self, index: int) -> ElementCursor:
        """Returns the element at `index`; a negative index counts from the end.

        Raises:
            ShapeError: if there is none.
        """
        at = index + len(self._range) if index < 0 else index
        if not 0 <= at < len(self._range):
            raise ShapeError(f"cursor[{index}]", saw=index, expected=f"below {len(self._range)}", hint="see element_count")
        if self._whole is None:
            self.load()
        assert self._whole is not None
        element = self._tensor.element
        flat = self._whole.reshape(self._tensor.size, *element.shape)
        return ElementCursor(flat[self._range[at]], flat, (self._range[at],), str(element.type))

    def __getitem__(self, index: int) -> ElementCursor:
        return self.find_element(index)

    def __setitem__(self, index: int, value: Any) -> None:
        self.find_element(index).write(value)

    def __len__(self) -> int:
        return len(self._range)

    def __iter__(self) -> Iterator[ElementCursor]:
        return (self[i] for i in range(len(self)))

"""`CallExtents`: the extents of an image, and counts, as arguments."""

from __future__ import annotations

from fusepy.backend.marshals.generators import Grid
from fusepy.backend.marshals.grid import GridMarshal
from fusepy.backend.marshals.registry import register_kind


class CallExtents(Grid):
    """The extents of an image, or a count. Beside numbers, lists and arrays the results of a call are arrays."""

    __slots__ = ()

    def __init__(self, *extents: int):
        super().__init__(extents, (0,) * len(extents), (1,) * len(extents))


class CallExtentsMarshal(GridMarshal):
    """Places extents as a grid. Tensors beside it decide about the container of the results; lists and numbers do not."""

    returns = "numpy"


register_kind(CallExtents, CallExtentsMarshal())

"""`CallExtents`: the extents of an image, and counts, as arguments."""

from __future__ import annotations

from fusepy.backend.marshals.generators import Grid
from fusepy.backend.marshals.grid import GridMarshal
from fusepy.backend.marshals.registry import register_kind


class CallExtents(Grid):
    """Extents of what a call fills or counts. Its results are arrays where other arguments are numbers, lists or arrays."""

    __slots__ = ()

    def __init__(self, *extents: int):
        super().__init__(extents, (0,) * len(extents), (1,) * len(extents))


class CallExtentsMarshal(GridMarshal):
    """Extents: a grid beside which tensors decide about the container of the results, and lists and numbers do not."""

    returns = "numpy"


register_kind(CallExtents, CallExtentsMarshal())

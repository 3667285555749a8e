"""Parts of single elements: components of vectors, rows of matrices, elements of fixed arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from fusepy.errors import TraceError
from fusepy.ir.types import Kind
from fusepy.location import user_line
from fusepy.trace.moves.indexing import host_indices, is_listed
from fusepy.trace.open_trace import OpenTrace
from fusepy.trace.traced import Traced


def part(trace: OpenTrace, of: Traced, index: Any) -> Traced:
    """Records a part of an element. Its place is a number, a traced integer, or several of a single value; else axes are meant.

    Raises:
        TraceError: for a number that is out of range.
    """
    extent, listed = of.type.shape[0], is_listed(index)
    if listed and not trace.lift(of).rank:
        places: Any = host_indices(index)
        if ((places >= -extent) & (places < extent)).all():
            return trace.record("index", [of, (places % extent).astype(np.int32)])
    if listed or index is None or isinstance(index, (slice, tuple, type(...))):
        return of._fusepy_along(index)  # pyright: ignore[reportPrivateUsage]
    if not isinstance(index, int):
        return trace.record("index", [of, _place(trace, index, extent)])
    if not -extent <= index < extent:
        raise TraceError(f"index {index} of a {of.type}", expected=f"below {extent}", hint="mind the size")
    return trace.record("index", [of, index % extent])


def _place(trace: OpenTrace, index: Any, extent: int) -> Any:
    """Returns the place of a traced index: a negative one counts from the end, one out of range takes the nearest part."""
    at = Traced(trace, trace.lift(index), user_line())
    if at.type.kind is not Kind.SCALAR or at.type.dtype is None or at.type.dtype.kind not in "iu":
        return index  # which the operation refuses
    if at.type.dtype.kind == "u":
        return trace.record("minimum", [at, extent - 1])
    below = trace.record("lt", [at, 0])
    return trace.record("clip", [trace.record("select", [below, trace.record("add", [at, extent]), at]), 0, extent - 1])

"""`opposite_corners`: which vertices lie across from the edges of triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from fusepy.errors import ShapeError

Array = np.ndarray[Any, np.dtype[Any]]


def opposite_corners(triangles: Any) -> Array:
    """Returns, for each corner of each triangle, the vertex on the other side of the edge across from it.

    Args:
        triangles: (m, 3) integers, which are read on the host.

    Returns:
        (m, 3) integers; -1 where no triangle, or more than one, lies on the other side.

    Raises:
        ShapeError: if `triangles` are no triangles.

    Example:
        >>> import fusepy as fp
        >>> fp.opposite_corners([[0, 1, 2], [2, 1, 3]]).tolist()
        [[3, -1, -1], [-1, -1, 0]]
    """
    listed = np.asarray(triangles.to_numpy() if hasattr(triangles, "to_numpy") else triangles)
    if listed.ndim != 2 or listed.shape[1] != 3 or listed.dtype.kind not in "iu":
        raise ShapeError(
            "opposite_corners takes triangles",
            saw=f"{listed.dtype} of {listed.shape}",
            expected="(m, 3) integers",
            hint="give the numbers of the vertices of each triangle: np.array([[0, 1, 2]])",
        )
    corners = listed.reshape(-1).astype(np.int32)
    edges = np.sort(np.stack([np.roll(listed, -1, 1), np.roll(listed, -2, 1)], -1).reshape(-1, 2), axis=1)
    _, edge, count = np.unique(edges, axis=0, return_inverse=True, return_counts=True)
    edge = edge.reshape(-1)
    both = np.zeros(len(count), np.int64)
    np.add.at(both, edge, corners)
    found = np.where(count[edge] == 2, both[edge] - corners, -1)
    return found.reshape(listed.shape).astype(np.int32)

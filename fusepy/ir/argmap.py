"""Maps from the axes of one operand to the grid of a call: the algebra behind `vmap` and `vcast`.

An operand of rank ``n`` has ``len(dims)`` batch axes, the leading ones; axis ``i`` of these runs along grid dimension
``dims[i]``. Its other, trailing axes are consumed by the Slang type that one thread loads (a ``(100, 3)`` float tensor
bound to ``float3`` has one batch axis). Both parts may be unknown until `passes.resolve_maps` settles them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import numpy as np

from fusepy.errors import ShapeError
from fusepy.ir.types import AS_ONE, Type


@dataclass(frozen=True)
class ArgMap:
    """Mapping (`dims`) and type (`type`) of one operand; ``None`` means not stated.

    Laws (tested): `compose` is associative, `identity` is its unit on both sides, and aligning to a grid in two steps equals
    aligning in one.

    Example:
        >>> print(ArgMap((0, 1), Type.parse("float3")))
        vmap(d0,d1) vcast(float3)
        >>> ArgMap((1,)).compose((2, 0)).dims
        (0,)
    """

    dims: tuple[int, ...] | None = None
    type: Type | None = None

    @staticmethod
    def identity(rank: int) -> ArgMap:
        """Returns the map of a value that is spread over the whole grid, axis by axis."""
        return ArgMap(tuple(range(rank)))

    @staticmethod
    def aligned(batch_rank: int, grid_rank: int) -> ArgMap:
        """Returns the map of NumPy's broadcasting: the last batch axis runs along the last grid dimension.

        Raises:
            ShapeError: if there are more batch axes than grid dimensions.
        """
        if batch_rank > grid_rank:
            raise ShapeError(
                f"{batch_rank} axes do not fit a grid of {grid_rank} dimensions",
                hint="map the axes with vmap, or vcast to a vector",
            )
        return ArgMap(tuple(range(grid_rank - batch_rank, grid_rank)))

    @property
    def is_resolved(self) -> bool:
        return self.dims is not None

    @property
    def min_grid_rank(self) -> int:
        """The smallest grid that has all the dimensions named here."""
        return max(self.dims) + 1 if self.dims else 0

    def compose(self, outer: Iterable[int]) -> ArgMap:
        """Returns the map into an outer grid, where dimension ``d`` of this map's grid runs along ``outer[d]``."""
        if self.dims is None:
            raise ShapeError("an unresolved map cannot be composed", hint="run resolve_maps first")
        into = tuple(outer)
        return ArgMap(tuple(into[d] for d in self.dims), self.type)

    def under(self, said: ArgMap) -> ArgMap:
        """Returns this map of a value, overridden by `said`, the map of one use.

        A use that takes the whole value (a pointer, a whole array, a resource) has no mapped axes.

        Example:
            >>> print(ArgMap((1, 0)).under(ArgMap(None, Type.parse("float"))))
            vmap(d1,d0) vcast(float)
        """
        whole = said.type is not None and said.type.kind in AS_ONE
        dims = self.dims if said.dims is None and not whole else said.dims
        return ArgMap(dims, self.type if said.type is None else said.type)

    def is_identity(self, grid_rank: int) -> bool:
        return self.dims == tuple(range(grid_rank))

    def __str__(self) -> str:
        parts: list[str] = []
        if self.dims is not None:
            parts.append("vmap(" + ",".join(f"d{d}" for d in self.dims) + ")")
        if self.type is not None:
            parts.append(f"vcast({self.type})")
        return " ".join(parts)


UNSAID = ArgMap()
MOST_AXES = 60  # of a grid, or of an argument; NumPy's limit is 64, and an element has components


def check_rank(rank: int, what: str) -> None:
    """Raises `ShapeError` for more than `MOST_AXES` axes."""
    if rank > MOST_AXES:
        hint = "reshape it: axes that lie behind one another can be one"
        raise ShapeError(f"{what} has too many axes", saw=f"{rank} axes", expected=f"at most {MOST_AXES}", hint=hint)


def check_dims(dims: tuple[object, ...], where: str = "vmap") -> tuple[int, ...]:
    """Returns `dims` as grid dimensions: integers from 0, each at most once.

    Raises:
        ShapeError: naming the offending dimension.
    """
    checked: list[int] = []
    for entry in dims:
        dim = int(cast("int", entry)) if isinstance(entry, np.integer) else entry
        if isinstance(dim, bool) or not isinstance(dim, int):
            raise ShapeError(f"{where}: dimension {dim!r} is not an integer", saw=dims, hint=f"write {where}(value, (0, 1))")
        if dim < 0:
            raise ShapeError(
                f"{where}: dimension {dim} is negative", saw=dims, expected="0 or more", hint="grid dimensions are counted from 0"
            )
        if dim in checked:
            raise ShapeError(
                f"{where}: dimension {dim} is named twice", saw=dims, hint="each axis needs a grid dimension of its own"
            )
        if dim >= MOST_AXES:
            raise ShapeError(
                f"{where}: dimension {dim} is out of range", saw=dims, expected=f"below {MOST_AXES}", hint="use fewer dimensions"
            )
        checked.append(dim)
    return tuple(checked)

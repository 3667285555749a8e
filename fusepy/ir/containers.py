"""How inputs of a graph arrive, by the name that `ir.graph.Value.container` carries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusepy.ir.types import TEXTURE_RANKS, Kind

if TYPE_CHECKING:
    from fusepy.ir.value import Value

MEMORY = ("Tensor", "List", "Pair")  # a pair is a tensor with its gradient
COORDINATES = ("Grid", "CallId")  # integers, one per dimension of a grid; the last dimension comes first in a vector

# Computed from the place of a thread in its grid. Without extents of its own such a value has rank 0 and follows whatever
# grid it is used in. A "1" behind the name says that it is a scalar; without it Slang chooses among scalar and vectors.
_PLACES = ("CallId", "ThreadId", "WangHash", "RandFloat")
GENERATORS = (*_PLACES, *(f"{name}1" for name in _PLACES))
PLACES = (*COORDINATES, *GENERATORS)  # what is computed from where a thread is, and lies in no memory

# textures by their shape; raw buffers, bindless handles, and what is only ever passed as it is (samplers, …), see `ir.resources`
TEXTURES = tuple(f"Texture{shape}" for shape in TEXTURE_RANKS)
BUFFER, HANDLE, OPAQUE = "Buffer", "Handle", "Resource"

CONTAINERS = (*MEMORY, "Grid", "Linspace", "Uniform", "None", *GENERATORS, *TEXTURES, BUFFER, HANDLE, OPAQUE)


def is_spread(value: Value) -> bool:
    """Whether `value` is an input that differs from thread to thread without having axes."""
    return not value.rank and value.container in GENERATORS


def is_stored(value: Value) -> bool:
    """Whether `value` is computed over a grid, and so lies in memory where user code wants it whole, to be read."""
    return value.name is None and value.rank > 0


def is_open(value: Value) -> bool:
    """Whether Slang may take `value` as a scalar or as a vector of any length."""
    return value.container in _PLACES and value.type.kind is Kind.SCALAR

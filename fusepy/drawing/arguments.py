"""The arguments of a call over a mesh: counts as grids, indices as integers of 32 bits, targets as a size and formats."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np

from fusepy.backend.marshals.registry import host_array, texture_kind
from fusepy.backend.memory.texture import kind_of, overlap
from fusepy.backend.raster.state import RasterState
from fusepy.drawing.extents import CallExtents
from fusepy.errors import ArgumentError, ShapeError, UnsupportedArgumentError
from fusepy.functions.options import integers
from fusepy.language.generators import grid
from fusepy.location import user_line
from fusepy.symbolic import Symbolic
from fusepy.trace.trace import current_trace

Array = np.ndarray[Any, np.dtype[Any]]
_LIMIT = 1 << 14  # pixels along one axis of an image


def extents(given: Any, what: str) -> tuple[int, int]:
    """Returns a height and a width.

    Raises:
        ShapeError: for anything else, and for more than 16,384 pixels along an axis.
    """
    found = integers(given)
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and 0 < n <= _LIMIT for n in found)
    if len(found) != 2 or not whole:
        raise ShapeError(
            f"{what}: the size of an image is a height and a width",
            place=user_line(),
            saw=repr(given)[:60],
            expected=f"two numbers from 1 to {_LIMIT}",
            hint="write targets=(height, width)",
        )
    return int(found[0]), int(found[1])


def targets_of(given: Any, size: tuple[int, int] | None, formats: str, what: str) -> tuple[Any, str, Any]:
    """Returns the grid of an image, the formats of the colours, and the textures to draw into.

    Args:
        given: a size, a size and formats, or textures.
        size, formats: those of the options.

    Raises:
        ArgumentError: without a size; for textures inside a fused function.
        ShapeError: for textures of different sizes.
    """
    if given.__class__ is tuple and len(given) == 2 and given[0].__class__ is int and given[1].__class__ is int:
        return _grid_of(given, what), formats, None
    textures = list(cast("Sequence[Any]", given)) if isinstance(given, (tuple, list)) else [given]
    if textures and all(texture_kind(one) is not None for one in textures):
        return _textures(textures, what)
    if given is None:
        if size is None:
            raise ArgumentError(
                f"{what}: an image has a size",
                place=user_line(),
                hint="write targets=(height, width), or .options(size=(height, width))",
            )
        return CallExtents(*size), formats, None
    if isinstance(given, tuple) and len(cast("Sequence[Any]", given)) == 2 and hasattr(cast("Any", given[0]), "__len__"):
        shape, named = cast("tuple[Any, Any]", given)
        formats = formats_of(named)
        given = shape
    return CallExtents(*extents(given, what)), formats, None


def check_textures(state: RasterState, given: Any, read: Collection[Any], what: str) -> None:
    """Checks the textures of a draw, if there are some.

    Args:
        read: what its functions read.

    Raises:
        UnsupportedArgumentError: for a texture of depth in a draw of several samples.
        ArgumentError: if a draw keeps what its targets hold, and they are its own; for a texture of depth without depth, and one
            that is read, too.
    """
    listed = list(cast("Sequence[Any]", given)) if isinstance(given, (tuple, list)) else [given]
    names = [kind.format.name for kind in map(texture_kind, listed) if kind is not None]
    depths = [name for name in names if name.startswith("d")]
    seen = [one for one in read if texture_kind(one) is not None] if names else []
    if any(overlap(a, b) for a in listed if texture_kind(a) is not None for b in seen):
        raise ArgumentError(
            f"{what} reads a texture that it draws into",
            place=user_line(),
            saw=", ".join(names),
            hint="draw into another texture: what a draw reads of its targets is undefined on devices",
        )
    if depths and not state.has_depth:
        raise ArgumentError(
            f"{what}: a texture of depth is a target, and the draw has no depth",
            place=user_line(),
            saw=", ".join(names),
            hint="write .options(depth='less'), or leave that texture out",
        )
    if state.samples > 1 and depths:
        raise UnsupportedArgumentError(
            f"{what}: a texture holds no depth of several samples",
            place=user_line(),
            saw=", ".join(names),
            expected="textures of colours: a pass makes one colour of several samples, but no depth",
            hint="write targets=(height, width) with depth_resolve='min', which returns an array or a tensor; or samples=1",
        )
    if not state.keeps_contents:
        return
    kept = state.clear_depth < 0 or state.clear_stencil < 0
    if state.samples > 1 or (not state.clear and len(names) == len(depths)) or (kept and not depths):
        raise ArgumentError(
            f"{what} keeps what its targets hold, and they are its own",
            place=user_line(),
            saw=", ".join(names) or "no textures",
            expected="textures in targets=, and one sample for each pixel",
            hint="create textures, one of depth for clear_depth=None and clear_stencil=None; or give a colour as clear, and "
            "numbers as clear_depth and clear_stencil",
        )


@lru_cache(maxsize=64)
def _grid_of(size: tuple[int, int], what: str) -> CallExtents:
    return CallExtents(*extents(size, what))


def formats_of(named: Any) -> str:
    """Returns formats as one text, separated by commas."""
    return ",".join(getattr(f, "name", f) for f in ([named] if isinstance(named, str) or hasattr(named, "name") else named))


def _textures(given: Sequence[Any], what: str) -> tuple[Any, str, Any]:
    if current_trace() is not None:
        raise ArgumentError(
            f"{what}: textures are targets of a call, not of a part of a fused function",
            place=user_line(),
            hint="write targets=(height, width), and return the image: _result=texture of the fused function takes it",
        )
    kinds = [kind_of(one) for one in given]
    shapes = list(dict.fromkeys(kind.shape(one) for kind, one in zip(kinds, given)))
    if len(shapes) > 1 or len(shapes[0]) != 2:
        raise ShapeError(
            f"{what}: the targets are images of one size",
            place=user_line(),
            saw=" and ".join(map(str, shapes)),
            hint="create textures of the type texture_2d with the same width and height",
        )
    colors = [kind.format.name for kind in kinds if not kind.format.name.startswith("d")]
    return CallExtents(*shapes[0]), ",".join(colors), tuple(given) if len(given) > 1 else given[0]


def counted(given: Any, group: str, what: str) -> Any:
    """Returns a group of arguments; a number ``n`` becomes a grid of `n` vertices or instances.

    Raises:
        ShapeError: for a negative number.
    """
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        count = int(cast("Any", given))
        if count < 0:
            raise ShapeError(f"{what}: {group} are counted", place=user_line(), saw=count, hint="give 0 or more")
        return {"count": grid((count,)) if group == "vertices" else CallExtents(count)}
    return given


def indices_of(given: Any, vertices: Any, what: str) -> Any:
    """Returns indices as they are drawn: those in arrays of the host are checked, and become integers of 32 bits.

    Raises:
        UnsupportedArgumentError: for numbers that are no integers.
        ShapeError: for an index past the vertices.
    """
    listed = isinstance(given, (list, tuple))
    array: Array | None = _listed(given) if listed else host_array(given)
    if array is None:
        return given
    if array.dtype.kind not in "iu" and array.size:
        raise UnsupportedArgumentError(
            f"{what}: indices are integers",
            place=user_line(),
            saw="lists of several lengths" if array.dtype.kind == "O" else array.dtype,
            hint="give the numbers of the vertices of each triangle: an array of (n, 3)",
        )
    count = _count(vertices)
    flat: Any = array.ravel()
    unsigned: Any = flat.view(flat.dtype.str.replace("i", "u"))  # a negative number is a large one (-1 of 8 bits is 255)
    if flat.size and count is not None and int(unsigned.max()) >= min(count, np.iinfo(flat.dtype).max + 1):
        at = int(np.flatnonzero((flat >= count) | (flat < 0))[0])
        raise ShapeError(
            f"{what}: an index points past the vertices",
            place=user_line(),
            saw=f"{int(flat[at])} at {at}, of {count} vertices",
            expected=f"0 to {count - 1}",
            hint="count vertices from 0; some files count from 1",
        )
    return np.ascontiguousarray(flat, np.uint32)


def _listed(given: Any) -> Array:
    """Returns lists as an array; one of objects if they have several lengths."""
    try:
        return np.asarray(given) if len(given) else np.zeros(0, np.uint32)
    except ValueError:
        return np.zeros(1, object)


def _count(vertices: Any) -> int | None:
    """Returns the number of vertices, if the arguments tell it."""
    if isinstance(vertices, Mapping):
        found = [_count(value) for value in cast("Mapping[str, Any]", vertices).values()]
        return next((n for n in found if n is not None), None)
    if isinstance(vertices, list):
        return len(cast("Any", vertices))
    shape: Any = getattr(vertices, "shape", None) if not isinstance(vertices, Symbolic) else None
    return int(shape[0]) if shape is not None and len(shape) else None

"""The options of a draw: their names, and the values that each takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from fusepy.backend.raster.formats import format_named
from fusepy.backend.raster.state import (
    BLENDS,
    CULLS,
    DEPTH_FORMATS,
    DEPTHS,
    FILLS,
    FRONTS,
    RESOLVES,
    STENCIL_FORMAT,
    STENCILS,
    TOPOLOGIES,
    RasterState,
)
from fusepy.backend.raster.stencil_ops import OPS, check_ops
from fusepy.errors import ArgumentError, did_you_mean
from fusepy.location import user_line

_CHOICES: Mapping[str, Any] = {
    "topology": TOPOLOGIES,
    "cull": CULLS,
    "front": FRONTS,
    "fill": FILLS,
    "depth": DEPTHS,
    "depth_format": DEPTH_FORMATS,
    "depth_resolve": RESOLVES,
    "stencil": STENCILS,
    "stencil_pass": OPS,
    "stencil_fail": OPS,
    "stencil_depth_fail": OPS,
    "blend": BLENDS,
}
_NONE = {"depth": "", "blend": "", "cull": "none", "stencil": "", "depth_resolve": ""}  # what ``None`` means
_KEPT: Mapping[str, Any] = {"clear": (), "clear_depth": -1.0, "clear_stencil": -1}  # nothing is cleared


def _is_byte(numbers: Sequence[float]) -> bool:
    return len(numbers) == 1 and numbers[0] in range(256)


_RULES: Mapping[str, tuple[Callable[[Sequence[float]], bool], str]] = {  # of options that are numbers
    "depth_write": (lambda n: len(n) == 1 and n[0] in (0, 1), "True or False"),
    "samples": (lambda n: len(n) == 1 and n[0] in (1, 2, 4, 8), "1, 2, 4 or 8"),
    "clear_depth": (lambda n: len(n) == 1 and 0 <= n[0] <= 1, "a number from 0 to 1, or None"),
    "clear": (lambda n: len(n) in (1, 3, 4), "1, 3 or 4 numbers, or None"),
    "clear_stencil": (_is_byte, "a whole number from 0 to 255, or None"),
    **dict.fromkeys(("stencil_reference", "stencil_read_mask", "stencil_write_mask"), (_is_byte, "a whole number from 0 to 255")),
    "viewport": (lambda n: len(n) == 4 and min(n[2:]) > 0, "x, y, width and height"),
}
STATES = tuple(f.name for f in fields(RasterState))
NAMES = (*STATES, "size", "formats")


def with_options(state: RasterState, given: Mapping[str, Any], what: str) -> RasterState:
    """Returns a state with other options.

    Raises:
        ArgumentError: for a value that an option does not take; names the nearest. For a stencil in a format without one.
        DeviceError: for operations of stencils that slangpy cannot set.
    """
    made = replace(state, **{name: _checked(name, value, what) for name, value in given.items()})
    check_ops((made.stencil_pass, made.stencil_fail, made.stencil_depth_fail))
    if not made.stencil or made.depth_format == STENCIL_FORMAT:
        return made
    if "depth_format" not in given and made.depth_format == RasterState.depth_format:
        return replace(made, depth_format=STENCIL_FORMAT)  # the same depth, with a stencil
    raise ArgumentError(
        f"{what}: a stencil lies in a format that has one",
        place=user_line(),
        saw=made.depth_format,
        expected=STENCIL_FORMAT,
        hint=f"write .options(stencil={made.stencil!r}, depth_format={STENCIL_FORMAT!r})",
    )


def _checked(name: str, value: Any, what: str) -> Any:
    if name == "viewport" and value is None:
        return ()
    if value is None and name in _KEPT:
        return _KEPT[name]
    if value is None and name in _NONE:
        return _NONE[name]
    if name in _CHOICES:
        if not isinstance(value, str) or value not in _CHOICES[name]:
            raise ArgumentError(
                f"{what}: option {name} is one of some words",
                place=user_line(),
                saw=repr(value)[:60],
                expected=", ".join(_CHOICES[name]) + ", or None" * (name in _NONE),
                hint=did_you_mean(str(value), _CHOICES[name]),
            )
        return value
    numbers = _numbers(value)
    holds, expected = _RULES[name]
    if numbers is None or not holds(numbers):
        raise ArgumentError(
            f"{what}: option {name} does not take this",
            place=user_line(),
            saw=repr(value)[:60],
            expected=expected,
            hint=f"write .options({name}=…) with {expected}",
        )
    if name == "clear":
        return (numbers * 4)[:4] if len(numbers) == 1 else (*numbers, 1.0)[:4]
    return numbers if name == "viewport" else type(getattr(RasterState, name))(numbers[0])


def _numbers(value: Any) -> tuple[float, ...] | None:
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        return None
    return tuple(map(float, array.ravel())) if array.ndim < 2 else None


@lru_cache(maxsize=64)
def check_formats(formats: str, what: str) -> str:
    """Returns formats that exist.

    Raises:
        UnknownNameError: for one that does not; names the nearest.
    """
    for name in filter(None, formats.split(",")):
        format_named(name, what)
    return formats

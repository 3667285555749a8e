"""The targets of a draw: which output of the fragment function goes where, and in which format."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.memory.texture import format_for, texel_type
from fusepy.backend.raster.formats import format_named
from fusepy.errors import ArgumentError, UnsupportedArgumentError
from fusepy.ir.resources import channels, same_class
from fusepy.ir.types import Type


def targets_of(
    name: str, fragment: str, names: Sequence[str], types: Sequence[Type], formats: str, loc: str | None
) -> tuple[tuple[str, ...], list[str]]:
    """Returns the semantic of each output of the fragment function, and the formats of the colour targets."""
    marks = ["SV_Depth" if own.lower() in ("sv_depth", "depth") else "" for own in names]
    colors = [i for i, mark in enumerate(marks) if not mark]
    for k, i in enumerate(colors):
        marks[i] = f"SV_Target{k}"
    given = [f for f in formats.split(",") if f]
    if given and len(given) != len(colors):
        raise ArgumentError(
            f"{name}: {fragment} returns {len(colors)} colours for {len(given)} targets",
            place=loc,
            saw=", ".join(str(types[i]) for i in colors),
            expected=f"{len(given)} for {', '.join(given)}",
            hint="give one format for each colour that the fragment function returns",
        )
    found: list[str] = []
    for k, i in enumerate(colors):
        type, plain = types[i], format_for(types[i])
        format = given[k] if given else plain.name if plain is not None else ""
        texel = texel_type(format_named(format, name)) if format else None
        wanted = (3, 4) if channels(type) == 3 else (channels(type),)  # a colour without alpha is opaque
        if texel is None or not same_class(type, texel) or channels(texel) not in wanted:
            raise UnsupportedArgumentError(
                f"{name}: target {k} cannot hold what {fragment} returns",
                place=loc,
                saw=f"{type}" + (f" for {format}" if format else ""),
                expected=f"a {texel}" if texel is not None else "up to four floats or integers of 32 bits",
                hint="choose a format with as many channels and the same kind of numbers",
            )
        found.append(format)
    return tuple(marks), found


def check_blend(name: str, blend: str, formats: Sequence[str], loc: str | None) -> None:
    """Raises `UnsupportedArgumentError` if colours of integers are to be blended: devices replace them."""
    whole = [format for format in formats if not texel_type(format_named(format, name)).is_float]
    if blend and whole:
        raise UnsupportedArgumentError(
            f"{name}: integers are not blended",
            place=loc,
            saw=f"blend={blend!r} for {', '.join(whole)}",
            expected="colours of floats, or of normalised formats",
            hint="write .options(blend=None), or return floats",
        )

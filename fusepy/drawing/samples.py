"""The arguments of `texture`: its words, checked; images and places as Slang reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fusepy.drawing.mapped import captured
from fusepy.drawing.vectors import grouped, holds_floats, whole
from fusepy.errors import ArgumentError, ShapeError, UnsupportedArgumentError, did_you_mean
from fusepy.ir.types import Kind
from fusepy.location import user_line
from fusepy.symbolic import Symbolic
from fusepy.trace.trace import current_trace
from fusepy.trace.traced import Traced

_FILTERS = ("auto", "nearest", "linear", "linear-mipmap-nearest", "linear-mipmap-linear")
BOUNDARIES = ("wrap", "clamp", "mirror", "zero")  # their numbers are those of fusepy_images.slang


def meant(filter: str, boundary: str, uv_da: Any, bias: Any, mip: Any) -> str:
    """Returns the filter that is meant by ``"auto"``, after checks of all words."""
    for name, given, known in (("filter_mode", filter, _FILTERS), ("boundary_mode", boundary, BOUNDARIES)):
        if given not in known:
            raise ArgumentError(
                f"texture: {name} is one of some words",
                place=user_line(),
                saw=repr(given)[:60],
                expected=", ".join(known),
                hint=did_you_mean(str(given), known),
            )
    chosen = uv_da is not None or bias is not None
    if filter == "auto":
        filter = "linear-mipmap-linear" if chosen else "linear"
    if ("mipmap" in filter) != chosen or (mip is not None and not chosen):
        raise ArgumentError(
            "texture: mip levels go with what chooses among them",
            place=user_line(),
            saw=f"filter_mode={filter!r}" + ", mip" * (mip is not None) + ", uv_da or mip_level_bias" * chosen,
            expected="uv_da or mip_level_bias with a filter of mip levels, and neither without",
            hint="leave filter_mode out, and pass uv_da=, or mip_level_bias= with the level",
        )
    return filter


def check_levels(mip: Any, last: Any) -> None:
    """Raises `ArgumentError` for mip levels that are no list, and for a last level that is no number."""
    if mip is not None and not isinstance(mip, (list, tuple)):
        raise ArgumentError(
            "texture: mip is a list of images",
            place=user_line(),
            saw=type(mip).__name__,
            hint="pass the levels from 1 on: mip=fp.render.mip_levels(image)",
        )
    if last is not None and (type(last) is not int or last < 0):
        raise ArgumentError(
            "texture: max_mip_level is the number of a level",
            place=user_line(),
            saw=repr(last)[:60],
            expected="0 or more, or None for all",
            hint="pass 1 for the image and one level of half its size",
        )


def has_one_channel(given: Any) -> bool:
    """True for an image of shape (height, width, 1), whose samples have an axis of 1, too."""
    given = _traced(given, "image")
    return isinstance(given, Traced) and given.type.kind is Kind.SCALAR and given.rank == 3 and given.shape[2] == 1


def image_of(given: Any, what: str) -> Any:
    """Returns an image as Slang reads it, a whole array over two axes; one of a single channel as an array of numbers.

    Raises:
        ShapeError: for other arrays, and without a texel.
        UnsupportedArgumentError: for textures of the device, and for other numbers than floats.
    """
    given, trace = _traced(given, what), current_trace()
    assert trace is not None
    texels = trace.lift(given).arrival.texels
    if not holds_floats(given) or texels:
        raise UnsupportedArgumentError(
            f"{what} holds no floats",
            place=user_line(),
            saw=f"a texture of {given.type}" if texels else given.type,
            expected="an array or tensor of float, float2, float3 or float4",
            hint='convert it: fp.astype(image, "float"); a texture of slangpy is sampled by SampleLevel in a Slang function',
        )
    if has_one_channel(given):
        given = given[..., 0]
    vectors = given.rank == 3 and given.type.kind is Kind.SCALAR and given.shape[2] in (2, 3, 4)
    if (given.rank != 2 and not vectors) or 0 in given.shape:
        raise ShapeError(
            f"{what} is no image",
            place=user_line(),
            saw=f"an array of {tuple(given.shape)}",
            expected="(height, width), or (height, width, 1 to 4)",
            hint="take image[..., :4] and so on of more than four channels",
        )
    return whole(given, 2)


def check_sizes(what: str, **images: Any) -> None:
    """Raises `ShapeError` for images of different heights and widths; those that a program computes are checked by the call."""
    known = {name: tuple(image.shape[:2]) for name, image in images.items() if not isinstance(image, (Symbolic, list))}
    if len(set(known.values())) > 1:
        raise ShapeError(
            f"{what}: the images are of different sizes",
            place=user_line(),
            saw=", ".join(f"{name} {shape}" for name, shape in known.items()),
            expected="one height and width",
            hint="compute the image of the same fragments, as interpolate does",
        )


def given_levels(mip: Sequence[Any], last: int | None) -> list[Any]:
    """Returns the levels from 1 on that a call has given."""
    levels = [image_of(one, f"texture: level {k + 1}") for k, one in enumerate(mip)]
    return levels if last is None else levels[:last]


def vectors_of(given: Any, count: int, what: str) -> Any:
    """Returns an argument of so many numbers for each place, as vectors."""
    given = _traced(given, what)
    if isinstance(given, Traced) and given.type.kind is Kind.SCALAR and given.shape[-1:] != (count,):
        raise ShapeError(
            f"texture: {what} has {count} numbers for each place",
            place=user_line(),
            saw=f"an array of {tuple(given.shape)}",
            expected=f"(…, {count})",
            hint="join them with fp.stack(…, axis=-1), u before v" if count == 2 else "pass what interpolate returns for uv",
        )
    return grouped(given, given.rank - 1) if isinstance(given, Traced) else given


def _traced(given: Any, what: str) -> Any:
    """Returns an array from outside of the function that is traced as one of its values."""
    trace = current_trace()
    assert trace is not None
    return captured(trace, given, what)

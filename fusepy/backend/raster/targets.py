"""Textures that draws fill: their formats, and the usage that they need."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import slangpy as spy

from fusepy.backend.device.bound import Bound
from fusepy.backend.device.device import Device
from fusepy.backend.execute.texture_results import TextureTarget
from fusepy.backend.kernels.resources import usage_names
from fusepy.backend.memory.texture import TextureKind, check_device, kind_for, kind_of, texture_of
from fusepy.errors import UnsupportedArgumentError
from fusepy.ir.graph import Node, Value
from fusepy.ir.types import Type

_PLAIN = spy.TextureType.texture_2d


class DrawnTarget(TextureTarget):
    """The texture that a draw fills."""

    def place(self, given: Any, device: Device) -> Bound:
        """Returns the caller's texture, checked.

        Raises:
            ShapeError: if it lies on another device.
            UnsupportedArgumentError: if no draw can fill it.
        """
        check_device(given, "texture", device)
        texture = texture_of(given)
        usage = _usage(self.kind.format)
        if not texture.desc.usage & usage:
            raise UnsupportedArgumentError(
                f"a texture without the usage {usage.name} cannot be a target",
                saw=usage_names(texture.desc.usage),
                expected=usage.name,
                hint=f"create it with usage=TextureUsage.{usage.name} | …",
            )
        return Bound(given, kind_of(given).shape(given))

    def create(self, device: Device, shape: tuple[int, ...]) -> Bound:
        """Returns a new texture of this size."""
        height, width = shape
        usage = _usage(self.kind.format) | spy.TextureUsage.shader_resource | spy.TextureUsage.copy_source
        made = device.raw.create_texture(type=_PLAIN, format=self.kind.format, width=width, height=height, usage=usage)
        return Bound(made, shape)


def _advice(given: spy.Format, wanted: spy.Format) -> str:
    """Returns the hint for a texture of another format than the image has."""
    depths = [spy.get_format_info(format).is_depth for format in (given, wanted)]
    if all(depths):
        return f"create it with that format, or write .options(depth_format={given.name!r})"
    if any(depths):
        return "give the textures of colours first, then one of depth: targets=(picture, depth)"
    return "pass it in targets=, which draws in its format; or create it with that format"


def _usage(format: spy.Format) -> spy.TextureUsage:
    return spy.TextureUsage.depth_stencil if spy.get_format_info(format).is_depth else spy.TextureUsage.render_target


def drawn_targets(draw: Node) -> dict[Value, Callable[[TextureKind | None, str], DrawnTarget]]:
    """Returns for each image of a draw the function that makes its target, see `drawn_target`."""
    colors, depth = draw.words("formats"), str(draw.attrs["depth_format"])
    several = draw.attrs["samples"] != 1
    found = {v: partial(drawn_target, spy.Format[f], False) for v, f in zip(draw.results, colors)}
    return {**found, **{v: partial(drawn_target, spy.Format[depth], several) for v in draw.results[len(colors) :]}}


def drawn_target(format: spy.Format, unresolved: bool, kind: TextureKind | None, what: str) -> DrawnTarget:
    """Returns the target for an image of this format; `kind` is that of the caller's texture, if there is one.

    Args:
        unresolved: it has several samples for each pixel, and no pass can make one of them: it is depth.

    Raises:
        UnsupportedArgumentError: for a texture of another format or shape, and for one that gets depth of several samples.
    """
    own = kind_for(_PLAIN, format)
    if unresolved:
        raise UnsupportedArgumentError(
            f"{what}: a texture holds no depth of several samples",
            saw="a texture",
            expected="an array or a tensor: a pass makes one colour of several samples, but no depth",
            hint="leave the texture away, which returns an array or a tensor; or write samples=1",
        )
    if kind is not None and kind is not own:
        raise UnsupportedArgumentError(
            f"{what} is a texture that is no target of this draw",
            saw=repr(kind),
            expected=repr(own),
            hint=_advice(kind.format, format),
        )
    return DrawnTarget(Type.resource("RWTexture2D", own.texel), own)

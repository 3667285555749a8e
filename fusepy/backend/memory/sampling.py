"""Properties of textures and samplers for gradients: mip levels, and the settings that shaders cannot query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import slangpy as spy

from fusepy.backend.memory.structs import ArgumentView
from fusepy.backend.memory.texture import ALL, AnyTexture, texture_of
from fusepy.errors import GradientError

_MODES = [
    spy.TextureAddressingMode.wrap,
    spy.TextureAddressingMode.mirror_repeat,
    spy.TextureAddressingMode.clamp_to_edge,
    spy.TextureAddressingMode.clamp_to_border,
    spy.TextureAddressingMode.mirror_once,
]  # by the numbers that `_GradSampler` of the Slang module has for them
_LEVELS = 15  # no texture has more

_BORDERS: list[tuple[float, ...]] = [(0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), (1.0, 1.0, 1.0, 1.0)]


def levels_of(value: Any) -> int:
    """Returns the number of mip levels of a texture or view; 1 for other values."""
    if isinstance(value, spy.Texture):
        return value.mip_count
    if not isinstance(value, spy.TextureView):
        return 1
    taken = value.subresource_range
    return value.texture.mip_count - taken.mip if taken.mip_count == ALL else taken.mip_count


def level_of(value: AnyTexture, level: int) -> spy.TextureView:
    """Returns a view of one mip level of a texture or view."""
    first = 0 if isinstance(value, spy.Texture) else value.subresource_range.mip
    return texture_of(value).create_view(format=value.format, mip=first + level, mip_count=1)


def setting_of(value: spy.Sampler) -> float:
    """Returns the settings of a sampler as `_GradSampler` reads them.

    Raises:
        GradientError: for one whose gradient fusepy does not have.
    """
    desc = value.desc
    modes = (desc.address_u, desc.address_v, desc.address_w)
    border: tuple[float, ...] = _BORDERS[0]
    if spy.TextureAddressingMode.clamp_to_border in modes:
        border = tuple(desc.border_color[i] for i in range(4))
    wrong = {
        "border_color": border not in _BORDERS,
        "reduction_op": desc.reduction_op != spy.TextureReductionOp.average,
        "mip_lod_bias": desc.mip_lod_bias != 0,
        "min_lod": desc.min_lod > 0,
        "max_lod": desc.max_lod < _LEVELS,
    }
    found = [f"{name}={getattr(desc, name)}" for name, unlike in wrong.items() if unlike]
    if found:
        raise GradientError(
            "the gradient of what this sampler reads",
            saw=", ".join(found),
            expected="an average over all levels, with a black or white border",
            hint="create the sampler without that; a range of levels is SampleLevel(s, uv, clamp(level + bias, least, most))",
        )
    filters = [filter == spy.TextureFilteringMode.linear for filter in (desc.mag_filter, desc.min_filter, desc.mip_filter)]
    addressed = sum(_MODES.index(mode) << 3 * axis for axis, mode in enumerate(modes))
    return float(addressed + sum(linear << 9 + k for k, linear in enumerate(filters)) + (_BORDERS.index(border) << 12))


@dataclass(frozen=True)
class SettingView(ArgumentView):
    """The settings of a sampler as a number."""

    def of(self, value: Any) -> float:
        return setting_of(value)


@dataclass(frozen=True)
class LevelView(ArgumentView):
    """A mip level of a texture."""

    level: int

    def of(self, value: Any) -> Any:
        return level_of(value, self.level)

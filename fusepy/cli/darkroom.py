"""The darkroom of ``fusepy demo``: eight Slang functions composed in Python, and their settings.

`develop.slang` has the functions, `developer` composes them, `meter` chooses white balance and exposure as a camera does.
"""

# NumPy's stubs leave some of its functions partly untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fusepy as fp
from fusepy.cli.picture import Picture

Array = NDArray[Any]
SLANG = Path(__file__).with_name("develop.slang")
BAND_PIXELS = 1 << 23  # larger pictures are developed in bands of rows of about 100 MB, to limit device memory


@dataclass(frozen=True)
class Settings:
    """The settings of a photographer.

    Attributes:
        gains: factors of the channels, for white balance; a grey of the picture keeps its luminance.
        stops: exposure, in powers of two.
        white: the light that becomes white on film, after `contrast`.
        corner: tangent of the angle between the axis of the lens and the corners; 0.55 darkens them by 0.76 stops.
        contrast: slope of the film's straight line.
        saturation: 1 leaves colours unchanged; a little less compensates the saturation that contrast adds.
    """

    gains: tuple[float, float, float]
    stops: float
    white: float
    corner: float = 0.55
    contrast: float = 1.2
    saturation: float = 0.95


def meter(encoded: NDArray[np.float32]) -> Settings:
    """Returns settings for a picture: a light meter and an automatic white balance, both restrained.

    The light is estimated by the Minkowski mean of the channels, and half of its colour (in stops) is removed: the full
    correction would cool every sunset. Source: Finlayson and Trezzi, "Shades of Gray and Colour Constancy", 2004, with p = 6 as
    they found best. The exposure brings the log-average luminance 0.6 of the way (in stops) to a key of 0.19. Source: Reinhard et
    al., "Photographic Tone Reproduction for Digital Images", 2002, equation 1.

    Args:
        encoded: sRGB code values in 0 … 1, of shape ``(height, width, 3)``; a sample of the pixels is enough.
    """
    weights = np.array([0.2126, 0.7152, 0.0722])  # Rec. 709
    # IEC 61966-2-1, as in develop.slang
    light: Array = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4).reshape(-1, 3)
    light = light.astype(np.float64)
    illuminant: Array = np.mean(light**6, axis=0) ** (1 / 6) + 1e-4
    gains: Array = ((illuminant @ weights) / illuminant) ** 0.5
    gains = np.clip(gains, 0.5, 2.0)  # a picture of a red wall stays red
    gains = gains / (gains @ weights)
    average = float(np.exp(np.mean(np.log(light @ (gains * weights) + 1e-3))))
    stops = min(max(0.6 * math.log2(0.19 / average), -1.0), 1.6)
    # White or clipped pixels become white again: the channel with the least gain is the last to reach white.
    white = 0.18 * (2.0**stops * float(gains.min()) / 0.18) ** Settings.contrast
    return Settings((float(gains[0]), float(gains[1]), float(gains[2])), stops, white)


def developer(device: fp.Device) -> fp.FusedFunction:
    """Returns the developing function, which is one kernel. Its ``__wrapped__`` is the plain Python function: eight kernels."""
    m = fp.Module.load_from_file(device, SLANG)

    @fp.fuse
    def develop(
        picture: Any, pixel: Any, size: Any, gains: Any, stops: Any, corner: Any, gamma: Any, white: Any, amount: Any
    ) -> Any:
        light = m.srgb_decode(picture)
        light = m.white_balance(light, gains)
        light = m.exposure(light, stops)
        light = m.vignette(light, pixel, size, corner)
        light = m.contrast(light, gamma)
        film = m.filmic(light, white)
        film = m.saturation(film, amount)
        return m.srgb_encode(film)

    return develop


def arguments_of(device: fp.Device, picture: Picture, rows: slice, settings: Settings) -> tuple[Any, ...]:
    """Returns the arguments of the function of `developer`, for some rows of a picture, on the device."""
    pixels = picture.floats(rows)
    return (
        fp.Tensor.from_numpy(device, pixels, "float3"),
        fp.grid(pixels.shape[:2], offset=(rows.start, 0)),
        fp.Tensor.from_numpy(device, np.array(picture.size, np.float32), "float2"),
        fp.Tensor.from_numpy(device, np.array(settings.gains, np.float32), "float3"),
        *(settings.stops, settings.corner, settings.contrast, settings.white, settings.saturation),
    )


def bands(picture: Picture) -> Iterator[slice]:
    """Yields ranges of rows of at most `BAND_PIXELS` pixels."""
    width, height = picture.size
    step = max(1, BAND_PIXELS // width)
    return (slice(top, min(top + step, height)) for top in range(0, height, step))

"""Numbers of samples for each pixel that a device has. Nothing below refuses the others: their images would be garbage."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import slangpy as spy

from fusepy.errors import DeviceError

_U = spy.TextureUsage
_CLEAR = (0.25, 0.5, 0.75, 1.0)
_known: WeakKeyDictionary[Any, dict[int, bool]] = WeakKeyDictionary()


def check_samples(device: spy.Device, count: int) -> None:
    """Raises `DeviceError` if a device has not so many samples for each pixel."""
    if count > 1 and not _has(device, count):
        fewer = [n for n in (4, 2, 8) if n != count and _has(device, n)]
        raise DeviceError(
            f"{device.info.adapter_name} has not {count} samples for each pixel",
            saw=f"samples={count}",
            expected=" or ".join(map(str, [1, *sorted(fewer)])),
            hint=f"write .options(samples={fewer[0] if fewer else 1})",
        )


def _has(device: spy.Device, count: int) -> bool:
    known = _known.setdefault(device, {})
    if count not in known:
        known[count] = _probe(device, count)
    return known[count]


def _probe(device: spy.Device, count: int) -> bool:
    """Returns True if an image with so many samples, cleared and resolved, holds the colour."""
    size: dict[str, Any] = {"format": spy.Format.rgba32_float, "width": 4, "height": 4}
    usage = _U.shader_resource | _U.copy_source | _U.copy_destination | _U.render_target
    image = device.create_texture(**size, usage=usage, data=np.zeros((4, 4, 4), np.float32))
    several = device.create_texture(**size, type=spy.TextureType.texture_2d_ms, usage=_U.render_target, sample_count=count)
    target: Any = {
        "view": several.create_view({}),
        "resolve_target": image.create_view({}),
        "load_op": spy.LoadOp.clear,
        "clear_value": _CLEAR,
    }
    encoder = device.create_command_encoder()
    encoder.begin_render_pass(spy.RenderPassDesc({"color_attachments": [target]})).end()
    device.submit_command_buffer(encoder.finish())
    return bool((image.to_numpy() == np.array(_CLEAR, np.float32)).all())

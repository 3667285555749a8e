"""Textures for tests: what each format holds, made from and read back as NumPy arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import slangpy as spy

READ_WRITE = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
TYPES = {
    "Texture1D": spy.TextureType.texture_1d,
    "Texture2D": spy.TextureType.texture_2d,
    "Texture3D": spy.TextureType.texture_3d,
    "TextureCube": spy.TextureType.texture_cube,
    "Texture1DArray": spy.TextureType.texture_1d_array,
    "Texture2DArray": spy.TextureType.texture_2d_array,
    "TextureCubeArray": spy.TextureType.texture_cube_array,
}
RANKS = {"Texture1D": 1, "Texture2D": 2, "Texture3D": 3, "TextureCube": 3, "Texture1DArray": 2, "Texture2DArray": 3}
RANKS |= {"TextureCubeArray": 4}
_STORED = {
    ("float", 32): np.float32, ("float", 16): np.float16, ("unorm", 8): np.uint8, ("unorm", 16): np.uint16,
    ("snorm", 8): np.int8, ("snorm", 16): np.int16, ("uint", 8): np.uint8, ("uint", 16): np.uint16, ("uint", 32): np.uint32,
    ("sint", 8): np.int8, ("sint", 16): np.int16, ("sint", 32): np.int32, ("unorm_srgb", 8): np.uint8,
}  # fmt: skip
# every format whose channels are whole numbers of bytes: one NumPy array element for each
PLAIN = [
    f.name
    for f in spy.Format
    if f is not spy.Format.undefined
    and not (i := spy.get_format_info(f)).is_compressed
    and not i.is_depth
    and (i.type.name, i.channel_bit_count[0]) in _STORED
    and len(set(list(i.channel_bit_count)[: i.channel_count])) == 1
    and not f.name.startswith("bgrx")
]


def channels(format: str) -> int:
    return spy.get_format_info(spy.Format[format]).channel_count


def stored(format: str) -> Any:
    """The NumPy dtype of one channel as it is stored."""
    info = spy.get_format_info(spy.Format[format])
    return np.dtype(_STORED[info.type.name, info.channel_bit_count[0]])


def contents(format: str, shape: tuple[int, ...], seed: int) -> Any:
    """What a texture of this shape may store: channels on the last axis."""
    rng, dtype = np.random.default_rng(seed), stored(format)
    full = (*shape, channels(format))
    if dtype.kind == "f":
        return rng.uniform(-2, 2, full).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(max(info.min, -1000), min(info.max, 1000), full, dtype, endpoint=True)


def meaning(format: str, raw: Any) -> Any:
    """What a shader reads from stored channels; one channel has no axis."""
    kind = spy.get_format_info(spy.Format[format]).type.name
    if kind in ("uint", "sint"):
        found = raw.astype(np.uint32 if kind == "uint" else np.int32)
    elif kind == "float":
        found = raw.astype(np.float32)
    else:
        found = np.maximum(raw.astype(np.float32) / np.float32(np.iinfo(raw.dtype).max), np.float32(-1))
    if kind == "unorm_srgb":
        low = found <= 0.04045
        colour = np.where(low, found / 12.92, ((found + 0.055) / 1.055) ** 2.4).astype(np.float32)
        found = np.concatenate([colour[..., :3], found[..., 3:]], -1)
    if format.startswith("bgr"):
        found = found[..., [2, 1, 0, 3]]
    return found[..., 0] if found.shape[-1] == 1 else found


def make(device: Any, container: str, format: str, raw: Any, usage: Any = READ_WRITE, **more: Any) -> Any:
    """A texture with these contents; the shape is that of `raw` without channels, in NumPy's order."""
    texture = empty(device, container, format, raw.shape[:-1], usage, **more)
    upload(texture, raw)
    return texture


def empty(device: Any, container: str, format: str, shape: tuple[int, ...], usage: Any = READ_WRITE, **more: Any) -> Any:
    sizes = {"width": shape[-1]}
    if "2D" in container or "3D" in container or "Cube" in container:
        sizes["height"] = shape[-2]
    if "3D" in container:
        sizes["depth"] = shape[0]
    if "Array" in container:
        sizes["array_length"] = shape[0]
    format_, type = spy.Format[format], TYPES[container]
    return device.sgl.create_texture(type=type, format=format_, usage=usage, **sizes, **more)


def upload(texture: Any, raw: Any) -> None:
    layers = texture.layer_count
    parts = raw.reshape(layers, *raw.shape[-1 - _plain_rank(texture) :])
    for layer in range(layers):
        part = parts[layer, ..., 0] if parts.shape[-1] == 1 else parts[layer]  # slangpy has no axis for one channel
        texture.copy_from_numpy(np.ascontiguousarray(part), layer=layer)


def download(texture: Any, shape: tuple[int, ...], format: str) -> Any:
    """What a texture stores, channels on the last axis."""
    parts = [texture.to_numpy(layer=layer) for layer in range(texture.layer_count)]
    dtype = stored(format)
    flat = np.stack([np.ascontiguousarray(p).view(np.uint8).reshape(-1) for p in parts])
    return flat.reshape(-1).view(dtype)[: math.prod(shape) * channels(format)].reshape(*shape, channels(format))


def _plain_rank(texture: Any) -> int:
    """Axes of one layer."""
    return {"1d": 1, "3d": 3}.get(texture.type.name.split("_")[1], 2)

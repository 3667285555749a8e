"""Arguments that a call changes on their way: texels of textures, and NumPy's float64 and int64 for smaller parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.fuzz.components import part
from tests.fuzz.program import Arg, Step
from tests.fuzz.values import SCALARS, TEXTURE, Refused, Val, convert, is_float, make, special

if TYPE_CHECKING:
    from tests.fuzz.generate import Draw

NARROWS = "narrows"

# the texel that Slang reads, and the dtype in which the texture holds it; the first of a texel is that of programs made small
FORMATS: dict[str, tuple[str, tuple[int, ...], Any]] = {
    "r32_float": ("float", (), np.float32),
    "rg32_float": ("float", (2,), np.float32),
    "rgba32_float": ("float", (4,), np.float32),
    "r16_float": ("float", (), np.float16),
    "rg16_float": ("float", (2,), np.float16),
    "rgba16_float": ("float", (4,), np.float16),
    "r32_sint": ("int", (), np.int32),
    "rg32_sint": ("int", (2,), np.int32),
    "rgba32_sint": ("int", (4,), np.int32),
    "rgba16_sint": ("int", (4,), np.int16),
    "r16_sint": ("int", (), np.int16),
    "r8_sint": ("int", (), np.int8),
    "r32_uint": ("uint", (), np.uint32),
    "rgba32_uint": ("uint", (4,), np.uint32),
    "rg16_uint": ("uint", (2,), np.uint16),
    "rgba8_uint": ("uint", (4,), np.uint8),
}
ARRAY = "layers of "  # before a format: an array of textures, whose first axis is its layers
EXACT = {"half": 11, "float": 24, "double": 53}  # digits: all integers up to 2 to them are exact


def draw_texture(d: Draw, rank: int, letters: str) -> Arg:
    name = d.one(FORMATS)
    scalar, comp, dtype = FORMATS[name]
    data = d.one(["small", "small", "positive", "large", "rough"]) if dtype in (np.float32, np.int32) else "small"
    dims = [1 if d.chance(0.1) else x for x in letters[:rank][d.one([0, 0, 0, *range(rank)]) :]]
    layout = ARRAY + name if len(dims) == 3 and d.chance(0.5) else name
    return Arg(scalar, comp, tuple(dims), TEXTURE, layout, data, seed=d.random.randrange(1 << 16))


def draw_default(d: Draw, rank: int, letters: str) -> Arg:
    """A NumPy array of NumPy's default dtypes, for Slang's smaller ones."""
    dims: list[Any] = [1 if d.chance(0.1) else x for x in letters[:rank][d.one([0, 0, 0, *range(rank + 1)]) :]]
    scalar = d.one(["double", "double", "int64_t"])
    if scalar == "double" and len(dims) > 1 and d.chance(0.4):
        dims[-1] = 3
    layout = d.one(["C", "C", "F", "strided", "reversed", "repeated", "shifted"]) if dims else "C"
    data = d.one(["small", "small", "rough", "positive", "unit", "large"]) if scalar == "double" else d.one(["small", "positive"])
    return Arg(scalar, (), tuple(dims), "numpy", layout, data, seed=d.random.randrange(1 << 16))


def way(arg: Arg) -> str:
    """How a call may read an argument otherwise than as the elements that it holds."""
    if arg.passed == TEXTURE and arg.dims:
        return TEXTURE
    return NARROWS if arg.passed == "numpy" and not arg.comp and arg.scalar in ("double", "int64_t") else ""


def as_texture(arg: Arg, array: Any, device: Any) -> Any:
    """The numbers of an argument as texels of slangpy's texture."""
    import slangpy as spy

    layers = arg.layout.startswith(ARRAY)
    name = arg.layout.removeprefix(ARRAY)
    if FORMATS.get(name, ("", (), None))[:2] != (arg.scalar, arg.comp):  # of a program made small
        name = next(n for n, (scalar, comp, _) in FORMATS.items() if (scalar, comp) == (arg.scalar, arg.comp))
    texels = np.array(array, FORMATS[name][2], order="C")
    extents = dict(zip(("width", "height", "depth"), reversed(array.shape[layers : len(arg.dims)])))
    type = f"texture_{len(extents)}d" + "_array" * layers
    more = {"array_length": array.shape[0]} if layers else {}
    usage = spy.TextureUsage.shader_resource
    texture = device.sgl.create_texture(
        type=getattr(spy.TextureType, type), format=getattr(spy.Format, name), usage=usage, **extents, **more
    )
    for layer, one in enumerate(texels if layers else [texels]):
        texture.copy_from_numpy(one, layer, 0)
    return texture


def fits(x: Val, want: tuple[str, tuple[int, ...]]) -> bool:
    """Whether an upload may convert the elements of an argument to those of a parameter."""
    scalar, comp = want
    if x.arrives != NARROWS or comp or scalar not in SCALARS or scalar in ("bool", x.scalar):
        return False
    return is_float(scalar) or not is_float(x.scalar)


def uploaded(x: Val, scalar: str) -> Val:
    """What a parameter of `scalar` sees of an array of NumPy's default dtypes.

    Raises:
        Refused: for numbers out of range.
    """
    if not fits(x, (scalar, ())):
        raise Refused("type")
    if is_float(x.scalar):
        if np.any(np.abs(x.v) > float(np.finfo(SCALARS[scalar]).max) / 2) or special(x):
            raise Refused("out of range")
    else:
        limits = (
            (-(2 ** EXACT[scalar]), 2 ** EXACT[scalar])
            if is_float(scalar)
            else (np.iinfo(SCALARS[scalar]).min, np.iinfo(SCALARS[scalar]).max)
        )
        if x.v.size and not (limits[0] <= int(x.v.min()) and int(x.v.max()) <= limits[1]):
            raise Refused("out of range")
    return convert(x, scalar)


def channels(attrs: dict[str, Any], x: Val) -> list[Val]:
    """The leading channels of texels, converted."""
    if x.arrives != TEXTURE or len(x.comp) != 1:
        raise Refused("no texels")
    comp = tuple(attrs["comp"])
    count = comp[0] if comp else 1
    if count > x.comp[0]:
        raise Refused("channels")
    return [convert(replace(part(x, list(range(count)) if comp else 0), arrives=TEXTURE), attrs["scalar"])]


def padded(t: Val) -> list[Val]:
    """The four channels of a texture that is read whole: missing ones are 0, and the last is 1."""
    found = [part(t, i) for i in range(t.comp[0])] if t.comp else [Val(t.scalar, (), t.v, np.broadcast_to(t.e, t.v.shape))]
    one = np.ones(t.grid)
    return [*found, *(make(t.scalar, (), one * (i == 3)) for i in range(len(found), 4))]


def draw_channels(d: Draw) -> Step | None:
    texels = [i for i, x in enumerate(d.values[0]) if x.arrives == TEXTURE and len(x.comp) == 1]
    if not texels:
        return None
    place = d.one(texels)
    count = d.one(range(1, d.values[0][place].comp[0] + 1))
    scalar = d.values[0][place].scalar if d.chance(0.7) else d.one(["float", "int", "half", "double"])
    return Step("channels", [place], {"scalar": scalar, "comp": [count] if count > 1 else []})

"""The programs that are measured: their Slang, and what NumPy says they compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

# The steps of both chains, and the chains fused by hand, for the peers that do not fuse.
SOURCE = """
float add(float a, float b) { return a + b; }

struct Ray { float3 position; float3 direction; };
float3 at(Ray ray, float t) { return ray.position + t * ray.direction; }

struct Ten { float3 a; float3 b; float3 c; float d; };
float sum_nested(Ten n) { return dot(n.a, 1) + dot(n.b, 1) + dot(n.c, 1) + n.d; }
float sum10(float a, float b, float c, float d, float e, float f, float g, float h, float i, float j)
{
    return a + b + c + d + e + f + g + h + i + j;
}

float3 decode(float3 c) { return select(c <= 0.04045, c / 12.92, pow((c + 0.055) / 1.055, 2.4)); }
float3 balance(float3 c, float red, float blue) { return c * float3(red, 1, blue); }
float3 expose(float3 c, float stops) { return c * exp2(stops); }
float3 filmic(float3 c) { c = max(c, 0); return (c * (2.51 * c + 0.03)) / (c * (2.43 * c + 0.59) + 0.14); }
float3 colour(float3 c, float amount) { return lerp(float3(dot(c, float3(0.2126, 0.7152, 0.0722))), c, amount); }
float3 gain(float3 c, float g) { return c * g; }
float3 limit(float3 c) { return saturate(c); }
float3 encode(float3 c) { return select(c <= 0.0031308, c * 12.92, 1.055 * pow(c, 1 / 2.4) - 0.055); }
float3 power(float3 c, float g) { return pow(max(c, 0), 1 / g); }

float3 chain(float3 c, float red, float blue, float stops, float amount, float g)
{
    return encode(limit(gain(colour(filmic(expose(balance(decode(c), red, blue), stops)), amount), g)));
}

float3 tonemap(float3 c, float stops, float amount, float g)
{
    return power(colour(filmic(expose(c, stops)), amount), g);
}
"""

# A function that reads its neighbours, for the module `LIBRARY`: fusepy's or slangpy's, which have the same names.
NEIGHBOURS = """
import LIBRARY;

float blur(int2 p, Tensor<float,2> image)
{
    int2 last = int2(int(image.shape[1]), int(image.shape[0])) - 1;
    float sum = 0;
    for (int y = -1; y <= 1; ++y)
    {
        for (int x = -1; x <= 1; ++x)
            sum += image[clamp(p + int2(x, y), 0, last)];
    }
    return sum / 9;
}
"""

# Local tone mapping: the light of a pixel, what it is around it but for edges, and more of the difference. `LIGHT` is an array
# of the module that is imported, or a struct of the hand-written kernels, which brings `at` and `size`.
LOCAL = """
float luminance(float3 c) { return dot(c, float3(0.2126, 0.7152, 0.0722)); }

float base(int2 p, LIGHT light, float edge)
{
    int2 last = size(light) - 1;
    float centre = at(light, p), sum = 0, weights = 0;
    for (int y = -2; y <= 2; ++y)
    {
        for (int x = -2; x <= 2; ++x)
        {
            float value = at(light, clamp(p + int2(x, y), 0, last));
            float apart = (value - centre) * edge;
            float weight = 1 / ((1 + 0.25 * (x * x + y * y)) * (1 + apart * apart));
            sum += weight * value;
            weights += weight;
        }
    }
    return sum / weights;
}

float detail(float light, float base) { return (light - base) / max(light, 0.001); }
float3 enhance(float3 c, float detail, float amount) { return c * max(0, 1 + amount * detail); }
"""
ARRAYS = """
import LIBRARY;
int2 size(Tensor<float,2> light) { return int2(int(light.shape[1]), int(light.shape[0])); }
float at(Tensor<float,2> light, int2 p) { return light[p]; }
"""

CHAIN = (1.1, 0.9, 0.5, 1.2, 0.95)  # red, blue, stops, amount, gain
LOCALLY = (8.0, 1.5)  # edge, amount
TONEMAP = (0.5, 1.2, 2.2)  # stops, amount, gamma
LUMA = (0.2126, 0.7152, 0.0722)


def chain_calls(m: Any) -> Callable[..., Any]:
    """The eight-call chain as Python, for a fusepy module (to be fused) or a slangpy one (to be called one by one)."""

    def chain(c: Any, red: float, blue: float, stops: float, amount: float, g: float) -> Any:
        c = m.decode(c)
        c = m.balance(c, red, blue)
        c = m.expose(c, stops)
        c = m.filmic(c)
        c = m.colour(c, amount)
        c = m.gain(c, g)
        c = m.limit(c)
        return m.encode(c)

    return chain


def tonemap_calls(m: Any) -> Callable[..., Any]:
    """Exposure, filmic curve, saturation, gamma."""

    def tonemap(c: Any, stops: float, amount: float, g: float) -> Any:
        return m.power(m.colour(m.filmic(m.expose(c, stops)), amount), g)

    return tonemap


def local_calls(m: Any, call_id: Callable[[], Any]) -> Callable[..., Any]:
    """Local tone mapping of an image."""

    def local(image: Any, edge: float, amount: float) -> Any:
        light = m.luminance(image)
        base = m.base(call_id(), light, edge)
        return m.filmic(m.enhance(image, m.detail(light, base), amount))

    return local


def numpy_chain(c: Array, red: float, blue: float, stops: float, amount: float, g: float) -> Array:
    """The chain in float32 NumPy, as one would write it: a temporary per step."""
    f = np.float32
    c = np.where(c <= f(0.04045), c / f(12.92), ((c + f(0.055)) / f(1.055)) ** f(2.4))
    c = c * np.array((red, 1, blue), f)
    c = c * f(2**stops)
    c = numpy_filmic(c)
    c = numpy_colour(c, amount)
    c = np.clip(c * f(g), f(0), f(1))
    return np.where(c <= f(0.0031308), c * f(12.92), f(1.055) * c ** f(1 / 2.4) - f(0.055))


def numpy_blur(image: Array) -> Array:
    """The mean of each place and its eight neighbours, the border repeated."""
    wide = np.pad(image, 1, mode="edge")
    h, w = image.shape
    return np.sum([wide[y : y + h, x : x + w] for y in range(3) for x in range(3)], axis=0, dtype=np.float32) / np.float32(9)


def numpy_local(image: Array, edge: float, amount: float) -> Array:
    """Local tone mapping, in float64."""
    image = image.astype(np.float64)
    light = image @ np.array(LUMA)
    wide = np.pad(light, 2, mode="edge")
    h, w = light.shape
    total, weights = np.zeros_like(light), np.zeros_like(light)
    for y in range(5):
        for x in range(5):
            value = wide[y : y + h, x : x + w]
            weight = 1 / ((1 + 0.25 * ((x - 2) ** 2 + (y - 2) ** 2)) * (1 + ((value - light) * edge) ** 2))
            total += weight * value
            weights += weight
    detail = (light - total / weights) / np.maximum(light, 0.001)
    c = image * np.maximum(0, 1 + amount * detail)[..., None]
    return (c * (2.51 * c + 0.03)) / (c * (2.43 * c + 0.59) + 0.14)


def numpy_tonemap(c: Array, stops: float, amount: float, g: float) -> Array:
    """The GPU chain in float32 NumPy."""
    f = np.float32
    c = numpy_colour(numpy_filmic(c * f(2**stops)), amount)
    return np.maximum(c, f(0)) ** f(1 / g)


def numpy_filmic(c: Array) -> Array:
    """Narkowicz's fit of the ACES curve."""
    f = np.float32
    c = np.maximum(c, f(0))
    return (c * (f(2.51) * c + f(0.03))) / (c * (f(2.43) * c + f(0.59)) + f(0.14))


def numpy_colour(c: Array, amount: float) -> Array:
    """Away from, or towards, grey of the same luminance."""
    grey = (c @ np.array(LUMA, np.float32))[..., None]
    return grey + (c - grey) * np.float32(amount)

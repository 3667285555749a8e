"""Textures among the words that move elements, in fused functions and outside; gradients and tangents of their channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from tests.support.selection import daily

TEXELS = np.random.default_rng(1).integers(-9, 9, (4, 6, 4)).astype(np.float32)
WORDS: dict[str, Callable[[Any, Any], Any]] = {
    "slice": lambda n, x: x[1:, ::-2],
    "row": lambda n, x: x[-1],
    "flip": lambda n, x: n.flip(x, 0),
    "roll": lambda n, x: n.roll(x, 2, 1),
    "transpose": lambda n, x: x.T,
    "reshape": lambda n, x: n.reshape(x, (3, 8)),
    "concatenate": lambda n, x: n.concatenate([x, x[:1]]),
    "take": lambda n, x: n.take(x, [2, 0, 2], 0),
}


def texture(device: Any, texels: Any, format: Any) -> Any:
    height, width = texels.shape[:2]
    usage = spy.TextureUsage.shader_resource
    return device.sgl.create_texture(format=format, width=width, height=height, usage=usage, data=np.array(texels, order="C"))


@pytest.mark.parametrize("name", daily(WORDS, "slice", "roll", "take"))
def test_elements_of_textures(device: Any, name: str) -> None:
    word, first = WORDS[name], TEXELS[..., 0]
    one = texture(device, first, spy.Format.r32_float)
    found = fp.fuse(lambda t: word(fp, t) * 2 + fp.max(t))(one)
    np.testing.assert_array_equal(found.to_numpy(), word(np, first) * 2 + first.max())
    whole = texture(device, first.astype(np.int32), spy.Format.r32_sint)
    found = fp.fuse(lambda t: word(fp, t))(whole)
    assert str(found.dtype) == "int"
    np.testing.assert_array_equal(found.to_numpy(), word(np, first.astype(np.int32)))


def test_vectors_and_calls_outside_of_fused_functions(device: Any) -> None:
    four = texture(device, TEXELS, spy.Format.rgba32_float)
    np.testing.assert_array_equal(fp.fuse(lambda t: t[1:].zyx)(four).to_numpy(), TEXELS[1:, :, 2::-1])
    np.testing.assert_array_equal(fp.flip(four, 0).to_numpy(), TEXELS[::-1])
    np.testing.assert_array_equal(fp.roll(four, 1, 1).to_numpy(), np.roll(TEXELS, 1, 1))


def test_gradients_of_moved_texels(device: Any) -> None:
    one = texture(device, TEXELS[..., 0], spy.Format.r32_float)
    weights = np.arange(18, dtype=np.float32).reshape(3, 6)
    slope = fp.grad(lambda t: fp.sum(t[1:] * weights))(one).to_numpy()
    np.testing.assert_array_equal(slope, np.concatenate([np.zeros((1, 6)), weights]))


@pytest.mark.parametrize("type", daily(["float", "float2", "float3", "half2", "double"], "float2", "double"))
def test_derivatives_of_leading_channels(device: Any, type: str) -> None:
    """A gradient has all channels, with 0 in those that a `vcast` leaves out."""
    four = texture(device, TEXELS, spy.Format.rgba32_float)
    count = int(type[-1]) if type[-1].isdigit() else 1
    total = (lambda y: fp.sum(y)) if count == 1 else lambda y: fp.sum(fp.dot(y, y))
    want = np.where(np.arange(4) < count, 1 if count == 1 else 2 * TEXELS, 0)
    slope = fp.grad(lambda t: total(fp.vcast(t, type)))(four)
    assert str(slope.dtype) == "float4"
    np.testing.assert_allclose(slope.to_numpy(), want * np.ones((4, 6, 4)), rtol=1e-2)
    both = fp.grad(lambda t: total(fp.vcast(t, type)) + fp.sum(t).w)(four).to_numpy()
    np.testing.assert_allclose(both[..., :count], slope.to_numpy()[..., :count], rtol=1e-6)
    np.testing.assert_array_equal(both[..., 3], 1)
    along = fp.Tensor.from_numpy(device, np.ones((4, 6, 4), np.float32), dtype="float4")
    tangent = float(fp.jvp(lambda t: total(fp.vcast(t, type)), (four,), (along,)).d)
    np.testing.assert_allclose(tangent, (want * np.ones((4, 6, 4))).sum(), rtol=1e-2, atol=1e-3)

"""Samples of images that are arrays: against a sampler in NumPy's doubles, and their gradients against its differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

F32 = np.float32
RNG = np.random.default_rng(7)
IMAGE = RNG.random((4, 8, 3)).astype(F32)
PLACES = F32(RNG.uniform(-1.6, 2.6, (5, 6, 2)))  # outside too
BOUNDARIES = ("wrap", "clamp", "mirror", "zero")


def along(n: Any, extent: int, boundary: str) -> Any:
    return {"wrap": lambda: n % extent, "clamp": lambda: np.clip(n, 0, extent - 1), "zero": lambda: np.clip(n, 0, extent - 1),
            "mirror": lambda: np.r_[:extent, extent - 1 : -1 : -1][n % (2 * extent)]}[boundary]()  # fmt: skip


def texels(image: Any, x: Any, y: Any, boundary: str) -> Any:
    height, width = image.shape[:2]
    found = image[along(y, height, boundary), along(x, width, boundary)]
    outside = (x < 0) | (x >= width) | (y < 0) | (y >= height)
    return np.where(outside[..., None], 0, found) if boundary == "zero" else found


def linear(image: Any, uv: Any, boundary: str) -> Any:
    place = uv * image.shape[1::-1] - 0.5
    first = np.floor(place).astype(int)
    u, v = np.moveaxis(place - first, -1, 0)[..., None]
    found = 0
    for dx, dy in np.ndindex(2, 2):
        weight = (u if dx else 1 - u) * (v if dy else 1 - v)
        found = found + weight * texels(image, first[..., 0] + dx, first[..., 1] + dy, boundary)
    return found


def halves(image: Any) -> list[Any]:
    levels = [image]
    while max(levels[-1].shape[:2]) > 1:
        h, w, c = levels[-1].shape
        sides = [2 if n > 1 else 1 for n in (h, w)]
        levels.append(levels[-1].reshape(h // sides[0], sides[0], w // sides[1], sides[1], c).mean((1, 3)))
    return levels


def between(levels: Any, uv: Any, level: Any, boundary: str) -> Any:
    level = np.clip(level, 0, len(levels) - 1)[..., None]
    return sum(np.maximum(1 - np.abs(level - k), 0) * linear(one, uv, boundary) for k, one in enumerate(levels))


def level_of(uv_da: Any, size: Any) -> Any:
    """The longer axis of the ellipse that a pixel covers, by a singular value."""
    jacobian = uv_da.reshape(*uv_da.shape[:-1], 2, 2) * np.array(size, float)[:, None]
    return np.log2(np.linalg.svd(jacobian, compute_uv=False)[..., 0])


def differences(value: Any, at: Any, step: float = 1e-6) -> Any:
    at = at.astype(np.float64)
    found = np.zeros(at.shape)
    for place in np.ndindex(at.shape):
        ends = []
        for side in (step, -step):
            moved = at.copy()
            moved[place] += side
            ends.append(value(moved))
        found[place] = (ends[0] - ends[1]) / (2 * step)
    return found


@pytest.mark.req("R5")
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_samples_are_those_of_numpy(device: Any, boundary: str) -> None:
    double, uv = IMAGE.astype(float), PLACES.astype(float)
    found = fp.render.texture(IMAGE, PLACES, boundary_mode=boundary)
    np.testing.assert_allclose(found, linear(double, uv, boundary), atol=2e-5)
    near = fp.render.texture(IMAGE, PLACES, filter_mode="nearest", boundary_mode=boundary)
    x, y = np.moveaxis(np.floor(uv * (8, 4)).astype(int), -1, 0)
    np.testing.assert_array_equal(near, texels(IMAGE, x, y, boundary))
    centres = np.stack(np.meshgrid((np.arange(8) + 0.5) / 8, (np.arange(4) + 0.5) / 4), -1).astype(F32)
    np.testing.assert_allclose(fp.render.texture(IMAGE, centres, boundary_mode=boundary), IMAGE, atol=1e-6)


@pytest.mark.req("R5")
def test_levels_are_chosen_by_derivatives_and_bias(device: Any) -> None:
    double, uv = IMAGE.astype(float), PLACES.astype(float)
    levels = halves(double)
    for k, level in enumerate(fp.render.mip_levels(IMAGE), 1):
        np.testing.assert_allclose(level, levels[k], atol=1e-6)
    bias = F32(RNG.uniform(-1, 4, (5, 6)))
    found = fp.render.texture(IMAGE, PLACES, mip_level_bias=bias)
    np.testing.assert_allclose(found, between(levels, uv, bias, "wrap"), atol=2e-5)
    uv_da = F32(RNG.normal(0, 0.3, (5, 6, 4)))
    chosen = level_of(uv_da.astype(float), (8, 4))
    found = fp.render.texture(IMAGE, PLACES, uv_da, bias - 1, max_mip_level=2)
    np.testing.assert_allclose(found, between(levels[:3], uv, chosen + bias - 1, "wrap"), atol=1e-4)
    near = fp.render.texture(IMAGE, PLACES, uv_da, filter_mode="linear-mipmap-nearest", boundary_mode="clamp")
    np.testing.assert_allclose(near, between(levels, uv, np.floor(chosen + 0.5), "clamp"), atol=1e-4)
    still = fp.render.texture(IMAGE, PLACES, np.zeros((5, 6, 4), F32))  # no derivatives: the image itself
    np.testing.assert_allclose(still, linear(double, uv, "wrap"), atol=2e-5)


@pytest.mark.req("R5")
@pytest.mark.parametrize("boundary", daily(BOUNDARIES, "zero"))
def test_gradients_are_the_differences_of_numpy(device: Any, boundary: str) -> None:
    double, uv, weights = IMAGE.astype(float), PLACES.astype(float), RNG.random((5, 6, 3)).astype(F32)
    loss = lambda image, uv: fp.sum(fp.render.texture(image, uv, boundary_mode=boundary) * weights)  # noqa: E731
    by_image, by_uv = fp.grad(loss, (0, 1))(IMAGE, PLACES)
    reference = lambda image, uv: float((linear(image, uv, boundary) * weights).sum())  # noqa: E731
    np.testing.assert_allclose(by_image, differences(lambda i: reference(i, uv), double), atol=2e-4)
    np.testing.assert_allclose(by_uv, differences(lambda p: reference(double, p), uv), atol=2e-3)


@pytest.mark.req("R5")
def test_gradients_go_through_levels(device: Any) -> None:
    image, places, weights = IMAGE[:, :4].copy(), PLACES[:1].copy(), RNG.random((1, 6, 3)).astype(F32)
    double, uv = image.astype(float), places.astype(float)
    uv_da, bias = F32(RNG.normal(0, 0.3, (1, 6, 4))), F32(RNG.uniform(-0.3, 0.3, (1, 6)))
    loss = lambda *args: fp.sum(fp.render.texture(*args) * weights)  # noqa: E731
    found = fp.grad(loss, (0, 1, 2, 3))(image, places, uv_da, bias)

    def reference(image: Any, uv: Any, uv_da: Any, bias: Any) -> float:
        return float((between(halves(image), uv, level_of(uv_da, (4, 4)) + bias, "wrap") * weights).sum())

    given = [double, uv, uv_da.astype(float), bias.astype(float)]
    for k, slope in enumerate(found):
        want = differences(lambda x, k=k: reference(*given[:k], x, *given[k + 1 :]), given[k])
        assert np.abs(want).max() > 0.05
        np.testing.assert_allclose(slope, want, rtol=2e-3, atol=2e-3)


@pytest.mark.rest
@pytest.mark.req("R5")
def test_levels_that_are_learned_have_gradients(device: Any) -> None:
    places, weights = PLACES[:1].copy(), RNG.random((1, 6, 3)).astype(F32)
    uv, bias = places.astype(float), F32(RNG.uniform(-0.3, 0.3, (1, 6)))
    learned = [level.astype(F32) for level in halves(IMAGE[:, :4].astype(float))]
    apart = lambda levels: fp.sum(fp.render.texture(levels[0], places, mip_level_bias=bias + 1, mip=levels[1:]) * weights)  # noqa: E731
    slopes = fp.grad(apart)(learned)
    for k, slope in enumerate(slopes):
        shown = lambda x, k=k: float((between([*learned[:k], x, *learned[k + 1 :]], uv, bias + 1.0, "wrap") * weights).sum())  # noqa: E731
        np.testing.assert_allclose(slope, differences(shown, learned[k]), atol=2e-3)


@pytest.mark.req("R5")
def test_levels_have_gradients_where_training_begins(device: Any) -> None:
    by_level = lambda bias: fp.sum(fp.render.texture(IMAGE, PLACES, None, bias, max_mip_level=1))  # noqa: E731
    by_steps = lambda da: fp.sum(fp.render.texture(IMAGE, PLACES, da, max_mip_level=1))  # noqa: E731
    at_zero, still = fp.grad(by_level)(np.zeros((5, 6), F32)), fp.grad(by_steps)(np.zeros((5, 6, 4), F32))
    levels = halves(IMAGE.astype(float))
    step = linear(levels[1], PLACES.astype(float), "wrap") - linear(levels[0], PLACES.astype(float), "wrap")
    np.testing.assert_allclose(at_zero, step.sum(-1), atol=1e-3)  # the slope above level 0
    assert (still == 0).all()  # not NaN


@pytest.mark.req("R5", "F1")
def test_samples_fuse_and_work_in_every_kind_of_call(device: Any) -> None:
    want = linear(IMAGE.astype(float), PLACES.astype(float), "wrap")
    whole = fp.fuse(lambda image, uv: fp.render.texture(image, uv + 1.0) * 2.0)
    np.testing.assert_allclose(whole(IMAGE, PLACES), 2 * want, atol=2e-5)
    assert whole.explain(IMAGE, PLACES).kernels == 1
    tensor = fp.render.texture(fp.Tensor.from_numpy(device, IMAGE, "float3"), fp.Tensor.from_numpy(device, PLACES, "float2"))
    assert (tensor.shape, str(tensor.dtype)) == ((5, 6), "float3")
    np.testing.assert_allclose(tensor.to_numpy(), want, atol=2e-5)
    with fp.lazy():
        later = fp.render.texture(IMAGE, PLACES) + 1.0
    np.testing.assert_allclose(later, want + 1, atol=2e-5)
    graph = fp.Graph(inputs=["image", "uv"])
    image, uv = graph.get_inputs()
    graph.set_outputs(fp.render.texture(image, uv, mip_level_bias=1.0) * 2.0)
    np.testing.assert_allclose(graph(IMAGE, PLACES), 2 * linear(halves(IMAGE.astype(float))[1], PLACES, "wrap"), atol=2e-5)
    for channels in (IMAGE[..., 0], IMAGE[..., :2], np.concatenate([IMAGE, IMAGE[..., :1]], -1)):
        wide = channels.reshape(4, 8, -1).astype(float)
        found = fp.render.texture(np.ascontiguousarray(channels), PLACES)
        np.testing.assert_allclose(found, linear(wide, PLACES.astype(float), "wrap").reshape(found.shape), atol=2e-5)


@pytest.mark.rest
def test_torch_tensors_have_gradients(device: Any) -> None:
    torch = pytest.importorskip("torch")
    image = torch.from_numpy(IMAGE.copy()).requires_grad_()
    found = fp.render.texture(image, torch.from_numpy(PLACES))
    found.sum().backward()
    want = fp.grad(lambda image: fp.sum(fp.render.texture(image, PLACES)))(IMAGE)
    np.testing.assert_allclose(image.grad.numpy(), want, atol=1e-5)


@pytest.mark.req("R5")
def test_an_image_of_one_channel_keeps_its_axis(device: Any) -> None:
    one = IMAGE[..., :1].copy()
    assert fp.render.texture(one, PLACES).shape == (5, 6, 1)
    np.testing.assert_array_equal(fp.render.texture(one, PLACES)[..., 0], fp.render.texture(IMAGE[..., 0].copy(), PLACES))
    levels = fp.render.mip_levels(one)
    assert [level.shape for level in levels] == [(2, 4, 1), (1, 2, 1), (1, 1, 1)]
    bias = F32(0.7)
    given = fp.render.texture(one, PLACES, mip_level_bias=bias, mip=levels)
    np.testing.assert_allclose(given, fp.render.texture(one, PLACES, mip_level_bias=bias), rtol=1e-6)
    gradient = fp.grad(lambda image: fp.sum(fp.render.texture(image, PLACES)))(one)
    assert gradient.shape == one.shape
    np.testing.assert_allclose(gradient.sum(), 30, rtol=1e-5)  # each of 30 places has weights of sum 1


@pytest.mark.req("R5")
def test_what_is_no_image_or_place_is_refused(device: Any) -> None:
    with pytest.raises(fp.ArgumentError, match=r"boundary_mode is one of some words[\s\S]*mirror"):
        fp.render.texture(IMAGE, PLACES, boundary_mode="miror")
    with pytest.raises(fp.ArgumentError, match="mip levels go with what chooses"):
        fp.render.texture(IMAGE, PLACES, filter_mode="linear-mipmap-linear")
    with pytest.raises(fp.ArgumentError, match="mip levels go with what chooses"):
        fp.render.texture(IMAGE, PLACES, mip_level_bias=1.0, filter_mode="linear")
    with pytest.raises(fp.ShapeError, match="image is no image"):
        fp.render.texture(np.zeros((4, 4, 7), F32), PLACES)
    with pytest.raises(fp.ShapeError, match="image is no image"):
        fp.render.texture(np.zeros((0, 4), F32), PLACES)
    with pytest.raises(fp.UnsupportedArgumentError, match=r"image holds no floats[\s\S]*astype"):
        fp.render.texture(np.zeros((4, 4, 3), np.uint8), PLACES)
    with pytest.raises(fp.ArgumentError, match="mip is a list of images"):
        fp.render.texture(IMAGE, PLACES, mip_level_bias=1.0, mip=IMAGE)
    with pytest.raises(fp.ArgumentError, match="max_mip_level is the number of a level"):
        fp.render.mip_levels(IMAGE, -1)
    with pytest.raises(fp.ShapeError, match="uv has 2 numbers"):
        fp.render.texture(IMAGE, np.zeros((5, 3), F32))
    with pytest.raises(fp.ShapeError, match=r"odd extent[\s\S]*max_mip_level=1"):
        fp.render.texture(np.zeros((6, 4), F32), PLACES, mip_level_bias=0.0)
    assert fp.render.texture(np.ones((6, 4), F32), PLACES, mip_level_bias=0.5, max_mip_level=1).min() == 1

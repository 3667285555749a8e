"""The primitives of differentiable rasterisation: against NumPy, and their gradients against differences."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import fusepy as fp

F32 = np.float32
SIZE = (12, 16)
# a fold of two triangles that are seen in perspective, and a third one in front of them
PLACES = F32([[-0.72, -0.71, 0.2, 1], [0.93, -0.62, 0.3, 1.3], [-0.61, 0.83, 0.4, 1.2], [0.9, 0.7, 0.1, 1],
              [0.011, 0.017, 0.05, 1], [0.37, 0.09, 0.05, 1], [0.13, 0.43, 0.05, 1]])  # fmt: skip
TRIANGLES = np.int32([[0, 1, 2], [2, 1, 3], [4, 5, 6]])
SOME = [0, 3, 5]  # vertices of each triangle
RNG = np.random.default_rng(1)
COLOURS, WEIGHTS = RNG.random((7, 3)).astype(F32), RNG.random((*SIZE, 3)).astype(F32)


@pytest.fixture(scope="module", autouse=True)
def rasteriser(device: fp.Device) -> None:
    if "rasterization" not in device.features:
        pytest.skip("the device has no rasteriser")


def reference(places: Any, triangles: Any, size: tuple[int, int]) -> Any:
    """The fragments of `rasterize`, in doubles."""
    height, width = size
    y, x = np.mgrid[:height, :width] + 0.5
    at = np.stack([2 * x / width - 1, 1 - 2 * y / height], -1)
    found = np.tile([0.0, 0.0, 1.0, 0.0], (height, width, 1))
    for number, corners in enumerate(places[triangles].astype(np.float64)):
        p, q, r = (corner[:2] - at * corner[3] for corner in corners)
        parts = np.stack([a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0] for a, b in ((q, r), (r, p), (p, q))], -1)
        weights = parts / parts.sum(-1, keepdims=True)
        met = weights @ corners
        depth = met[..., 2] / met[..., 3]
        seen = (weights >= 0).all(-1) & (depth < found[..., 2])
        found[seen] = np.stack([weights[..., 1], weights[..., 2], depth, np.full(size, number + 1)], -1)[seen]
    return found


def differences(value: Any, at: Any, step: float = 1e-3, rows: Any = range(7)) -> Any:
    found = np.zeros_like(at)
    for place in product(rows, range(at.shape[1])):
        ends = []
        for side in (step, -step):
            moved = at.copy()
            moved[place] += side
            ends.append(float(value(moved)))
        found[place] = (ends[0] - ends[1]) / (2 * step)
    return found


def jumps(at: Any, step: float) -> Any:
    """Where a pixel shows another triangle after a step of some position, and so the image jumps; true for other positions."""
    found = np.ones(at.shape, bool)
    for place in product(SOME, range(4)):
        ends = at.copy(), at.copy()
        ends[0][place], ends[1][place] = at[place] + step, at[place] - step
        found[place] = np.not_equal(*(fp.rasterize(end, TRIANGLES, SIZE)[..., 3] for end in ends)).any()
    return found


def drawn(places: Any, colours: Any) -> Any:
    fragments = fp.rasterize(places, TRIANGLES, SIZE)
    return fp.antialias(fp.interpolate(colours, fragments, TRIANGLES), fragments, places, TRIANGLES)


def loss(places: Any, colours: Any) -> Any:
    return fp.sum(fp.dot(drawn(places, colours), fp.vcast(WEIGHTS, "float3")))


@pytest.mark.req("R5")
def test_fragments_and_values_are_those_of_numpy() -> None:
    fragments, want = fp.rasterize(PLACES, TRIANGLES, SIZE), reference(PLACES, TRIANGLES, SIZE)
    np.testing.assert_allclose(fragments, want, atol=2e-6)
    number, (u, v) = want[..., 3].astype(int) - 1, np.moveaxis(want[..., :2], -1, 0)[..., None]
    for values in (COLOURS, COLOURS[:, :2], COLOURS[:, 0], np.concatenate([COLOURS, COLOURS[:, :1]], 1)):
        corners = values.reshape(7, -1)[TRIANGLES[number]]
        mixed = np.where(
            number[..., None] >= 0, (1 - u - v) * corners[..., 0, :] + u * corners[..., 1, :] + v * corners[..., 2, :], 0
        )
        found = fp.interpolate(values, fragments, TRIANGLES)
        np.testing.assert_allclose(found.reshape(mixed.shape), mixed, atol=3e-6)


@pytest.mark.req("R5")
def test_positions_have_gradients_within_triangles_and_along_silhouettes() -> None:
    value, (places, colours) = fp.value_and_grad(loss, (0, 1))(PLACES, COLOURS)
    assert float(value) == pytest.approx(float((drawn(PLACES, COLOURS) * WEIGHTS).sum()), rel=1e-5)
    whole = fp.fuse(loss)
    smooth = ~jumps(PLACES, 1e-4)
    assert smooth[SOME].mean() > 0.8
    by_places = differences(lambda p: whole(p, COLOURS), PLACES, 1e-4, SOME)[smooth]
    np.testing.assert_allclose(places[smooth], by_places, rtol=0.015, atol=0.25)
    by_colours = differences(lambda c: whole(PLACES, c), COLOURS, 0.1, SOME)
    np.testing.assert_allclose(colours[SOME], by_colours[SOME], rtol=1e-3, atol=1e-3)
    inner = fp.grad(lambda p: fp.sum(fp.interpolate(COLOURS[:, 0].copy(), fp.rasterize(p, TRIANGLES, SIZE), TRIANGLES)))(PLACES)
    assert np.abs(inner - places).max() > 1  # the silhouettes are most of it
    # the draw, one kernel up to the image, one that blends and sums; backwards one that blends, and one for the rest
    assert fp.fuse(loss).explain(PLACES, COLOURS).kernels <= 5


def steps(places: Any, triangles: Any, numbers: Any) -> Any:
    """The derivatives of the weights by a step of a pixel, in doubles."""

    def weights(across: float, down: float) -> Any:
        height, width = numbers.shape
        y, x = np.mgrid[:height, :width] + 0.5
        at = np.stack([2 * (x + across) / width - 1, 1 - 2 * (y + down) / height], -1)
        corners = places[triangles[numbers]].astype(np.float64)
        p, q, r = (corners[..., k, :2] - at * corners[..., k, 3:] for k in range(3))
        parts = np.stack([a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0] for a, b in ((q, r), (r, p), (p, q))], -1)
        return (parts / parts.sum(-1, keepdims=True))[..., 1:]

    by = 1e-5
    across, down = (weights(by, 0) - weights(-by, 0)) / (2 * by), (weights(0, by) - weights(0, -by)) / (2 * by)
    return np.stack([across[..., 0], down[..., 0], across[..., 1], down[..., 1]], -1)


@pytest.mark.req("R5")
def test_derivatives_by_pixels_choose_the_level_of_a_texture() -> None:
    fragments, found = fp.rasterize(PLACES, TRIANGLES, SIZE, derivatives=True)
    numbers = fragments[..., 3].astype(int) - 1
    seen = (numbers >= 0)[..., None]
    np.testing.assert_allclose(found, np.where(seen, steps(PLACES, TRIANGLES, numbers), 0), atol=2e-5)
    uv = COLOURS[:, :2].copy()
    values, by_step = fp.interpolate(uv, fragments, TRIANGLES, found)
    np.testing.assert_array_equal(values, fp.interpolate(uv, fragments, TRIANGLES))
    e, f = (uv[TRIANGLES[numbers]][..., k, :] - uv[TRIANGLES[numbers]][..., 0, :] for k in (1, 2))
    want = found[..., None, :2] * e[..., :, None] + found[..., None, 2:] * f[..., :, None]
    np.testing.assert_allclose(by_step, np.where(seen, want.reshape(*SIZE, 4), 0), atol=1e-5)
    with pytest.raises(fp.ShapeError, match="derivatives are those of one or two numbers"):
        fp.interpolate(COLOURS, fragments, TRIANGLES, found)


@pytest.mark.req("R5")
def test_derivatives_by_pixels_have_gradients() -> None:
    weights = RNG.random((*SIZE, 4)).astype(F32)

    def loss(places: Any, uv: Any) -> Any:
        fragments, found = fp.rasterize(places, TRIANGLES, SIZE, derivatives=True)
        return fp.sum(fp.interpolate(uv, fragments, TRIANGLES, found)[1] * weights)

    numbers = fp.rasterize(PLACES, TRIANGLES, SIZE)[..., 3].astype(int) - 1

    def reference(places: Any, uv: Any) -> Any:
        corners, changes = uv[TRIANGLES[numbers]], steps(places, TRIANGLES, numbers)
        e, f = corners[..., 1, :] - corners[..., 0, :], corners[..., 2, :] - corners[..., 0, :]
        made = (changes[..., None, :2] * e[..., :, None] + changes[..., None, 2:] * f[..., :, None]).reshape(*SIZE, 4)
        return (np.where((numbers >= 0)[..., None], made, 0) * weights).sum()

    places, uv = PLACES.astype(np.float64), COLOURS[:, :2].astype(np.float64)
    by_places, by_uv = fp.grad(loss, (0, 1))(PLACES, COLOURS[:, :2].copy())
    np.testing.assert_allclose(by_places, differences(lambda p: reference(p, uv), places), atol=5e-3)
    np.testing.assert_allclose(by_uv, differences(lambda t: reference(places, t), uv), atol=2e-3)


@pytest.mark.req("R5")
def test_only_silhouettes_are_blended() -> None:
    fragments = fp.rasterize(PLACES, TRIANGLES, SIZE)
    numbers = fragments[..., 3]
    blended = fp.antialias(numbers, fragments, PLACES, TRIANGLES) != numbers
    both = np.isin(numbers, (1, 2))
    inside = both.copy()
    for axis, by in ((0, 1), (0, -1), (1, 1), (1, -1)):
        inside &= np.roll(both, by, axis)
    assert blended.sum() > 20
    assert not blended[inside].any()  # the edge between triangles 1 and 2 is no silhouette
    folded = PLACES.copy()
    folded[3] = [-0.9, -0.8, 0.9, 1]  # both triangles on one side of their edge
    fragments = fp.rasterize(folded, TRIANGLES[:2], SIZE)
    ones = (fragments[..., 3] > 0).astype(F32)
    assert ((fp.antialias(ones, fragments, folded, TRIANGLES[:2]) != ones).any(0)).sum() > 5  # now it is one


@pytest.mark.req("R5")
def test_arrays_on_the_device_and_corners_across() -> None:
    assert fp.opposite_corners(TRIANGLES).tolist() == [[3, -1, -1], [-1, -1, 0], [-1, -1, -1]]
    assert (fp.opposite_corners([[0, 1, 2], [2, 1, 3], [1, 2, 4]])[:, 0] == [-1, -1, -1]).all()  # an edge of three triangles
    places, triangles, colours = (fp.Tensor(x) for x in (PLACES, TRIANGLES, COLOURS))
    fragments = fp.rasterize(places, triangles, SIZE)
    image = fp.interpolate(colours, fragments, triangles)
    with pytest.raises(fp.ArgumentError, match="opposite_corners"):
        fp.antialias(image, fragments, places, triangles)
    found = fp.antialias(image, fragments, places, triangles, fp.opposite_corners(triangles))
    np.testing.assert_allclose(found.to_numpy().reshape(*SIZE, 3), drawn(PLACES, COLOURS), atol=1e-5)
    with pytest.raises(fp.ShapeError, match=r"\(m, 3\) integers"):
        fp.opposite_corners(PLACES)
    with pytest.raises(fp.ShapeError, match="points past the vertices"):
        fp.rasterize(PLACES[:5], TRIANGLES, SIZE)
    with pytest.raises(fp.ShapeError, match="interpolate: an index points past"):  # it read memory beyond the attributes
        fp.interpolate(COLOURS[:5], fragments, TRIANGLES)
    with pytest.raises(fp.ShapeError, match=r"rasterize: positions(.|\n)*\(7, 3\)(.|\n)*\(n, 4\)"):
        fp.rasterize(PLACES[:, :3], TRIANGLES, SIZE)
    for width in (1, 5):
        with pytest.raises(fp.ShapeError, match=rf"interpolate: attributes(.|\n)*\(7, {width}\)"):
            fp.interpolate(np.ones((7, width), F32), fragments, TRIANGLES)
    with pytest.raises(fp.ShapeError, match=r"py:\d+: rasterize: the mesh is empty"):
        fp.rasterize(PLACES, TRIANGLES[:0], SIZE)
    with pytest.raises(fp.ShapeError, match="a height and a width"):
        fp.rasterize(PLACES, TRIANGLES, (0, 4))


@pytest.mark.rest
@pytest.mark.req("R5")
def test_pictures_are_arrays_of_numbers_in_fused_functions_too() -> None:
    wanted = WEIGHTS + np.float32(1)
    apart = lambda places: fp.antialias(drawn(places, COLOURS) - wanted, fp.rasterize(places, TRIANGLES, SIZE), places, TRIANGLES)  # noqa: E731
    found, want = fp.fuse(lambda places: drawn(places, COLOURS) * wanted)(PLACES), drawn(PLACES, COLOURS) * wanted
    np.testing.assert_allclose(found, want, atol=1e-5)
    np.testing.assert_allclose(fp.fuse(apart)(PLACES), apart(PLACES), atol=1e-5)
    moved = fp.grad(lambda by: fp.mean((drawn(PLACES + by, COLOURS)[..., 0] - wanted[..., 0]) ** 2))(np.zeros(4, F32))
    assert moved.shape == (4,)
    assert np.abs(moved[:2]).min() > 0

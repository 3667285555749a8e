"""Moved elements of computed values: which are computed again of views of the arguments, and which are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, ramp

X, W, C = ramp(4, 6, start=1), ramp(6), ramp(4, 1)


def test_what_is_computed_element_by_element_is_not_stored(device: Any) -> None:
    m = fp.Module.load_from_source(device, "pushed", "float shade(float a, float b) { return a * b + 1; }")
    look = fp.fuse(lambda x, w, c: fp.exp2(m.shade(x * w, c))[1:3, ::-1])
    got, told = look(X / 8, W, C), look.explain(X / 8, W, C)
    np.testing.assert_allclose(np.asarray(got), np.exp2(X / 8 * W * C + 1)[1:3, ::-1], rtol=1e-5)
    assert told.kernels == 1
    branch = fp.fuse(lambda x, w: fp.cond(x > 3, lambda v: v * 2, lambda v: v + w, x).T[1:])
    want = np.where(X > 3, X * 2, X + W).T[1:]
    np.testing.assert_allclose(np.asarray(branch(X, W)), want, rtol=1e-6)


def test_what_is_reduced_is_stored_once() -> None:
    centred = fp.fuse(lambda x: (x - fp.mean(x, axis=1, keepdims=True))[1:, ::-1])
    want = (X - X.mean(axis=1, keepdims=True))[1:, ::-1]
    np.testing.assert_allclose(np.asarray(centred(X)), want, rtol=1e-5, atol=1e-6)
    assert centred.explain(X).kernels == 2
    summed = fp.fuse(lambda x: fp.scan("sum", x, axis=0)[::-1].T)
    np.testing.assert_allclose(np.asarray(summed(X)), np.cumsum(X, axis=0)[::-1].T, rtol=1e-6)


@pytest.mark.parametrize(("steps", "kernels"), [(4, 1), (8, 2)])
def test_views_of_views_stay_views(steps: int, kernels: int) -> None:
    """Each step is computed twice at most, not 2 ** 8 times; what would repeat more than 16 operations is stored."""

    def smooth(x: Any) -> Any:
        for _ in range(steps):
            x = (x[1:] + x[:-1]) * 0.5
        return x

    array = ramp(32)
    fused = fp.fuse(smooth)
    np.testing.assert_allclose(np.asarray(fused(array)), smooth(array), rtol=1e-5)
    assert fused.explain(array).kernels == kernels
    assert len(fused.ir(array).splitlines()) < 400


def test_generators_and_numbers() -> None:
    counted = fp.fuse(lambda x: (x + fp.grid((6,)))[:, 2:])
    np.testing.assert_allclose(np.asarray(counted(X)), (X + np.arange(6))[:, 2:], rtol=1e-6)
    with pytest.raises(fp.TraceError, match="has no axes"):
        fp.fuse(lambda x, n: x + n[1:])(X, 2.0)
    with pytest.raises(fp.TraceError, match="vmap"):
        fp.fuse(lambda x: x[1:]).map(x=(1, 0))(X)


def test_no_elements_and_extents_of_one() -> None:
    emptied = fp.fuse(lambda x, c: (x * c)[2:2, 1:])
    assert np.asarray(emptied(X, C)).shape == (0, 5)
    both = fp.fuse(lambda c, w: (c + w)[1:, :3])
    np.testing.assert_allclose(np.asarray(both(C, W)), (C + W)[1:, :3])
    one = F32([[3]])
    np.testing.assert_allclose(np.asarray(both(np.repeat(one, 4, 0), W)), (np.repeat(one, 4, 0) + W)[1:, :3])
    assert np.asarray(both(one, W)).shape == (0, 3)


def test_what_is_computed_of_structs_is_stored_where_no_strides_say_the_elements(device: Any) -> None:
    m = fp.Module.load_from_source(
        device, "pushed_structs", "struct Ray { float3 at; float t; }; float reach(Ray r, float s) { return r.at.y * r.t + s; }"
        "Ray moved(Ray r) { r.t += 1; return r; } struct Tale { float t; }; Tale tale(Ray r) { return { r.t }; }",
    )  # fmt: skip
    rays = np.zeros((2, 3), m.Ray.dtype)
    rays["at"], rays["t"] = ramp(2, 3, 3), ramp(2, 3, start=2)
    reach = rays["at"][..., 1] * (rays["t"] + 1) + 2
    words: list[Any] = [
        lambda x: fp.pad(x, ((1, 2), (0, 1)), "edge"),
        lambda x: fp.concatenate([x, x], axis=0),
    ]
    look = fp.fuse(lambda r: [word(v) for word in words for v in (m.reach(m.moved(r), 2), m.reach(r, 2) + m.tale(r).t * 0)])
    wanted = [word(v) for word in words for v in (reach, reach - rays["at"][..., 1])]
    view = fp.fuse(lambda r: m.reach(m.moved(r), 2)[:, ::-1])
    for given in (rays, fp.Tensor.from_numpy(device, rays, m.Ray)):
        for got, want in zip(look(given), wanted, strict=True):
            np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-6)
        np.testing.assert_allclose(np.asarray(view(given)), reach[:, ::-1], rtol=1e-6)
        assert view.explain(given).kernels == 1


def test_values_repeated_along_an_axis_keep_their_type(device: Any) -> None:
    """They were weak as generators are, so that an operator took the type of the other side."""
    one = fp.Tensor.from_numpy(device, np.full((1, 3), 0.1))
    repeated = fp.fuse(lambda x: (lambda y: y - fp.vcast(y, "float"))(fp.pad(x, ((0, 0), (1, 2)), "edge").T[:, :]))(one)
    apart = fp.fuse(lambda x: (lambda y: y - fp.vcast(y, "float"))(fp.pad(x, ((1, 2), (0, 0)), "edge")))(one)
    for found in (repeated, apart):
        assert str(found.dtype) == "double"
        np.testing.assert_allclose(found.to_numpy().ravel()[0], 0.1 - np.float64(np.float32(0.1)), rtol=1e-9)


def test_arrays_that_are_converted_are_moved_twice(device: Any) -> None:
    """`int64` and `float64` of NumPy for floats: what is computed again of moved elements is converted as they were."""
    m = fp.Module.load_from_source(device, "pushed_twice", "float less(float a, float b) { return a - b; }")
    x, y = np.arange(1, 7).reshape(2, 3), np.linspace(1, 2, 6).reshape(2, 3)

    def moved(x: Any, y: Any) -> Any:
        return fp.moveaxis(fp.pad(fp.moveaxis(m.less(x, y), 1, 0), [(1, 2), (0, 0)], "edge"), 0, 1)

    with pytest.warns(fp.PrecisionWarning):
        found = np.asarray(fp.fuse(moved)(x, y))
    np.testing.assert_allclose(found, np.pad(x - y, [(0, 0), (1, 2)], "edge"), rtol=1e-6)

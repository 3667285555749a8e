"""Annotations of fused functions say what arguments hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, ramp

if TYPE_CHECKING:
    from nowhere import Image  # pyright: ignore

SOURCE = """
struct Ray { float3 p; float t; }
[Differentiable] float luma(float3 c) { return dot(c, float3(0.25, 0.5, 0.125)); }
float at(Ray r) { return r.p.y * r.t; }
"""
IMAGE, WEIGHTS = ramp(2, 4, 3), np.array([0.25, 0.5, 0.125], F32)


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "annotated", SOURCE)


@pytest.mark.req("V4")
def test_a_type_groups_the_argument(m: Any) -> None:
    def look(image: m.float3, stops: float) -> Any:
        return image.zyx * fp.exp2(stops)

    want = IMAGE[..., ::-1] * 2
    assert look.__annotations__["image"] == "m.float3"  # text, since this file imports annotations from __future__
    fused = fp.fuse(look)
    for image in (IMAGE, fp.vcast(IMAGE, m.float3), IMAGE.astype(np.float64)):
        np.testing.assert_array_equal(fused(image, 1), want)
    np.testing.assert_array_equal(fused(IMAGE, np.ones(4, np.int64)), want)
    np.testing.assert_array_equal(fused(np.arange(12).reshape(4, 3), 0), np.arange(12).reshape(4, 3)[:, ::-1])
    tensor = fp.Tensor.from_numpy(m.device, IMAGE)
    typed = fp.Tensor.from_numpy(m.device, IMAGE, dtype=m.float3)
    for image in (tensor, typed):
        assert str(fused(image, 1.0).dtype) == "float3"
    np.testing.assert_array_equal(fp.fuse(lambda i: fused(fp.sqrt(i * i), 1.0))(IMAGE), want)  # what is computed
    with fp.lazy():
        late = fused(tensor, 1.0)
    np.testing.assert_array_equal(late.to_numpy(), want)
    graph = fp.Graph(inputs=["i"])
    graph.set_outputs(fused.node()(*graph.get_inputs(), 1.0))
    np.testing.assert_array_equal(graph(IMAGE), want)


def test_types_are_named_in_many_ways(m: Any) -> None:
    def of_text(image: "float3") -> Any:  # noqa: F821, UP037
        return image.zyx

    def of_constructor(image: fp.float3) -> Any:
        return image.zyx

    def of_default(image: m.float3 = 2.0) -> Any:
        return image.zyx

    for function in (of_text, of_constructor, of_default):
        np.testing.assert_array_equal(fp.fuse(function)(IMAGE), IMAGE[..., ::-1])
    assert fp.fuse(of_default)() == [2, 2, 2]


def test_other_annotations_say_nothing(m: Any) -> None:
    def plain(image: np.ndarray, other: Image, third: fp.Tensor | None = 1.0, *, k: list[float] = 1.0) -> Any:
        return image + other + third + k

    np.testing.assert_array_equal(fp.fuse(plain)(IMAGE, 2.0), IMAGE + 4)


def test_a_struct_gives_fields_and_numbers_a_type(m: Any) -> None:
    @fp.fuse
    def height(ray: m.Ray) -> Any:
        return m.at(ray)

    rays = ramp(5, 4)
    np.testing.assert_array_equal(height({"p": rays[:, :3], "t": rays[:, 3].copy()}), rays[:, 1] * rays[:, 3])
    np.testing.assert_array_equal(height(rays), rays[:, 1] * rays[:, 3])


def test_gradients_have_the_extents_of_the_argument(m: Any) -> None:
    def loss(image: m.float3) -> Any:
        return fp.sum(m.luma(image * image))

    want = 2 * IMAGE * WEIGHTS
    for function in (loss, fp.fuse(loss)):
        np.testing.assert_allclose(fp.grad(function)(IMAGE), want, rtol=1e-6)
    x = fp.Tensor.from_numpy(m.device, IMAGE).with_grads()
    fp.fuse(loss).bwds(x)
    np.testing.assert_allclose(x.grad.to_numpy(), want, rtol=1e-6)


@pytest.mark.parametrize(
    "given",
    [(IMAGE[..., :2].copy(), 1.0), (ramp(4), 1.0), (IMAGE > 1, 1.0), (IMAGE, True), (fp.vcast(IMAGE, "float3"), IMAGE > 1)],
)
def test_what_does_not_fit_is_refused(m: Any, given: Any) -> None:
    @fp.fuse
    def look(image: m.float3, stops: float) -> Any:
        return image * stops

    with pytest.raises(fp.UnsupportedArgumentError, match="does not hold what its annotation says"):
        look(*given)
    np.testing.assert_array_equal(look(IMAGE, 2.0), IMAGE * 2)

"""Accumulators: results that are combined along the axes of the grid which their destination does not have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp

KINDS: dict[str, Any] = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "mean": np.mean,
    "first": lambda v, axis: v[0],
}


@pytest.mark.req("B13", "B14")
@pytest.mark.parametrize("kind", KINDS)
def test_results_are_accumulated_into_rows_and_columns(device: fp.Device, kind: str) -> None:
    """A destination keeps the axes of the grid that it has; one function serves all shapes of destinations."""
    source = (
        "void scale(float3 v, float w, out float3 r) { r = v * w; } [Differentiable] float squared(float x) { return x * x; }"
    )
    m = fp.Module.load_from_source(device, "accumulated_in_parts", source)
    v, w = np.random.default_rng(0).normal(size=(4, 5, 3)).astype(np.float32), np.float32([1, 2, 3, -4, 5])
    scale, of = m.scale.accumulate(r=kind), KINDS[kind]
    every = v * w[:, None]
    rows, columns = of(every, axis=0), of(every.swapaxes(0, 1), axis=0)
    for shape, said, wanted in (
        ((5, 3), None, rows),
        ((1, 5, 3), None, rows[None]),
        ((4, 1, 3), None, columns[:, None]),
        ((4, 3), (0,), columns),
        ((4, 5, 3), None, every),
        ((5, 4, 3), (1, 0), every.swapaxes(0, 1)),
    ):
        out = np.zeros(shape, np.float32)
        scale(v, w, out if said is None else fp.vmap(out, said))
        np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-6, err_msg=str(shape))
    out = fp.Tensor.zeros(device, 5, "float3")
    scale(v, w, r=out)
    np.testing.assert_allclose(out.to_numpy(), rows, rtol=1e-5, atol=1e-6)
    scale.declare(r=fp.vmapping((0,)))(v, w, r=out[:4])
    np.testing.assert_allclose(out.to_numpy()[:4], columns, rtol=1e-5, atol=1e-6)
    row = fp.Tensor.zeros(device, 5, "float")
    for f in (m.squared, fp.fuse(lambda x: x * x)):
        f.accumulate(result=kind)(v[..., 0], _result=row)
        np.testing.assert_allclose(row.to_numpy(), of(v[..., 0] ** 2, axis=0), rtol=1e-5)
    with pytest.raises(fp.ShapeError, match="does not fit"):
        scale(v, w, np.zeros((6, 3), np.float32))


def test_the_gradient_of_an_accumulated_row_is_that_of_each_element(device: fp.Device) -> None:
    m = fp.Module.load_from_source(device, "accumulated_row", "[Differentiable] float squared(float x) { return x * x; }")
    x, given = fp.Tensor(np.float32([[1, 2, 3], [4, 5, 6]])).with_grads(), np.float32([1, 10, 100])
    row = fp.Tensor(given).with_grads(grad_in=fp.Tensor(given))
    m.squared.accumulate(result="sum").bwds(x, _result=row)
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * x.to_numpy() * given)
    with pytest.raises(fp.ShapeError, match=r"accumulate\(result="):
        fp.fuse(lambda x: x * x)(x, _result=fp.Tensor(given))

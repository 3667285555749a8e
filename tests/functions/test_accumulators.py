"""Accumulators: results that are combined along the axes of the grid which their destination does not have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

KINDS: dict[str, Any] = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "mean": np.mean,
    "first": lambda v, axis: v[0],
}


@pytest.mark.req("B13", "B14")
@pytest.mark.parametrize("kind", daily(KINDS, "mean"))
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


@pytest.mark.parametrize("kind", daily(KINDS, "sum"))
def test_structs_are_accumulated_member_by_member(device: fp.Device, kind: str) -> None:
    source = """
    struct Inner : IDifferentiable { float2 u; float w[3]; };
    struct Outer : IDifferentiable { float a; Inner inner; float2x2 q; };
    Outer made(float x) { return {x, {float2(x, -x), {x, x * x, 1}}, float2x2(x, 2, 3, -x)}; }
    [Differentiable] float read(Outer o, float x) { return o.a * x - o.inner.u.y * o.inner.w[1] * x; }
    """
    m = fp.Module.load_from_source(device, "accumulated_structs", source)
    x, of = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32), KINDS[kind]
    one = np.ones_like(x)
    for shape in ((), (5,)):
        out = fp.Tensor.zeros(device, shape, m.Outer)
        m.made.accumulate(result=kind)(x, _result=out)
        found = out.to_numpy()
        for member, values in (
            (found["a"], [x]),
            (found["inner"]["u"], [x, -x]),
            (found["inner"]["w"], [x, x * x, one]),
            (found["q"].reshape(*shape, 4), [x, 2 * one, 3 * one, -x]),
        ):
            wanted = [of(v if shape else v.reshape(-1), axis=0) for v in values]
            np.testing.assert_allclose(np.moveaxis(member, -1, 0) if len(values) > 1 else [member], wanted, rtol=1e-4, atol=1e-5)
    given = fp.Tensor.zeros(device, (), m.Outer).with_grads()
    m.read.bwds.accumulate({"o.grad": kind})(given, x[0])
    assert given.grad.to_numpy()["a"] == pytest.approx(of(x[0], axis=0), rel=1e-4)


def test_the_gradient_of_an_accumulated_row_is_that_of_each_element(device: fp.Device) -> None:
    m = fp.Module.load_from_source(device, "accumulated_row", "[Differentiable] float squared(float x) { return x * x; }")
    x, given = fp.Tensor(np.float32([[1, 2, 3], [4, 5, 6]])).with_grads(), np.float32([1, 10, 100])
    row = fp.Tensor(given).with_grads(grad_in=fp.Tensor(given))
    m.squared.accumulate(result="sum").bwds(x, _result=row)
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * x.to_numpy() * given)
    with pytest.raises(fp.ShapeError, match=r"accumulate\(result="):
        fp.fuse(lambda x: x * x)(x, _result=fp.Tensor(given))


def test_members_and_values_of_bools_and_integers(device: fp.Device) -> None:
    source = """
    struct Hit { bool on; int2 at; };
    Hit hit(float x) { Hit h; h.on = x > 1; h.at = int2(int(x), 7); return h; }
    bool2 sides(float x) { return bool2(x > 1, x < 1); }
    """
    m, x = fp.Module.load_from_source(device, "accumulated_flags", source), np.float32([2, 0.5, 4])
    first = m.hit.accumulate(result="first")(x)
    assert (bool(first["on"]), first["at"].tolist()) == (True, [2, 7])
    assert list(m.sides.accumulate(result="first")(x)) == [True, False]
    for kind, other in (("sum", "bool, whose sum is int"), ("mean", "bool, whose mean is float")):
        with pytest.raises(fp.UnsupportedArgumentError, match=f"cannot put the {kind} of a member into the struct(.|\n)*{other}"):
            m.hit.accumulate(result=kind)(x)

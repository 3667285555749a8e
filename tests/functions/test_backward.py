"""`bwds`: gradients that are added to those of arguments, given gradients of results, configuration, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

SOURCE = """
[Differentiable] float poly(float a, float x) { return a * x * x; }
[Differentiable] T square<T : __BuiltinFloatingPointType>(T x) { return x * x; }
float plain(float x) { return 2 * x; }
int next(int x) { return x + 1; }
[Differentiable] float kind(float x) { return 2 * x; }
float kind(float4x4 x) { return x[0].x; }

[Differentiable] float ignored(float x) { return x * no_diff sin(x); }

[BackwardDerivative(_tripled)] float ours(float x) { return x; }
void _tripled(inout DifferentialPair<float> x, float g) { x = diffPair(x.p, 3 * g); }

uniform float gain;
extern static const int N = 1;
[Differentiable] float scaled(float x) { return gain * N * x * x; }

struct Ray : IDifferentiable { float3 at; float reach; no_diff int id; };
[Differentiable] float seen(Ray r) { return r.at.y * r.reach; }
[Differentiable] void shift(float3 v, float by, out float3 moved, out Ray ray) {
    moved = by * v;
    ray = { v, by, 1 };
}
[Differentiable] void grow(inout float v, float by) { v = v * by; }
"""


def tensor(*numbers: Any) -> fp.Tensor:
    return fp.Tensor(np.array(numbers, np.float32))


def leaf(*numbers: Any) -> fp.Tensor:
    return tensor(*numbers).with_grads()


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    return fp.Module.load_from_source(device, "backward", SOURCE)


@pytest.mark.req("B1", "B12")
@pytest.mark.parametrize("name", ["bwds", "backward", "backwards"])
def test_gradients_are_added_to_those_of_arguments(m: fp.Module, name: str) -> None:
    a, x = leaf(3), leaf(2)
    backward = getattr(m.poly, name)
    assert backward(a, x) is None
    assert (a.grad.tolist(), x.grad.tolist()) == ([4], [12])
    backward(a, x=x, _result=m.poly(a, x))
    assert (a.grad.tolist(), x.grad.tolist()) == ([8], [24])
    x = leaf(1, 2, 3)
    a.grad.clear()
    backward(a, x)
    assert (a.grad.tolist(), x.grad.tolist()) == ([14], [6, 12, 18])


@pytest.mark.req("B9")
def test_nothing_is_computed_for_arguments_without_gradient(m: fp.Module) -> None:
    x = leaf(1, 2)
    m.poly.bwds(3.0, x)
    assert x.grad.tolist() == [6, 12]
    assert len(m.poly.bwds.lower(3.0, x).recording.graph.outputs) == 1
    assert len(m.poly.bwds.lower(leaf(3), x).recording.graph.outputs) == 2


@pytest.mark.req("B10", "B18")
def test_the_gradient_of_the_result_is_one_or_given(m: fp.Module) -> None:
    a, x = 2.0, leaf(1, 2, 3)
    result = m.poly(a, x).with_grads(grad_in=tensor(1, 10, 100))
    m.poly.bwds(a, x, _result=result)
    assert x.grad.tolist() == [4, 80, 1200]
    m.poly.bwds(a, x, result)  # the result may follow the arguments
    assert x.grad.tolist() == [8, 160, 2400]
    held = x.grad
    held.clear()
    m.poly.bwds(a, x, _result=result.detach())
    assert x.grad is held
    assert held.tolist() == [4, 8, 12]
    # a gradient is a tensor like any other, and may be that of several arguments
    assert m.poly(1.0, held, _result="numpy").tolist() == [16, 64, 144]
    both = x.with_grads(grad_out=tensor(0, 0, 0))
    m.poly.bwds(both, both)
    assert (both.grad.tolist(), both.grad_in) == ([3, 12, 27], None)
    read, written = tensor(5, 5, 5), tensor(0, 0, 0)
    m.poly.bwds(a, x.with_grads(read, written))
    assert (read.tolist(), written.tolist()) == ([5, 5, 5], [4, 8, 12])


@pytest.mark.req("B3", "B4")
def test_it_is_none_where_slang_cannot_differentiate(m: fp.Module) -> None:
    assert m.plain.bwds is None
    assert m.next.bwds is None
    assert m.poly.bwds.bwds is None
    x = leaf(3, 4)
    m.square.bwds(x)
    m.kind.bwds(x)
    assert x.grad.tolist() == [8, 10]
    x.grad.clear()
    m.ours.bwds(x)
    assert x.grad.tolist() == [3, 3]
    for call in (m.ignored.bwds, m.ignored.bwds.explain):  # what is wrong with a function that has the attribute, a call says
        with pytest.raises(fp.GradientError, match=r"write detach\(sin\(…\)\) in ignored"):
            call(x)
    with pytest.raises(fp.GradientError, match="cannot differentiate kind"):
        m.kind.bwds(fp.Tensor.from_numpy(m.device, np.ones((5, 4, 4), np.float32), "float4x4").with_grads())


@pytest.mark.req("B2")
def test_it_has_the_configuration_and_can_be_configured(m: fp.Module) -> None:
    x = leaf(1, 2)
    backward = m.scaled.set(gain=2.0).constants({"N": 3}).options(numthreads=[64]).bwds
    backward(x)
    assert x.grad.tolist() == [12, 24]
    backward.set(gain=1.0).constants({"N": 1})(x)
    assert x.grad.tolist() == [14, 28]
    a, x = leaf(1, 2), leaf(1, 10, 100)
    mapped = m.poly.map((0,), (1,))
    mapped.bwds(a, x)
    assert (a.grad.tolist(), x.grad.tolist()) == ([10101, 10101], [6, 60, 600])
    m.poly.bwds.map(x=(1,), a=(0,))(a, x)
    assert a.grad.tolist() == [20202, 20202]
    encoder = m.device.sgl.create_command_encoder()
    a.grad.clear()
    mapped.bwds.append_to(encoder, a, x)
    m.device.sgl.submit_command_buffer(encoder.finish())
    assert a.grad.tolist() == [10101, 10101]


@pytest.mark.req("B11")
def test_structs_have_gradients_of_their_differential(m: fp.Module) -> None:
    rays = fp.Tensor.zeros(m.device, (2,), m.Ray).with_grads()
    rays.copy_from_numpy(np.array([([1, 2, 3], 4, 0), ([1, 1, 1], 2, 0)], rays.to_numpy().dtype))
    m.seen.bwds(rays)
    m.seen.bwds(rays)
    assert str(rays.grad.dtype) == "Ray::Differential"
    assert [r.tolist() for r in rays.grad.to_numpy()["at"]] == [[0, 8, 0], [0, 4, 0]]
    assert rays.grad.to_numpy()["reach"].tolist() == [4, 2]
    at, reach = leaf([1, 2, 3], [1, 1, 1]), leaf(4, 2)
    m.seen.bwds({"at": at, "reach": reach, "id": 0})
    assert (at.grad.tolist(), reach.grad.tolist()) == ([[0, 4, 0], [0, 2, 0]], [2, 1])


def test_outputs_among_the_arguments_give_their_gradients(m: fp.Module) -> None:
    v, by = leaf([1, 2, 3], [4, 5, 6]), leaf(2)
    moved = tensor([0, 0, 0], [0, 0, 0]).with_grads(tensor([1, 0, 0], [0, 0, 2]))
    ray = fp.Tensor.zeros(m.device, (2,), m.Ray)
    m.shift.bwds(v, by, moved, ray.with_grads())  # whose gradient is 0
    assert (v.grad.tolist(), by.grad.tolist()) == ([[2, 0, 0], [0, 0, 4]], [13])
    by.grad.clear()
    m.shift.bwds(v, by, fp.vmap(moved, (0,)), {"reach": leaf(0, 0).with_grads(tensor(1, 10))})
    assert by.grad.tolist() == [13 + 11]
    by.grad.clear()
    v.grad.clear()
    m.shift.bwds(v, by)  # both are returned: 1 for each component
    assert (v.grad.tolist(), by.grad.tolist()) == ([[3, 3, 3], [3, 3, 3]], [21 + 2])
    turned = fp.vmap(tensor([0, 0, 0], [0, 0, 0]).with_grads(tensor([1, 0, 0], [0, 0, 2])), (1, 0))
    x = leaf([1, 2], [3, 4], [5, 6])
    identity = fp.Module.load_from_source(m.device, "turned", "[Differentiable] void same(float x, out float y) { y = x; }")
    identity.same.bwds(x, turned)
    identity.same.map((0, 1), (1, 0)).bwds(x, turned.value)
    assert x.grad.tolist() == [[2, 0], [0, 0], [0, 4]]


def test_the_gradient_of_an_inout_argument_takes_the_place_of_that_of_its_result(m: fp.Module) -> None:
    by = leaf(2)
    v = tensor(1, 2, 3).with_grads(tensor(1, 1, 10), tensor(1, 1, 1))
    m.grow.bwds(v, by)
    assert (v.grad_in.tolist(), v.grad_out.tolist(), by.grad.tolist()) == ([1, 1, 10], [3, 3, 21], [33])
    v = leaf(1, 2, 3)
    v.grad.copy_from_numpy(np.float32([1, 1, 10]))
    m.grow.bwds(v, by)
    assert (v.grad.tolist(), by.grad.tolist()) == ([2, 2, 20], [66])


@pytest.mark.req("V13", "B19", "G3")
def test_fused_functions_and_graphs_have_a_backward_pass(m: fp.Module) -> None:
    def loss(p: dict[str, Any], x: Any, power: int) -> Any:
        return fp.mean(m.poly(p["a"], x) ** power), p["a"] + x

    fused = fp.fuse(loss, static=("power",))
    p, x = {"a": leaf(3), "b": leaf(1)}, leaf(1, 2)
    assert fused.bwds(p, x, power=1) is None
    assert (p["a"].grad.tolist(), p["b"].grad.tolist(), x.grad.tolist()) == ([2.5 + 2], [0], [4, 7])
    fused.bwds(p, x, 2, _result=(fp.differentiable(0.0), tensor(0, 0).with_grads(tensor(1, 10))))
    assert (p["a"].grad.tolist(), x.grad.tolist()) == ([4.5 + 11], [5, 17])
    assert fp.fuse(lambda a, x: m.poly(a, x) * 2).bwds.explain(1.0, x).kernels == 1
    g = fp.Graph(inputs=["a", "x"])
    a, y = g.get_inputs()
    g.set_outputs(m.poly.node()(a, y) * 2)
    x.grad.clear()
    g.backwards(3.0, x)
    assert x.grad.tolist() == [12, 24]


@pytest.mark.req("B7", "B20")
def test_values_become_differentiable(m: fp.Module) -> None:
    a, x = fp.differentiable(3), fp.differentiable([1.0, 2.0])
    m.poly.bwds(a, x)
    assert (float(a.grad), x.grad.tolist()) == (5, [6, 12])
    assert isinstance(m.poly(a, 2.0), fp.Tensor)  # and no number, which would forget where it comes from
    buffer = fp.NDBuffer(m.device, shape=(2,))
    assert fp.differentiable(buffer, needs_grad=True).grad.tolist() == [0, 0]
    assert fp.differentiable(x, needs_grad=False).grad is None
    assert (x.needs_grad, buffer.needs_grad) == (True, False)
    assert [fp.is_differentiable_like(v) for v in (x, buffer, 3.0, [1.0])] == [True, True, False, False]
    with pytest.raises(fp.GradientError, match="int has no derivative"):
        fp.differentiable(np.int32([1]))
    with pytest.raises(fp.ArgumentError, match=r"differentiable\(\) of a str"):
        fp.differentiable("3")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda m, x: m.poly.bwds(1.0, x, _result=fp.differentiable(1)), fp.GradientError, "another shape than the result"),
        (lambda m, x: m.poly.bwds(1.0, x, _result=leaf(1, 2, 3)), fp.ShapeError, "_result.grad_in' do not broadcast"),
        (lambda m, x: m.poly.bwds(1.0, x, _result="list"), fp.ArgumentError, "returns nothing"),
        (lambda m, x: m.poly.bwds(1.0, x, _result=(x, x)), fp.ArgumentError, "2 results are given, there are 1"),
        (lambda m, x: m.poly.bwds(1.0, x, x, x), fp.ArgumentError, "takes 2 arguments"),
        (lambda m, x: m.poly.bwds(1.0, y=x), fp.ArgumentError, "no parameter 'y'"),
        (lambda m, x: fp.fuse(lambda x: m.poly.bwds(1.0, x))(x), fp.TraceError, "inside a fused function"),
        (lambda m, x: fp.fuse(lambda x: fp.argmax(x)).bwds(x), fp.GradientError, "gives no float"),
        (lambda m, x: m.poly.bwds.node()(1.0), fp.GraphError, "is no node"),
    ],
)
def test_misuse_is_named(m: fp.Module, call: Callable[..., Any], error: type[Exception], words: str) -> None:
    x = leaf(1, 2)
    with pytest.raises(error, match=words):
        call(m, x)
    m.poly.bwds(1.0, x)
    assert x.grad.tolist() == [2, 4]


KINDS = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "mean": np.mean,
    "first": lambda v, axis: v[0],
    "push": lambda v, axis: v,
}


def test_tensors_from_outside_get_no_gradients_without_a_word(m: fp.Module) -> None:
    x, w = leaf(4, 5), leaf(1, 2)
    with pytest.raises(fp.GradientError, match="no argument"):
        fp.fuse(lambda x: m.poly(w, x)).bwds(x)
    assert (x.grad.tolist(), w.grad.tolist()) == ([0, 0], [0, 0])
    for outside in (w.detach(), lambda: fp.stop_gradient(w)):
        fp.fuse(lambda x: m.poly(outside() if callable(outside) else outside, x)).bwds(x)  # noqa: B023
    assert x.grad.tolist() == [16, 40]


ACCUMULATED = (
    "void scale(float3 v, out float3 result) { result = v * 10; } [Differentiable] float twice(float x) { return 2 * x; }"
)
V = np.float32([[1, 2, 3], [9, 5, 6], [7, 8, 0]])


@pytest.mark.req("B13", "B14")
@pytest.mark.parametrize("kind", daily(KINDS, "mean", "push"))
def test_results_are_accumulated_by_each_kind(device: fp.Device, kind: str) -> None:
    m, of = fp.Module.load_from_source(device, "accumulated", ACCUMULATED), KINDS[kind]
    wanted = of(10 * V, axis=0)
    np.testing.assert_allclose(m.scale.accumulate({"result": kind})(V), wanted, rtol=1e-6)
    np.testing.assert_allclose(fp.fuse(lambda v: m.scale.accumulate(result=kind)(v) + 1)(V), wanted + 1, rtol=1e-6)
    np.testing.assert_allclose(fp.fuse(lambda v: 10 * v).accumulate(result=kind)(V[:, 0]), of(10 * V[:, 0], axis=0), rtol=1e-6)


@pytest.mark.req("B13", "B14")
def test_results_are_accumulated(device: fp.Device) -> None:
    m, v = fp.Module.load_from_source(device, "accumulated", ACCUMULATED), V
    result = np.zeros(3, np.float32)
    m.scale.accumulate(result="sum")(np.float32([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), result)
    assert result.tolist() == [120, 150, 180]
    # the gradient of a sum is the same for all
    x, s = leaf(1, 2, 3), m.twice.accumulate(result="sum")
    assert float(s(x)) == 12
    s.bwds(x, _result=fp.differentiable(0.0).with_grads(grad_in=fp.Tensor.full(device, (), 5.0)))
    assert x.grad.tolist() == [10, 10, 10]
    for small in (np.zeros(3, np.float32), fp.Tensor.zeros(device, (), "float3")):
        with pytest.raises(fp.ShapeError, match=r"accumulate\(result="):
            m.scale(v, small)
    assert m.scale(v).tolist() == (10 * v).tolist()


@pytest.mark.req("B13", "B15", "B20")
@pytest.mark.parametrize("kind", daily(KINDS, "max", "push"))
def test_gradients_are_accumulated_by_each_kind(m: fp.Module, kind: str) -> None:
    each, of, x = 2 * 3 * np.float32([1, 5, 2]), KINDS[kind], leaf(1, 5, 2)
    backward = m.poly.bwds.accumulate({"x.grad": kind})
    backward(3.0, x)
    np.testing.assert_allclose(x.grad.to_numpy(), of(each, axis=0), rtol=1e-6)
    backward(3.0, x)  # is added, as always; `push` keeps the gradients of this call
    np.testing.assert_allclose(x.grad.to_numpy(), of(each, axis=0) * (1 if kind == "push" else 2), rtol=1e-6)
    a = fp.differentiable(3.0)
    a.accumulator = kind
    m.poly.bwds(a, x.detach())
    np.testing.assert_allclose(a.grad.to_numpy(), of(np.float32([1, 25, 4]), axis=0), rtol=1e-6)


@pytest.mark.req("B13", "B15", "B20")
def test_gradients_are_accumulated_over_the_grid(m: fp.Module) -> None:
    # along both axes, and where the gradient is the same everywhere
    a, x = leaf(1, 2), leaf([1], [2], [3])
    x.accumulator = "push"
    fp.fuse(lambda a, x: a * x + x).bwds(a, x)
    assert (a.grad.tolist(), x.grad.tolist()) == ([6, 6], [[2, 3]] * 3)
    y = fp.differentiable(1.0)
    y.accumulator = "push"
    fp.fuse(lambda x, y: x + y).bwds(tensor(0, 0), y)
    assert y.grad.tolist() == [1, 1]
    with pytest.raises(fp.GradientError, match="no value for each point"):
        fp.fuse(lambda x, y: fp.sum(x * y)).bwds(tensor(0, 0), y)
    with pytest.raises(fp.ArgumentError, match="there is no accumulator 'mode'"):
        y.accumulator = "mode"
    with pytest.raises(fp.ArgumentError, match=r"there is no result 'z\.grad'"):
        m.poly.bwds.accumulate({"z.grad": "sum"})
    with pytest.raises(fp.ArgumentError, match="there is no accumulator 'som'"):
        m.poly.accumulate(result="som")

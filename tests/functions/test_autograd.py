"""Calls with torch tensors that require gradients, beside the same computation in torch."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

torch: Any = pytest.importorskip("torch")

SOURCE = """
[Differentiable] T poly<T : __BuiltinFloatingPointType>(T a, T x) { return a * x * x; }
[Differentiable] double dpoly(double a, double x) { return a * x * x; }
[Differentiable] float3 tint(float3 c, float k) { return c * k; }
[Differentiable] void powers(float x, out float a, out float b) { a = x * x; b = x * x * x; }
struct Ray : IDifferentiable { float3 position; float reach; };
[Differentiable] float at(Ray r) { return r.position.y * r.reach; }
uniform float gain;
[Differentiable] float lift(float x) { return x * x * gain; }
int whole(float x) { return (int)x; }
float floored(float x) { return floor(x); }
"""
K = np.float32([2, 3, 4])
Program = Callable[[Any, Any, Any], Any]


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "autograd", SOURCE)


class Net:
    """An object with parameters, as users write them."""

    def __init__(self, w: Any, b: Any):
        self.w, self.b = w, b


def _times(p: Any, n: int, twice: bool) -> Any:
    return p * float(n) if twice else p


def _in_a_graph(m: Any, w: Any, b: Any) -> Any:
    graph = fp.Graph(inputs=["x"])
    (x,) = graph.get_inputs()
    graph.set_outputs(m.poly.node()(x, b))
    return graph(w)


def _lazily(m: Any, w: Any, b: Any) -> Any:
    with fp.lazy():
        return m.poly(w, b)


# by fusepy, and by torch, of two tensors of three floats
CALLS: dict[str, tuple[Program, Program]] = {
    "Slang": (lambda m, w, b: m.poly(w, b), lambda m, w, b: w * b * b),
    "an array beside": (lambda m, w, b: m.poly(w, K) + b, lambda m, w, b: w * torch.tensor(K) ** 2 + b),
    "a Tensor beside": (lambda m, w, b: m.poly(w, fp.Tensor.from_numpy(m.device, K)), lambda m, w, b: w * torch.tensor(K) ** 2),
    "keywords": (lambda m, w, b: m.poly(x=w, a=2.0) + b, lambda m, w, b: 2 * w * w + b),
    "vmap": (lambda m, w, b: m.poly(fp.vmap(w, 1), fp.vmap(b, 0)), lambda m, w, b: w * b[:, None] ** 2),
    "declare": (lambda m, w, b: m.poly.declare(fp.vmapping(1), fp.vmapping(0))(w, b), lambda m, w, b: w * b[:, None] ** 2),
    "a declared fused one": (
        lambda m, w, b: fp.fuse(lambda p, q: m.poly(p, q)).declare(fp.vmapping(1), fp.vmapping(0))(w, b),
        lambda m, w, b: w * b[:, None] ** 2,
    ),
    "transposed": (
        lambda m, w, b: fp.fuse(lambda p: p * 3.0)(fp.vmap(w[:, None] * b, (1, 0))),
        lambda m, w, b: 3 * (w[:, None] * b).T,
    ),
    "vectors": (lambda m, w, b: m.tint(w, b[0]), lambda m, w, b: w * b[0]),
    "broadcast": (lambda m, w, b: m.poly(w[:, None], b[None, :]), lambda m, w, b: w[:, None] * b * b),
    "expanded": (lambda m, w, b: m.poly(w[:1].expand(3), b), lambda m, w, b: w[0] * b * b),
    "out parameters": (lambda m, w, b: m.powers(w), lambda m, w, b: (w**2, w**3)),
    "a struct": (
        lambda m, w, b: m.at({"position": w[None].expand(3, 3), "reach": b}),
        lambda m, w, b: w[1] * b,
    ),
    "globals": (lambda m, w, b: m.lift.set(gain=2.0)(w) + m.lift.set(gain=3.0)(w), lambda m, w, b: 5 * w * w),
    "fused": (lambda m, w, b: fp.fuse(lambda p, q: fp.sin(p) * q)(w, b), lambda m, w, b: torch.sin(w) * b),
    "reduced": (lambda m, w, b: fp.fuse(lambda p, q: fp.mean(m.poly(p, q)))(w, b), lambda m, w, b: (w * b * b).mean()),
    "static": (
        lambda m, w, b: fp.fuse(lambda p, n, k=3.0: m.poly(p, 2.0) * n * k, static=["n"])(w, 2),
        lambda m, w, b: 24 * w,
    ),
    "static beside an annotation": (lambda m, w, b: fp.fuse(_times, static=["n", "twice"])(w, 2, True), lambda m, w, b: 2 * w),
    "nested": (
        lambda m, w, b: fp.fuse(lambda p, x: {"y": p["w"] * x, "z": [p["b"]["c"] * x]})({"w": w, "b": {"c": b}}, K),
        lambda m, w, b: (w * torch.tensor(K), b * torch.tensor(K)),
    ),
    "an object": (lambda m, w, b: fp.fuse(lambda net: net.w * net.b)(Net(w, b)), lambda m, w, b: w * b),
    "captured": (lambda m, w, b: fp.fuse(lambda x: m.poly(w, x) * b)(K), lambda m, w, b: w * torch.tensor(K) ** 2 * b),
    "captured and passed": (lambda m, w, b: fp.fuse(lambda x: x * w)(b), lambda m, w, b: w * b),
    "math": (lambda m, w, b: fp.exp(w), lambda m, w, b: torch.exp(w)),
    "a reduction": (lambda m, w, b: fp.sum(w), lambda m, w, b: w.sum()),
    "a graph": (_in_a_graph, lambda m, w, b: w * b * b),
    "lazy": (_lazily, lambda m, w, b: w * b * b),
    "a gradient": (lambda m, w, b: fp.grad(lambda p: fp.sum(p**3.0))(w) * b, lambda m, w, b: 3 * w**2 * b),
    "torch()": (lambda m, w, b: m.poly.set(gain=1.0).torch()(w, b), lambda m, w, b: w * b * b),
}


DAILY = (
    *(
        "Slang",
        "a Tensor beside",
        "declare",
        "transposed",
        "out parameters",
        "a struct",
        "globals",
        "reduced",
        "static",
        "nested",
    ),
    *("captured and passed", "a graph", "lazy", "torch()"),
)


def gradients(results: Any, wrt: Any) -> list[Any]:
    """The gradients of results weighted by fixed numbers; results in dicts and lists too."""
    leaves = torch.utils._pytree.tree_leaves(results)
    weights = [torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).reshape(y.shape) for y in leaves]
    return list(torch.autograd.grad(leaves, wrt, weights, allow_unused=True))


@pytest.mark.req("P1", "G3")
@pytest.mark.req("B20")
@pytest.mark.parametrize("name", daily(CALLS, *DAILY))
def test_calls_take_part_in_autograd(m: Any, name: str) -> None:
    by_fusepy, by_torch = CALLS[name]
    w, b = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.nn.Parameter(torch.tensor([0.5, -1.0, 2.0]))
    found, wanted = by_fusepy(m, w, b), by_torch(m, w, b)
    pairs = zip(gradients(found, [w, b]), gradients(wanted, [w, b]), strict=True)
    for got, want in pairs:
        assert torch.allclose(torch.zeros(3) if got is None else got, torch.zeros(3) if want is None else want, rtol=1e-4)
    with torch.no_grad():
        plain = torch.utils._pytree.tree_leaves(by_fusepy(m, w, b))
    assert not any(y.requires_grad for y in plain if isinstance(y, torch.Tensor))
    again = torch.utils._pytree.tree_leaves(by_fusepy(m, w, b))  # the program without gradients is known now
    assert all(y.requires_grad for y in again)


@pytest.mark.req("P1")
def test_backward_fills_grad_of_what_requires_it(m: Any) -> None:
    a, x = torch.tensor([3.0], requires_grad=True), torch.tensor([2.0])
    assert m.poly.torch()(a, x).backward() is None
    assert (a.grad.item(), x.grad) == (4, None)
    small, large = fp.fuse(lambda p: (p * 2.0, p * p))(a)
    large.backward(retain_graph=True)  # nothing flows into the first result
    assert (a.grad.item(), small.requires_grad) == (10, True)
    assert not m.whole(a).requires_grad
    assert m.poly.torch()([1.0, 2.0], 3.0).tolist() == [9, 18]


def test_a_tensor_on_which_no_result_depends_has_no_gradient(m: Any) -> None:
    used, unused, outside = (torch.tensor(2.0, requires_grad=True) for _ in range(3))
    f = fp.fuse(lambda p: (p["used"] * p["used"], fp.multiply(outside, 2.0)))
    first, second = f({"used": used, "unused": unused})
    slopes = torch.autograd.grad(first, (used, unused, outside), allow_unused=True, create_graph=True)
    assert [None if s is None else s.item() for s in slopes] == [4, None, None]
    assert torch.autograd.grad(slopes[0], (used, unused), allow_unused=True)[1] is None
    second.backward()
    assert (used.grad, unused.grad, outside.grad.item()) == (None, None, 2)
    with pytest.raises(RuntimeError, match="to not have been used"):
        torch.autograd.grad(m.poly(1.0, f({"used": 1.0, "unused": unused})[0]), unused)


def test_what_torch_computes_inside_of_a_fused_function_is_refused(m: Any) -> None:
    """Its gradient was lost, and each program kept the value of its first call."""
    w, made = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    outside = made * 2.0
    for body in (
        lambda x: x * (w * 2.0),
        lambda x: m.poly(w[None], x),
        lambda x: fp.fori_loop(0, 2, lambda i, s: s * (1.0 - w), x),
    ):
        with pytest.raises(fp.GradientError, match="torch computes inside of the function"):
            fp.fuse(body)(torch.ones(1)).sum().backward()
    fp.fuse(lambda x: x * fp.multiply(w, 2.0) * outside)(torch.ones(1)).sum().backward()
    assert (w.grad.item(), made.grad.item()) == (12, 8)


def test_views_of_a_tensor_from_outside_have_gradients() -> None:
    table, x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), torch.tensor([1.0, 10.0])
    views = fp.fuse(lambda x: fp.sum(fp.transpose(table)[0] * x) + fp.sum(fp.flip(fp.reshape(table, 4), 0)[:2] * x))
    for wanted in (31 + 34, 42 + 45):  # the second time after a change in place
        table.grad = None
        value = views(x)
        value.backward()
        assert (value.item(), table.grad.tolist()) == (wanted, [[1, 0], [20, 1]])
        with torch.no_grad():
            table += 1.0


@pytest.mark.req("P4")
def test_calls_without_gradients_keep_nothing(m: Any) -> None:
    x = torch.ones(1 << 16)
    kept = weakref.ref(x)
    y = m.poly(2.0, x)
    del x
    gc.collect(1)
    assert kept() is None
    assert y.grad_fn is None


CHECKED: dict[str, Program] = {
    "elementwise": lambda m, p, q: fp.fuse(lambda p, q: fp.sin(p) * q / (1.0 + q * q))(p, q),
    "a reduction": lambda m, p, q: fp.fuse(lambda p, q: fp.sum(fp.exp(p) * q))(p, q),
    "broadcast": lambda m, p, q: fp.fuse(lambda p, q: p * p * q)(p, q[:, None]),
    "Slang": lambda m, p, q: m.dpoly(p, q),
}


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("check", ["gradcheck", pytest.param("gradgradcheck", marks=pytest.mark.rest)])
def test_gradcheck_passes(m: Any, name: str, check: str) -> None:
    p, q = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([0.3, -0.7], [1.2, 0.4]))
    assert getattr(torch.autograd, check)(lambda p, q: CHECKED[name](m, p, q), (p, q))


def test_a_second_gradient_of_torch() -> None:
    p = torch.tensor([0.5, -2.0], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(fp.fuse(lambda p: fp.sum(p * p * p))(p), p, create_graph=True)
    assert torch.autograd.grad(slope.sum(), p)[0].tolist() == [3, -12]


def test_backward_reads_what_the_call_has_read(m: Any) -> None:
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    array, number = K.copy(), torch.tensor(K)
    tensor, net = fp.Tensor.from_numpy(m.device, K), Net(w, K)
    results = [m.poly(w, array), m.poly(w, tensor), fp.fuse(lambda net: m.poly(net.w, net.b))(net)]
    changed = m.poly(w, number)
    array += 1
    tensor += 1.0
    net.b = None
    for y in results:
        assert gradients(y, [w])[0].tolist() == (torch.tensor(K) ** 2 * torch.linspace(0.5, 1.5, 3)).tolist()
    number += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        changed.sum().backward()


def test_an_error_of_the_way_back_names_the_call(m: Any) -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = m.floored(w)
    with pytest.raises(fp.GradientError, match=r"test_autograd\.py:\d+: Slang cannot differentiate floored"):
        y.sum().backward()
    assert m.poly(w, 1.0).sum().backward() is None


@pytest.mark.req("P5")
def test_an_optimiser_of_torch_trains_a_dict_of_parameters(m: Any) -> None:
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    y = 0.5 * x * x - 0.25 * x + 1.0

    @fp.fuse
    def loss(p: Any, x: Any, y: Any) -> Any:
        e = m.poly(p["a"], x) + p["b"] * x + p["c"] - y
        return fp.mean(e * e)

    params = {name: torch.zeros((), requires_grad=True) for name in "abc"}
    optimiser = torch.optim.Adam(params.values(), lr=0.1)
    for _ in range(100):
        optimiser.zero_grad()
        value = loss(params, x, y)
        value.backward()
        optimiser.step()
    assert value.item() < 1e-4
    assert [params[n].item() for n in "abc"] == pytest.approx([0.5, -0.25, 1.0], abs=0.05)


@pytest.mark.parametrize("backend", [pytest.param("eager", marks=pytest.mark.long), "aot_eager"])
def test_torch_compile_has_no_graph_break(m: Any, backend: str) -> None:
    both = fp.fuse(lambda p, x, k: {"loss": fp.mean((m.poly(p["w"], x) + p["b"] * k) ** 2.0), "y": (p["w"] * x,)})
    times = fp.fuse(lambda x, n: x * float(n), static=["n"])

    def by_fusepy(w: Any, b: Any, x: Any, k: float) -> Any:
        found = both({"w": w, "b": b}, x, k)
        return torch.sin(found["loss"]) + m.poly(times(found["y"][0], 3), x=torch.cos(x)).sum()

    def by_torch(w: Any, b: Any, x: Any, k: float) -> Any:
        return torch.sin(((w * x * x + b * k) ** 2).mean()) + (3 * w * x * torch.cos(x) ** 2).sum()

    torch._dynamo.reset()
    vars(m).pop("poly", None)  # the graph looks the function up by itself
    compiled = torch.compile(by_fusepy, fullgraph=True, backend=backend)
    for count, k in ((3, 2.0), (5, 3.0)):  # other sizes and numbers
        w, b = (torch.linspace(0.5, last, count, requires_grad=True) for last in (1.0, 2.0))
        found, wanted = (f(w, b, torch.linspace(0, 1, count), k) for f in (compiled, by_torch))
        assert torch.allclose(found, wanted)
        for got, want in zip(torch.autograd.grad(found, [w, b]), torch.autograd.grad(wanted, [w, b]), strict=True):
            assert torch.allclose(got, want, rtol=1e-4)


PARAMETER = torch.ones(2, requires_grad=True)
CAPTURING = fp.fuse(lambda x: x * PARAMETER)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m, w: m.poly(w, 2.0, _result=w), "_result="),
        (lambda m, w: m.powers(w, torch.empty(2), torch.empty(2)), "writes to its arguments"),
        (lambda m, w: CAPTURING(w), "from outside"),
    ],
    ids=["_result", "out arguments", "captured"],
)
def test_graphs_of_torch_refuse_what_they_would_not_see(m: Any, call: Any, said: str) -> None:
    torch._dynamo.reset()
    with pytest.raises(Exception, match=said):  # TorchDynamo raises errors of its own around them
        torch.compile(lambda w: call(m, w), fullgraph=True, backend="eager")(torch.ones(2))


class Scaled:
    """An object with a fused method and a value that changes."""

    def __init__(self) -> None:
        self.factor = 2.0

    @fp.fuse
    def squares(self, x: Any) -> Any:
        return x * x * self.factor


def test_gradients_flow_through_methods_with_the_values_of_each_call() -> None:
    scaled = Scaled()
    for factor in (2.0, 7.0):
        scaled.factor = factor
        x = torch.tensor([1.0, 3.0], requires_grad=True)
        y = scaled.squares(x)
        y.sum().backward()
        assert (y.tolist(), x.grad.tolist()) == ([factor, 9 * factor], [2 * factor, 6 * factor])


def test_what_torch_would_map_or_push_forwards_is_refused(m: Any) -> None:
    """A dual tensor would lose its tangent, and one of a batch has no memory."""
    x = torch.tensor([1.0, 2.0])
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level(), pytest.raises(fp.UnsupportedArgumentError, match="forward mode"):
        m.poly(2.0, forward_ad.make_dual(x, x))
    for mapped in (torch.func.vmap(lambda x: m.poly(2.0, x)), torch.func.jacrev(lambda x: m.poly(2.0, x))):
        with pytest.raises(fp.UnsupportedArgumentError, match=r"torch\.vmap"):
            mapped(x)
    assert torch.func.grad(lambda x: m.poly(2.0, x).sum())(x).tolist() == [4, 8]


@pytest.mark.req("P1")
def test_a_list_of_tensors_in_a_graph_of_torch_is_one_array(m: Any) -> None:
    torch._dynamo.reset()
    listed = torch.compile(lambda w: m.poly([w, 2 * w], 2.0).sum(), fullgraph=True, backend="eager")
    assert listed(torch.ones(2)).item() == 24
    with pytest.raises(fp.GradientError, match=r"torch\.stack\(tensors\)"):
        listed(torch.ones(2, requires_grad=True)).backward()

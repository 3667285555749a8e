"""Render graphs: how they are built, what they run as, and what is said where they are built wrongly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily
from tests.support.slang_functions import ramp, same
from tests.test_location import here

SOURCE = """
import fusepy;
void split(float x, out float whole, out float rest) { whole = floor(x); rest = x - whole; }
float half_of(float x) { return x / 2; }
float blend(float a, float b, float k) { return a + b * k; }
void decay(inout float x, float rate) { x *= 1 - rate; }
float defaulted(float x, float k = 3) { return x * k; }
float size(float x) { return abs(x); }
float size(float3 v, out float3 unit) { unit = normalize(v); return length(v); }
float size(float x, float y, out float angle) { angle = atan2(y, x); return sqrt(x * x + y * y); }
float luminance(float3 c) { return dot(c, float3(0.25, 0.5, 0.25)); }
float3 tone(float3 c, float k) { return c * k; }
float blurred(Tensor<float, 1> values, int i) { return (values[max(i - 1, 0)] + values[i]) / 2; }
struct Ray { float3 position; float3 direction; };
float3 along(Ray ray, float t) { return ray.position + t * ray.direction; }
struct Pair { float one; void both(out float a, out float b) { a = one; b = 2 * one; } };
Pair paired(float x) { Pair p = {x}; return p; }
uniform float gain;
float gained(float x) { return x * gain; }
void store(float x, float* to, int i) { to[i] = x; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "graphs", SOURCE)


def near(found: Any, wanted: Any) -> None:
    """Equal but for rounding: Slang may multiply and add at once."""
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5, atol=1e-6)


def graph_of(m: Any) -> fp.Graph:
    """The graph of the seed: A with two outputs, B, and C that reads all three."""
    g = fp.Graph(inputs=["x", "y", "k"], name="seed")
    x, y, k = g.get_inputs()
    whole, rest = m.split.node()(x)
    g.set_outputs(m.blend.node()(whole, rest, m.half_of.node()(y)) * k)
    return g


def expected(x: Any, y: Any, k: float) -> Any:
    return (np.floor(x) + (x - np.floor(x)) * (y / 2)) * k


def test_constructors_are_nodes(m: Any) -> None:
    g = fp.Graph(inputs=["x", "y"])
    x, y = g.get_inputs()
    ray = m.Ray.node()(m.float3.node()(x, y, 1.0), m.float3.node()(0.0, 1.0, 0.0))
    g.set_outputs(m.luminance.node()(m.along.node()(ray, x)), ray.position)
    a, b = ramp(5), ramp(5, start=2)
    light, position = g(a, b)
    near(light, (a + 2 * (b + a) + 1) / 4)
    near(position, np.stack([a, b, np.ones(5)], -1))
    with pytest.raises(fp.GraphError, match=r"float3.node\(outputs=2\) has 1 result"):
        m.float3.node(outputs=2)(x, y, 1.0)


# ---- building and calling -------------------------------------------------------------------------------------------


@pytest.mark.req("G1")
def test_g1_the_graph_of_the_seed(m: Any) -> None:
    g = graph_of(m)
    x, y = ramp(7) * 3, ramp(7) + 1
    same(g(x, y, 2.0), expected(x, y, 2.0))
    same(g(k=2.0, y=y, x=x), expected(x, y, 2.0))
    same(g.call(x, y, k=3.0), expected(x, y, 3.0))
    assert isinstance(g([1.5], [2.0], 1.0), list)


@pytest.mark.req("G1")
def test_g1_nodes_take_constants_arrays_tensors_and_names(m: Any, device: Any) -> None:
    g = fp.Graph(inputs=["x"])
    (x,) = g.get_inputs()
    weights = fp.Tensor.from_numpy(device, ramp(5))
    g.set_outputs(m.blend.node()(k=weights, a=x, b=2.0) + np.arange(5, dtype=np.float32))
    near(g(ramp(5)), ramp(5) + 2 * ramp(5) + np.arange(5))
    weights.copy_from_numpy(2 * ramp(5))  # contents are read on every call
    near(g(ramp(5)), ramp(5) + 4 * ramp(5) + np.arange(5))


@dataclass
class Pair:
    first: Any
    second: Any


class Named(NamedTuple):
    low: Any
    high: Any


@pytest.mark.req("G1")
def test_g1_outputs_in_any_structure(m: Any) -> None:
    x = np.array([1.5, 2.25], np.float32)

    def made(build: Callable[[Any, Any], Any]) -> Any:
        g = fp.Graph(inputs=["x"])
        outputs = build(*m.split.node()(*g.get_inputs()))
        g.set_outputs(*outputs) if type(outputs) is tuple else g.set_outputs(outputs)
        return g(x)

    low, high = made(lambda a, b: (a, b))
    near(low, [1, 2])
    near(high, [0.5, 0.25])
    found = made(lambda a, b: {"a": a, "all": [b, Pair(a, 7.0)]})
    same(found["all"][0], high)
    same(found["all"][1].first, low)
    assert found["all"][1].second == 7.0
    named = made(Named)
    assert type(named) is Named
    same(named.high, high)


def test_the_results_of_a_node_are_one_argument_of_another(m: Any) -> None:
    g = fp.Graph(inputs=["x"])
    parts = m.split.node()(*g.get_inputs())
    g.set_outputs(fp.fuse(lambda parts: parts[0] + 10 * parts[1]).node()(parts))
    near(g(np.array([1.5, 2.25], np.float32)), [6, 4.5])


def test_operators_members_and_indices_of_values(m: Any) -> None:
    g = fp.Graph(inputs=["c", "n"])
    c, n = g.get_inputs()
    lit = m.tone.node()(c, 2.0)
    g.set_outputs((-lit.x + lit[..., 1] ** 2) / 2 - 1, (n % 3) & 1 | 4, lit.x < lit.y, 5 - abs(lit.z))
    colours = ramp(4, 3)
    a, b, less, d = g(colours, np.arange(4, dtype=np.int32))
    same(a, (-2 * colours[:, 0] + (2 * colours[:, 1]) ** 2) / 2 - 1)
    assert b.tolist() == [(i % 3) & 1 | 4 for i in range(4)]
    assert less.tolist() == (colours[:, 0] < colours[:, 1]).tolist()
    same(d, 5 - abs(2 * colours[:, 2]))


def test_vmap_vcast_and_structures_among_the_arguments_of_a_node(m: Any) -> None:
    g = fp.Graph(inputs=["x", "p"])
    x, p = g.get_inputs()
    outer = m.blend.node()(fp.vmap(x, (0,)), fp.vmap(x, (1,)), 10.0)
    g.set_outputs(outer, m.along.node()({"position": p, "direction": [1.0, 0.0, 0.0]}, fp.vcast(2, "float")))
    outer, ends = g(ramp(3), ramp(4, 3))
    near(outer, ramp(3)[:, None] + 10 * ramp(3))
    near(ends, ramp(4, 3) + np.array([2, 0, 0]))


def test_a_void_function_with_inout_and_one_with_defaults(m: Any) -> None:
    g = fp.Graph(inputs=["x"])
    (x,) = g.get_inputs()
    g.set_outputs(m.defaulted.node()(m.decay.node()(x, 0.5)))
    same(g(ramp(3)), ramp(3) * 0.5 * 3)


def test_a_node_that_only_acts_is_kept(m: Any, device: Any) -> None:
    to = fp.Tensor.zeros(device, 3, "float")
    g = fp.Graph(inputs=["x"])
    (x,) = g.get_inputs()
    assert m.store.node()(x, to, fp.grid((3,))) is None
    g.set_outputs(x + 1)
    same(g(ramp(3)), ramp(3) + 1)
    same(to.to_numpy(), ramp(3))


def test_overloads_by_their_number_of_arguments_and_results(m: Any) -> None:
    g = fp.Graph(inputs=["x"])
    (x,) = g.get_inputs()
    with pytest.raises(fp.GraphError, match=r"size has overloads with 1 and 2 results[\s\S]*size.node\(outputs=1\)"):
        m.size.node()(x)
    fails(lambda: m.size.node(outputs=3)(x), fp.GraphError, "size.node(outputs=3) has 1 or 2 results", here())
    length, angle = m.size.node()(x, 3.0)
    g.set_outputs(length, angle)
    near(g([4.0]), [[5], [np.arctan2(3, 4)]])


@pytest.mark.req("G1")
def test_g1_fused_functions_are_nodes(m: Any) -> None:
    both = fp.fuse(lambda v: (m.half_of(v), fp.sin(v)))
    g = fp.Graph(inputs=["x"])
    (x,) = g.get_inputs()
    a, b = both.node(outputs=2)(x)
    whole = fp.fuse(lambda v: {"v": v, "w": 2 * v}).node()(b)
    g.set_outputs(a, whole["w"])
    a, w = g(ramp(3))
    same(a, ramp(3) / 2)
    near(w, 2 * np.sin(ramp(3)))


# ---- running --------------------------------------------------------------------------------------------------------


def dispatches(call: Callable[[], Any]) -> int:
    before = fp.stats().dispatches
    call()
    return fp.stats().dispatches - before


@pytest.mark.req("G5")
def test_methods_as_nodes_read_what_their_object_holds_at_each_call() -> None:
    class Lens:
        def __init__(self) -> None:
            self.k, self.held = 2.0, {"bias": [np.ones(2, np.float32), 3]}

        def __call__(self, x: Any) -> Any:
            return x * self.k + self.held["bias"][0] * self.held["bias"][1]

    lens = Lens()
    f = fp.fuse(lens)
    late, g, h = (fp.Graph(inputs=["x"], name=n) for n in ("late", "g", "h"))
    x = g.get_inputs()[0]
    g.set_outputs(late.node(outputs=1)(f.node()(x)) + 1)
    late.set_outputs(f.node()(late.get_inputs()[0]))
    h.set_outputs(g.node()(h.get_inputs()[0]).sum())
    xs, gradient = np.float32([1, 2]), fp.grad(h)
    for k in (2.0, 10.0, 4.5):
        lens.k = lens.held["bias"][0][:] = k
        want = (xs * k + 3 * k) * k + 3 * k + 1
        with fp.lazy():
            waits = g(xs)
        assert g(xs).tolist() == waits.tolist() == fp.fuse(lambda v: g(v) + 0)(xs).tolist() == want.tolist()
        assert h(xs) == want.sum()
        assert gradient(xs).tolist() == [k * k, k * k]
    misses = fp.stats().plan_misses
    lens.k, lens.held["bias"][1] = 3.0, 1  # an integer is part of the program
    assert g(xs).tolist() == ((xs * 3 + 4.5) * 3 + 5.5).tolist()
    assert fp.stats().plan_misses == misses + 1


def test_g5_one_dispatch_where_calls_take_four(m: Any) -> None:
    g = graph_of(m)
    x, y = ramp(64), ramp(64)
    g(x, y, 2.0)
    assert dispatches(lambda: g(x, y, 3.0)) == 1 == g.explain(x, y, 2.0).kernels
    whole, rest = np.floor(x), x - np.floor(x)

    def one_by_one() -> None:
        m.split(x, whole, rest)
        m.half_of(y)
        m.blend(whole, rest, y)

    assert dispatches(one_by_one) == 3


@pytest.mark.req("G5")
def test_g5_a_graph_splits_where_its_data_flow_must(m: Any) -> None:
    g = fp.Graph(inputs=["x", "i"], name="blurred_twice")
    x, i = g.get_inputs()
    first = m.blurred.node()(m.half_of.node()(x), i)
    g.set_outputs(m.blurred.node()(first, i) + 1)
    x, i = ramp(32), np.arange(32, dtype=np.int32)

    def blurred(v: Any) -> Any:
        return (np.concatenate([v[:1], v[:-1]]) + v) / 2

    same(g(x, i), blurred(blurred(x / 2)) + 1)
    assert dispatches(lambda: g(x, i)) == 3 == g.explain(x, i).kernels  # each blur reads what lies there already


def test_a_graph_is_configured_like_any_function(m: Any, device: Any) -> None:
    g = fp.Graph(inputs=["x", "y"], name="configured")
    x, y = g.get_inputs()
    g.set_outputs(m.gained.node()(x) + y)
    quiet, loud = g.set(gain=1), g.set(gain=10)
    same(quiet(ramp(3), 0.0), ramp(3))
    same(loud(ramp(3), 0.0), 10 * ramp(3))
    outer = quiet.declare(fp.vmapping(0), fp.vmapping(1))
    same(outer(ramp(3), ramp(2)), ramp(3)[:, None] + ramp(2))
    out = fp.Tensor.empty(device, 3, "float")
    assert loud(ramp(3), 0.0, _result=out) is out
    same(out.to_numpy(), 10 * ramp(3))
    encoder = device.sgl.create_command_encoder()
    result = loud.append_to(encoder, ramp(3), 1.0)
    device.sgl.submit_command_buffer(encoder.finish())
    same(result.to_numpy(), 10 * ramp(3) + 1)
    assert "gained" in g.source(ramp(3), 1.0)
    assert "graph @configured(%x" in g.ir(ramp(3), 1.0)
    assert quiet.return_type("list")(ramp(2), 0.0) == ramp(2).tolist()


def test_a_graph_is_compiled_once(m: Any) -> None:
    g = graph_of(m)
    g(ramp(5), ramp(5), 1.0)
    before = fp.stats()
    same(g(ramp(9), ramp(9), 5.0), expected(ramp(9), ramp(9), 5.0))
    after = fp.stats()
    assert after.kernels_compiled == before.kernels_compiled
    assert after.plan_hits == before.plan_hits + 1


# ---- nesting --------------------------------------------------------------------------------------------------------


@pytest.mark.req("G3")
def test_g3_a_graph_is_called_and_is_a_node(m: Any) -> None:
    seed = graph_of(m)
    inner = fp.Graph(inputs=["x"], name="inner")
    (x,) = inner.get_inputs()
    low, high = m.split.node()(x)
    inner.set_outputs({"low": low, "seed": seed.node()(x, high, k=2.0)})
    outer = fp.Graph(inputs=["x"], name="outer")
    (x,) = outer.get_inputs()
    first = inner.node()(x)
    second = inner.node()(first["seed"])  # the same graph twice
    outer.set_outputs(second["seed"] + first["low"])
    v = ramp(6) * 4

    def once(v: Any) -> Any:
        return expected(v, v - np.floor(v), 2.0)

    same(outer(v), once(once(v)) + np.floor(v))
    assert outer.explain(v).kernels == 1
    fused = fp.fuse(lambda v: seed(v, v, 1.0) + 1)  # and inside a fused function
    same(fused(v), expected(v, v, 1.0) + 1)


def test_a_configured_graph_as_a_node_brings_its_configuration(m: Any) -> None:
    g = fp.Graph(inputs=["x"], name="loud")
    g.set_outputs(m.gained.node()(*g.get_inputs()))
    outer = fp.Graph(inputs=["x"])
    outer.set_outputs(m.gained.set(gain=3).node()(*outer.get_inputs()))
    same(outer(ramp(3)), 3 * ramp(3))
    outer = fp.Graph(inputs=["x"])
    outer.set_outputs(g.set(gain=4).node()(*outer.get_inputs()))
    same(outer(ramp(3)), 4 * ramp(3))


# ---- a library ------------------------------------------------------------------------------------------------------


@pytest.mark.req("G6")
@pytest.mark.req("G3")
def test_g3_a_library_of_nodes(m: Any) -> None:
    nodes = fp.NodeLibrary.from_module(m)
    assert {"split", "blend", "half_of"} <= set(nodes)
    seed = nodes.add(graph_of(m))
    nodes.add(fp.fuse(lambda v: v * v), "square")
    g = fp.Graph(inputs=["x"])
    (x,) = g.get_inputs()
    g.set_outputs(nodes.seed(nodes.square(x), nodes["half_of"](x), 1.0))
    same(g(ramp(4)), expected(ramp(4) ** 2, ramp(4) / 2, 1.0))
    assert nodes.seed is seed
    assert "square" in dir(nodes)
    assert len(fp.NodeLibrary.from_module(m, ["split"])) == 1
    with pytest.raises(fp.UnknownNameError, match="did you mean 'blend'"):
        _ = nodes.blnd
    with pytest.raises(fp.UnknownNameError, match="no function 'nothing'"):
        fp.NodeLibrary.from_module(m, ["nothing"])
    with pytest.raises(fp.GraphError, match="has a node 'seed' already"):
        nodes.add(graph_of(m))
    with pytest.raises(fp.GraphError, match="takes a node"):
        nodes.add(len)


# ---- errors, each with the line in which the node was called --------------------------------------------------------


def unfinished() -> tuple[fp.Graph, Any]:
    g = fp.Graph(inputs=["x"], name="g")
    return g, g.get_inputs()[0]


def fails(call: Callable[[], Any], kind: type[fp.FusepyError], words: str, line: int = 0) -> None:
    """The call raises this error, from this test file, or from a line of it."""
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    assert words in text, text
    assert "hint:" in text
    assert text.startswith(f"test_graph.py:{line}: " if line else "test_graph.py:"), text


def test_cycles(m: Any) -> None:
    g, x = unfinished()
    fails(lambda: g.node()(x), fp.CycleError, "g -> g", here())
    h = fp.Graph(inputs=["y"], name="h")
    (y,) = h.get_inputs()
    h.set_outputs(g.node(outputs=1)(y))
    fails(lambda: h.node()(x), fp.CycleError, "g -> h -> g", here())
    free = h.node()(1.0)  # of no graph yet, so this shows when it is used
    fails(lambda: g.set_outputs(x + free), fp.CycleError, "g -> h -> g", here() - 1)
    through = fp.fuse(lambda v: g(v))
    g.set_outputs(through.node()(x))
    fails(lambda: g([1.0]), fp.TraceRecursionError, "g -> <lambda> -> g")


def test_arity(m: Any) -> None:
    _, x = unfinished()
    fails(lambda: m.blend.node()(x, x), fp.ArgumentError, "takes 3 arguments, 2 are given", here())
    fails(lambda: m.blend.node()(x, x, x, x), fp.ArgumentError, "takes 3 arguments, 4 are given", here())
    fails(lambda: m.blend.node()(x, x, z=1), fp.ArgumentError, "no parameter 'z'", here())
    fails(lambda: m.split.node(outputs=3)(x), fp.GraphError, "split.node(outputs=3) has 2 results", here())
    fails(lambda: m.split.node(outputs=True), fp.GraphError, "how many results", here())
    fails(lambda: fp.fuse(lambda v: v).node()(x, x), fp.ArgumentError, "too many positional", here())
    seed = graph_of(m)
    fails(lambda: seed.node()(x), fp.ArgumentError, "missing a required argument", here())
    fails(lambda: seed.node(outputs=2)(x, x, x), fp.GraphError, "has 1 result", here())


def test_unpacking_another_number_of_results(m: Any) -> None:
    _, x = unfinished()

    def three() -> None:
        _a, _b, _c = m.split.node()(x)

    def two() -> None:
        _a, _b = m.half_of.node()(x)

    fails(three, fp.GraphError, "split has 2 results, 3 are unpacked", three.__code__.co_firstlineno + 1)
    two()  # the graph says it when it is called, with the rows of an array
    assert len([*m.split.node()(x)]) == 2


def test_a_fused_function_with_another_number_of_results_than_was_said(m: Any) -> None:
    g, x = unfinished()
    line = here() + 1
    g.set_outputs(*fp.fuse(lambda v: (v, v, v)).node(outputs=2)(x))
    fails(lambda: g([1.0]), fp.GraphError, "was declared with 2 results, and has 3", line)


def test_values_of_another_graph(m: Any) -> None:
    g, x = unfinished()
    h = fp.Graph(inputs=["y"], name="h")
    (y,) = h.get_inputs()
    fails(lambda: x + y, fp.GraphError, "g and h", here())
    fails(lambda: m.half_of.node()({"a": [x, y]}), fp.GraphError, "values of two graphs", here())
    fails(lambda: h.set_outputs(x), fp.GraphError, "an output is a value of another graph", here())
    fails(lambda: m.half_of(x), fp.GraphError, "call the node of the function", here())
    fails(lambda: fp.fuse(lambda v: m.blend(v, x, 1))([1.0]), fp.GraphError, "call the node of the function", here())
    fails(lambda: g(x), fp.GraphError, "call the node of the function", here())


def test_outputs_never_and_twice(m: Any) -> None:
    g, x = unfinished()
    fails(lambda: g([1.0]), fp.GraphError, "g: it has no outputs yet", here())
    fails(lambda: g.explain([1.0]), fp.GraphError, "g: it has no outputs yet", here())
    fails(lambda: g.node()(1.0), fp.GraphError, "before its outputs are set", here())
    fails(lambda: g.set_outputs(), fp.GraphError, "no output is a value of it", here())
    fails(lambda: g.set_outputs(1.0), fp.GraphError, "no output is a value of it", here())
    line = here() + 1
    g.set_outputs(x)
    fails(lambda: g.set_outputs(x), fp.GraphError, f"set_outputs() at test_graph.py:{line}", here())
    fails(lambda: m.half_of.node()(x), fp.GraphError, "whose outputs are set", here())


def test_inputs_missing_unknown_and_doubled(m: Any) -> None:
    g = graph_of(m)
    fails(lambda: g([1.0]), fp.ArgumentError, "its parameters: x, y, k", here())
    fails(lambda: g([1.0], [1.0], z=1), fp.ArgumentError, "seed() has no parameter 'z'", here())
    fails(lambda: g([1.0], x=[1.0], y=1, k=1), fp.ArgumentError, "multiple values for argument 'x'", here())
    for inputs in ("xy", ["x", "x"], ["a b"], [1]):
        fails(lambda inputs=inputs: fp.Graph(inputs), fp.GraphError, "Graph()", here())
    fails(lambda: m.store.node()(1.0, 2.0, 3), fp.GraphError, "tells which graph", here())


def test_a_failure_inside_a_node_names_the_line_of_the_node(m: Any) -> None:
    g, x = unfinished()
    line = here() + 1
    low, _ = m.split.node()(x)
    g.set_outputs(m.along.node()(low, 1.0))
    fails(lambda: g([1.0]), fp.NoMatchError, "along", line + 1)
    assert f"test_graph.py:{line}" in graph_ir(m, line)
    g, x = unfinished()
    shape = lambda v: m.along(v, 1.0)  # noqa: E731
    g.set_outputs(fp.fuse(shape).node()(x))
    fails(lambda: g([1.0]), fp.NoMatchError, "along", shape.__code__.co_firstlineno)


def graph_ir(m: Any, line: int) -> str:
    g, x = unfinished()
    low, _ = m.split.node()(x)
    g.set_outputs(low)
    at = here() - 2
    return g.ir([1.0]).replace(f"test_graph.py:{at}", f"test_graph.py:{line}")


def test_there_is_no_truth_and_no_iteration(m: Any) -> None:
    _, x = unfinished()
    fails(lambda: bool(x > 0), fp.GraphError, "the truth of a value of the graph g", here())
    fails(lambda: list(x), fp.GraphError, "the number of parts of a value of the graph g", here())
    assert repr(x).startswith("GraphValue(x, made at test_graph.py:")
    assert not hasattr(x, "__array_interface__")


@pytest.mark.parametrize(
    "call",
    [
        lambda x: fp.sin(x),
        lambda x: fp.where(x > 2, fp.sqrt(fp.abs(x)), 0.0),
        lambda x: fp.sum(x, axis=0) + fp.max(x),
        pytest.param(lambda x: fp.softmax(x) * fp.cumsum(x, 1), marks=pytest.mark.rest),
        pytest.param(lambda x: fp.sort(fp.flip(x, 1), axis=1), marks=pytest.mark.rest),
        lambda x: fp.topk(x, 2)[0],
        lambda x: fp.einsum("ij,kj->ik", x, x),
        lambda x: fp.concatenate([x, fp.pad(x, ((0, 0), (1, 0)))[:, :3]]) + fp.stack([x, x]).sum(0)[0],
        pytest.param(
            lambda x: fp.roll(fp.tile(fp.repeat(x, 2, axis=0), (1, 2)), 1) + fp.cumsum(fp.take(x, [0, 1, 2]))[0],
            marks=pytest.mark.rest,
        ),
        pytest.param(
            lambda x: fp.split(fp.vstack([x, fp.hstack([x[:, :1], x[:, 1:]])]), 2)[1] + fp.tensordot(x, x),
            marks=pytest.mark.rest,
        ),
        lambda x: fp.fori_loop(0, 3, lambda i, c: (c[0] * 2, c[1] + i), (x, 0.0))[0],
        lambda x: fp.cond(x > 2, lambda v: v, lambda v: -v, x) + fp.while_loop(lambda c: c < 4, lambda c: c + 1, x),
        lambda x: np.sin(x) + np.multiply(2, x) + np.float32(3) * x + ramp(2, 3) * x,
        lambda x: np.where(x > 2, np.concatenate([x, x])[:2], np.sum(x, axis=0)) + np.mean(x),
        lambda x: x * fp.full(3, fp.sum(x)) + fp.asarray([x[0, 0], 1.0, 2.0]) + fp.linspace(0.0, x[0, 1], 3),
        lambda x: fp.asarray([fp.sum(x), 2.0], "double"),
    ],
)
def test_functions_of_fusepy_are_nodes_of_values(call: Callable[[Any], Any]) -> None:
    """They were refused: only operators and methods were nodes, and these functions have no ``node``."""
    g = fp.Graph(inputs=["x"])
    g.set_outputs(call(g.get_inputs()[0]))
    np.testing.assert_array_equal(g(ramp(2, 3)), fp.fuse(call)(ramp(2, 3)))


UNPACKED: dict[str, Callable[[Any], Any]] = {
    "topk": lambda x: fp.topk(x, 2),
    "histogram": lambda x: fp.histogram(x, 3),
    "pieces": lambda x: fp.split(x, 2),
    "pieces between indices": lambda x: fp.hsplit(x, [1]),
    "pieces of NumPy": lambda x: np.vsplit(x, 2),
    "grids": lambda x: fp.meshgrid(x[0], x[1]),
    "keys": lambda x: [fp.random.uniform(k, 2) for k in fp.random.split(fp.random.fold_in(fp.random.key(1), fp.sum(x) > 2))],
    "extents": lambda x: x.shape,
    "a loop": lambda x: fp.fori_loop(0, 3, lambda i, c: (c[1], c[0] + i), (x, x * 2)),
    "rows": lambda x: x,
    "rows of a computed array": lambda x: x * 2,
    "a derivative": lambda x: fp.jvp(lambda v: v * v, (x,), (x,)),
}


@pytest.mark.req("V3")
@pytest.mark.parametrize("name", daily(UNPACKED, "topk", "pieces between indices", "keys", "rows", "a derivative"))
def test_results_of_functions_are_unpacked(m: Any, name: str) -> None:
    def program(x: Any) -> Any:
        a, b = UNPACKED[name](x)
        return a * 2, b + 1

    g = fp.Graph(inputs=["x"])
    g.set_outputs(*program(*g.get_inputs()))
    for found, fused, wanted in zip(g(ramp(2, 4)), fp.fuse(program)(ramp(2, 4)), program(ramp(2, 4)), strict=True):
        same(found, fused)
        near(found, wanted)


def test_rows_that_are_not_there_are_not_unpacked(m: Any) -> None:
    g, x = unfinished()
    line = here() + 1
    a, b, c = x
    g.set_outputs(a + b + c)
    fails(lambda: g(ramp(2, 3)), fp.GraphError, "3 names take the parts of a value that has 2", line)


def test_a_value_is_no_count_of_pieces() -> None:
    """The error spoke of `len()`."""
    x, n = fp.Graph(inputs=["x", "n"]).get_inputs()
    fails(lambda: fp.split(x, n), fp.GraphError, "the integer of a value", here())


def test_the_parts_of_a_method_are_unpacked(m: Any) -> None:
    g, x = unfinished()
    one, two = m.paired.node()(x).both()
    g.set_outputs(two - one)
    near(g(ramp(3)), ramp(3))


def test_functions_of_numpy_that_fusepy_lacks_are_refused_for_values() -> None:
    _, x = unfinished()
    fails(lambda: np.frexp(x), fp.TraceError, "numpy.frexp()", here())
    fails(lambda: np.maximum.reduce(x), fp.TraceError, "use fusepy.max", here())
    fails(lambda: np.unwrap(x), fp.TraceError, "numpy.unwrap()", here())


def test_inputs_are_no_keywords_of_python() -> None:
    with pytest.raises(fp.GraphError, match="inputs are a list of names"):
        fp.Graph(inputs=["x", "from"])

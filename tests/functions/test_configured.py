"""Function objects: looking them up, chains that never mutate, hooks, recording into a user's encoder."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import slangpy as spy
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support.examples import examples

SOURCE = """
namespace inner { float half_of(float x) { return x / 2; } }
T twice<T : IArithmetic>(T x) { return x + x; }
uniform float gain;
uniform float bias;
extern static const int N = 1;
float shade(float x, float k) { return (x * gain + bias) * N * k; }
float add(float a, float b) { return a + b; }
float3 scale(float3 c, float k) { return c * k; }
void bump(inout float x) { x += 1; }
struct Camera { float fov; float near; };
ParameterBlock<Camera> g_camera;
uniform float time;
float render(float x) { return x * g_camera.fov + g_camera.near + time; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "objects_test", SOURCE)


@pytest.mark.req("F1")
def test_looking_functions_up(m: Any) -> None:
    assert m.add(1, 2) == 3.0
    assert fp.get_function(m, "add")(1, 2) == 3.0
    assert m["inner::half_of"](4.0) == 2.0
    assert fp.get_function(m, "inner::half_of")(4.0) == 2.0
    assert m.find_function("twice<float>")(4.0) == 8.0
    with pytest.raises(fp.UnknownNameError, match="did you mean 'add'"):
        fp.get_function(m, "adding")
    with pytest.raises(fp.ArgumentError, match="from_slangpy"):
        fp.get_function("no module", "add")


@pytest.mark.req("F5")
def test_call_is_calling(m: Any) -> None:
    a = np.arange(3, dtype=np.float32)
    assert m.add.call(a, 1).tolist() == m.add(a, 1).tolist() == [1, 2, 3]
    assert m.add.call(b=1, a=a, _result="list") == m.add(b=1, a=a, _result="list")
    look = fp.fuse(lambda x: m.add(x, 1))
    assert look.call([1.0]) == look([1.0]) == [2.0]


# ---- immutability -----------------------------------------------------------------------------------------------

# each step changes a model of the function's meaning just as it configures the function
STEPS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[dict[str, Any], Any], dict[str, Any]]]] = {
    "set gain": (lambda f, v: f.set(gain=v), lambda s, v: {**s, "gain": v}),
    "set bias": (lambda f, v: f.set({"bias": v}), lambda s, v: {**s, "bias": v}),
    "constant": (lambda f, v: f.constants(N=v), lambda s, v: {**s, "N": v}),
    "hook": (lambda f, v: f.hook(lambda c: c.set(gain=v)), lambda s, v: {**s, "hook": v}),
    "options": (lambda f, v: f.options(numthreads=[8 * (1 + v), 4]), lambda s, v: s),
    "declare": (lambda f, v: f.declare(fp.vmapping(0), None), lambda s, v: s),
    "returns": (lambda f, v: f.return_type(["numpy", "list"][v % 2]), lambda s, v: {**s, "returns": ["numpy", "list"][v % 2]}),
    "strict": (lambda f, v: f.strict_broadcasting(bool(v % 2)), lambda s, v: s),
    "bwds-free call": (lambda f, v: f.call_group_shape((8 * (1 + v),)), lambda s, v: s),
}


def check(f: Any, state: dict[str, Any]) -> None:
    gain = state.get("hook", state["gain"])
    got = f(np.float32([1, 2, 3]), 2.0)
    assert isinstance(got, list) == (state["returns"] == "list")
    wanted = (np.float32([1, 2, 3]) * gain + state["bias"]) * state["N"] * 2
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-6)


@pytest.mark.req("F6")
@examples(40)
@given(st.lists(st.tuples(st.integers(0, 7), st.sampled_from(sorted(STEPS)), st.integers(0, 2)), max_size=6), st.booleans())
def test_chains_never_mutate(steps: list[tuple[int, str, int]], fused: bool) -> None:
    m = fp.Module.load_from_source(fp.default_device(), "objects_test", SOURCE)
    base = fp.fuse(lambda x, k: m.shade(x, k)) if fused else m.shade
    made = [(base.set(gain=1, bias=0), {"gain": 1, "bias": 0, "N": 1, "returns": "numpy"})]
    for parent, step, value in steps:
        f, state = made[parent % len(made)]
        configure, model = STEPS[step]
        before, setup = (dict(vars(f)), f.tracer, f.config), f.setup
        values = None if setup is None else dict(setup.values)
        made.append((configure(f, value), model(state, value)))
        assert (vars(f), f.tracer, f.config) == before
        assert f.setup is setup
        assert setup is None or setup.values == values
    for f, state in [*made, *reversed(made)]:
        check(f, state)


@pytest.mark.req("F6", "F7")
def test_a_configured_function_is_reused_and_compiled_once(m: Any, device: Any) -> None:
    f = m.shade.set(gain=2, bias=1).constants(N=2)
    x = fp.Tensor.from_numpy(device, np.float32([1, 2]))
    before = fp.stats()
    f.options(numthreads=[4, 4])  # making one compiles nothing
    assert fp.stats().kernels_compiled == before.kernels_compiled
    assert f(x, 1.0).to_numpy().tolist() == [6, 10]
    warm = fp.stats()
    for _ in range(5):
        assert f(x, 1.0).to_numpy().tolist() == [6, 10]
    assert fp.stats().kernels_compiled == warm.kernels_compiled
    assert fp.stats().plan_misses == warm.plan_misses


@pytest.mark.req("F14", "F13")
def test_return_type_and_map_beside_the_rest(m: Any, device: Any) -> None:
    f = m.scale.map(fp.vmapping(0), None).return_type("tensor").options(numthreads=[8, 8])
    assert f(np.ones((4, 3), np.float32), 2.0).to_numpy().tolist() == [[2, 2, 2]] * 4
    assert m.scale.map(c=m.float3).return_type(list)(np.ones((1, 3), np.float32), 2.0) == [[2.0, 2.0, 2.0]]
    out = fp.Tensor.zeros(device, 4, m.float3)
    assert f(np.ones((4, 3), np.float32), 2.0, _result=out) is out


# ---- hooks ------------------------------------------------------------------------------------------------------


class Scene:
    """Dynamic state that a hook binds before every call."""

    def __init__(self) -> None:
        self.camera = {"fov": 2.0, "near": 1.0}
        self.frame = 0

    def bind(self, context: fp.CallContext) -> None:
        self.frame += 1
        context.set(g_camera=self.camera, time=100 * self.frame)


@pytest.mark.req("F15")
def test_hooks_run_before_every_call(m: Any) -> None:
    seen: list[Any] = []

    def callback(context: fp.CallContext) -> None:
        seen.append((context.function.__name__, context.args, context.kwargs, context.device))
        context.set(time=1000)

    static = m.render.set(g_camera={"fov": 1.0, "near": 0.0})
    hooked = static.hook(callback)
    assert hooked([1.0]) == [1001.0]
    assert hooked(x=[2.0]) == [1002.0]
    assert seen == [("render", ([1.0],), {}, m.device), ("render", (), {"x": [2.0]}, m.device)]
    with pytest.raises(fp.ArgumentError, match="'time', which was never set"):
        static([1.0])  # what a hook sets is for its call only


@pytest.mark.req("F15")
def test_an_object_and_its_method(m: Any) -> None:
    scene = Scene()
    render = m.render.hook(scene, Scene.bind)
    assert render([1.0, 2.0]) == [103.0, 105.0]
    scene.camera = {"fov": 3.0, "near": 0.0}
    assert render([1.0]) == [203.0]
    assert m.render.hook(scene.bind)([1.0]) == [303.0]

    look = fp.fuse(lambda x: m.render(x) + 1).hook(scene, Scene.bind)
    assert look([1.0]) == [404.0]
    inside = fp.fuse(lambda x: render(x) + 1)  # a hook comes along into the fused program
    assert inside([1.0]) == [504.0]
    assert inside([1.0]) == [604.0]


def test_several_hooks_run_in_order_and_errors_pass_through(m: Any) -> None:
    f = m.shade.set(gain=1, bias=0).hook(lambda c: c.set(gain=2)).hook(lambda c: c.set(gain=3))
    assert f([1.0], 1.0) == [3.0]

    def fails(context: fp.CallContext) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        m.shade.set(gain=1, bias=0).hook(fails)([1.0], 1.0)
    with pytest.raises(fp.UnknownNameError, match="did you mean 'gain'"):
        m.shade.set(gain=1, bias=0).hook(lambda c: c.set(gian=2))([1.0], 1.0)
    with pytest.raises(fp.ArgumentError, match="callable"):
        m.shade.hook(3)
    with pytest.raises(fp.ArgumentError, match="context"):
        m.shade.hook(lambda: None)
    with pytest.raises(fp.ArgumentError, match="the object and a context"):
        m.shade.hook(Scene(), lambda context: None)
    assert m.shade.set(gain=1, bias=0)([1.0], 1.0) == [1.0]


# ---- recording --------------------------------------------------------------------------------------------------


def submit(device: Any, encoder: Any) -> None:
    device.sgl.submit_command_buffer(encoder.finish())


@pytest.mark.req("F8")
def test_append_to_records_and_does_not_submit(m: Any, device: Any) -> None:
    out = fp.Tensor.zeros(device, 3)
    encoder = device.sgl.create_command_encoder()
    a = fp.Tensor.from_numpy(device, np.float32([1, 2, 3]))
    assert m.add.append_to(encoder, a, 10, _result=out) is out
    device.wait()
    assert out.to_numpy().tolist() == [0, 0, 0]
    submit(device, encoder)
    assert out.to_numpy().tolist() == [11, 12, 13]


@pytest.mark.req("F8", "V13")
def test_dependent_calls_arrays_and_globals_in_one_encoder(m: Any, device: Any) -> None:
    encoder = device.sgl.create_command_encoder()
    look = fp.fuse(lambda x, k: m.shade(x, k) + 1)
    x = m.add(fp.Tensor.zeros(device, 4), 1)  # still unsubmitted when it is needed
    for gain in (2, 3, 4):  # each with its own value
        x = look.set(gain=gain, bias=0).append_to(encoder, x, 1.0)
    total = m.add.append_to(encoder, x, np.float32([1, 2, 3, 4]))
    both = look.set(gain=1, bias=0).append_to(encoder, [1.0, 2.0], 1.0)
    gc.collect(1)
    junk = [fp.Tensor.full(device, 4, -1) for _ in range(20)]  # would take over memory that was given up
    submit(device, encoder)
    assert isinstance(both, fp.Tensor)
    assert total.to_numpy().tolist() == [42, 43, 44, 45]
    assert both.to_numpy().tolist() == [2, 3]
    del junk


@pytest.mark.req("F8", "F19")
def test_calls_in_a_compute_pass_that_is_open(m: Any, device: Any) -> None:
    """Each is one kernel, and none reads what another writes: there are no barriers inside."""
    a, to = fp.Tensor([1, 2, 3], device=device), fp.Tensor.zeros(device, 5)
    encoder = device.sgl.create_command_encoder()
    with encoder.begin_compute_pass() as compute:
        sums = [m.add.append_to(compute, a, k) for k in (1, 2.5, [1.0, 2.0, 3.0])]
        shaded = m.shade.set(gain=3, bias=1).append_to(compute, a, 1.0)
        fused = fp.fuse(lambda x: {"inner": [m.add(x, 1) * 2]}).append_to(compute, a)
        m.add.append_to(compute, a[:1], a[2:], _result=to[1:2])
        for call in (
            lambda: m.add.append_to(compute, sums[0], 1),  # reads what was written
            lambda: m.add.append_to(compute, fused["inner"][0], 1),
            lambda: m.add.append_to(compute, [1.0], 1.0, _result=a[1:2]),  # writes what is read
            lambda: m.add.append_to(compute, [1.0], 1.0, _result=to[1:2]),  # writes what is written
            lambda: fp.fuse(lambda x: fp.cumsum(x) / fp.sum(x)).append_to(compute, a),  # two kernels, one behind the other
        ):
            with pytest.raises(fp.ArgumentError, match=r"no barriers(.|\n)*end the pass"):
                call()
        m.add.append_to(compute, [1.0], 2.0, _result=to[3:4])
    later = m.add.append_to(encoder, sums[0], 1)
    device.wait()
    assert to.to_numpy().tolist() == [0] * 5
    submit(device, encoder)
    assert [s.to_numpy().tolist() for s in sums] == [[2, 3, 4], [3.5, 4.5, 5.5], [2, 4, 6]]
    assert shaded.to_numpy().tolist() == m.shade.set(gain=3, bias=1)([1.0, 2.0, 3.0], 1.0)
    assert fused["inner"][0].to_numpy().tolist() == [4, 6, 8]
    assert later.to_numpy().tolist() == [3, 4, 5]
    assert to.to_numpy().tolist() == [0, 4, 0, 3, 0]


@pytest.mark.req("F18")
def test_options_and_constants_take_dicts(m: Any) -> None:
    tiled = m.add.options({"numthreads": [4, 4]})
    x = np.ones((5, 6), np.float32)
    assert tiled.source(x, 1.0) == m.add.options(numthreads=[4, 4]).source(x, 1.0) != m.add.source(x, 1.0)
    assert fp.fuse(lambda a: m.add(a, 1)).options({"numthreads": (8, 8)})(x).tolist() == (x + 1).tolist()
    assert m.add.options({}).typeconformance({}).set({}).call(1, 2) == 3
    for bad in ({"numthread": 4}, {"numthreads": 0}, [4, 4], {4: 4}):
        with pytest.raises(fp.ArgumentError):
            m.add.options(bad)
    with pytest.raises(fp.ArgumentError, match="'numthreads' twice"):
        m.add.options({"numthreads": [4]}, numthreads=[4])


@pytest.mark.req("F8")
def test_what_recorded_work_uses_is_kept_as_long_as_the_encoder(m: Any, device: Any) -> None:
    encoder = device.sgl.create_command_encoder()
    live = fp.stats(device).pool_live_bytes
    m.add.append_to(encoder, np.ones(100_000, np.float32), 1)  # nobody holds the argument or the result
    gc.collect(1)
    assert fp.stats(device).pool_live_bytes >= live + 800_000
    submit(device, encoder)
    del encoder
    another = device.sgl.create_command_encoder()
    m.add.append_to(another, fp.Tensor.zeros(device, 1), 1)
    assert fp.stats(device).pool_live_bytes < live + 800_000
    submit(device, another)


@pytest.mark.req("F8")
def test_a_call_does_not_take_an_encoder(m: Any, device: Any) -> None:
    encoder = device.sgl.create_command_encoder()
    for f in (m.add, fp.fuse(lambda a, b: m.add(a, b))):
        with pytest.raises(fp.ArgumentError, match=r"append_to\(encoder, …\)"):
            f(encoder, 1.0)
        with pytest.raises(fp.ArgumentError, match=r"append_to\(encoder, …\)"):
            f.call(encoder, 1.0, 2.0)


def test_what_cannot_be_recorded(m: Any, device: Any) -> None:
    encoder = device.sgl.create_command_encoder()
    with pytest.raises(fp.ArgumentError, match="a Tensor"):
        m.bump.append_to(encoder, np.ones(3, np.float32))
    with pytest.raises(fp.ArgumentError, match="a Tensor"):
        m.add.append_to(encoder, 1.0, 2.0, _result=np.zeros((), np.float32))
    with pytest.raises(fp.ArgumentError, match="takes a command encoder"):
        m.add.append_to(3, 1.0, 2.0)
    with pytest.raises(fp.ArgumentError, match="inside a fused function"):
        fp.fuse(lambda x: m.add.append_to(encoder, x, 2.0))([1.0])
    with pytest.raises(fp.ShapeError):
        m.add.append_to(encoder, np.ones(3, np.float32), np.ones(4, np.float32))
    result = m.add.append_to(encoder, 1.0, 2.0)
    submit(device, encoder)
    assert result.to_numpy() == 3
    with pytest.raises(fp.ArgumentError, match="finished"):
        m.add.append_to(encoder, 1.0, 2.0)
    other = spy.Device(type=spy.DeviceType.cpu, enable_hot_reload=False)
    foreign = other.create_command_encoder()
    with pytest.raises(fp.ArgumentError, match="another device"):
        m.add.append_to(foreign, 1.0, 2.0)
    other.submit_command_buffer(foreign.finish())
    assert m.add(1.0, 2.0) == 3.0

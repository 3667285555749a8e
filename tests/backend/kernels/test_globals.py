"""`set`: values of globals, on Slang functions and fused ones; they compile nothing and never leak into another's call."""

from __future__ import annotations

import gc
import threading
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import pytest
import slangpy as spy
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support.examples import examples
from tests.support.python_calls import python_calls

SOURCE = """
struct Camera { float3 position; float fov; float3x3 frame; float2 corners[3]; bool ortho; };
struct Scene { Camera camera; Texture2D<float4> sky; StructuredBuffer<float3> points; float* heights; half bias; int64_t big; };
ParameterBlock<Scene> g_scene;
struct Look { float gamma; int mode; };
ConstantBuffer<Look> g_look;
uniform float gain;
uniform int steps;
uniform uint3 cell;
uniform float weights[4];
uniform float4x4 transform;
Texture2D<float4> image; SamplerState point;
RWTexture2D<float4> canvas;
StructuredBuffer<float> table;
RWStructuredBuffer<float> log;
uniform float* ramp;

float lift(float x) { return x * gain; }
float times(float x, float k) { return x * k; }
float weigh(int i) { return weights[i]; }
int place(int i) { return steps + cell[i]; }
float3 turn(float3 v) { return mul(transform, float4(v, 1)).xyz; }
float tone(float x) { int mode = g_look.mode; return mode == 2 ? x + g_look.gamma : x; }
float see(int i) { return g_scene.camera.position[i] + g_scene.camera.fov + g_scene.camera.frame[i][2]; }
float corner(int i) { return g_scene.camera.corners[i].y + (g_scene.camera.ortho ? 100 : 0); }
float far(int i) { return g_scene.points[i].z + g_scene.heights[i] + float(g_scene.bias) + float(g_scene.big); }
float4 sky(int2 p) { return g_scene.sky[p]; }
float4 sampled(float2 uv) { return image.SampleLevel(point, uv, 0); }
void paint(int2 p, float v) { canvas[p] = float4(v); }
float look_up(int i) { return table[i]; }
float note(int i, float x) { log[i] = x; return x; }
float read_log(int i) { return log[i]; }
float climb(int i) { return ramp[i]; }
float plain(float x) { return x + 1; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "globals_test", SOURCE)


def texture(device: Any, value: float, usage: Any = None) -> Any:
    both = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    data = np.full((4, 4, 4), value, np.float32)
    return device.sgl.create_texture(
        width=4, height=4, format=spy.Format.rgba32_float, usage=both if usage is None else usage, data=data
    )


def scene(device: Any, **changes: Any) -> dict[str, Any]:
    camera = {
        "position": [1, 2, 3],
        "fov": 0.5,
        "frame": np.arange(9, dtype=np.float32).reshape(3, 3),
        "corners": [(0, 1), (0, 2), (0, 3)],
        "ortho": True,
    }
    points = np.arange(9, dtype=np.float32).reshape(3, 3)
    heights = fp.Tensor.from_numpy(device, np.array([10, 20, 30], np.float32))
    made = {"camera": camera, "sky": texture(device, 5), "points": points, "heights": heights, "bias": 0.25, "big": 1 << 40}
    return {**made, **changes}


@pytest.mark.req("F2")
def test_uniforms(m: Any) -> None:
    assert m.lift.set(gain=2)([1.0, 2.0]) == [2.0, 4.0]
    assert m.lift.set({"gain": 3})([1.0, 2.0]) == [3.0, 6.0]
    assert m.lift.set(gain=np.float32(0.5))(4.0) == 2.0
    assert m.weigh.set(weights=[1, 2, 3, 4])([0, 1, 2, 3]) == [1.0, 2.0, 3.0, 4.0]
    assert m.weigh.set(weights=np.arange(4))([0, 1, 2, 3]) == [0.0, 1.0, 2.0, 3.0]
    assert m.place.set(steps=-5, cell=spy.uint3(1, 2, 3))([0, 1, 2]) == [-4, -3, -2]
    matrix = np.eye(4, dtype=np.float32)
    matrix[:3, 3] = 1, 2, 3
    assert m.turn.set(transform=matrix)(np.zeros(3, np.float32)).tolist() == [1, 2, 3]
    assert m.turn.set(transform=spy.float4x4(matrix))(np.zeros(3, np.float32)).tolist() == [1, 2, 3]
    assert m.turn.set(transform=matrix.tolist())(np.zeros(3, np.float32)).tolist() == [1, 2, 3]


@pytest.mark.req("F2")
def test_blocks_take_nested_dicts_and_objects(m: Any, device: Any) -> None:
    assert m.tone.set(g_look={"gamma": 4.0, "mode": 2})(1.0) == 5.0
    given = scene(device)
    assert m.see.set(g_scene=given)([0, 1, 2]) == [1 + 0.5 + 2, 2 + 0.5 + 5, 3 + 0.5 + 8]
    assert m.corner.set(g_scene=given)([0, 1, 2]) == [101.0, 102.0, 103.0]
    assert m.far.set(g_scene={**given, "big": 3})([0, 1, 2]) == [15.25, 28.25, 41.25]
    assert m.sky.set(g_scene=given)(fp.grid((2, 2))).to_numpy()[1, 1].tolist() == [5.0] * 4

    @dataclass
    class Look:
        gamma: float
        mode: int
        unused: str = "attributes beyond the fields are the object's own business"

    class Pair(NamedTuple):
        gamma: float
        mode: int

    class Wrapped:
        def get_this(self) -> dict[str, float]:
            return {"gamma": 3.0, "mode": 2}

    assert m.tone.set(g_look=Look(1.0, 2))(1.0) == 2.0
    with pytest.raises(fp.UnsupportedArgumentError, match=r"g_look\.gamma"):
        m.tone.set(g_look=Look("loud", 2))(1.0)  # type: ignore[arg-type]
    assert m.tone.set(g_look=Pair(2.0, 2))(1.0) == 3.0
    assert m.tone.set(g_look=Wrapped())(1.0) == 4.0


@pytest.mark.req("F2")
def test_textures_samplers_and_buffers(m: Any, device: Any) -> None:
    point = device.sgl.create_sampler()
    for value in (3.0, 4.0):
        sampled = m.sampled.set(image=texture(device, value), point=point)
        assert sampled(np.full((2, 2), 0.5, np.float32)).tolist() == [[value] * 4] * 2
    canvas = texture(device, 0)
    m.paint.set(canvas=canvas)(fp.grid((4, 4)), 7.0)
    device.wait()
    assert (canvas.to_numpy() == 7).all()
    data = fp.Tensor.from_numpy(device, np.arange(10, dtype=np.float32))
    assert m.look_up.set(table=data[3:7])([0, 3]) == [3.0, 6.0]
    assert m.look_up.set(table=[1.5, 2.5])([0, 1]) == [1.5, 2.5]
    assert m.climb.set(ramp=data[3:7])([0, 3]) == [3.0, 6.0]
    assert m.climb.set(ramp=np.float32([8, 9]))([0, 1]) == [8.0, 9.0]
    raw = device.sgl.create_buffer(
        size=16, struct_size=4, usage=spy.BufferUsage.shader_resource, data=np.arange(4, dtype=np.float32)
    )
    assert m.look_up.set(table=raw)([1, 2]) == [1.0, 2.0]
    assert m.climb.set(ramp=raw)([1, 2]) == [1.0, 2.0]


@pytest.mark.req("F2")
def test_a_tensor_behind_a_writable_buffer_is_written(m: Any, device: Any) -> None:
    whole = fp.Tensor.zeros(device, 8)
    note = m.note.set(log=whole[2:6])
    note([0, 1, 2, 3], [5.0, 6.0, 7.0, 8.0])
    assert whole.to_numpy().tolist() == [0, 0, 5, 6, 7, 8, 0, 0]
    m.plain(whole, _result=whole)
    note([0], [9.0])  # what others have written since is kept
    assert whole.to_numpy().tolist() == [1, 1, 9, 7, 8, 9, 1, 1]
    assert m.read_log.set(log=whole[2:6])([0, 3]) == [9.0, 9.0]


@pytest.mark.req("F2")
def test_a_call_that_writes_a_global_is_neither_merged_nor_dropped(m: Any, device: Any) -> None:
    log = fp.Tensor.zeros(device, 4)

    @fp.fuse
    def twice(i: Any, x: Any) -> Any:
        m.note(i, x)  # its result is not used
        m.note(i + 1, x * 2)
        return x

    assert twice.set(log=log)([0, 2], [1.0, 5.0]) == [1.0, 5.0]
    assert log.to_numpy().tolist() == [1, 2, 5, 10]


@pytest.mark.req("F2", "V13")
def test_on_a_fused_function_it_holds_for_the_whole_kernel(m: Any) -> None:
    @fp.fuse
    def look(x: Any) -> Any:
        return m.lift(x) + m.tone(x)

    given = look.set(gain=10, g_look={"gamma": 1.0, "mode": 2})
    assert given([1.0, 2.0]) == [12.0, 23.0]
    assert given.explain([1.0, 2.0]).kernels == 1

    @fp.fuse(static=("n",))
    def power(x: Any, n: int) -> Any:
        for _ in range(n):
            x = m.lift(x)
        return x

    assert power.set(gain=2)([1.0], n=3) == [8.0]
    before = fp.stats()
    for i in range(5):
        assert power.set(gain=i)([1.0], n=3) == [float(i**3)]
    assert fp.stats().plan_misses == before.plan_misses


@pytest.mark.req("F2")
def test_functions_called_inside_bring_what_they_have_set(m: Any) -> None:
    lift = m.lift.set(gain=3)

    @fp.fuse
    def one(x: Any) -> Any:
        return lift(x) + m.lift(x)

    assert one([1.0, 2.0]) == [6.0, 12.0]
    assert one.set(g_look={"gamma": 1.0, "mode": 2})([1.0]) == [6.0]
    assert one.set(gain=3)([1.0]) == [6.0]
    with pytest.raises(fp.ArgumentError, match=r"'gain' is set to two values(.|\n)*hint"):
        one.set(gain=4)([1.0])
    assert one([1.0]) == [6.0]

    @fp.fuse
    def two(x: Any) -> Any:
        return lift(x) + m.lift.set(gain=4)(x)

    with pytest.raises(fp.ArgumentError, match="'gain' is set to two values"):
        two([1.0])
    nested = one.set(g_look={"gamma": 1.0, "mode": 2})

    @fp.fuse
    def outer(x: Any) -> Any:
        return nested(x) + m.tone(x)

    assert outer([1.0]) == [8.0]


@pytest.mark.req("F17")
def test_another_value_each_frame_compiles_nothing(m: Any, device: Any) -> None:
    x = fp.Tensor.from_numpy(device, np.ones(4, np.float32))
    m.lift.set(gain=0)(x)
    before = fp.stats()
    frames = [m.lift.set(gain=i)(x) for i in range(100)]  # several in one command buffer: each keeps its own value
    assert [f.to_numpy()[0] for f in frames] == list(range(100))
    after = fp.stats()
    assert after.kernels_compiled == before.kernels_compiled
    assert after.plan_misses == before.plan_misses
    assert after.dispatches == before.dispatches + 100
    lift = m.lift.set(gain=1.0)  # nothing of a function is copied for another value
    assert all(getattr(lift, part) is getattr(m.lift, part) for part in ("tracer", "config", "programs"))
    sky = [texture(device, float(i)) for i in range(6)]
    base = scene(device)
    shown = [m.sky.set(g_scene={**base, "sky": s})(fp.grid((2, 2))) for s in sky]
    assert [s.to_numpy()[0, 0, 0] for s in shown] == [0, 1, 2, 3, 4, 5]


@pytest.mark.req("F17")
@pytest.mark.parametrize("fused", [False, True])
def test_another_value_runs_about_what_another_argument_does(m: Any, device: Any, fused: bool) -> None:
    x, out = (fp.Tensor.zeros(device, 4) for _ in range(2))
    lift, times = (fp.fuse(lambda x: m.lift(x)), fp.fuse(lambda x, k: m.times(x, k))) if fused else (m.lift, m.times)
    numbers = map(float, count())
    value = python_calls(lambda: lift.set(gain=next(numbers))(x, _result=out))
    argument = python_calls(lambda: times(x, next(numbers), _result=out))
    assert value <= argument + 10, (value, argument)


@pytest.mark.req("F17")
@examples(40)
@given(st.lists(st.tuples(st.integers(0, 2), st.floats(-100, 100, width=32, allow_subnormal=False)), min_size=1, max_size=12))
def test_interleaved_functions_keep_their_own_values(frames: list[tuple[int, float]]) -> None:
    m = fp.Module.load_from_source(fp.default_device(), "globals_test", SOURCE)
    x = fp.Tensor.from_numpy(m.device, np.float32([1, 2]))
    kinds = [
        lambda v: m.lift.set(gain=v)(x),
        lambda v: m.tone.set(g_look={"gamma": v, "mode": 2}, gain=-1)(x),
        lambda v: m.plain(x),
    ]
    got = [kinds[kind](value) for kind, value in frames]
    for result, (kind, value) in zip(got, frames):
        v = np.float32(value)
        wanted = [np.float32([v, 2 * v]), np.float32([1 + v, 2 + v]), np.float32([2, 3])][kind]
        np.testing.assert_array_equal(result.to_numpy(), wanted)


@pytest.mark.req("F17")
def test_one_global_set_to_numbers_of_every_kind(m: Any) -> None:
    """Floats go a shorter way than all else; one call after the other sees its own."""
    spellings: list[Any] = [2.0, 3, np.float32(4), np.array(5.0), True, 6.5, 7.0]
    found = [m.lift.set(gain=v)(1.0) for v in (*spellings, *spellings)]
    assert found == 2 * [2.0, 3.0, 4.0, 5.0, 1.0, 6.5, 7.0]
    assert m.weigh.set(weights=[1.0, 2.0, 3.0, 4.0])([0, 3]) == [1, 4]
    with pytest.raises(fp.UnsupportedArgumentError, match="weights"):
        m.weigh.set(weights=2.0)([0])  # a float where an array is wanted
    with pytest.raises(fp.UnsupportedArgumentError, match="cut to int"):
        m.place.set(steps=1.5, cell=[1, 2, 3])([0])
    assert m.place.set(steps=1, cell=[1, 2, 3])([0, 1, 2]) == [2, 3, 4]
    with pytest.raises(fp.UnknownNameError, match="'gian'"):
        m.lift.set(gian=1.0)
    assert m.lift.set(gain=2.0, steps=1)(1.0) == 2
    with pytest.raises(fp.ArgumentError, match="never set"):
        m.lift.set(steps=1)(1.0)


def test_snapshots_are_taken(m: Any) -> None:
    weights = np.arange(4, dtype=np.float32)
    listed = [1, 2, 3, 4]
    look = {"gamma": 1.0, "mode": 2}
    by_array, by_list = m.weigh.set(weights=weights), m.weigh.set(weights=listed)
    tone = m.tone.set(g_look=look)
    weights[:] = 9
    listed[0] = 9
    look["gamma"] = 9.0
    assert by_array([0, 3]) == [0.0, 3.0]
    assert by_list([0, 3]) == [1.0, 4.0]
    assert tone(1.0) == 2.0


def test_dicts_are_merged_and_values_replaced(m: Any) -> None:
    base = m.tone.set(g_look={"gamma": 1.0})
    assert base.set(g_look={"mode": 2})(1.0) == 2.0
    assert base.set(g_look={"mode": 2}).set(g_look={"gamma": 5.0})(1.0) == 6.0
    with pytest.raises(fp.ArgumentError, match="misses the field 'mode'"):
        base(1.0)


def test_a_global_that_is_read_and_was_never_set(m: Any) -> None:
    m.lift.set(gain=8)(1.0)  # the kernel that both share now holds 8
    with pytest.raises(fp.ArgumentError, match=r"lift reads the global 'gain', which was never set(.|\n)*\.set\(gain="):
        m.lift(1.0)
    assert m.lift.set(gain=2)(1.0) == 2.0
    assert m.plain(1.0) == 2.0  # reads none

    @fp.fuse
    def both(x: Any) -> Any:
        return m.tone(m.lift(x))

    with pytest.raises(fp.ArgumentError, match="both reads the global 'g_look'"):
        both.set(gain=1)(1.0)


@pytest.mark.req("F2")
def test_globals_with_names_that_kernels_use_themselves(device: fp.Device) -> None:
    """Locals of generated code, parameters of functions and the user's names of arguments hide globals, and read none."""
    names = ["k", "t", "d0", "i", "x0", "v0", "a", "r_0", "args", "index", "c0", "n", "value", "x"]
    source = "".join(f"uniform float {n};\n" for n in names) + (
        "float twice(float x) { return 2 * x; }\n"
        "float under(float k, vector<float, 2> d0 = float2(1, 2), float a[2] = {3, 4}) { return k + d0.x + a[1]; }\n"
        "float more(float y) { return y + k; }\n"
        "struct P { float s; float moved() { return s + i; } }\n"
        "P made(float y) { P p; p.s = y; return p; }\n"
    )
    m = fp.Module.load_from_source(device, "hiding", source)
    k = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert m.twice(k).tolist() == (2 * k).tolist()
    assert m.under(k).tolist() == (k + 5).tolist()
    total, rows = fp.fuse(lambda value: (fp.sum(m.twice(value)), fp.sum(m.twice(value), 0)))(k)
    assert (float(total), rows.tolist()) == (30, (2 * k).sum(0).tolist())
    with pytest.raises(fp.ArgumentError, match="more reads the global 'k', which was never set"):
        m.more(k)
    assert m.more.set(k=1)(k).tolist() == (k + 1).tolist()
    with pytest.raises(fp.ArgumentError, match="reads the global 'i', which was never set"):
        fp.fuse(lambda y: m.made(y).moved())(k)
    other = fp.Module.load_from_source(device, "hiding_too", "float half_of(float x) { return x / 2; }")
    with pytest.raises(fp.ArgumentError, match="reads the global 'k', which was never set"):
        fp.fuse(lambda y: other.half_of(m.more(y)))(k)  # through a wrapper, as in kernels of several modules


@pytest.mark.parametrize(
    ("change", "error", "builtin", "words"),
    [
        ({"gian": 1}, fp.UnknownNameError, AttributeError, "did you mean 'gain'"),
        ({"gain": "loud"}, fp.UnsupportedArgumentError, TypeError, "gain cannot be set to 'loud'"),
        ({"gain": None}, fp.UnsupportedArgumentError, TypeError, "gain"),
        ({"gain": [1, 2]}, fp.ShapeError, ValueError, "one number"),
        ({"gain": {"x": 1}}, fp.UnsupportedArgumentError, TypeError, "float"),
        ({"steps": 1.5}, fp.UnsupportedArgumentError, TypeError, "cut to int"),
        ({"steps": 1 << 31}, fp.RangeError, OverflowError, "2147483648"),
        ({"cell": [1, 2]}, fp.ShapeError, ValueError, r"\(3,\)"),
        ({"cell": [1, -1, 2]}, fp.RangeError, OverflowError, "-1"),
        ({"weights": [1, 2, 3]}, fp.UnsupportedArgumentError, TypeError, "4 elements"),
        ({"g_look": {"gamma": 1.0, "mode": 2, "mood": 3}}, fp.UnknownNameError, AttributeError, "did you mean 'mode'"),
        ({"g_look": {"gamma": "x", "mode": 2}}, fp.UnsupportedArgumentError, TypeError, "g_look.gamma"),
        ({"g_look": 3}, fp.UnsupportedArgumentError, TypeError, "Look"),
        ({"image": 3}, fp.UnsupportedArgumentError, TypeError, "Texture2D"),
        ({"point": 3}, fp.UnsupportedArgumentError, TypeError, "sampler"),
        ({"table": 3}, fp.UnsupportedArgumentError, TypeError, "StructuredBuffer"),
        ({"log": [1.0]}, fp.UnsupportedArgumentError, TypeError, "may write"),
        ({"ramp": 3.5}, fp.UnsupportedArgumentError, TypeError, "address"),
    ],
)
def test_what_does_not_fit(m: Any, change: dict[str, Any], error: Any, builtin: Any, words: str) -> None:
    good = m.lift.set(gain=2)
    with pytest.raises(error, match=words) as caught:
        good.set(change)(1.0)
    assert isinstance(caught.value, builtin)
    assert caught.value.hint
    assert good(1.0) == 2.0


def test_resources_that_would_end_the_process(m: Any, device: Any) -> None:
    read_only = texture(device, 0, spy.TextureUsage.shader_resource)
    with pytest.raises(fp.UnsupportedArgumentError, match="unordered_access"):
        m.paint.set(canvas=read_only)(fp.grid((2, 2)), 1.0)
    cube = device.sgl.create_texture(
        type=spy.TextureType.texture_3d, width=2, height=2, depth=2, format=spy.Format.rgba32_float,
        usage=spy.TextureUsage.shader_resource,
    )  # fmt: skip
    with pytest.raises(fp.UnsupportedArgumentError, match="texture_3d"):
        m.sampled.set(image=cube, point=device.sgl.create_sampler())(np.zeros(2, np.float32))
    with pytest.raises(fp.ShapeError, match="contiguous"):
        m.look_up.set(table=fp.Tensor.zeros(device, 8)[::2])(0)
    with pytest.raises(fp.UnsupportedArgumentError, match="elements of float"):
        m.look_up.set(table=fp.Tensor.zeros(device, 8, "int"))(0)
    plain = device.sgl.create_buffer(size=16, usage=spy.BufferUsage.shader_resource)
    with pytest.raises(fp.UnsupportedArgumentError, match="unordered_access"):
        m.note.set(log=plain)(0, 1.0)
    assert m.lift.set(gain=2)(1.0) == 2.0


def test_set_takes_one_dict_or_names(m: Any) -> None:
    with pytest.raises(fp.ArgumentError, match="one dict"):
        m.lift.set({"gain": 1}, {"gain": 2})
    with pytest.raises(fp.ArgumentError, match="names"):
        m.lift.set({1: 2})
    with pytest.raises(fp.UnknownNameError, match="no global 'gian'"):
        fp.fuse(lambda x: m.lift(x)).set(gian=1)([1.0])
    assert m.lift.set(lambda function: {"gain": 4})(1.0) == 4.0


def test_one_name_in_two_modules(device: Any) -> None:
    a = fp.Module.load_from_source(device, "twice_a", "uniform float k; float fa(float x) { return k * x; }")
    b = fp.Module.load_from_source(device, "twice_b", "uniform float k; float fb(float x) { return k + x; }")
    assert a.fa.set(k=2)(3.0) == 6.0

    @fp.fuse
    def both(x: Any) -> Any:
        return a.fa(b.fb(x))

    with pytest.raises(fp.ArgumentError, match="two modules have a global 'k'"):
        both.set(k=2)([1.0])


def test_globals_of_imported_modules(device: Any, tmp_path: Any) -> None:
    (tmp_path / "lib.slang").write_text("uniform float lib_gain; public float louder(float x) { return x * lib_gain; }")
    (tmp_path / "user.slang").write_text("import lib; float twice_as_loud(float x) { return 2 * louder(x); }")
    user = fp.Module.load_from_file(device, tmp_path / "user.slang")
    assert user.twice_as_loud.set(lib_gain=3)(1.0) == 6.0
    with pytest.raises(fp.ArgumentError, match="'lib_gain'"):
        user.twice_as_loud(1.0)


def test_threads_do_not_see_each_others_values(m: Any, device: Any) -> None:
    x = fp.Tensor.from_numpy(device, np.ones(4, np.float32))
    wrong: list[Any] = []

    def work(seed: int) -> None:
        for i in range(20):
            value = float(100 * seed + i)
            got = m.lift.set(gain=value)(x).to_numpy()[0]
            if got != value:
                wrong.append((value, got))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_arrays_behind_globals_stay_alive(m: Any) -> None:
    climb = m.climb.set(ramp=np.arange(64, dtype=np.float32))
    results = []
    for i in range(20):
        results.append(climb([i]))
        gc.collect(1)
        _ = m.plain(np.full(64, -1, np.float32))
    assert results == [[float(i)] for i in range(20)]


def test_generators_that_follow_the_result_keep_their_values(m: Any, device: Any) -> None:
    out = fp.Tensor.zeros(device, 3)
    two, three = m.climb.set(ramp=np.float32([2, 4, 6])), m.climb.set(ramp=np.float32([3, 6, 9]))
    for f, wanted in ((two, [2, 4, 6]), (three, [3, 6, 9]), (two, [2, 4, 6])):
        f(fp.thread_id(), _result=out)
        assert out.to_numpy().tolist() == wanted
    with pytest.raises(fp.ArgumentError, match="'ramp', which was never set"):
        m.climb(fp.thread_id(), _result=out)
    encoder = device.sgl.create_command_encoder()
    three.append_to(encoder, fp.thread_id(), _result=out)
    assert out.to_numpy().tolist() == [2, 4, 6]
    device.sgl.submit_command_buffer(encoder.finish())
    assert out.to_numpy().tolist() == [3, 6, 9]


BLOCKS = """
cbuffer Look { float gain; float3 tint; };
cbuffer Frame : register(b1) { float4x4 turn; int number; }
struct { float k; } nameless;
float shade(float x) { return x * gain + tint.z + turn[1][2] + number + nameless.k; }
"""


@pytest.mark.req("F2")
def test_blocks_in_the_way_of_hlsl(device: Any) -> None:
    m = fp.Module.load_from_source(device, "globals_blocks", BLOCKS)
    values = {
        "Look": {"gain": 2, "tint": [1, 2, 3]},
        "Frame": {"turn": np.arange(16.0).reshape(4, 4), "number": 5},
        "nameless": {"k": 7},
    }
    assert m.shade.set(values)([1.0, 2.0]) == [2 + 3 + 6 + 5 + 7, 4 + 3 + 6 + 5 + 7]
    assert fp.fuse(lambda x: m.shade(x) * 2).set(values)(1.0) == 46


@pytest.mark.req("F2")
@pytest.mark.parametrize("source", ["tbuffer Old { float k; };", "struct S { float k; }; /* \n */ TextureBuffer<S> old;"])
def test_texture_buffers_are_refused(device: Any, source: str) -> None:
    """They end the process in the graphics layer, whether a program reads them or not."""
    with pytest.raises(fp.CompileError, match=r"(?s)globals_old\S*:\d: .*(tbuffer|TextureBuffer).*cbuffer"):
        fp.Module.load_from_source(device, "globals_old", f"{source}\nfloat f(float x) {{ return x; }} // TextureBuffer")
    harmless = "// a TextureBuffer\nfloat f(float x) { return x; }"
    assert fp.Module.load_from_source(device, "globals_new", harmless).f(1.0) == 1.0


@pytest.mark.req("F2")
@pytest.mark.parametrize(
    "source",
    [
        "uniform I s;",
        "uniform I s[2];",
        "ParameterBlock<I> s;",
        "struct S { I s; }; uniform S s;",
        "uniform float s[];",
        "Texture2D s[];",
    ],
)
def test_globals_that_end_the_process_are_refused(device: Any, source: str) -> None:
    """An interface without a value and an array without a size crash in the graphics layer, whether they are read or not."""
    module = f"interface I {{ float area(); }}; struct A : I {{ float a; float area() {{ return a; }} }};\n{source}\n"
    m = fp.Module.load_from_source(device, "globals_that_crash", module + "float f(float x) { return x; }")
    with pytest.raises(fp.UnsupportedArgumentError, match=r"the global 's' holds (the interface I|an array without a size)"):
        m.f(1.0)


@pytest.mark.req("F2", "F10")
def test_pointers_to_numbers_of_another_type_are_refused(m: Any, device: Any) -> None:
    """Their bytes would be read as what they are not."""
    right = np.arange(4, dtype=np.float32)
    for fits in (
        right,
        fp.Tensor.from_numpy(device, right),
        fp.Tensor.from_numpy(device, np.zeros((4, 4), np.float32), "float4"),
    ):
        assert m.climb.set(ramp=fits)(0) == 0.0
    for dtype in (np.float64, np.int64, np.int32, np.float16):
        for wrong in (right.astype(dtype), fp.Tensor.from_numpy(device, right.astype(dtype))):
            with pytest.raises(fp.UnsupportedArgumentError, match=r"ramp cannot be set(.|\n)*float(.|\n)*astype\(np\.float32\)"):
                m.climb.set(ramp=wrong)(0)
            with pytest.raises(fp.UnsupportedArgumentError, match=r"heights cannot be set"):
                m.far.set(g_scene=scene(device, heights=wrong))(0)

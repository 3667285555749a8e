"""Programs of several kernels: whole reads of computed values, writes in between, and what each step waits for."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from fusepy.functions.call import compile_call
from tests.support.python_calls import python_calls
from tests.support.slang_functions import ramp, same

SOURCE = """
import fusepy;
float luminance(float3 c) { return dot(c, float3(0.2126, 0.7152, 0.0722)); }
float at(Tensor<float,2> t, int y, int x) { return t[clamp(y, 0, int(t.shape[0]) - 1), clamp(x, 0, int(t.shape[1]) - 1)]; }
float blur(int2 p, Tensor<float,2> t)
{
    float sum = 0;
    for (int i = -1; i < 2; ++i)
        for (int j = -1; j < 2; ++j)
            sum += at(t, p.y + i, p.x + j);
    return sum / 9;
}
float3 grade(float3 c, float detail) { return c + detail; }
float get(int2 p, Tensor<float,2> t) { return t[p]; }
void put(int2 p, float v, RWTensor<float,2> t) { t[p] = v; }
float bump(int2 p, RWTensor<float,2> t) { float old = t[p]; t[p] = old + 1; return old; }
float doubled(float x) { return 2 * x; }
float slow(float x) { return sin(x) + cos(x); }
int back(int p, Tensor<int,1> t) { return t[int(t.shape[0]) - 1 - p]; }
"""
G = fp.grid((3, 5))


@pytest.fixture(scope="module")
def lib(device: Any) -> Any:
    return fp.Module.load_from_source(device, "programs", SOURCE)


@pytest.fixture
def image(device: Any) -> Any:
    return fp.Tensor.from_numpy(device, ramp(3, 5))


def blurred(a: Any) -> Any:
    padded = np.pad(a, 1, mode="edge")
    h, w = a.shape
    return sum(padded[i : i + h, j : j + w] for i in range(3) for j in range(3)) / np.float32(9)


@pytest.mark.req("C8", "G5")
def test_a_computed_value_is_read_whole(lib: Any) -> None:
    @fp.fuse
    def detail(image: Any) -> Any:
        light = lib.luminance(image)
        soft = lib.blur(fp.call_id(), light)
        return lib.grade(image, light - soft), soft

    image = np.random.default_rng(1).random((6, 8, 3), np.float32)
    assert detail.explain(image).kernels == 2
    graded, soft = detail(image)
    light = image @ np.array([0.2126, 0.7152, 0.0722], np.float32)
    np.testing.assert_allclose(soft, blurred(light), rtol=1e-5)
    np.testing.assert_allclose(graded, image + (light - blurred(light))[..., None], rtol=1e-4, atol=1e-6)


@pytest.mark.req("C16")
def test_coordinates_of_a_traced_value(lib: Any) -> None:
    """Sizes are no part of the program: other images run the same kernels."""

    @fp.fuse
    def twice(a: Any) -> Any:
        b = a * 2
        c = lib.blur(fp.grid(b), b)
        return lib.blur(fp.grid(c), c) + a, fp.grid(fp.sum(b, axis=1)) * 2

    for shape in ((5, 8), (9, 8), (5, 8)):
        a = np.random.default_rng(2).random(shape, np.float32)
        soft, rows = twice(a)
        np.testing.assert_allclose(soft, blurred(blurred(a * 2)) + a, rtol=1e-5)
        assert rows.tolist() == [2 * i for i in range(shape[0])]
    assert len(twice.programs) == 1


def test_coordinates_of_what_has_no_axes(lib: Any) -> None:
    with pytest.raises(fp.ShapeError, match=r"test_several_kernels.py:.*grid of a traced value"):
        fp.fuse(lambda a: fp.grid(fp.sum(a)))(ramp(3, 4))
    with pytest.raises(fp.ShapeError, match="compute with the coordinates"):
        fp.fuse(lambda a: fp.grid(a, offset=(1, 1)))(ramp(3, 4))


@pytest.mark.parametrize("mean_first", [True, False])
@pytest.mark.parametrize("components", [True, False])
def test_what_is_added_up_is_stored_by_the_same_kernel(lib: Any, device: Any, mean_first: bool, components: bool) -> None:
    """Whichever comes first, and whether colours are elements or the last axis of an array."""

    @fp.fuse
    def around_the_mean(image: Any) -> Any:
        light = lib.luminance(image)
        if mean_first:
            mean = fp.mean(light)
            return lib.blur(fp.grid(light), light) - mean
        return lib.blur(fp.grid(light), light) - fp.mean(light)

    image = np.random.default_rng(1).random((6, 8, 3), np.float32)
    given = image if components else fp.Tensor.from_numpy(device, image, "float3")
    assert around_the_mean.explain(given).kernels == 2
    light = image @ np.array([0.2126, 0.7152, 0.0722], np.float32)
    np.testing.assert_allclose(around_the_mean(given, _result="numpy"), blurred(light) - light.mean(), rtol=1e-4, atol=1e-5)


def test_two_blurs_are_three_kernels(lib: Any) -> None:
    @fp.fuse
    def twice(a: Any) -> Any:
        return lib.blur(G, lib.blur(G, a * 2)) + a

    a = ramp(3, 5)
    assert twice.explain(a).kernels == 3
    np.testing.assert_allclose(twice(a), blurred(blurred(a * 2)) + a, rtol=1e-5)


@pytest.mark.req("G5")
def test_dependent_kernels_of_large_arrays_wait_for_each_other(lib: Any, device: Any) -> None:
    """New numbers each time: without barriers, a GPU's Vulkan finds those of earlier calls, 20 of 20 times."""
    count = 1 << (12 if device.target.kind == "software" else 24)
    places = fp.grid((count,))

    @fp.fuse
    def ladder(x: Any) -> Any:
        for _ in range(8):
            x = lib.back(places, x * 3 + 1)
        return x + 1

    @fp.fuse
    def sums(x: Any) -> Any:
        for _ in range(3):
            x = x - (fp.sum(x) & 1023) + fp.max(x)
        return x, fp.scan("sum", lib.back(places, x))

    rng = np.random.default_rng(4)
    for i in range(20):
        first = rng.integers(-1000, 1000, count, np.int32) + np.int32(i)
        x = fp.Tensor.from_numpy(device, first)
        expected = first
        for _ in range(8):
            expected = (expected * 3 + 1)[::-1]
        np.testing.assert_array_equal(ladder(x).to_numpy(), expected + 1)
        expected = first
        for _ in range(3):
            expected = expected - (expected.sum(dtype=np.int32) & 1023) + expected.max()
        values, scanned = sums(x)
        np.testing.assert_array_equal(values.to_numpy(), expected)
        np.testing.assert_array_equal(scanned.to_numpy(), np.cumsum(expected[::-1], dtype=np.int32))


# ---- textures -------------------------------------------------------------------------------------------------------

SAMPLED = """
float3 expose(float3 c, float k) { return c * k; }
float3 look(float2 uv, Texture2D<float4> t, SamplerState s) { return t.SampleLevel(s, uv, 0).xyz; }
float3 three(float2 uv, Texture2D<float3> t, SamplerState s) { return t.SampleLevel(s, uv, 0); }
float4 texel(int2 p, Texture2D<float4> t) { return t[p]; }
float red(int2 p, Texture2D<float> t) { return t[p]; }
float2 uv(int2 p, float2 size) { return (float2(p) + 0.5) / size; }
"""


@pytest.mark.req("T19", "G5")
@pytest.mark.parametrize("look", ["look", "three"])
def test_a_computed_image_is_sampled(device: Any, look: str) -> None:
    m = fp.Module.load_from_source(device, "sampled", SAMPLED)
    linear = spy.TextureFilteringMode.linear
    sampler = device.sgl.create_sampler(min_filter=linear, mag_filter=linear)

    @fp.fuse
    def f(image: Any, k: Any, size: Any) -> Any:
        light = m.expose(image, k)
        p = fp.grid(light)
        return getattr(m, look)(m.uv(p, fp.vcast(size, "float2")), light, sampler), m.texel(p, light), light

    if look == "three" and device.target.kind == "cuda":
        with pytest.raises(fp.UnsupportedArgumentError, match="no textures of three components"):
            f(np.zeros((6, 7, 3), np.float32), 2.0, [7.0, 6.0])
        return
    rng = np.random.default_rng(3)
    for shape in ((6, 7), (6, 7), (9, 4)):
        for k in (2.0, 3.0):
            image = rng.random((*shape, 3), np.float32)
            sampled, texels, light = f(image, k, [float(shape[1]), float(shape[0])])
            np.testing.assert_allclose(light, image * np.float32(k))
            np.testing.assert_allclose(sampled, light, rtol=1e-5)
            np.testing.assert_array_equal(texels[..., :3], light)
            assert (texels[..., 3] == 1).all()
    assert f.explain(image, 2.0, [7.0, 6.0]).kernels == 2


def test_what_a_reduction_leaves_is_sampled(device: Any) -> None:
    m = fp.Module.load_from_source(device, "sampled_sums", SAMPLED)

    @fp.fuse
    def f(x: Any) -> Any:
        sums = fp.sum(x, axis=2)
        return m.red(fp.grid(sums), sums) + 1, fp.max(x * 2, axis=2)

    x = ramp(3, 4, 5)
    first, second = f(x)
    np.testing.assert_allclose(first, x.sum(2) + 1)
    np.testing.assert_array_equal(second, x.max(2) * 2)


def test_a_computed_value_that_no_texture_holds(device: Any) -> None:
    m = fp.Module.load_from_source(device, "unsampled", SAMPLED)
    for x in (ramp(3, 4, 2), ramp(3, 4).astype(np.int32), ramp(3, 4)):  # three axes, integers, one channel where four are read
        with pytest.raises(fp.NoMatchError, match="'t'"):
            fp.fuse(lambda x: m.texel(fp.grid((3, 4)), x * 2))(x)


def test_a_program_is_one_submission_without_deferral(monkeypatch: pytest.MonkeyPatch) -> None:
    if fp.default_device().queue.direct is not None:
        pytest.skip("CUDA has no encoders")
    undeferred = fp.init_device(deferred=False)
    module = fp.Module.load_from_source(undeferred, "programs", SOURCE)
    image = fp.Tensor.from_numpy(undeferred, ramp(3, 5))
    twice = fp.fuse(lambda a: module.blur(G, module.blur(G, a * 2)))
    submitted: list[int] = []
    submit = type(undeferred.queue)._submit
    monkeypatch.setattr(type(undeferred.queue), "_submit", lambda self: (submitted.append(self._count), submit(self))[1])
    for _ in range(3):  # the first, and what is replayed of it
        submitted.clear()
        soft = twice(image)
        assert submitted == [3]
    np.testing.assert_allclose(soft.to_numpy(), blurred(blurred(ramp(3, 5) * 2)), rtol=1e-5)
    undeferred.close()


# ---- writes ---------------------------------------------------------------------------------------------------------


def test_what_is_written_is_written_in_order(lib: Any, device: Any, image: Any) -> None:
    @fp.fuse
    def two_writes(p: Any, a: Any, b: Any) -> None:
        lib.put(p, 1.0, a)
        lib.put(p, 2.0, b)

    other = fp.Tensor.zeros(device, (3, 5))
    two_writes(G, image, other)
    same(image.to_numpy(), np.ones((3, 5), np.float32))
    same(other.to_numpy(), np.full((3, 5), 2, np.float32))


def test_what_is_read_after_a_write_is_new(lib: Any, image: Any) -> None:
    @fp.fuse
    def write_then_read(p: Any, a: Any) -> Any:
        lib.put(p, 1.0, a)
        return lib.get(p, a)

    same(write_then_read(G, image).to_numpy(), np.ones((3, 5), np.float32))


def test_what_is_read_before_a_write_is_old(lib: Any, image: Any) -> None:
    """Also where it is used only behind the write."""

    @fp.fuse
    def around(p: Any, a: Any) -> Any:
        before = a * 10
        old = lib.bump(p, a)
        return before + old, a + old

    first, second = around(G, image)
    same(first.to_numpy(), 11 * ramp(3, 5))
    same(second.to_numpy(), 2 * ramp(3, 5) + 1)
    same(image.to_numpy(), ramp(3, 5) + 1)


def test_a_call_that_writes_runs_once(lib: Any, image: Any) -> None:
    @fp.fuse
    def f(p: Any, a: Any) -> Any:
        old = lib.bump(p, a)
        return lib.blur(G, old), old * 2

    soft, double = f(G, image)
    same(double.to_numpy(), 2 * ramp(3, 5))
    np.testing.assert_allclose(soft.to_numpy(), blurred(ramp(3, 5)), rtol=1e-5)
    same(image.to_numpy(), ramp(3, 5) + 1)


def test_other_results_beside_a_write(lib: Any, device: Any, image: Any) -> None:
    other = fp.Tensor.from_numpy(device, ramp(3, 5, start=50))

    @fp.fuse
    def f(p: Any, a: Any, b: Any) -> Any:
        return lib.bump(p, a), lib.get(p, b), a + 1

    first, second, third = f(G, image, other)
    same(first.to_numpy(), ramp(3, 5))
    same(second.to_numpy(), ramp(3, 5, start=50))
    same(third.to_numpy(), ramp(3, 5) + 2)


def test_compiling_grows_with_the_program_and_not_faster(lib: Any) -> None:
    """From trace to plan; counted in calls of functions."""

    def program(count: int) -> Any:
        def f(x: Any) -> Any:
            chance = random.Random(count)
            values = [x, x + 1]
            for i in range(count):
                a, b = chance.choice(values[-20:]), chance.choice(values[-20:])
                values.append(a - fp.mean(b) if i % 30 == 7 else lib.slow(a) if i % 3 else fp.maximum(a, b))
            return values[-1], values[-5]

        return fp.fuse(f)

    def effort(count: int) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fp.UnrollWarning)
            return python_calls(lambda: compile_call(program(count), (ramp(4, 4),), {}, None), warmup=1) / count

    assert effort(1200) < 1.08 * effort(150)


def test_kept_axes_stay_where_results_share_no_grid(lib: Any) -> None:
    """A kernel for several results is split by them when they turn out to share no grid; strict broadcasting shares none."""
    x, y = ramp(1, 3, 4, 2), ramp(5, 6, 7)
    total = x.sum(2, keepdims=True)

    def kept(x: Any, y: Any) -> Any:
        return (
            fp.vcast(fp.sum(x, 2, True), "int2"),
            lib.doubled(fp.max(y, 0, True)),
            x,
            fp.vcast(fp.sum(y, (0, 1, 2), True), "int"),
        )

    device = lib.device
    vectors = fp.Tensor.from_numpy(device, x, "float2")
    wanted = [total.astype(np.int32), 2 * y.max(0, keepdims=True), x, y.sum(keepdims=True).astype(np.int32)]
    for function in (fp.fuse(kept), fp.fuse(kept).strict_broadcasting()):
        for _ in range(2):
            for result, w in zip(function(vectors, fp.Tensor.from_numpy(device, y)), wanted, strict=True):
                same(result, w)


@pytest.mark.parametrize("extents", [(3,), (4,), (2, 2), (1,), ()])
def test_what_is_written_may_have_another_grid_than_results(device: fp.Device, extents: tuple[int, ...]) -> None:
    source = """import fusepy;
    void put(int i, float v, float* t) { t[i] = v; }
    float add(int i, float v, float* t) { t[i] += v; return 2 * v; }
    """
    m = fp.Module.load_from_source(device, "written_beside", source)
    x, y = np.float32([1, 2, 3]), np.ones(extents, np.float32)

    def put(x: Any, y: Any, log: Any, k: Any) -> Any:
        m.put(fp.grid(x), x * k, log)
        return y * k, x * k, fp.sum(y * k)

    def add(x: Any, y: Any, log: Any, k: Any) -> Any:
        added = m.add(fp.grid(x), x * k, log)
        m.put(3, k, log)
        return y * k, added, fp.sum(y * k)

    for function, factor in ((put, 2), (add, 4)):
        log = fp.Tensor.zeros(device, 4)
        ys, xs, total = fp.fuse(function)(x, y, log, 2.0)
        assert log.to_numpy().tolist() == [2, 4, 6, 0 if function is put else 2]
        np.testing.assert_array_equal(np.asarray(ys), 2 * y)
        np.testing.assert_array_equal(np.asarray(xs), factor * x)
        assert float(total) == 2 * y.size

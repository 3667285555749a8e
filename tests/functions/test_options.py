"""Thread groups, link-time constants, type conformances: what changes a function's program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy as spy
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from fusepy.backend.slang.codegen import PRECISE, Codegen
from fusepy.backend.slang.session import _session_key
from fusepy.backend.sources.source import ModuleSource
from tests.support.examples import examples

SOURCE = """
float mad(float a, float b) { return a * b + 1; }
float3 tint(float3 c, float k) { return c * k; }
int2 at(int2 p) { return p; }
float number(int id, float x) { return id + x; }
void count(inout float x) { x += 1; }
extern static const int N = 1;
extern static const float SCALE;
extern static const bool FLIP = false;
extern static const float3 TINT = float3(1, 1, 1);
float times(float x) { return FLIP ? -x * N : x * N; }
float scaled(float x) { return x * SCALE; }
float3 tinted(float x) { return x * TINT; }
interface IShape { float area(float s); };
struct Square : IShape { float area(float s) { return s * s; } };
struct Disc : IShape { float area(float s) { return 3 * s * s; } };
float area(int id, float s) { IShape shape = createDynamicObject<IShape>(id, 0); return shape.area(s); }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "options_test", SOURCE)


@pytest.mark.req("F3")
@examples(40)
@given(
    shape=st.lists(st.integers(1, 40), min_size=0, max_size=4),
    group=st.sampled_from([[16, 16], [8, 8, 4], [64], [5, 3], [1, 7], [4, 1, 2], 32]),
    broadcast=st.booleans(),
)
def test_any_group_gives_what_numpy_gives(shape: list[int], group: Any, broadcast: bool) -> None:
    m = fp.Module.load_from_source(fp.default_device(), "options_test", SOURCE)
    rng = np.random.default_rng(len(shape))
    a = rng.random(shape, np.float32)
    b = rng.random(shape[-1:] if broadcast else shape, np.float32)
    np.testing.assert_allclose(m.mad.options(numthreads=group)(a, b), a * b + 1, rtol=1e-6)


def test_fast_math_is_an_option_of_functions_and_modules(device: Any) -> None:
    """Alone and together; on devices other than CUDA it is the same code."""
    x = np.linspace(0.1, 4, 50, dtype=np.float32)
    plain = fp.fuse(lambda x: fp.exp(-x) * x**0.4545 + 0.25)
    want = np.exp(-x) * x**0.4545 + 0.25
    np.testing.assert_allclose(plain(x), want, rtol=1e-5)
    compiled = fp.stats(device).kernels_compiled
    np.testing.assert_allclose(plain.options(fast_math=True)(x), want, rtol=1e-5)
    cuda = device.target.kind == "cuda"
    assert (fp.stats(device).kernels_compiled > compiled) is cuda
    source = "float decay(float x) { return exp(-x); }"
    quick = fp.Module.load_from_source(device, "quick_decay", source, options={"fast_math": True})
    np.testing.assert_allclose(fp.fuse(lambda x: quick.decay(x) + plain(x))(x), np.exp(-x) + want, rtol=1e-5)
    np.testing.assert_allclose(quick.decay.options(fast_math=True)(x), np.exp(-x), rtol=1e-5)
    with pytest.raises(fp.ArgumentError, match="fast_math is True or False"):
        plain.options(fast_math=1)
    with pytest.raises(fp.ArgumentError, match="fast_math is True or False"):
        fp.Module.load_from_source(device, "quick_no", source, options={"fast_math": "no"})


def test_fast_math_is_an_option_of_cudas_compiler_only() -> None:
    source = ModuleSource.make("quick", "float f(float x) { return x; }", options={"fast_math": True})
    for sources, codegen in (([source], PRECISE), ([source], Codegen(fast_math=True)), ([], Codegen(fast_math=True))):
        found = [dict(_session_key(sources, codegen, kind).options) for kind in (spy.DeviceType.cuda, spy.DeviceType.vulkan)]
        assert found == [{"floating_point_mode": spy.SlangFloatingPointMode.fast}, {}]
    assert _session_key([], PRECISE, spy.DeviceType.cuda).options == ()


@pytest.mark.req("F3")
def test_groups_are_tiles_of_the_screen(m: Any) -> None:
    f = m.at.options(numthreads=[16, 8])
    text = f.source(fp.grid((20, 40)))
    assert "[numthreads(16, 8, 1)]" in text
    assert "d1 = int(fz_tile % fz_tiles1) * 16 + int(fz_lane.x)" in text
    assert "d0 = int(fz_tile) * 8 + int(fz_lane.y)" in text
    got = f(fp.grid((20, 40))).to_numpy()
    y, x = np.mgrid[:20, :40]
    assert (got == np.stack([x, y], -1)).all()
    assert "tiles of 16x8" in str(f.explain(fp.grid((20, 40))))
    for shape in ((8, 16), spy.slangpy.Shape((8, 16))):
        same = m.at.call_group_shape(shape).source(fp.grid((20, 40)))
        assert "[numthreads(16, 8, 1)]" in same
        assert "d0 = int(fz_tile) * 8 + int(fz_lane.y)" in same


@pytest.mark.req("F3")
def test_groups_of_results_out_arguments_and_views(m: Any, device: Any) -> None:
    image = np.random.default_rng(0).random((33, 17, 3), np.float32)
    tint = m.tint.options(numthreads=[8, 8])
    np.testing.assert_array_equal(tint(image, 2.0), image * 2)
    tensor = fp.Tensor.from_numpy(device, image, m.float3)
    np.testing.assert_array_equal(tint(tensor[::-2, 3:], 2.0).to_numpy(), image[::-2, 3:] * 2)
    x = np.zeros((5, 6), np.float32)
    m.count.options(numthreads=[4, 4])(x)
    assert (x == 1).all()
    out = fp.Tensor.zeros(device, (33, 17), m.float3)
    assert tint(tensor, 0.5, _result=out) is out
    assert tint(np.zeros((0, 4, 3), np.float32), 1.0).shape == (0, 4, 3)


@pytest.mark.req("F3", "V13")
def test_groups_of_a_fused_function(m: Any) -> None:
    @fp.fuse
    def look(c: Any, k: Any) -> Any:
        return m.tint(m.tint(c, k), 2.0), k * 3

    image, k = np.ones((20, 30, 3), np.float32), np.arange(30, dtype=np.float32)
    tiled = look.options(numthreads=[16, 16])
    for got, wanted in zip(tiled(image, k), look(image, k)):
        np.testing.assert_array_equal(got, wanted)
    assert "[numthreads(16, 16, 1)]" in tiled.source(image, k)

    inner = m.tint.options(numthreads=[4, 4])
    brought = fp.fuse(lambda c: inner(c, 2.0))
    assert "[numthreads(4, 4, 1)]" in brought.source(image)
    with pytest.raises(fp.ArgumentError, match="two functions of one kernel want different values of numthreads"):
        fp.fuse(lambda c: m.tint.options(numthreads=[8, 8])(inner(c, 2.0), 2.0))(image)


@pytest.mark.req("F3")
def test_kernels_that_fold_have_groups_of_their_own(m: Any) -> None:
    image = fp.Tensor(np.random.default_rng(5).random((20, 40, 3), np.float32))

    def around(c: Any) -> Any:
        tinted = m.tint(c, 2.0)
        return fp.max(tinted), fp.where(tinted.x > fp.mean(tinted.x), tinted.x, 0.0)

    plain, tiled = fp.fuse(around), fp.fuse(around).options(numthreads=[16, 8])
    for found, wanted in zip(tiled(image), plain(image), strict=True):
        np.testing.assert_array_equal(found, wanted)
    said = "in groups of its own, since options(numthreads=…) shapes those of kernels that fold nothing"
    folding, elements = tiled.explain(image).variants
    assert "fold" in folding
    assert said in folding
    assert "tiles of 16x8" in elements
    assert said not in elements
    assert said not in str(plain.explain(image))
    assert tiled.source(image).count("[numthreads(16, 8, 1)]") == 1


@pytest.mark.req("F3")
def test_generators_count_on_in_tiles(m: Any) -> None:
    zeros = np.zeros((9, 11), np.float32)
    numbered = m.number.options(numthreads=[4, 4])(fp.thread_id(), zeros)
    np.testing.assert_array_equal(numbered, np.arange(99, dtype=np.float32).reshape(9, 11))


@pytest.mark.req("F3")
def test_one_number_keeps_linear_indexing(m: Any) -> None:
    a = np.arange(1000, dtype=np.float32)
    assert "[numthreads(128, 1, 1)]" in m.mad.options(numthreads=128).source(a, a)
    np.testing.assert_array_equal(m.mad.options(numthreads=128)(a, a), a * a + 1)


@pytest.mark.parametrize("bad", [0, [], [0, 4], [4.0], "16", [1, 1, 1, 1], [64, 64], [2048], True, None])
def test_groups_that_cannot_be(m: Any, bad: Any) -> None:
    with pytest.raises(fp.ArgumentError, match=r"numthreads|group"):
        m.mad.options(numthreads=bad)


def test_unknown_options_name_the_nearest(m: Any) -> None:
    with pytest.raises(fp.ArgumentError, match="did you mean 'numthreads'"):
        m.mad.options(numthread=[4])
    with pytest.raises(fp.ArgumentError, match="call_group_shape"):
        m.mad.call_group_shape("4")


@pytest.mark.req("F12")
def test_constants(m: Any) -> None:
    assert m.times(5.0) == 5.0
    three = m.times.constants({"N": 3})
    assert three(5.0) == 15.0
    assert three.constants(FLIP=True)(5.0) == -15.0
    assert m.scaled.constants({"SCALE": 2})(3.0) == 6.0
    assert m.tinted.constants(TINT=[1, 2, 0.5])(2.0) == [2, 4, 1]
    assert "export static const int N = 3;" in three.source(5.0)
    assert m.times(5.0) == 5.0

    @fp.fuse
    def look(x: Any) -> Any:
        return m.times(x) + m.scaled(x)

    assert look.constants(N=2, SCALE=0.5)([4.0]) == [10.0]
    assert fp.fuse(lambda x: three(x) + 1)([2.0]) == [7.0]
    with pytest.raises(fp.ArgumentError, match="constant 'N'"):
        fp.fuse(lambda x: three(x) + m.times.constants(N=4)(x))([2.0])


@pytest.mark.req("F12")
def test_a_constant_is_part_of_the_kernel_and_compiled_once(m: Any) -> None:
    held = m.times.constants(N=7)
    held(1.0)
    before = fp.stats().kernels_compiled
    assert m.times.constants(N=7)(2.0) == 14.0
    assert fp.stats().kernels_compiled == before


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"M": 3}, fp.UnknownNameError, "known names|did you mean"),
        ({"SCAL": 3}, fp.UnknownNameError, "did you mean 'SCALE'"),
        ({"N": 1.5}, fp.UnsupportedArgumentError, "is a int"),
        ({"N": 1 << 40}, fp.RangeError, "out of range for int"),
        ({"N": [1, 2]}, fp.UnsupportedArgumentError, "is a int"),
        ({"N": "3"}, fp.UnsupportedArgumentError, "cannot be this"),
        ({"SCALE": float("nan")}, fp.UnsupportedArgumentError, "finite"),
        ({"TINT": [1, 2]}, fp.UnsupportedArgumentError, "float3"),
        ({"a;} void x(){": 1}, fp.InvalidNameError, "constant"),
    ],
)
def test_constants_that_do_not_fit(m: Any, change: dict[str, Any], error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        m.times.constants(change)
    assert m.times(1.0) == 1.0


@pytest.mark.req("F4")
def test_conformances_resolve_interfaces_at_run_time(m: Any) -> None:
    with pytest.raises(fp.CompileError, match="no type conformances"):
        m.area([0, 1], 2.0)
    spellings: list[Any] = [
        {"IShape": ["Square", "Disc"]},
        [("IShape", "Square", 0), ("IShape", "Disc", 1)],
        [spy.TypeConformance("IShape", "Square", 0), spy.TypeConformance("IShape", "Disc", 1)],
        {"IShape": [m.Square, m.Disc]},
    ]
    for spelled in spellings:
        assert m.area.type_conformances(spelled)([0, 1, 0], 2.0) == [4.0, 12.0, 4.0]
    assert m.area.typeconformance(spellings[0])([1], 1.0) == [3.0]
    assert m.area.type_conformances([("IShape", "Disc", 0)])([0], 1.0) == [3.0]
    shape = m.area.type_conformances(spellings[0])
    assert fp.fuse(lambda i, s: shape(i, s) + 1)([0, 1], [2.0, 1.0]) == [5.0, 4.0]
    assert fp.fuse(lambda i, s: m.area(i, s) + 1).type_conformances(spellings[0])([1], [1.0]) == [4.0]


def test_conformances_that_are_none(m: Any) -> None:
    for wrong in ("IShape", 3, [("IShape",)], [(1, 2)]):
        with pytest.raises(fp.ArgumentError, match="type_conformances"):
            m.area.type_conformances(wrong)
    with pytest.raises(fp.CompileError, match='"Cube" not found'):
        m.area.type_conformances({"IShape": ["Cube"]})([0], 1.0)
    with pytest.raises(fp.CompileError, match="conformance"):
        m.area.type_conformances({"Square": ["Disc"]})([0], 1.0)
    assert m.area.type_conformances({"IShape": ["Disc"]})([0], 1.0) == [3.0]


@pytest.mark.req("F4", "F12", "S3")
def test_kernels_with_options_come_from_the_disk_cache(device: Any) -> None:
    text = SOURCE + "// a copy of its own\nuniform float gain; float lift(float x) { return x * gain * N; }"
    m = fp.Module.load_from_source(device, "options_disk", text)
    area = m.area.type_conformances({"IShape": ["Square", "Disc"]})
    lift = m.lift.constants(N=3).options(numthreads=[8, 8]).set(gain=2)
    image = np.ones((9, 9), np.float32)
    first = area([0, 1], 2.0), lift(image).tolist()
    device.cache.flush()
    fp.clear_cache()
    before = fp.stats()
    assert (area([0, 1], 2.0), lift(image).tolist()) == first == ([4.0, 12.0], [[6.0] * 9] * 9)
    after = fp.stats()
    assert after.disk_hits == before.disk_hits + 2
    assert after.kernels_compiled == before.kernels_compiled

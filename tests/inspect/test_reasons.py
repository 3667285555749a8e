"""What `explain` says of programs of several kernels: golden texts of reasons, bytes, edits and cache misses."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.execute.rows import plan as row_plan
from fusepy.inspect.reasons import WAYS
from tests.support.rasters import need_raster
from tests.support.rays import need_rays
from tests.support.slang_functions import ramp

SOURCE = """
import fusepy;
float luminance(float3 c) { return dot(c, float3(0.2126, 0.7152, 0.0722)); }
float blur(int2 p, Tensor<float,2> t) { return t[p] * 0.5 + t[int2(0, 0)] * 0.5; }
float3 grade(float3 c, float detail) { return c + detail; }
void put(int2 p, float v, RWTensor<float,2> t) { t[p] = v; }
float poke(float x, float* p) { p[0] = x; return x; }
float taps(int2 p, Tensor<float,2> t)
{
    float sum = 0;
    for (int i = -5; i <= 5; ++i)
        for (int j = -5; j <= 5; ++j)
            sum += t[clamp(p.y + i, 0, int(t.shape[0]) - 1), clamp(p.x + j, 0, int(t.shape[1]) - 1)];
    return sum;
}
float[8] powers(float x) { float y[8]; for (int i = 0; i < 8; ++i) y[i] = pow(x, i); return y; }
float slow(float x) { return sin(x) + cos(x); }
float dear(float x) { for (int i = 0; i < 3000; ++i) x = sin(x); return x; }
float bump(int2 p, RWTensor<float,2> t) { float old = t[p]; t[p] = old + 1; return old; }
"""
RAYS = """
import fusepy_rays;
struct Payload { float t; };
RaytracingAccelerationStructure tlas;
void missed(inout Payload payload) { payload.t = -1; }
void hit(inout Payload payload, BuiltInTriangleIntersectionAttributes at) { payload.t = RayTCurrent(); }
float look(float x)
{
    Payload payload = {};
    TraceRay(tlas, 0, 0xff, 0, 0, 0, ray_from(float3(x, 0, 1), float3(0, 0, -1)), payload);
    return payload.t;
}
"""
G = fp.grid((4, 8))
IMAGE = ramp(4, 8, 3)


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "reasoned", SOURCE)


def text(explanation: Any) -> str:
    """Without lines and names of files, which are this test's."""
    return re.sub(r" \(test_\S+:\d+\)", "", str(explanation))


DETAIL = """detail: 2 kernels
  argument image: float over 3 axes
  argument p: int2 over 2 axes
  kernel 0: linear, since all arguments are contiguous and of one shape
  kernel 1: strided2 by rows, since an argument or result runs along other dimensions than the grid's, or is a grid() or texture
  luminance: fused: elementwise on the grid of the results
  blur: fused: elementwise on the grid of the results
  sub: fused: elementwise on the grid of the results
  grade: fused: elementwise on the grid of the results
  luminance -> blur: split: blur reads the array as a whole, so all of it must be there; to fuse them, let blur compute \
luminance in Slang for each element that it reads
  luminance -> sub: split: an earlier kernel computes luminance too, and passing it through memory moves 4 bytes an element, \
where computing it again takes 4.25 or more
  blur -> sub: fused: kernel 1 computes both element by element, on one grid
  sub -> grade: fused: kernel 1 computes both element by element, on one grid
  stored: luminance by kernel 0, 4 bytes for each of 32 elements, for kernel 1
  memory: 512 bytes at most, for results and values between kernels"""


def test_a_whole_read(m: Any) -> None:
    @fp.fuse
    def detail(image: Any) -> Any:
        light = m.luminance(image)
        return m.grade(image, light - m.blur(G, light))

    along = "strided2 by rows" if m.device.target.kind == "software" else "strided2 by blocks light, whole arrays packed"
    assert text(detail.explain(IMAGE)) == DETAIL.replace("strided2 by rows", along)


SOFTMAX = """softmax: 3 kernels
  argument x: float over 2 axes
  {variants}
  max -> sub: split: sub needs the result of max, which is known when all elements have been combined
  sub -> exp: fused: kernel 1 computes both element by element, on one grid
  exp -> sum: fused: kernel 1 combines elements as it computes them
  max -> sub: split: sub needs the result of max, which is known when all elements have been combined
  sub -> exp: fused: kernel 2 computes both element by element, on one grid; sub is computed again, for 4.25 bytes an element, \
where passing it through memory moves 8
  exp -> div: fused: kernel 2 computes both element by element, on one grid; exp is computed again, for 4.5 bytes an element, \
where passing it through memory moves 8
  sum -> div: split: div needs the result of sum, which is known when all elements have been combined
  stored: max by kernel 0, 4 bytes for each of 8 elements, for kernels 1, 2
  stored: sum by kernel 1, 4 bytes for each of 8 elements, for kernel 2
  memory: 192 bytes at most, for results and values between kernels"""


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reduction is a kernel of its own, as if rows were few and long."""
    monkeypatch.setattr(row_plan, "cost", lambda *_: (1.0, 0.0))


@pytest.mark.usefixtures("apart")
def test_reductions_and_what_is_computed_again(device: Any) -> None:
    @fp.fuse
    def softmax(x: Any) -> Any:
        e = fp.exp(x - fp.max(x, axis=0, keepdims=True))
        return e / fp.sum(e, axis=0, keepdims=True)

    said = text(softmax.explain(ramp(4, 8)))
    kept = [line for line in said.split("\n") if not re.match(r"  (kernel \d:|\w+: fused|one kernel for each)", line)]
    assert "\n".join(kept) == SOFTMAX.replace("  {variants}\n", "")


def test_rows_stay_with_their_threads_unless_there_are_few(device: Any) -> None:
    @fp.fuse
    def softmax(x: Any) -> Any:
        e = fp.exp(x - fp.max(x, axis=-1, keepdims=True))
        return e / fp.sum(e, axis=-1, keepdims=True)

    one, apart = softmax.explain(ramp(64, 80)), softmax.explain(fp.Tensor.empty(device, (1, 1 << 24), "float"))
    assert (one.kernels, apart.kernels) == (1, 3)
    assert re.search(r"since 64 rows of 80 elements cost .* in one kernel, .* in one for each reduction", one.variants[0])
    assert re.search(r"not one that goes along rows: 1 rows of 16,777,216 elements cost", str(apart))
    assert {p.kernel for p in one.neighbours} == {0}
    assert all(p.fused for p in one.neighbours)
    assert one.neighbours[0].why == ("kernel 0 goes along rows: the threads that combine max hold the row, and go on with it")


def test_columns_stay_with_their_threads_unless_they_are_long(device: Any) -> None:
    @fp.fuse
    def centred(x: Any) -> Any:
        return x - fp.mean(x, axis=1, keepdims=True)

    one, apart = centred.explain(ramp(30, 20, 10)), centred.explain(fp.Tensor.empty(device, (1, 5000, 8), "float"))
    assert (one.kernels, apart.kernels) == (1, 2)
    assert re.search(r"columns by .*, since 300 columns of 20 elements cost .* in one kernel", one.variants[0])
    assert "goes along rows: 8 columns of 5,000 elements are too long for one kernel" in str(apart)


def test_an_epilogue_is_fused(device: Any) -> None:
    @fp.fuse
    def rms(x: Any) -> Any:
        return fp.sqrt(fp.mean(x * x))

    explained = rms.explain(ramp(4, 8))
    assert explained.kernels == 1
    assert [(p.fused, p.why) for p in explained.neighbours] == [
        (True, "kernel 0 combines elements as it computes them"),
        (True, "kernel 0 goes on with what it has reduced, on the small grid"),
    ]


def at_hand(m: Any, a: Any, b: Any) -> Any:
    outer = fp.sum(b, 0) * fp.sum(b, 1, True)
    return m.blur(G, outer) + outer


def written(m: Any, a: Any, b: Any) -> Any:
    before = a * 2
    return m.bump(G, a) + before


def written_earlier(m: Any, a: Any, b: Any) -> Any:
    """What writes stands behind the use, and runs before it, since that waits for a sum."""
    before = a * 2
    late = before + m.blur(G, b * fp.sum(before))
    m.bump(G, a)
    return late


def overwritten(m: Any, a: Any, b: Any) -> Any:
    m.put(G, fp.sum(b) + a * 2, a)
    return b


def acts(m: Any, a: Any, b: Any) -> Any:
    value = m.poke(b, a)
    return value + fp.sum(value)


def moved(m: Any, a: Any, b: Any) -> Any:
    value = m.dear(b)
    return value[1:] + value[:-1]


def again(m: Any, a: Any, b: Any) -> Any:
    value = a * 2
    return value + fp.sum(value, 0)


def price(m: Any, a: Any, b: Any) -> Any:
    value = m.slow(a)
    return value + fp.sum(value, 0)


def drawn(m: Any, a: Any, b: Any) -> Any:
    def corner(at: Any) -> Any:
        return {"position": fp.float4(at, 0.0, 0.0, 1.0)}

    def grey() -> Any:
        return fp.float4(0.5)

    need_raster(m.device)
    return fp.raster(m, vertex=corner, fragment=grey)({"at": np.zeros(3, np.float32)}, targets=(2, 2)) * 2


def traced(m: Any, a: Any, b: Any) -> Any:
    need_rays(m.device)
    rays = fp.Module.load_from_source(m.device, "reasoned_rays", RAYS)
    scene = fp.Scene([fp.Mesh(np.float32([[0, 0, 0], [1, 0, 0], [0, 1, 0]]), device=m.device)])
    look = fp.ray_gen(rays, "look", miss="missed", closesthit="hit").set(tlas=scene)
    return fp.sum(look(a) * 2, 0)


# for each reason a program in which it is true, and what is said
REASONS: dict[str, tuple[Callable[..., Any], str]] = {
    "combined": (lambda m, a, b: fp.sum(a * 2), "mul -> sum: fused: kernel 0 combines elements as it computes them"),
    "small grid": (
        lambda m, a, b: fp.sqrt(fp.sum(a, 0)),
        "sum -> sqrt: fused: kernel 0 goes on with what it has reduced, on the small grid",
    ),
    "scanned": (
        lambda m, a, b: fp.cumsum(a, 0) * 2,
        "scan sum -> mul: fused: kernel 0 goes on with each element that it has scanned",
    ),
    "one grid": (lambda m, a, b: a * 2 + b, "mul -> add: fused: kernel 0 computes both element by element, on one grid"),
    "row": (
        lambda m, a, b: a + fp.sum(b, 1, True),
        "sum -> add: fused: kernel 0 goes along rows: the threads that combine sum hold the row, and go on with it",
    ),
    "again": (
        again,
        "mul -> add: fused: kernel 1 computes both element by element, on one grid; mul is computed again, for 4.25 bytes an "
        "element, where passing it through memory moves 8",
    ),
    "whole": (
        at_hand,
        "mul -> blur: split: blur reads the array as a whole, so all of it must be there; to fuse them, let blur compute mul "
        "in Slang for each element that it reads",
    ),
    "reduced": (again, "sum -> add: split: add needs the result of sum, which is known when all elements have been combined"),
    "behind a reduction": (
        lambda m, a, b: b * (1 / fp.sum(a, 0)),
        "div -> mul: split: div follows a reduction, on the small grid that it leaves, so it is known when all elements have "
        "been combined",
    ),
    "alone": (
        written,
        "bump -> add: split: bump writes an array, and nothing else may run beside it; to fuse them, take add into bump",
    ),
    "acts": (
        acts,
        "poke -> add: split: poke may write memory, so it runs once, in an earlier kernel, which stores what it returns; to fuse "
        "them, take add into poke",
    ),
    "written": (
        written,
        "mul -> add: split: an array from which mul is computed may be written between mul and add; to fuse them, call add "
        "before what writes",
    ),
    "written earlier": (
        written_earlier,
        "mul -> add: split: an array from which mul is computed may be written before kernel 3 runs",
    ),
    "overwritten": (
        overwritten,
        "add -> put: split: put is in a kernel that writes an array from which add is computed; to fuse them, compute add in "
        "Slang, in what writes",
    ),
    "price": (
        price,
        "slow -> add: split: an earlier kernel computes slow too, and passing it through memory moves 8 bytes an element, where "
        "computing it again takes 8.25 or more",
    ),
    "dear": (
        lambda m, a, b: fp.sum(m.powers(a), (0, 1)),
        "powers -> index: split: index takes its elements on a larger grid, and computing powers again for each of them costs "
        "more than storing it",
    ),
    "moved": (
        moved,
        "dear -> take2: split: views take elements of dear at other places, and passing it through memory moves 8 bytes an "
        "element, where computing it again for another view takes 7500",
    ),
    "drawn": (
        drawn,
        "draw corner grey -> mul: split: the device's rasteriser runs draw corner grey by itself, between its own memory and "
        "images",
    ),
    "rays": (traced, "look -> mul: split: look traces rays in a kernel of its own, and mul cannot run in it for each ray"),
    "at hand": (at_hand, "mul -> add: split: kernel 2 has mul in memory, since it reads it as a whole as well"),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_reason_is_said_where_it_is_true(m: Any, device: Any, way: str, request: pytest.FixtureRequest) -> None:
    program, said = REASONS[way]
    if way in ("again", "reduced", "behind a reduction", "price"):
        request.getfixturevalue("apart")
    a, b = fp.Tensor.zeros(device, (4, 8)), fp.Tensor.from_numpy(device, ramp(4, 8))
    if way == "dear":
        a = a.to_numpy()  # whose arrays of fixed size are numbers
    explained = fp.fuse(lambda a, b: program(m, a, b)).explain(a, b)
    assert said in [re.sub(r" \(\S+:\d+\)", "", str(p)) for p in explained.neighbours]


@pytest.mark.usefixtures("apart")
def test_a_dear_stencil_is_stored_and_a_cheap_call_made_again(m: Any, device: Any) -> None:
    @fp.fuse
    def stencil(a: Any) -> Any:
        found = m.taps(G, a)
        return found - fp.max(found, 0)

    @fp.fuse
    def cheap(a: Any) -> Any:
        found = m.luminance(a)
        return found - fp.max(found, 0)

    a = fp.Tensor.from_numpy(device, ramp(4, 8))
    (pair,) = [p for p in stencil.explain(a).neighbours if p.first.startswith("taps") and p.second.startswith("sub")]
    assert not pair.fused
    price = re.fullmatch(r".* moves 8 bytes an element, where computing it again takes (\S+) or more", pair.why)
    assert price is not None
    assert 121 < float(price[1]) < 2000
    assert stencil.explain(a).stored[0].startswith("taps by kernel 0, 4 bytes")
    same = [p for p in cheap.explain(fp.Tensor.from_numpy(device, ramp(4, 8, 3), "float3")).neighbours if "luminance" in p.first]
    assert [p.fused for p in same] == [True, False]  # loading three floats again costs more than storing one


def test_an_array_beside_a_reduction_is_in_its_kernel(device: Any) -> None:
    """While it has the extents that the reduction leaves; what stretches these waits for the result."""
    f = fp.fuse(lambda x, old: fp.where((n := fp.sum(x, 0)) > 0, n, old + 1))
    x = np.arange(12, dtype=np.float32).reshape(3, 4) - 15
    for rows, old in ((x, ramp(4)), (x[:, 1:2], ramp(4)), (x + 12, ramp(1))):
        total = rows.sum(0)
        wanted = np.where(total > 0, total, old + 1)
        for _ in range(2):
            np.testing.assert_array_equal(f(rows, old), wanted)
        assert f.explain(rows, old).kernels == (1 if len(total) >= len(old) else 2)
    given, total = fp.Tensor.from_numpy(device, ramp(4)), x.sum(0)
    f(fp.Tensor.from_numpy(device, x), given, _result=given)
    np.testing.assert_array_equal(given.to_numpy(), np.where(total > 0, total, ramp(4) + 1))
    with pytest.raises(fp.ShapeError, match="do not broadcast"):
        f(x, ramp(3))


def test_how_a_kernel_indexes_is_about_its_own_arguments(m: Any, device: Any) -> None:
    @fp.fuse
    def f(a: Any, b: Any) -> Any:
        return m.blur(G, a * 2) + b, m.slow(a)

    wide = fp.Tensor.from_numpy(device, ramp(4, 16))
    kernels = f.explain(fp.Tensor.from_numpy(device, ramp(4, 8)), wide[:, ::2]).variants
    assert kernels[0] == "linear, since all arguments are contiguous and of one shape"
    assert "grid()" in kernels[1]

    @fp.fuse
    def scaled(a: Any, k: Any) -> Any:
        return a * k

    x, k = fp.Tensor.from_numpy(device, ramp(4, 8)), fp.Tensor.from_numpy(device, np.float32(3))
    assert scaled.explain(x, k).variants == ("linear, since all arguments are contiguous and of one shape or single values",)
    np.testing.assert_array_equal([scaled(x, k).to_numpy(), scaled(k, x).to_numpy()], [3 * ramp(4, 8)] * 2)
    assert scaled(k, k).to_numpy() == 9


def test_a_cache_miss_names_what_differs(m: Any, device: Any) -> None:
    @fp.fuse
    def f(image: Any, gain: Any) -> Any:
        return m.luminance(image) * gain

    assert f.explain(IMAGE, 2.0).cache == "no program is there yet; the first call compiles one"
    f(IMAGE, 2.0)
    there = "a program for such arguments is there"
    assert f.explain(ramp(7, 5, 3), 3.0).cache == there
    assert f.explain(gain=3.0, image=IMAGE).cache == there  # by name or by position: the program is the same
    found = f.explain(IMAGE[0], 2.0).cache
    assert found == "a new program: argument 'image' is ndarray Tensor<float>[?,3], and was ndarray Tensor<float>[?,?,3]"
    found = f.explain(fp.Tensor.from_numpy(device, IMAGE), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]).cache
    assert found.count("argument") == 2
    assert "is Tensor Tensor<float>[?,?,3], and was ndarray" in found
    assert "'gain' is list List<float>[?], and was float weak float" in found


@pytest.mark.req("V11")
def test_a_second_kernel_is_told(device: Any) -> None:
    scaled = fp.fuse(lambda a, k: a * k - 3)
    x, one = fp.Tensor.from_numpy(device, ramp(4, 8)), fp.Tensor.from_numpy(device, ramp(1, 8))
    second = "(another kernel than that of contiguous arguments of one shape, compiled on first use)"
    said = [scaled.explain(*given).variants[0] for given in ((x, x), (x, one), (x.T, x.T), (x, x[0]))]
    assert [second in text for text in said] == [False, True, True, False]  # the last one is a program with one kernel
    assert "since an axis of extent 1 is stretched" in said[1]
    assert "since an argument has strides" in said[2]
    counts: list[int] = []
    for given in ((x, x), (x, one), (one, x), (x.T, x.T)):
        before = fp.stats(device).kernels_compiled
        scaled(*given)
        counts.append(fp.stats(device).kernels_compiled - before)
    assert counts == [1, 1, 0, device.target.kind != "software"]  # GPUs read columns in another order


SIZES: dict[
    str, tuple[Any, list[tuple[tuple[int, ...], ...]], str]
] = {  # what is folded, extents, what is told of the first ones
    "product": (lambda a, b: a @ b, [((4, 5), (5, 6)), ((80, 90), (90, 70)), ((64, 1), (1, 64))], "tiles"),
    "pairs": (lambda a, b: fp.sum(abs(a[:, None] - b), 1), [((5,), (6,)), ((6,), (5,)), ((1,), (7,))], "another order"),
    "rows": (lambda a, b: fp.max(a * b, 1), [((5, 6), (6,)), ((1, 6), (6,)), ((9, 1), (2,))], "another order"),
    "one shape": (lambda a, b: fp.sum(a * b), [((5, 6), (5, 6)), ((7, 1), (7, 1)), ((5, 6), (1, 6))], "a stretched axis"),
    "one array": (lambda a, _: fp.sum(a, 0), [((5, 6), ()), ((1, 1), ()), ((4096, 3), ()), ((2, 5000), ())], ""),
    "turned": (lambda a, _: fp.sum(a.T, 0), [((5, 6), ()), ((1, 1), ()), ((4096, 3), ()), ((2, 5000), ())], ""),
}


@pytest.mark.req("V11")
@pytest.mark.parametrize("name", SIZES)
def test_what_other_sizes_of_a_fold_compile_is_told(device: Any, name: str) -> None:
    work, extents, told = SIZES[name]
    fused, compiled = fp.fuse(work), [0]
    for shapes in extents:
        given = [np.ones(shape, np.float32) for shape in shapes]
        said = fused.explain(*given).variants[0]
        assert ("compiled on first use" in said) == bool(told), said
        assert told in said or shapes is not extents[0], said
        fused(*given)
        stats = fp.stats(device)
        compiled.append(stats.kernels_compiled + stats.disk_hits)
    assert told or len({*compiled[1:]}) == 1


@pytest.mark.req("V11")
def test_extents_that_a_program_is_for_are_told() -> None:
    x, at = np.ones((2, 3), np.float32), np.zeros((2, 3), np.int32)
    one: tuple[Any, ...] = x[:, :1].copy(), at[:, :1].copy()
    cases: list[tuple[Any, str, str]] = [
        (lambda x, at: fp.sort(x, axis=1), "(2, 3) of x", "(2, 1) of x"),
        (lambda x, at: fp.median(x, axis=1), "(2, 3) of x", "(2, 1) of x"),
        (lambda x, at: fp.take_along_axis(x, at, 1), "(2, 3) of x, (2, 3) of at", "(2, 1) of x, (2, 1) of at"),
        (lambda x, at: x[at], "(2, 3) of x, (not 1, not 1) of at", "(2, 1) of x, (not 1, 1) of at"),
        (lambda x, at: x + x.shape[0], "(2, 3) of x", "(2, 1) of x"),
    ]
    for of, many, single in cases:
        fused = fp.fuse(of)
        for given, told in (((x, at), many), (one, single)):
            assert f"traced for extents {told}; other ones trace again" in fused.explain(*given).reasons, told
            fused(*given)
    assert "traced for" not in str(fp.fuse(lambda x, at: fp.cumsum(x * at, axis=1)).explain(x, at))

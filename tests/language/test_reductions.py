"""Reductions and scans on the device, held to NumPy: every kind over shapes, axes and element types, by themselves and fused."""

from __future__ import annotations

import math
import warnings
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from fusepy.backend.emit.fold.variant import FoldShape
from fusepy.backend.execute.folds import stages as fold_stages
from tests.support.examples import examples
from tests.support.selection import daily, seldom

KINDS = ("sum", "mean", "prod", "max", "min", "any", "all", "argmax", "argmin")
DTYPES = ("float32", "float64", "float16", "int32", "uint32", "int64", "int16", "uint8", "bool")
SOURCE = """
public float most(float a, float b) { return max(a, b); }
public float2 affine(float2 f, float2 g) { return float2(f.x * g.x, f.y * g.x + g.y); }
public int total(int a, int b) { return a + b; }
public float square(float x) { return x * x; }
public float3 twice(float3 x) { return 2 * x; }
public float at(int2 p, float x) { return x * ((p.x + p.y) % 5); }
"""


@pytest.fixture(scope="module")
def m() -> fp.Module:
    return fp.Module.load_from_source(fp.default_device(), "reductions", SOURCE)


def reference(kind: str, x: Any, axis: Any, keepdims: bool = False) -> Any:
    """NumPy's answer in the type that fusepy gives."""
    if kind in ("argmax", "argmin"):
        if isinstance(axis, tuple):
            rest = [d for d in range(x.ndim) if d not in axis]
            flat = np.transpose(x, [*rest, *sorted(axis)]).reshape([x.shape[d] for d in rest] + [-1])
            found = getattr(np, kind)(flat, axis=-1)
            return np.expand_dims(found, tuple(sorted(axis))) if keepdims else found
        return getattr(np, kind)(x, axis=axis, keepdims=keepdims)
    wide = x.astype(np.float64) if x.dtype.kind == "f" and kind in ("sum", "mean", "prod") else x
    if kind in ("sum", "prod") and x.dtype.kind in "iu":  # numbers wrap as on the device
        wide = x.astype(np.int64)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of nothing there is no mean
        found = getattr(np, kind)(wide, axis=axis, keepdims=keepdims)
    small = x.dtype.itemsize < 4 or x.dtype.kind == "b"
    integer = np.uint32 if x.dtype.kind == "u" else np.int32
    if kind in ("sum", "prod"):
        with np.errstate(all="ignore"):
            return np.asarray(found).astype(integer if small and x.dtype.kind in "iub" else x.dtype)
    return np.asarray(found).astype(x.dtype if x.dtype.kind == "f" else np.float32) if kind == "mean" else found


def numbers(dtype: str, shape: tuple[int, ...], seed: int, near_one: bool = False) -> Any:
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.random(shape) < 0.6
    if np.dtype(dtype).kind in "iu":
        return random.integers(0 if dtype[0] == "u" else -5, 6, shape).astype(dtype)
    return (random.random(shape) * 0.2 + 0.9 if near_one else random.normal(size=shape)).astype(dtype)


def close(found: Any, expected: Any, dtype: str) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    tolerance = {"float16": 2e-3, "float64": 1e-12}.get(dtype, 3e-6)
    np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), rtol=tolerance, atol=tolerance)


@st.composite
def cases(draw: st.DrawFn) -> tuple[fp.Tensor, Any, bool, str, str]:
    kind, dtype = draw(st.sampled_from(KINDS)), draw(st.sampled_from(DTYPES))
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 5, 8, 33, 70]), min_size=1, max_size=3)))
    if math.prod(shape) > 6000:
        shape = shape[:2]
    axes = draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, max_size=len(shape), unique=True))
    axis = draw(st.sampled_from([None, axes[0], axes[0] - len(shape), tuple(axes)]))
    x = numbers(dtype, shape, draw(st.integers(0, 99)), kind == "prod")
    layout = draw(st.sampled_from(["plain", "plain", "turned", "every other", "backwards", "stretched"]))
    tensor = view(fp.Tensor.from_numpy(fp.default_device(), x), layout)
    return tensor, axis, draw(st.booleans()), kind, dtype


def view(tensor: fp.Tensor, layout: str) -> fp.Tensor:
    """A tensor with the rank of this one whose elements lie in another way, or are one and the same."""
    if layout == "turned":
        return tensor.transpose()
    if layout == "every other":
        return tensor[::2]
    if layout == "stretched":
        return tensor[:1].broadcast_to((4, *tensor.shape[1:]))
    return tensor[..., ::-1] if layout == "backwards" else tensor


@given(cases())
@examples(40)
def test_every_kind_is_numpys(case: tuple[fp.Tensor, Any, bool, str, str]) -> None:
    tensor, axis, keepdims, kind, dtype = case
    found = getattr(fp, kind)(tensor, axis=axis, keepdims=keepdims).to_numpy()
    expected = reference(kind, tensor.to_numpy(), axis, keepdims)
    close(found, expected, dtype)
    if kind != "mean":
        assert found.dtype == (np.int32 if "arg" in kind else np.bool_ if kind in ("any", "all") else expected.dtype)


# ---- every way in which the work is shared --------------------------------------------------------------------------

GROUP, COLUMNS, THREADS = FoldShape(True, True, 8, 4, 4), FoldShape(False, False, 8, 2, 4, 4), FoldShape(False, True, 16)
WAYS = [  # how many chunks, the shape for results whose elements are neighbours, and the one for others
    *(
        (1, GROUP, COLUMNS),
        (7, GROUP, COLUMNS),
        (1, THREADS, replace(GROUP, inner=False)),
        (5, THREADS, replace(GROUP, inner=False)),
    ),
    (3, replace(GROUP, threads=64, unroll=2), FoldShape(False, False, 16)),
    (1, replace(GROUP, threads=32, shared=True), FoldShape(True, False, 32, 4, 16, shared=True)),
    (5, replace(GROUP, threads=32, shared=True), FoldShape(True, False, 32, 2, 4, shared=True)),
]


@pytest.fixture(
    params=[
        pytest.param(WAYS[0], id="groups"),
        pytest.param(WAYS[1], id="chunks of groups", marks=pytest.mark.rest),
        pytest.param(WAYS[2], id="threads", marks=pytest.mark.rest),
        pytest.param(WAYS[3], id="chunks of threads"),
        pytest.param(WAYS[4], id="large groups", marks=pytest.mark.rest),
        pytest.param(WAYS[5], id="shared groups", marks=pytest.mark.rest),
        pytest.param(WAYS[6], id="chunks of shared groups"),
    ],
)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    chunks, inner, outer = request.param

    def shape(kind: str, outputs: int, reduced: int, within: bool, **more: Any) -> Any:
        shared = inner if within else outer
        few = outputs < shared.threads * shared.columns  # then a thread has one of them
        return replace(shared, columns=1) if few else shared, chunks

    monkeypatch.setattr(fold_stages, "fold_shape", shape)
    return request.param


@pytest.mark.parametrize("shape", [(3, 700), (700, 37), pytest.param((2, 150, 3), marks=pytest.mark.rest)])
def test_sizes_choose_kernels_and_not_numbers(way: Any, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(len(shape)).random(shape, np.float32) - 0.25

    @fp.fuse
    def f(x: Any) -> Any:
        y = x * 2
        return fp.sum(y, 0), fp.argmax(y, 0), fp.max(y, -1), fp.mean(y), fp.any(y > 1.45, -1)

    sums, places, largest, mean, some = f(x)
    y = x * np.float32(2)
    np.testing.assert_allclose(sums, y.sum(0, np.float64), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(places, y.argmax(0))
    np.testing.assert_array_equal(largest, y.max(-1))
    np.testing.assert_allclose(mean, y.mean(dtype=np.float64), rtol=1e-6)
    np.testing.assert_array_equal(some, (y > 1.45).any(-1))


def test_no_element_is_lost_or_seen_twice(way: Any) -> None:
    count = fp.fuse(lambda x: (fp.sum(x, 1), fp.sum(x, 0)))
    for rows, columns in [(1, 1), (5, 31), (5, 32), (5, 33), (63, 129), (64, 128), (257, 5)]:
        along, down = count(np.ones((rows, columns), np.int32))
        assert along.tolist() == [columns] * rows
        assert down.tolist() == [rows] * columns


@pytest.mark.parametrize("type", daily(["float3", "half2", "double3", "int4", "float2x2", "bool3", "uint2"], "float3", "bool3"))
def test_vectors_are_folded_by_component(type: str) -> None:
    wanted = fp.Type.parse(type)
    assert wanted.dtype is not None
    x = numbers(str(wanted.dtype), (6, 50, *wanted.shape), 3)
    tensor = fp.Tensor.from_numpy(fp.default_device(), x, type)
    kinds = ("sum", "max", "mean", "all")
    found = fp.fuse(lambda x: [getattr(fp, kind)(x, 1) for kind in kinds])(tensor)
    for kind, result in zip(kinds, found):
        close(result.to_numpy(), reference(kind, x, 1), str(wanted.dtype))


def test_accumulators_that_fill_shared_memory() -> None:
    """A group of 256 threads would want 64 KiB of it, and devices have 16 to 48."""
    x = numbers("float64", (300, 40, 4, 4), 5)
    tensor = fp.Tensor.from_numpy(fp.default_device(), x, "double4x4")
    along, down = fp.fuse(lambda x: (fp.sum(x, 0), fp.mean(x, 1)))(tensor)
    close(along.to_numpy(), x.sum(0), "float64")
    close(down.to_numpy(), x.mean(1), "float64")


# ---- what floats are ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [None, 0])
def test_sums_are_at_least_as_accurate_as_pairwise(axis: int | None) -> None:
    x = np.random.default_rng(7).random(10_000_000, np.float32)
    x = x if axis is None else x.reshape(100_000, 100)
    exact = x.sum(axis, np.float64)
    ours = np.abs(np.asarray(fp.sum(x, axis), np.float64) - exact)
    pairwise = np.abs(
        np.ascontiguousarray(x if axis is None else x.T).sum(axis=None if axis is None else 1).astype(np.float64) - exact
    )
    assert ours.max() <= pairwise.max()
    assert ours.max() <= np.spacing(np.float32(exact.max()))


def test_sums_keep_what_rounding_would_lose() -> None:
    x = np.full(1 << 22, 1e-4, np.float32)
    x[0] = 1e6
    assert abs(float(fp.sum(x)) - x.sum(dtype=np.float64)) <= np.spacing(np.float32(1e6))
    doubles = np.full(100_000, 1e-10)
    doubles[0] = 1e6
    assert abs(float(fp.sum(doubles)) - math.fsum(doubles)) <= 8 * np.spacing(1e6)  # lost in the run of the first


@pytest.mark.parametrize("dtype", daily(["float32", "float64", "float16"], "float32"))
def test_nan_and_infinity(dtype: str) -> None:
    inf, nan = np.inf, np.nan
    rows = [[1, inf, 2], [1, -inf, 2], [inf, -inf, 1], [nan, 1, 2], [3, nan, nan], [inf, nan, 1], [-inf] * 3, [inf] * 3]
    x = np.repeat(np.array(rows, dtype), 13, axis=1)
    for axis in (1, 0, None):
        found = fp.fuse(lambda x, axis: [getattr(fp, kind)(x, axis) for kind in KINDS], static=["axis"])(x, axis)
        for kind, result in zip(KINDS, found):
            np.testing.assert_array_equal(result, reference(kind, x, axis), err_msg=kind)


def test_the_same_bits_every_time() -> None:
    x = np.random.default_rng(5).normal(size=(3000, 300)).astype(np.float32)
    f = fp.fuse(lambda x: (fp.sum(x), fp.sum(x, 0), fp.mean(x, 1), fp.prod(x * 0.01 + 1, 0)))
    first = [np.asarray(r).tobytes() for r in f(x)]
    assert all([np.asarray(r).tobytes() for r in f(x)] == first for _ in range(5))


# ---- of nothing, and of one -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 3), *(pytest.param(s, marks=pytest.mark.rest) for s in ((3, 0), (0, 0)))])
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("kind", daily(KINDS, "sum", "mean", "max", "all", "argmin"))
def test_of_nothing(kind: str, axis: int | None, shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, np.float32)
    outputs = 1 if axis is None else math.prod(n for d, n in enumerate(shape) if d != axis)
    empty = x.size == 0 if axis is None else shape[axis] == 0
    if empty and outputs and kind in ("max", "min", "argmax", "argmin"):
        with pytest.raises(fp.ShapeError, match=f"{kind}\\(\\) of no elements"):
            getattr(fp, kind)(x, axis)
    elif outputs:
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(getattr(fp, kind)(x, axis), reference(kind, x, axis))
    else:
        assert getattr(fp, kind)(x, axis).shape == tuple(n for d, n in enumerate(shape) if d != axis)


def test_containers_and_numbers() -> None:
    assert fp.sum([1, 2, 3]) == 6
    assert fp.mean([[1, 2], [3, 4]], axis=1) == [1.5, 3.5]
    assert fp.max(7.5) == 7.5
    assert fp.any(0.0) is False
    assert fp.argmax([1.0, 5.0, 5.0]) == 1
    assert isinstance(fp.sum(fp.Tensor.zeros(fp.default_device(), (3,))), fp.Tensor)
    assert fp.min(np.array([[3.0, 1.0]], np.float32), keepdims=True).tolist() == [[1.0]]
    assert fp.sum(np.float32(3.0), keepdims=True) == 3.0


# ---- with what is around them ---------------------------------------------------------------------------------------


def test_what_feeds_and_what_follows_is_one_kernel(m: fp.Module) -> None:
    @fp.fuse
    def rms(x: Any, k: Any) -> Any:
        return fp.sqrt(fp.mean(m.square(x), axis=1)) * k

    x = np.random.default_rng(3).normal(size=(40, 60)).astype(np.float32)
    np.testing.assert_allclose(rms(x, 3), np.sqrt((x.astype(np.float64) ** 2).mean(1)) * 3, rtol=1e-5)
    explained = rms.explain(x, 3)
    assert explained.kernels == 1
    assert "fold elements to results" in explained.variants[0]
    assert "fz_take" in rms.source(x, 3)


def test_a_result_for_each_element_beside_a_fold(m: fp.Module) -> None:
    @fp.fuse
    def f(x: Any) -> Any:
        y = m.twice(x)
        return y, fp.sum(y, 0), fp.max(y.x)

    x = np.random.default_rng(3).normal(size=(5, 70, 3)).astype(np.float32)
    y, sums, largest = f(x)
    np.testing.assert_array_equal(y, 2 * x)
    np.testing.assert_allclose(sums, (2 * x).sum(0), rtol=1e-5, atol=1e-5)
    assert largest == 2 * x[..., 0].max()


def test_operands_stretch_as_they_do_anywhere() -> None:
    f = fp.fuse(lambda x, y: (fp.sum(x * y, 0), fp.sum(x + y), fp.max(x - y, 1)))
    x, y = np.arange(12.0, dtype=np.float32).reshape(1, 12), np.arange(5.0, dtype=np.float32).reshape(5, 1)
    products, total, largest = f(x, y)
    np.testing.assert_array_equal(products, (x * y).sum(0))
    assert total == (x + y).sum()
    np.testing.assert_array_equal(largest, (x - y).max(1))


def test_a_slang_function_combines(m: fp.Module) -> None:
    x = np.random.default_rng(2).normal(size=(30, 41)).astype(np.float32)
    np.testing.assert_array_equal(fp.reduce(m.most, -np.inf)(x, axis=1), x.max(1))
    np.testing.assert_array_equal(fp.reduce(m.most, -np.inf, x), x.max())
    assert fp.reduce(m.total, 0)([1, 2, 3]) == 6
    assert fp.reduce(m.most, -5, np.zeros((0,), np.float32)) == -5
    np.testing.assert_array_equal(fp.fuse(lambda x: fp.reduce(m.most, -np.inf)(m.square(x), 0) + 1)(x), (x * x).max(0) + 1)


# ---- scans ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1,), (1000,), (70_000,), (3, 500), (500, 3), (4, 90, 5), (0, 3), (3, 0)])
@pytest.mark.parametrize("exclusive", [False, True])
def test_scans(shape: tuple[int, ...], exclusive: bool) -> None:
    x = np.random.default_rng(1).integers(-9, 9, shape).astype(np.int32)
    for axis in range(len(shape)):
        whole = np.cumsum(x, axis)
        largest = np.maximum.accumulate(x, axis) if x.size else x
        first = np.zeros_like(whole[(slice(None),) * axis + (slice(1),)])
        shifted = np.concatenate([first, whole], axis)[(slice(None),) * axis + (slice(-1),)]
        np.testing.assert_array_equal(fp.scan("sum", x, axis=axis, exclusive=exclusive), shifted if exclusive else whole)
        if not exclusive:
            np.testing.assert_array_equal(fp.scan("max", x, axis=axis), largest)


@pytest.fixture
def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of threads go along chunks together, as on a GPU; chunks end inside a tile, and there are three levels of them."""
    choose, shape = fold_stages.scan_shape, FoldShape(True, True, 16, 4, ordered=True, shared=True)

    def chosen(kind: str, outputs: int, reduced: int, inner: bool, *nbytes: int, **more: bool) -> tuple[FoldShape, int]:
        return (shape, max(1, -(-reduced // 75))) if inner else choose(kind, outputs, reduced, inner, *nbytes, **more)

    monkeypatch.setattr(fold_stages, "TOP", 3)
    monkeypatch.setattr(fold_stages, "scan_shape", chosen)


@pytest.mark.usefixtures("in_order")
@pytest.mark.parametrize("shape", [pytest.param((1000,), marks=pytest.mark.rest), (20_000,), (3, 500), (0, 3)])
def test_groups_scan_like_threads(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).integers(-9, 9, shape).astype(np.int32)
    every_other = fp.Tensor.from_numpy(fp.default_device(), np.repeat(x, 2, -1))[..., ::2]
    for axis in range(len(shape)):
        for some, scans in ((x, scans_along(axis)), (every_other, scans_along(axis))):
            whole, before, largest, beside, after = (r.to_numpy() if isinstance(r, fp.Tensor) else r for r in scans(some))
            np.testing.assert_array_equal(whole, np.cumsum(x, axis))
            np.testing.assert_array_equal(before, np.cumsum(x, axis) - x)
            np.testing.assert_array_equal(largest, np.maximum.accumulate(x, axis) if x.size else x)
            np.testing.assert_array_equal(beside, x + 1)
            np.testing.assert_array_equal(after, whole * 2 - x * before)
            assert scans.explain(some).kernels == 1


def scans_along(axis: int) -> Any:
    """A function of its own, whose shapes are chosen when it is called."""

    def scans(x: Any) -> Any:
        sums = fp.scan("sum", x, axis=axis)
        before = fp.scan("sum", x, axis=axis, exclusive=True)
        return sums, before, fp.scan("max", x, axis=axis), x + 1, sums * 2 - x * before

    return fp.fuse(scans)


@pytest.mark.usefixtures("in_order")
def test_groups_scan_in_order_and_in_place(m: fp.Module) -> None:
    random = np.random.default_rng(6)
    steps = np.stack([random.random(3000) * 0.4 + 0.8, random.normal(size=3000)], -1).astype(np.float32)
    expected, (a, b) = [], (1.0, 0.0)
    for scale, offset in steps.astype(np.float64):
        a, b = a * scale, b * scale + offset
        expected.append((a, b))
    tensor = fp.Tensor.from_numpy(fp.default_device(), steps, "float2")
    scan = fp.fuse(lambda x: fp.scan(m.affine, [1, 0])(x))
    np.testing.assert_allclose(scan(tensor).to_numpy(), expected, rtol=2e-3, atol=2e-3)
    scan(tensor, _result=tensor)
    np.testing.assert_allclose(tensor.to_numpy(), expected, rtol=2e-3, atol=2e-3)


@pytest.mark.usefixtures("in_order")
@pytest.mark.parametrize("name", daily(["float2x2", "double3x3", "bool3", "half2"], "float2x2"))
def test_groups_scan_what_waves_exchange(name: str) -> None:
    """Lanes read each other's accumulators, of which SPIR-V passes no matrices."""
    device = fp.default_device()
    joined = "select(a, a, b)" if name == "bool3" else "a + b"
    m = fp.Module.load_from_source(device, f"exchange_{name}", f"{name} joined({name} a, {name} b) {{ return {joined}; }}")
    x = fp.Tensor.empty(device, (3, 500), name)
    x.copy_from_numpy(np.random.default_rng(2).integers(0, 2, x.to_numpy().shape).astype(x.to_numpy().dtype))
    expected = (np.logical_or if name == "bool3" else np.add).accumulate(x.to_numpy(), 1)
    np.testing.assert_array_equal(fp.fuse(lambda x: fp.scan(m.joined, 0)(x, axis=1))(x).to_numpy(), expected)


def test_scans_of_floats_are_as_good_as_sums() -> None:
    x = np.random.default_rng(4).random(300_000, np.float32)
    found = fp.scan("sum", x).astype(np.float64)
    exact = np.cumsum(x, dtype=np.float64)
    assert np.abs(found - exact).max() <= np.spacing(np.float32(exact[-1]))


def test_a_slang_function_scans_in_order(m: fp.Module) -> None:
    """Composing affine functions is associative, and its order matters."""
    random = np.random.default_rng(6)
    steps = np.stack([random.random(5000) * 0.4 + 0.8, random.normal(size=5000)], -1).astype(np.float32)
    tensor = fp.Tensor.from_numpy(fp.default_device(), steps, "float2")
    found = fp.scan(m.affine, [1, 0])(tensor).to_numpy()
    expected, (a, b) = [], (1.0, 0.0)
    for scale, offset in steps.astype(np.float64):
        a, b = a * scale, b * scale + offset
        expected.append((a, b))
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)


def test_what_follows_a_scan_is_computed_with_it() -> None:
    x = np.random.default_rng(9).random((7, 90), np.float32)
    f = fp.fuse(lambda x: fp.sum(fp.cumsum(x, 1) * 2 - x, 1))
    np.testing.assert_allclose(f(x), (np.cumsum(x, 1) * 2 - x).sum(1), rtol=1e-5)
    said = str(f.explain(x))
    assert said.startswith("<lambda>: 2 kernels")
    assert "fused: kernel 0 goes on with each element that it has scanned" in said
    stretched = fp.fuse(lambda x, k: fp.cumsum(x, 1) * k)  # the scan runs once, on its own grid
    np.testing.assert_allclose(stretched(x[:1], x), np.cumsum(x[:1], 1) * x, rtol=1e-5)
    assert stretched.explain(x, x).kernels == 1
    assert stretched.explain(x[:1], x).kernels == 2


def test_a_scan_of_what_is_computed_and_what_is_stored_beside_it(m: fp.Module) -> None:
    @fp.fuse
    def f(x: Any) -> Any:
        y = m.square(x)
        return y, fp.scan("sum", y, axis=1, exclusive=True) * 2

    x = np.random.default_rng(9).normal(size=(20, 333)).astype(np.float32)
    squares, sums = f(x)
    np.testing.assert_array_equal(squares, x * x)
    expected = np.cumsum(np.c_[np.zeros(20), (x * x)[:, :-1]], axis=1) * 2
    np.testing.assert_allclose(sums, expected, rtol=1e-5, atol=1e-6)


def test_what_follows_a_reduction_is_kept_where_results_share_no_grid() -> None:
    """The sum of (4, 1) and a result of (4, 5) are one kernel until the extents are known."""
    x, b = np.arange(4, dtype=np.float32).reshape(4, 1), np.arange(5, dtype=np.float32)

    def look(x: Any, b: Any) -> Any:
        y = fp.abs(x)
        total = -fp.sum(y)
        return y, total, total * 2, y + b

    y, total, double, table = fp.fuse(look)(x, b)
    np.testing.assert_array_equal(y, x)
    assert (float(total), float(double)) == (-6.0, -12.0)
    np.testing.assert_array_equal(table, x + b)


def test_an_axis_that_was_kept_is_no_axis_of_its_source() -> None:
    def look(x: Any) -> Any:
        kept = fp.sum(x, -1, keepdims=True)
        return kept + x, fp.sum(kept, -1, keepdims=True), fp.max(x, -1)

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    kept = x.sum(-1, keepdims=True)
    for found, want in zip(fp.fuse(look)(x), (kept + x, kept, x.max(-1))):
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("container", daily(["numpy", "tensor", "lazy", "given"], "numpy", "lazy"))
def test_reductions_of_several_grids_are_combined(device: Any, container: str) -> None:
    """`x` and ``x + b`` share a grid or not, as the shapes say: one kernel where they do, and several where they do not."""
    rng = np.random.default_rng(4)
    column, image, row = (rng.random(shape, np.float32) for shape in ((4, 1), (4, 6), (6,)))

    def both(x: Any, b: Any) -> Any:
        return fp.sum(x) + fp.sum(x + b)

    def rows(x: Any, b: Any) -> Any:
        return fp.exp(x) + fp.sum(fp.sum(x, axis=1) / fp.max(x + b, axis=1)), fp.sum(x, axis=1) * fp.sum(x + b, axis=1)

    def wanted(x: Any, b: Any) -> list[Any]:
        return [np.exp(x) + (x.sum(1) / (x + b).max(1)).sum(), x.sum(1) * (x + b).sum(1)]

    total, several = fp.fuse(both), fp.fuse(rows)
    assert [total.explain(x, row).kernels for x in (column, image)] == [3, 1]
    for x in (column, image, column, image[:1], column[:1]):
        given = [x, row] if container == "numpy" else [fp.Tensor.from_numpy(device, v) for v in (x, row)]
        if container == "lazy":
            with fp.lazy():
                found = [total(*given), *several(*given)]
        elif container == "given":
            outs = [fp.Tensor.empty(device, w.shape, "float") for w in wanted(x, row)]
            found = [total(*given), *several(*given, _result=outs)]
        else:
            found = [total(*given), *several(*given)]
        for result, expected in zip(found, [x.sum() + (x + row).sum(), *wanted(x, row)], strict=True):
            np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-5)


WORK = {  # what is computed, its meaning, the rank of its argument, and its kernels on a CPU
    "all": (lambda x: fp.sum(x * 4.5), lambda x: 4.5 * x.sum(), 2, 1),
    "rows": (lambda x: fp.sum(x * 4.5, 1), lambda x: 4.5 * x.sum(1), 2, 1),
    "columns": (lambda x: fp.sum(x * 4.5, 0), lambda x: 4.5 * x.sum(0), 2, 2),
    "middle": (lambda x: fp.sum(x * 4.5, 1), lambda x: 4.5 * x.sum(1), 3, 1),
    "outer axes": (lambda x: fp.any(x > 2, (0, 2)), lambda x: (x > 2).any((0, 2)), 3, 1),
    "several": (lambda x: (fp.argmax(x, 1), fp.max(-x, 1)), lambda x: (x.argmax(1), (-x).max(1)), 2, 1),
    "by place": (
        lambda m: lambda x: fp.sum(m.at(fp.call_id(), x), 1),
        lambda x: (x * (sum(np.indices(x.shape)) % 5)).sum(1),
        2,
        2,
    ),
    "scan": (lambda x: fp.cumsum(x * 4.5, 1), lambda x: (4.5 * x).cumsum(1), 2, 1),
    "scan of columns": (lambda x: fp.cumsum(x * 4.5, 0), lambda x: (4.5 * x).cumsum(0), 2, 1),
}


OTHER_SIZES = (
    "softmax and its like (columns, rows on GPUs, one long row on CPUs), sorted rows (short, long), products of matrices, "
    "folds of several arrays, "
    "stretched extents of 1"
)


@pytest.mark.req("V11", partly=f"these choose among a few kernels, compiled on first use: {OTHER_SIZES}")
@pytest.mark.parametrize("name", seldom(WORK, "rows", "middle", "several", "scan of columns"))
def test_no_size_compiles_anything_after_the_first_call(m: fp.Module, name: str) -> None:
    """Any extents, 1 among them, in any order; `explain` says how many kernels there are."""
    work, meaning, rank, kernels = WORK[name]
    work = work(m) if name == "by place" else work
    call, rng, device = fp.fuse(work), np.random.default_rng(zlib.crc32(name.encode())), fp.default_device()
    data = rng.integers(-3, 4, 1 << 18).astype(np.float32)
    compiled = None
    for _ in range(25):
        shape = [int(2 ** rng.uniform(0, 18 / rank)) for _ in range(rank)]
        axis = rng.integers(rank)
        shape[axis] = int(rng.choice([1, 3, 31, data.size // np.prod(np.delete(shape, axis))]))
        x = data[: np.prod(shape)].reshape(shape)
        found, expected = call(x), meaning(x)
        for one, other in zip(found, expected) if isinstance(found, tuple) else [(found, expected)]:
            np.testing.assert_array_equal(np.asarray(one), other, str(shape))
        compiled = compiled or counted(device)
        assert counted(device) == compiled, shape
    text = str(call.explain(np.ones((2,) * rank, np.float32)))
    if device.target.kind == "software":
        assert ("one kernel for all sizes" if kernels == 1 else f"for all sizes there are {kernels} kernels") in text


def softmax(n: Any, x: Any) -> Any:
    e = n.exp(x - n.max(x, axis=-1, keepdims=True))
    return e / n.sum(e, axis=-1, keepdims=True)


def layer_norm(n: Any, x: Any) -> Any:
    d = x - n.mean(x, axis=-1, keepdims=True)
    return d / n.sqrt(n.mean(d * d, axis=-1, keepdims=True) + 1)


def log_of_sums(n: Any, x: Any) -> Any:
    most = n.max(x, axis=-1, keepdims=True)
    return n.log(n.sum(n.exp(x - most), axis=-1, keepdims=True)) + most


def largest_place(n: Any, x: Any) -> Any:
    return n.argmax(x, axis=-1, keepdims=True) - x * n.std(x, axis=-1, keepdims=True)


@pytest.mark.req("V11")
@pytest.mark.parametrize("work", daily([softmax, layer_norm, log_of_sums, largest_place], "layer_norm", "largest_place"))
def test_rows_on_a_cpu_have_one_kernel_for_all_lengths(work: Any) -> None:
    """Lanes that go along rows of their own, in turns or not, and lanes that share a row; rows of several threads' lengths."""
    device, rng = fp.default_device(), np.random.default_rng(3)
    if device.target.kind != "software":
        pytest.skip("a GPU holds rows in registers, and has a kernel for each number of them")
    call = fp.fuse(lambda x: work(fp, x))
    compiled = None
    some = [(3, 5, 7), (1, 1, 1), (2, 1000, 3), (1, 2000, 33), (1, 1, 300), (17, 1, 1025), (2, 100, 1), (1, 3, 9000), (0, 3, 2)]
    for shape in some:
        x = (rng.integers(-64, 65, shape) / 16).astype(np.float32)
        found = np.asarray(call(x))
        np.testing.assert_allclose(found, work(np, x.astype(np.float64)), 1e-5, 1e-5)
        compiled = compiled or counted(device)
        assert counted(device) == compiled, shape
    said = str(call.explain(np.ones((4, 50, 3), np.float32)))
    assert "one kernel for rows of all lengths" in said
    assert "rows by single threads" in said
    assert "rows by waves" in str(call.explain(np.ones((1, 2, 5000), np.float32)))


def counted(device: Any) -> int:
    """Kernels that were compiled, or read from the disk."""
    stats = fp.stats(device)
    return stats.kernels_compiled + stats.disk_hits

"""Sorted rows, the largest elements, and histograms: NumPy's meaning in every way, gradients, and what is refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from fusepy.backend.emit.fold.sorting.tuning import COUNTS, digit_chunks, digit_shape, merge_shape, sort_shape
from fusepy.backend.emit.variant import Variant
from fusepy.backend.execute.folds import sorts
from fusepy.backend.execute.folds.stages import Work
from tests.support.examples import examples
from tests.support.selection import daily, seldom
from tests.support.slang_functions import F32, ramp
from tests.support.ways import same, same_in_every_way

RNG = np.random.default_rng(5)
ROUGH = RNG.standard_normal((3, 17)).astype(np.float32)
ROUGH[1, 2], ROUGH[2, 4] = ROUGH[1, 9], ROUGH[2, 0]
WHOLE = RNG.integers(-3, 3, (4, 9)).astype(np.int32)
MANY = RNG.standard_normal(300).astype(np.float32)
Make = Callable[[Any], Any]
CASES: dict[str, tuple[Make, Any, Any]] = {
    "sorted rows": (lambda x: fp.sort(x), ROUGH, np.sort(ROUGH)),
    "sorted columns of a computed array": (lambda x: fp.sort(fp.multiply(x, 2), axis=0), ROUGH, np.sort(2 * ROUGH, axis=0)),
    "sorted flat": (lambda x: fp.sort(x, axis=None), WHOLE, np.sort(WHOLE, axis=None)),
    "places, of equal ones in order": (lambda x: fp.argsort(x, axis=0), WHOLE, np.argsort(WHOLE, axis=0, kind="stable")),
    "the largest": (
        lambda x: fp.topk(x, 3),
        WHOLE,
        (-np.sort(-WHOLE)[:, :3], np.argsort(-WHOLE, kind="stable")[:, :3]),
    ),
    "the smallest of columns": (
        lambda x: fp.topk(x, 2, axis=0, largest=False),
        ROUGH,
        (np.sort(ROUGH, axis=0)[:2], np.argsort(ROUGH, axis=0)[:2]),
    ),
    "a histogram": (lambda x: fp.histogram(x), MANY, np.histogram(MANY)),
    "a histogram in a range": (lambda x: fp.histogram(x, 5, (-1, 1)), MANY, np.histogram(MANY, 5, (-1, 1))),
    "bins of other widths": (lambda x: fp.histogram(x, F32([-2, 0, 0.5, 3])), MANY, np.histogram(MANY, [-2, 0, 0.5, 3])),
    "a density of integers": (
        lambda x: fp.histogram(x, 3, density=True),
        WHOLE,
        tuple(map(F32, np.histogram(WHOLE, 3, density=True))),
    ),
    "a histogram of one number": (lambda x: fp.histogram(fp.full_like(x, 2.0), 3), MANY, np.histogram(MANY * 0 + 2, 3)),
}


FUSED = ["a histogram in a range", "bins of other widths", "a density of integers", "a histogram of one number"]


@pytest.mark.parametrize("name", FUSED)
def test_numpys_meaning_fused(device: Any, name: str) -> None:
    make, array, want = CASES[name]
    same(fp.fuse(lambda x: make(x))(array), want)


@pytest.mark.parametrize("name", seldom(CASES, *FUSED, "sorted flat", "the smallest of columns"))
def test_numpys_meaning_in_every_way(device: Any, name: str) -> None:
    make, array, want = CASES[name]
    same_in_every_way(device, make, [array], want)


def test_infinities_and_nan() -> None:
    rough = ROUGH.copy()
    rough[0, 3:5], rough[1, 0], rough[2, 0] = np.nan, np.inf, -np.inf
    assert np.array_equal(fp.sort(rough), np.sort(rough), equal_nan=True)
    assert fp.argsort(rough).tolist() == np.argsort(rough, kind="stable").tolist()
    assert fp.topk(rough, 3)[1][0].tolist()[:2] == [3, 4]
    assert np.sort(fp.Tensor(ROUGH)).to_numpy().tolist() == np.sort(ROUGH).tolist()
    assert fp.Tensor(ROUGH).argsort(axis=0).to_numpy().tolist() == np.argsort(ROUGH, axis=0).tolist()
    assert fp.sort(ROUGH[:, :0]).shape == (3, 0)
    assert fp.sort(np.zeros((0, 9000), np.uint8)).shape == (0, 9000)


@pytest.mark.parametrize("dtype", daily(["float16", "float64", "uint8", "int64", "bool"], "float16", "bool"))
def test_types(dtype: str) -> None:
    array = (WHOLE % 5).astype(dtype)
    found = np.asarray(fp.sort(array))
    assert found.dtype == dtype
    assert found.tolist() == np.sort(array).tolist()


def keys(dtype: Any, shape: tuple[int, ...]) -> Any:
    """Numbers with many equal ones; floats have NaN, infinities and both zeros, integers their extremes."""
    drawn = RNG.integers(-40, 40, shape)
    if np.issubdtype(dtype, np.floating):
        special = np.asarray([np.nan, -np.inf, np.inf, -0.0, 0.0])
        return np.where(RNG.random(shape) < 0.2, special[drawn % 5], drawn).astype(dtype)
    array = drawn.astype(dtype)
    if dtype != np.bool_:
        array.flat[:2] = np.iinfo(dtype).max, np.iinfo(dtype).min
    return array


@pytest.fixture
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shapes of the device's own kernels, or those of a GPU; they merge, or sort by digits whatever the length is."""
    where, way = request.param.split()
    monkeypatch.setattr(sorts, "has_digits", lambda *sizes: way == "digits")
    if where == "gpu":
        monkeypatch.setattr(sorts, "sort_shape", lambda kind, inner: sort_shape("gpu", inner))
        monkeypatch.setattr(sorts, "merge_shape", lambda kind, *sizes: merge_shape("gpu", *sizes))
        monkeypatch.setattr(sorts, "digit_chunks", lambda kind, *sizes: digit_chunks("gpu", *sizes))
        small = {"threads": 64, "unroll": 3}  # lavapipe compiles all 72 barriers of the whole tile for 19 s
        monkeypatch.setattr(sorts, "digit_shape", lambda kind, *sizes: replace(digit_shape("gpu", *sizes), **small))


LENGTHS = [
    ("own merges", "f4"),
    pytest.param("own merges", "i8", marks=pytest.mark.rest),
    pytest.param("gpu merges", "f8", marks=pytest.mark.rest),
    ("gpu merges", "u1"),
    ("own digits", "f4"),
    pytest.param("own digits", "i8", marks=pytest.mark.rest),
    pytest.param("gpu digits", "f8", marks=pytest.mark.rest),
    pytest.param("gpu digits", "i2", marks=pytest.mark.rest),
]


@pytest.mark.usefixtures("device", "kind")
@pytest.mark.parametrize(("kind", "dtype"), LENGTHS, indirect=["kind"])
def test_rows_of_any_length_are_stable(dtype: str) -> None:
    """Shorter than a block of 32 or 1,024 elements, one beyond it, and several that are merged; along any axis.

    Of digits one tile of 192, several, and several chunks.
    """
    for shape, axis in [((3, 33), 1), ((1025, 2), 0), ((2, 2060, 2), 1)]:
        x = keys(np.dtype(dtype), shape)
        check_order(x, axis, descending=axis == 1 and dtype in ("f4", "f8", "i2"))


def check_order(x: Any, axis: int, descending: bool) -> None:
    """Compares the order of elements with NumPy's, by functions of their own: a program keeps its stages for known sizes."""
    order = np.asarray(fp.fuse(lambda x: fp.argsort(x, axis))(x))
    assert np.array_equal(order, np.argsort(x, axis, kind="stable")), (x.shape, axis)
    if descending:
        back = np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
        found = np.asarray(fp.fuse(lambda x: fp.topk(x, x.shape[axis], axis)[1])(x))
        assert np.array_equal(found, back), (x.shape, axis)


LAWS = [
    ("own digits", "i2"),
    pytest.param("own digits", "? u1 i1 u2 f2 i4 u4 f4 u8 i8 f8", marks=pytest.mark.rest),
    ("gpu digits", "u2"),
    pytest.param("gpu digits", "? i1 f2 i4 f4 i8 f8", marks=pytest.mark.rest),
]
BORDERS = [1, 2, 8, 31, 191, 192, 193, 384, 577, 1023, 1024, 1025, 2047, 2048, 2049, 8191, 8192, 8193]


@pytest.mark.usefixtures("device", "kind")
@pytest.mark.parametrize(("kind", "dtypes"), LAWS, indirect=["kind"])
def test_digits_give_numpys_order(dtypes: str) -> None:
    """Of few values, any bits, numbers in order, and what `keys` has; along both axes, near the ends of tiles and chunks."""
    orders = [fp.fuse(lambda x, axis=axis: fp.argsort(x, axis)) for axis in (0, 1)]
    largest = fp.fuse(lambda x: fp.topk(x, x.shape[1])[1])
    first = len(dtypes.split()) > 1  # each order, layout and type has kernels of its own

    @examples(160, 16)
    @given(
        st.sampled_from(dtypes.split()),
        st.sampled_from(BORDERS) | st.integers(1, 3000),
        st.integers(1, 3),
        st.sampled_from(["few", "bits", "ordered", "keys"]),
        st.integers(0, 1 if first else 0),
    )
    def law(dtype: str, length: int, rows: int, what: str, axis: int) -> None:
        rng, kind = np.random.default_rng(length), np.dtype(dtype)
        x = keys(kind, (rows, max(length, 2)))
        if what == "bits" and dtype != "?":
            x = np.frombuffer(rng.bytes(x.nbytes), kind).reshape(x.shape)
        elif what in ("few", "ordered"):
            x = (rng.integers(0, 2, x.shape) if what == "few" else np.arange(x.size).reshape(x.shape) % 120).astype(kind)
        want = np.argsort(x, 1, kind="stable")
        if axis:
            assert np.array_equal(np.asarray(orders[1](x)), want)
            back = np.flip(x.shape[1] - 1 - np.argsort(np.flip(x, 1), 1, kind="stable"), 1)
            assert np.array_equal(np.asarray(largest(x)), back)
        else:
            assert np.array_equal(np.asarray(orders[0](np.ascontiguousarray(x.T))), want.T)

    law()


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize(("dtype", "digits"), [("u1", 1), ("f4", 4), ("f8", 8)])
def test_long_rows_are_sorted_by_digits_and_short_ones_merged(dtype: str, digits: int) -> None:
    """By length and type; `explain` says so, and what other lengths ask for."""
    argsort = fp.fuse(lambda x: fp.argsort(x))
    for length, long in ((40, False), (1 << 23, True)):
        text = str(argsort.explain(np.zeros(length, dtype)))
        assert text.count("sort by digits") == (3 if digits == 1 else 5) * long  # each kernel once, with its launches
        assert text.count(f"({digits} launches)") == (long and digits > 1)
        said = "shorter rows are merged" if long else "longer rows are sorted by digits"
        assert f"{said}, by kernels compiled on first use" in text


@pytest.mark.parametrize("kind", ["software", "cuda", "vulkan"])
@pytest.mark.parametrize("digits", [1, 2, 4, 8])
def test_memory_of_counts_is_no_more_than_that_of_elements(kind: str, digits: int) -> None:
    """Or than a limit: a million rows just long enough for digits had nine times as many counts as elements."""
    for outputs, reduced in itertools.product((1, 3, 64, 500, 70_000, 10**6), [*BORDERS, 65, 129, 257, 511, 512, 4097, 70_000]):
        work = Work(outputs, reduced, True, 1, 12 if digits == 8 else 8, staged=digits)
        pairs = outputs * reduced
        for stage in sorts.sort_stages(kind, work, Variant(True, 2, False)):
            assert stage.partials - pairs <= max(pairs, COUNTS), (outputs, reduced)


@pytest.mark.req("V11")
def test_each_way_to_sort_has_kernels_for_all_its_sizes(device: Any) -> None:
    """On a device of its own, which gives up no kernel in between."""
    other, argsort = fp.init_device(device.sgl.info.type.name), fp.fuse(lambda x: fp.argsort(x * 77 + 5))
    compiled = list[int]()
    for length in (40, 50, 40000, 1, 50000):
        x = (np.arange(length) % 250).astype("u1")
        found = argsort(fp.Tensor.from_numpy(other, x)).to_numpy()
        assert np.array_equal(found, np.argsort(x * 77 + 5, kind="stable"))
        compiled.append(fp.stats(other).kernels_compiled + fp.stats(other).disk_hits)
    merged, more, long, *others = compiled
    assert merged == more < long == others[0] == others[1]
    other.close()


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize("kind", ["own merges", "gpu merges", "own digits", "gpu digits"], indirect=True)
def test_what_is_computed_before_and_behind_a_sort_is_in_its_kernel(device: Any) -> None:
    """Rows of one block and of several, results beside it, and memory of the caller."""
    f = fp.fuse(lambda x, y: (fp.argsort(x * y, 1) * 10 + 1, x * y))
    for length in (20, 1500):
        x, y = RNG.standard_normal((3, length)).astype(np.float32), RNG.standard_normal((3, 1)).astype(np.float32)
        given = fp.Tensor.empty(device, (3, length), "int")
        order, product = f(x, y, _result=(given, None))
        assert order is given
        assert np.array_equal(order.to_numpy(), np.argsort(x * y, 1, kind="stable") * 10 + 1)
        np.testing.assert_array_equal(product, x * y)
        assert f.explain(x, y).kernels == 1
        whole = RNG.integers(0, 9, (4, length)).astype(np.int32)
        into = fp.Tensor.from_numpy(device, whole)
        fp.fuse(lambda x: fp.argsort(x))(into, _result=into)
        assert np.array_equal(into.to_numpy(), np.argsort(whole, kind="stable"))


@pytest.mark.long
def test_gradients_and_kernels() -> None:
    weights = ramp(17, start=1)
    apart = np.round(ROUGH * 8) / 4 + ramp(3, 17) / 16
    fp.check_grads(lambda x: fp.sum(fp.sort(x) * weights) + fp.sum(fp.topk(x, 2)[0] ** 2), apart)
    fp.check_grads(lambda w: fp.sum(fp.histogram(MANY, 6, weights=w)[0] ** 2), 1 + MANY * 0)
    found, edges = fp.fuse(lambda x, w: fp.histogram(x, 6, (-2, 2), w))(MANY, MANY * MANY)
    np.testing.assert_allclose(np.asarray(found), np.histogram(MANY, 6, (-2, 2), weights=MANY * MANY)[0], rtol=1e-4)
    np.testing.assert_allclose(np.asarray(edges), np.linspace(-2, 2, 7), rtol=1e-6, atol=1e-7)
    median = fp.fuse(lambda x: fp.exp(fp.sort(fp.log(x * x + 1))[:, 8]))
    np.testing.assert_allclose(np.asarray(median(ROUGH)), np.median(ROUGH**2 + 1, axis=1), rtol=1e-5)
    assert median.explain(ROUGH).kernels == 2  # the sort with what is sorted, and what follows


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("word", [lambda a: fp.sort(a, 1), lambda a: fp.topk(a, 2, 1)])
def test_an_array_under_vmap_is_refused(word: Make) -> None:
    with pytest.raises(fp.TraceError, match="a value under vmap cannot be sliced"):
        fp.fuse(word)(fp.vmap(ROUGH, (1, 0)))

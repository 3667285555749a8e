"""The choice between one kernel that goes along rows and one for each reduction, by the sizes of a call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.emit.row.variant import RowShape
from fusepy.backend.execute.rows import plan
from fusepy.errors import ShapeError
from tests.support.selection import daily
from tests.support.slang_functions import ramp


@fp.fuse
def centred(x: Any) -> Any:
    return x - fp.mean(x, -1, True)


@fp.fuse
def beside(x: Any, y: Any) -> Any:
    return y - fp.mean(x, -1, True)


def refusal(f: Any, *args: Any) -> str:
    explained = f.explain(*args)
    (said,) = [r for r in explained.reasons if "not one that goes along rows" in r] or [""]
    return said.partition("rows: ")[2]


@pytest.mark.parametrize("shape", [(4, 6), (6,), (2, 3, 4), (1, 5), (5, 1)])
def test_rows_of_any_rank(device: Any, shape: tuple[int, ...]) -> None:
    x = ramp(*shape)
    np.testing.assert_allclose(centred(x), x - x.mean(-1, keepdims=True), rtol=1e-6, atol=1e-6)
    assert centred.explain(x).kernels == 1


@pytest.mark.parametrize("other", [(4, 6), (1, 6), (4, 1), (6,), (1,), (3, 4, 6)])
def test_what_is_smaller_than_what_uses_it_is_reduced_by_itself(device: Any, other: tuple[int, ...]) -> None:
    y = ramp(4, 6)
    x = ramp(*other)
    np.testing.assert_allclose(beside(x, y), y - x.mean(-1, keepdims=True), rtol=1e-6, atol=1e-6)
    fits = other == (4, 6)
    assert ("smaller than what uses it or stands beside it" in refusal(beside, x, y)) == (not fits and len(other) == 2)


def test_errors_are_those_of_the_parts(device: Any) -> None:
    with pytest.raises(ShapeError, match="do not broadcast"):
        beside(ramp(4, 6), ramp(3, 6))
    assert centred(np.zeros((0, 4), np.float32)).shape == (0, 4)
    assert "no elements" in refusal(centred, np.zeros((3, 0), np.float32))


def test_few_long_rows_are_shared_out(device: Any) -> None:
    x = fp.Tensor.empty(device, (1, 1 << 24), "float")
    assert refusal(centred, x).startswith("1 rows of 16,777,216 elements cost")
    assert refusal(centred, fp.Tensor.empty(device, (8192, 512), "float")) == ""


def test_one_group_of_two_is_refused(device: Any) -> None:
    @fp.fuse
    def both(x: Any, y: Any) -> Any:
        a = x - fp.mean(x, -1, True)
        b = y / fp.sum(fp.sum(a) * y, -1, True)
        return a, b

    x, y = ramp(4, 6), ramp(1, 1 << 20)
    a, b = both(x, y)
    wanted = x - x.mean(-1, keepdims=True)
    np.testing.assert_allclose(a, wanted, atol=1e-6)
    assert b.shape == y.shape


def test_rows_of_a_list_are_weak_as_its_numbers() -> None:
    scaled = fp.fuse(lambda x: (x - fp.min(x, -1, True)) * 0.5 / fp.max(x, -1, True))
    x = ramp(3, 5, start=1)
    np.testing.assert_allclose(np.asarray(scaled(x.tolist())), (x - x.min(-1, keepdims=True)) * 0.5 / x.max(-1, keepdims=True))
    assert scaled.explain(x.tolist()).kernels == 1


def test_the_largest_array_says_how_a_fold_lies(device: Any) -> None:
    """The rows of a matrix are neighbours, whatever the vector does that multiplies them: a GPU took six times as long."""
    a, v = fp.Tensor.from_numpy(device, ramp(40, 50)), fp.Tensor.from_numpy(device, ramp(40))
    for product, way in [(lambda v, a: v @ a, "outer"), (lambda v, a: a.T @ v, "outer"), (lambda v, a: a @ a[0], "inner")]:
        f = fp.fuse(product)
        assert f", {way}" in f.explain(v, a).variants[0]
        np.testing.assert_allclose(f(v, a).to_numpy(), product(v.to_numpy(), a.to_numpy()), rtol=1e-5)


def test_rows_of_a_gpu_know_neighbours(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elements of views with steps, and of results that are such views, are found where they are."""
    monkeypatch.setattr(plan, "row_shape", lambda kind, lanes, work: (RowShape(32, 8, 8, lanes=4), 4))
    x = ramp(6, 27)
    scaled = fp.fuse(lambda x: x / fp.sum(x * x, -1, True))
    want = x / (x * x).sum(-1, keepdims=True)
    both = np.repeat(x, 2, axis=1)
    kinds = [x, both[:, ::2], fp.Tensor.from_numpy(device, both)[:, ::2], fp.Tensor.from_numpy(device, x.T.copy()).T]
    assert [" d1 * " in scaled.source(a) for a in kinds] == [False, False, True, True]
    for a in kinds:
        np.testing.assert_allclose(np.asarray(scaled(a)), want, rtol=1e-5)
    for out in (fp.Tensor.empty(device, (6, 54), "float")[:, ::2], fp.Tensor.empty(device, (27, 6), "float").T):
        scaled(x, _result=out)
        np.testing.assert_allclose(out.to_numpy(), want, rtol=1e-5)


@pytest.mark.parametrize("columns", daily([1, 6], 1))
def test_what_is_reduced_goes_along_a_row_of_its_own_extent(columns: int) -> None:
    """A sum of sums, or a result, along a last axis of extent 1 has one element, whatever the row had that was reduced first."""

    @fp.fuse
    def both(x: Any, c: Any) -> Any:
        scaled = fp.sum(x, -1, True) * c
        return fp.sum(scaled, -1, True) * x, scaled

    x, c = ramp(4, 6), ramp(4, columns, start=1)
    scaled = x.sum(-1, keepdims=True) * c
    for got, want in zip(both(x, c), (scaled.sum(-1, keepdims=True) * x, scaled)):
        assert np.asarray(got).shape == want.shape
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5)
    fp.check_grads(lambda x, w, c: fp.sum(x * w * c), x, ramp(6), c)


@pytest.mark.parametrize(
    ("shape", "axis", "said"),
    [((30, 40), 0, "40 columns of 30"), ((30, 1), 0, "1 rows of 30"), ((2, 30, 4), 1, "8 columns of 30")],
)
def test_rows_that_lie_side_by_side_are_columns(device: Any, shape: tuple[int, ...], axis: int, said: str) -> None:
    f = fp.fuse(lambda x: x - fp.mean(x, axis, True))
    assert f"since {said} elements cost" in f.explain(ramp(*shape)).variants[0]


def test_what_is_the_same_along_the_row_is_not_summed_along_it(device: Any) -> None:
    """A kept axis has extent 1: its sum is the value, not the value times the length of the row."""

    @fp.fuse
    def look(x: Any, y: Any) -> Any:
        return fp.sum(y, -1, True) * (x - fp.sum(x, -1, True))

    x, y = ramp(4, 6), ramp(4, 1)
    np.testing.assert_allclose(look(x, y), y * (x - x.sum(-1, keepdims=True)), rtol=1e-6)
    assert "smaller than what uses it" in refusal(look, x, y)


@pytest.mark.parametrize(("count", "said"), [(1, "8 elements a thread in registers"), (3, "columns read once for each stage")])
def test_several_powers_are_not_spelled_out_for_each_element_of_a_column(device: Any, count: int, said: str) -> None:
    """A CPU's driver takes 4 s for each power that is spelled out 32 times."""

    def powers(x: Any) -> Any:
        y = x - fp.mean(x, 0, True)
        for _ in range(count):
            y = y**x
        return y

    if device.target.kind != "software":
        pytest.skip("a GPU's driver compiles them soon")
    assert said in str(fp.fuse(powers).explain(ramp(8, 40)))

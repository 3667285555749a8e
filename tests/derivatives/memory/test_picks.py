"""Gradients of one element of each row: no scatter, one kernel with what follows, and what an index outside means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

RNG = np.random.default_rng(3)
X = RNG.standard_normal((6, 9)).astype(np.float32)
AT = np.int32([0, 8, -1, 3, 40, -40])  # two beyond the ends, which take the last element and the first
PLACES = [0, 8, 8, 3, 8, 0]
Take = Callable[[Any, Any], Any]
WAYS: dict[str, Take] = {
    "take_along_axis": lambda x, i: fp.take_along_axis(x, i[:, None], 1)[:, 0],
    "of columns": lambda x, i: fp.take_along_axis(x.T, i[None], 0)[0],
    "an index for each axis": lambda x, i: x[fp.arange(6), i],
    "computed rows": lambda x, i: (x * 1.0)[fp.arange(6), i],
}

SEVERAL: dict[str, Take] = {
    "take": lambda x, i: fp.take(x, i, 1),
    "take_along_axis": lambda x, i: fp.take_along_axis(x, i, 1),
    "indices of both axes": lambda x, i: x[i, i],
}


def losses(take: Take) -> Take:
    """The cross entropy of labels."""
    return lambda x, i: fp.mean(fp.log(fp.sum(fp.exp(x), 1)) - take(x, i))


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("name", daily(WAYS, "take_along_axis", "computed rows"))
def test_the_gradient_stands_where_the_element_was_taken(name: str) -> None:
    weights = RNG.standard_normal(6).astype(np.float32)
    gradient = fp.fuse(fp.grad(lambda x, i, w: fp.sum(WAYS[name](x, i) * w)))
    want = np.zeros_like(X)
    want[np.arange(6), PLACES] = weights
    assert np.array_equal(np.asarray(gradient(X, AT, weights)), want)
    assert "vjp" not in str(gradient.ir(X, AT, weights)), "elements are chosen, and not added to by threads"


@pytest.mark.parametrize(
    "take", [WAYS["take_along_axis"], pytest.param(lambda x, i: x[fp.arange(128), i], marks=pytest.mark.rest)]
)
def test_the_cross_entropy_of_labels_has_one_kernel(device: Any, take: Take) -> None:
    gradient = fp.fuse(fp.grad(losses(take)))
    x, at = fp.Tensor.from_numpy(device, RNG.standard_normal((128, 900)).astype(np.float32)), np.arange(128, dtype=np.int32) * 7
    want = np.exp(x.to_numpy().astype(np.float64))
    want /= want.sum(1, keepdims=True)
    want[np.arange(128), at] -= 1
    np.testing.assert_allclose(gradient(x, at).to_numpy(), want / 128, atol=1e-7)
    assert gradient.explain(x, at).kernels == 1


@pytest.mark.usefixtures("device")
def test_second_order_and_several_axes() -> None:
    fp.check_grads(fp.grad(losses(WAYS["take_along_axis"])), X, AT)
    cube, at = RNG.standard_normal((2, 5, 3)).astype(np.float32), np.int32([[0, 4, 2], [1, 1, 3]])
    gradient = fp.fuse(fp.grad(lambda x, i: fp.sum(fp.take_along_axis(x, i[:, None], 1) ** 2)))
    want = np.zeros_like(cube)
    np.put_along_axis(want, at[:, None], 2 * np.take_along_axis(cube, at[:, None], 1), 1)
    np.testing.assert_allclose(np.asarray(gradient(cube, at)), want, rtol=1e-6)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("name", daily(SEVERAL, "indices of both axes"))
def test_several_elements_of_a_row_are_added(name: str) -> None:
    """The same element may be taken twice, so these gradients are not chosen."""
    at = np.int32([[1, 1], [0, 2], [2, 2]])
    square = RNG.standard_normal((3, 3)).astype(np.float32)
    fp.check_grads(lambda x, i: fp.sum(SEVERAL[name](x, i) ** 2), square, at)


@pytest.mark.usefixtures("device")
def test_indices_that_do_not_count_rows_are_added() -> None:
    """A cast that does not hold every index, and a grid that each call passes anew."""
    x, at = RNG.standard_normal((300, 3)).astype(np.float32), RNG.integers(0, 3, 300).astype(np.int32)
    narrow = fp.fuse(fp.grad(lambda x, i: fp.sum(x[fp.astype(fp.arange(300), "uint8_t"), i] * (fp.arange(300) + 1))))
    want = np.zeros_like(x)
    np.add.at(want, (np.arange(300) % 256, at), np.arange(300) + 1)
    assert np.array_equal(np.asarray(narrow(x, at)), want)
    passed = fp.fuse(fp.grad(lambda x, i, g: fp.sum(x[g, i] * 2.0)))
    for offset in (0, 2):
        want = np.zeros_like(X)
        want[np.arange(4) + offset, PLACES[:4]] = 2
        found = passed(X, np.int32(PLACES[:4]), fp.grid((4,), offset=(offset,)))
        assert np.array_equal(np.asarray(found), want), offset


@pytest.mark.usefixtures("device")
def test_strict_broadcasting_stretches_no_element() -> None:
    gradient = fp.fuse(fp.grad(lambda x, i: fp.sum(x[fp.arange(6), i]))).strict_broadcasting(True)
    want = np.zeros_like(X)
    want[np.arange(6), PLACES] = 1
    assert np.array_equal(np.asarray(gradient(X, np.int32(PLACES))), want)


@pytest.mark.usefixtures("device")
def test_a_dear_gradient_is_computed_once_for_each_row() -> None:
    def long(y: Any) -> Any:
        return fp.fori_loop(0, 5, lambda k, y: fp.sin(y), y)

    gradient = fp.fuse(fp.grad(lambda x, i: fp.sum(long(x[fp.arange(6), i]))))
    assert "vjp" in str(gradient.ir(X, np.int32(PLACES)))
    fp.check_grads(lambda x, i: fp.sum(long(x[fp.arange(6), i])), X, np.int32(PLACES))

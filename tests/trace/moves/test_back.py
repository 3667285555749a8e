"""Gradients and tangents through views: of arguments, of computed values, of what is a constant, and where arguments repeat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.differences import differences
from tests.support.selection import daily
from tests.support.slang_functions import ramp

X, W, C = ramp(4, 6, start=-1), ramp(6, start=0.5), ramp(4, 1, start=0.25)
VIEWS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "neighbours": lambda m, x, w, c: x[1:] * x[:-1],
    "backwards by two": lambda m, x, w, c: m.sin(x[1:, ::-2]),
    "from the end by three": lambda m, x, w, c: x[::-3, 4:0:-3] * 2,
    "rows of columns": lambda m, x, w, c: x.T[1:] * x.T[2],
    "of a sum": lambda m, x, w, c: (x * w + c)[1:3, ::-1] ** 2,
    "in other extents": lambda m, x, w, c: (x * w + c).reshape(3, 8)[1] ** 2,
    "an argument in other extents": lambda m, x, w, c: x.reshape(2, 2, -1).transpose(2, 0, 1)[1] ** 2,
    "repeated rows": lambda m, x, w, c: m.broadcast_to(w, (3, 6)) * m.broadcast_to(c[None], (3, 4, 1))[..., :3, :],
    "new axes": lambda m, x, w, c: w[None, :, None] * x[:, :, None],
    "of a mean": lambda m, x, w, c: m.mean(x * x, axis=0)[1:] * w[:-1],
}


DAILY = ("neighbours", "rows of columns", "in other extents", "new axes")


@pytest.mark.parametrize("name", daily(VIEWS, *DAILY))
def test_gradients_through_views(name: str) -> None:
    def loss(m: Any, x: Any, w: Any, c: Any) -> Any:
        return m.sum(VIEWS[name](m, x, w, c)) + x[1, 1] * w[1] * c[1, 0]

    found = fp.grad(lambda x, w, c: loss(fp, x, w, c), argnums=(0, 1, 2))(X, W, C)
    for got, want in zip(found, differences(lambda *args: loss(np, *args), [a.astype(float) for a in (X, W, C)], np.float64(1))):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("names", [DAILY, pytest.param(tuple(VIEWS), marks=pytest.mark.rest)], ids=["some", "all"])
def test_tangents_of_views(names: tuple[str, ...]) -> None:
    """In forward mode, several of them in one function."""
    views = {name: VIEWS[name] for name in names}
    given, tangents = (X, W, C), (np.cos(X), np.sin(W), np.cos(C))
    found = fp.jvp(lambda x, w, c: {name: view(fp, x, w, c) for name, view in views.items()}, given, tangents).d
    for name, view in views.items():
        ends = [view(np, *(a + s * t.astype(float) for a, t in zip(given, tangents))) for s in (1e-4, -1e-4)]
        np.testing.assert_allclose(found[name], (ends[0] - ends[1]) / 2e-4, rtol=1e-3, atol=1e-4, err_msg=name)


def test_gradients_of_views_take_few_kernels() -> None:
    """As many as the same in Slang's words: the gradient of a stencil is one kernel."""
    slope = fp.grad(lambda x: fp.sum((x[1:] - x[:-1]) ** 2))
    want = np.zeros_like(X)
    want[1:] += 2 * (X[1:] - X[:-1])
    want[:-1] -= 2 * (X[1:] - X[:-1])
    np.testing.assert_allclose(np.asarray(slope(X)), want, rtol=1e-5, atol=1e-6)
    assert slope.explain(X).kernels == 1


def test_what_is_computed_before_is_a_constant() -> None:
    def slope(x: Any) -> Any:
        doubled, row = 2 * x, x[0]
        return fp.grad(lambda v: fp.sum(v[1:] * doubled[1:] * row * v[0]))(x)

    got = np.asarray(fp.fuse(slope)(X))
    want = np.zeros_like(X)
    want[1:] = 2 * X[1:] * X[0] * X[0]
    want[0] = (X[1:] * 2 * X[1:] * X[0]).sum(axis=0)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_what_is_differentiated_may_be_computed_or_a_view() -> None:
    def slope(x: Any) -> Any:
        return fp.grad(lambda v: fp.sum(v[1:] * v[1:] * v[0]))(x * 2), fp.grad(lambda v: fp.sum(v[1:] ** 2))(x[1:])

    computed, view = fp.fuse(slope)(X)
    x, want = 2 * X, np.zeros_like(X)
    want[1:], want[0] = 2 * x[1:] * x[0], (x[1:] ** 2).sum(axis=0)
    np.testing.assert_allclose(np.asarray(computed), want, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(np.asarray(view), np.concatenate([0 * X[1:2], 2 * X[2:]]), rtol=1e-6)


def test_second_derivatives_and_tangents() -> None:
    hessian = fp.grad(lambda x: fp.sum(fp.grad(lambda v: fp.sum(v[1:] ** 3 * v[:-1]))(x)[1:-1]))
    assert np.isfinite(np.asarray(hessian(W))).all()
    h = 1e-2
    first = fp.grad(lambda v: fp.sum(v[1:] ** 3 * v[:-1]))
    moved = [
        np.asarray(first(W + h * e))[1:-1].sum() - np.asarray(first(W - h * e))[1:-1].sum() for e in np.eye(6, dtype=np.float32)
    ]
    np.testing.assert_allclose(np.asarray(hessian(W)), np.array(moved) / (2 * h), rtol=1e-2, atol=1e-2)
    made, tangent = fp.jvp(lambda x: (x * x)[1:, ::-1].T, (X,), (W + 0 * X,))
    np.testing.assert_allclose(np.asarray(tangent), (2 * X * W)[1:, ::-1].T, rtol=1e-5)
    assert np.shape(made) == (6, 3)


def test_training_on_parts_of_a_parameter() -> None:
    parameters = fp.nn.parameters({"w": W})
    step = fp.training_step(lambda p, x: fp.mean((x[:, 1:] @ p["w"][1:] - 1) ** 2), fp.nn.SGD(lr=0.01))
    before = step(parameters, X)
    for _ in range(5):
        after = step(parameters, X)
    assert float(after) < float(before)
    assert float(np.asarray(parameters["w"])[0]) == W[0]


V3: dict[str, Callable[[Any], Any]] = {
    "a slice": lambda v: v[1:] ** 2,
    "backwards": lambda v: fp.flip(v, 0) * v,
    "a new axis": lambda v: v[None] * np.float32([[1], [2]]),
    "computed": lambda v: (v * v)[:-1],
}


@pytest.mark.parametrize("name", daily(V3, "backwards"))
def test_views_of_vectors(name: str) -> None:
    """The components are axes of the gradient in memory, and none of the view."""
    of, x = V3[name], ramp(4, 3, start=-1)
    vectors = fp.grad(lambda x: fp.sum(of(fp.vcast(x, "float3"))))(x)
    for i in range(3):
        np.testing.assert_allclose(np.asarray(vectors)[:, i], np.asarray(fp.grad(lambda x: fp.sum(of(x)))(x[:, i])), rtol=1e-6)


def test_views_without_elements_give_zero() -> None:
    slope = fp.fuse(lambda x: fp.grad(lambda x: fp.sum(x[:, 2:] * fp.prod(x, axis=1, keepdims=True)))(x))
    for n, filled in ((1, False), (2, False), (3, True), (1, False)):
        found = np.asarray(slope(np.ones((2, n), np.float32)))
        assert found.shape == (2, n)
        assert found.any() == filled

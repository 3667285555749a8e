"""Dear values that are read through several views: computed once and stored. Cheap ones are computed for each view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

SOURCE = """
[Differentiable] float dear(float x) { [MaxIters(60)] for (int i = 0; i < 60; ++i) x = sin(x) + 0.5; return x; }
float cheap(float x) { return x * 2 + 1; }
struct Pose { float2x2 m; float k; };
Pose posed(float x) { Pose p; for (int i = 0; i < 60; ++i) x = sin(x) + 0.5; p.m = float2x2(x, x, x, x); p.k = x; return p; }
Pose mean(Pose a, Pose b, Pose c, Pose d) {
    Pose p; p.m = (a.m + b.m + c.m + d.m) / 4; p.k = (a.k + b.k + c.k + d.k) / 4; return p;
}
float height(Pose p) { return p.k + p.m[0][1]; }
"""
X = np.random.default_rng(0).random((2000, 4), np.float32)


def dear(x: Any) -> Any:
    for _ in range(60):
        x = np.sin(x) + np.float32(0.5)
    return x


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "stored_for_views", SOURCE)


# each with the calls that are left of the dear function, and kernels
VIEWS: dict[str, tuple[Callable[[Any], Any], int, int]] = {
    "two": (lambda y: y[1:] + y[:-1], 1, 2),
    "one": (lambda y: y[1:], 1, 1),
    "itself and one": (lambda y: y[1:] - y[1:][::-1], 1, 2),
    "the value too": (lambda y: (y, y[1:]), 1, 2),
    "few elements": (lambda y: y[:1] + y[1:2], 2, 1),
    "rows and columns": (lambda y: y[1:-1, 2:] + y[1:-1, :-2] - y[2:, 1:-1] - y[:-2, 1:-1], 1, 2),
    "of cheap work on it": (lambda y: (lambda z: z[1:] * z[:-1])(y * 2 + 1), 1, 2),
}


@pytest.mark.parametrize("name", daily(VIEWS, "two", "few elements", "of cheap work on it", "one"))
def test_what_views_share(m: Any, name: str) -> None:
    view, calls, kernels = VIEWS[name]
    fused = fp.fuse(lambda x: view(m.dear(x)))
    got, want = fused(X), view(dear(X))
    for a, b in zip(*(found if isinstance(found, tuple) else (found,) for found in (got, want)), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    assert fused.explain(X).kernels == kernels
    assert fused.ir(X, after="fuse_chains").count("slang.call @stored_for_views.dear") == calls


def test_what_is_cheap_or_small_is_computed_again(m: Any) -> None:
    assert fp.fuse(lambda x: (lambda y: y[1:] + y[:-1])(m.cheap(x))).explain(X).kernels == 1
    few = fp.fuse(lambda x: (lambda y: y[1:] + y[:-1])(m.dear(x)))
    assert (few.explain(X[:8]).kernels, few.explain(X).kernels) == (1, 2)


def test_dear_values_of_dear_values_and_structs(m: Any) -> None:
    fused = fp.fuse(lambda x: (lambda y: y[1:] + y[:-1])(m.dear(m.dear(x) * 2)))
    want = dear(dear(X) * 2)
    np.testing.assert_allclose(fused(X), want[1:] + want[:-1], atol=1e-5)
    assert fused.ir(X, after="fuse_chains").count("slang.call @stored_for_views.dear") == 2
    posed = fp.fuse(lambda x: (lambda y: m.height(y[1:]) + m.height(y[:-1]))(m.posed(x)))
    np.testing.assert_allclose(posed(X), 2 * (dear(X)[1:] + dear(X)[:-1]), atol=1e-5)


def test_gradients_and_loops_of_views(m: Any) -> None:
    fp.check_grads(lambda x: fp.sum(m.dear(x)[1:] * m.dear(x)[:-1]), X[:6])
    whole = fp.fuse(lambda x: (lambda y: fp.fori_loop(0, 3, lambda i, c: c + y[1:] - y[:-1], y[1:]))(m.dear(x)))
    y = dear(X)
    np.testing.assert_allclose(whole(X), y[1:] + 3 * (y[1:] - y[:-1]), atol=1e-5)


def stepped(pad: Any, u: Any, count: int) -> Any:
    for _ in range(count):
        p = pad(u, 1)
        u = (p[:-2] + p[2:] - u) * p[1:-1]
    return u


def test_steps_of_neighbours_do_not_repeat_all_earlier_ones(m: Any) -> None:
    """Each step reads three views of the last one: 12 steps would compute the first one a quarter of a million times."""
    x = np.random.default_rng(1).random(7)
    loop = fp.fuse(lambda u: fp.fori_loop(0, 12, lambda i, u: stepped(fp.pad, u, 1), u))
    np.testing.assert_allclose(loop(x), stepped(np.pad, x, 12), rtol=1e-9)
    assert len(fp.fuse(lambda u: stepped(fp.pad, u, 4)).ir(x).splitlines()) < 260


def test_steps_of_structs_with_matrices(m: Any) -> None:
    """Their elements were never stored, since threads cannot add to gradients of them: nine steps took 20 s to compile."""
    poses = np.zeros((16, 16), m.Pose.dtype)
    poses["k"], poses["m"] = np.random.default_rng(1).random((16, 16)), np.random.default_rng(2).random((16, 16, 2, 2))

    def steps(p: Any) -> Any:
        for _ in range(7):
            p = m.mean(p[1:-1, :-2], p[1:-1, 2:], p[:-2, 1:-1], p[2:, 1:-1])
        return m.height(p)

    given = fp.Tensor.from_numpy(m.device, poses, m.Pose)
    assert len(fp.fuse(steps).ir(given).splitlines()) < 250
    np.testing.assert_array_equal(fp.fuse(steps)(given).numpy(), steps(given).numpy())


@pytest.mark.rest
def test_gradients_of_steps_of_neighbours(m: Any) -> None:
    x = np.random.default_rng(1).random(7)
    slope = fp.grad(lambda u: fp.sum(stepped(fp.pad, u, 3)))(x)
    for k, step in enumerate(np.eye(7) * 1e-6):
        change = stepped(np.pad, x + step, 3).sum() - stepped(np.pad, x - step, 3).sum()
        np.testing.assert_allclose(slope[k], change / 2e-6, rtol=1e-4)

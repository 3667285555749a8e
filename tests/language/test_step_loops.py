"""`fori_loop` around steps over whole arrays, against NumPy and against Python's loop in the trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.language import step_loops
from tests.support.selection import daily

AROUND = "0.25 * (x[max(p.y - 1, 0), p.x] + x[min(p.y + 1, h - 1), p.x] + x[p.y, max(p.x - 1, 0)] + x[p.y, min(p.x + 1, w - 1)])"
SOURCE = f"""
import fusepy;
[Differentiable] float mean4(no_diff int2 p, DiffTensor<float,2> x, float b)
{{
    int h = int(x.shape[0]), w = int(x.shape[1]);
    return {AROUND} - b;
}}
float jacobi(int2 p, Tensor<float,2> x, float b)
{{
    int h = int(x.shape[0]), w = int(x.shape[1]);
    return {AROUND} - b;
}}
"""


@pytest.fixture(scope="module")
def m() -> Any:
    return fp.Module.load_from_source(fp.default_device(), "steps", SOURCE)


def stepped(x: Any, b: Any, count: int) -> Any:
    for _ in range(count):
        p = np.pad(x, 1, mode="edge")
        x = (0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) - b).astype(np.float32)
    return x


@pytest.mark.req("F4")
def test_steps_that_read_whole_arrays_in_all_modes(m: Any) -> None:
    rng = np.random.default_rng(5)
    for count in (0, 1, 7):
        shape = tuple(rng.integers(1, 60, 2))
        x, b = (rng.random(shape, np.float32) for _ in range(2))

        def solve(x: Any, b: Any) -> Any:
            return fp.fori_loop(0, count, lambda i, y: m.jacobi(fp.grid(y.shape), y, b), x)  # noqa: B023

        want = stepped(x, b, count)
        fused = fp.fuse(solve)
        np.testing.assert_allclose(fused(x, b), want, rtol=1e-5)
        np.testing.assert_allclose(fused(fp.asarray(x), fp.asarray(b), _result=fp.zeros(shape)), want, rtol=1e-5)
        np.testing.assert_allclose(solve(x, b), want, rtol=1e-5)
        with fp.lazy():
            later = fused(fp.asarray(x), b) + 1
        np.testing.assert_allclose(later, want + 1, rtol=1e-5)
        graph = fp.Graph(inputs=["x", "b"])
        graph.set_outputs(fused.node()(*graph.get_inputs()))
        np.testing.assert_allclose(graph(x, b), want, rtol=1e-5)


def test_one_kernel_and_two_buffers_whatever_the_count(m: Any) -> None:
    x = np.random.default_rng(1).random((33, 70), np.float32)
    peaks, compiled = [], []
    for loop in (fp.fori_loop, lambda lo, hi, body, y: [y := body(0, y) for _ in range(lo, hi)][-1]):
        for count in (5, 30):
            f = fp.fuse(lambda x, b: loop(0, count, lambda i, y: m.jacobi(fp.grid(y), y, b + i * 0.0), x))  # noqa: B023
            before = fp.stats().kernels_compiled
            np.testing.assert_allclose(f(x, x / 9), stepped(x, x / 9, count), rtol=1e-4, atol=1e-5)
            compiled.append(fp.stats().kernels_compiled - before)
            told = f.explain(x, x)
            peaks.append(told.peak_bytes)
    assert told.kernels == 30
    assert compiled[1] == compiled[3] == 0, "another count needs no other kernel"
    assert len(set(peaks)) == 1
    told = fp.fuse(lambda x: fp.fori_loop(0, 30, lambda i, y: m.jacobi(fp.grid(y), y, 0.0), x)).explain(x)
    line = next(text for text in told.reasons if "30 steps" in text)
    assert "fori_loop (test_step_loops.py:" in line
    assert "30 launches of 2 kernels" in line or "30 launches of 1 kernels" in line


def test_reductions_in_the_body() -> None:
    rng = np.random.default_rng(2)
    for shape in ((5,), (17, 40), (3000,)):
        x = rng.random(shape, np.float32) + 0.5

        def step(i: Any, c: Any, x: Any = x) -> Any:
            return {"x": c["x"] / fp.mean(c["x"]) + i, "n": c["n"] + fp.sum(x)}

        f = fp.fuse(lambda x: fp.fori_loop(2, 9, step, {"x": x, "n": 0.0}))
        got, want, n = f(x), x.astype(np.float64), 0.0
        for i in range(2, 9):
            want, n = want / want.mean() + i, n + float(x.sum(dtype=np.float64))
        np.testing.assert_allclose(got["x"], want, rtol=1e-5)
        assert float(got["n"]) == pytest.approx(n, rel=1e-5)
    a = rng.random((12, 12), np.float32)
    power = fp.fuse(lambda a, v: fp.fori_loop(0, 99, lambda i, v: (w := a @ v) / fp.sqrt(fp.sum(w * w)), v, max_steps=40))
    vectors = np.linalg.eigh(a @ a.T)[1]
    np.testing.assert_allclose(np.abs(power(a @ a.T, np.ones(12, np.float32))), np.abs(vectors[:, -1]), atol=1e-4)


def test_gradients_go_back_through_the_steps(m: Any) -> None:
    x = np.random.default_rng(3).random((5, 6), np.float32)

    def loss(x: Any) -> Any:
        y = fp.fori_loop(0, 2, lambda i, y: m.mean4(fp.grid(y), y, 0.1) / fp.mean(y), x)
        return fp.sum(y * y)

    f, found, by_hand = fp.fuse(loss), fp.grad(loss)(x), np.empty_like(x)
    for at in [(0, 0), (2, 3), (4, 5), (1, 0)]:
        moved = np.stack([x, x])
        moved[(0, *at)] += 1e-2
        moved[(1, *at)] -= 1e-2
        by_hand[at] = (float(f(moved[0])) - float(f(moved[1]))) / 2e-2
        np.testing.assert_allclose(found[at], by_hand[at], rtol=1e-2, atol=1e-2)


def test_refused(m: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones((3, 4), np.float32)
    cases: list[tuple[Any, str]] = [
        (lambda x: fp.fori_loop(0, 2, lambda i, y: fp.sum(y), x), "a float over 2 axes at first, and a float after a step"),
        (lambda x: fp.fori_loop(0, 2, lambda i, y: fp.astype(y / fp.sum(y), int), x), "and a int over 2 axes after"),
        (lambda x: fp.fori_loop(0, 2, lambda i, y: (fp.sum(y), y), x), "another structure"),
        (lambda x: fp.fori_loop(0, 2, lambda i, y: m.jacobi(fp.grid(y), y), x), "jacobi"),
    ]
    for body, words in cases:
        with pytest.raises(fp.FusepyError, match=words):
            fp.fuse(body)(x)
    for body, hint in (
        (lambda x, n: fp.fori_loop(0, n, lambda i, y: fp.diff(y), x), "Python integers as bounds"),
        (lambda x, n: fp.fori_loop(0, n, lambda i, y: y @ y, x), "Python integers as bounds"),
        (lambda x, n: fp.while_loop(lambda y: y < n, lambda y: fp.diff(y), x), "before the loop or after it"),
    ):
        with pytest.raises(fp.FusepyError) as raised:
            fp.fuse(body)(x, 2)
        assert hint in raised.value.hint
    monkeypatch.setattr(step_loops, "MANY", 20)
    with pytest.warns(fp.UnrollWarning, match="recorded one by one"):
        fp.fuse(lambda x: fp.fori_loop(0, 9, lambda i, y: fp.sqrt(y / fp.max(y) + y * y - 1.0) + i, x)).ir(x)


@pytest.mark.req("F4", "V1")
@pytest.mark.rest
def test_steps_that_sort_what_they_carry() -> None:
    given, like = np.float32([[3, 1, 2], [4, 0, 5]]), np.float32([[3, 1, 2], [4, 0, 5]])
    for _ in range(2):
        like = np.sort(like) + np.argsort(like) + np.sort(like)[:, -1:]
    step = lambda i, c: fp.sort(c) + fp.argsort(c) + fp.topk(c, 1)[0]  # noqa: E731
    for made in (fp.fori_loop(0, 2, step, given), fp.fuse(lambda x: fp.fori_loop(0, 2, step, x))(given)):
        np.testing.assert_array_equal(made, like)


STEPS: dict[str, Any] = {  # of what is carried; `fp` is NumPy for the meaning
    "a product": lambda fp, c: c @ c / 4,
    "a flip, a median": lambda fp, c: fp.flip(c) / fp.median(c),
    "neighbours": lambda fp, c: c + fp.pad(fp.diff(c, axis=0), ((0, 1), (0, 0))),
    "letters, len": lambda fp, c: fp.einsum("ij,kj->ik", c, c) / len(c),
    "lists": lambda fp, c: c * fp.max([c[0, 0], 0.5]),
}


@pytest.mark.req("F4", "V3")
@pytest.mark.parametrize("name", daily(STEPS, "a product", "letters, len"))
def test_words_of_whole_arrays_in_the_body(name: str) -> None:
    step, x = STEPS[name], np.float32([[1, 2], [3, 0.5]])
    want = x
    for _ in range(2):
        want = step(np, want)
    loop = fp.fuse(lambda x: fp.fori_loop(0, 2, lambda i, c: step(fp, c), x))
    graph = fp.Graph(inputs=["x"])
    graph.set_outputs(loop.node()(*graph.get_inputs()))
    with fp.lazy():
        late = loop(fp.asarray(x))
    for made in (loop(x), fp.fori_loop(0, 2, lambda i, c: step(fp, c), x), late, graph(x)):
        np.testing.assert_allclose(made, want, rtol=1e-5)


def test_a_step_may_add_to_its_carry_in_place() -> None:
    """The carry is a value of the loop: what it starts from stays as it is."""

    def body(i: Any, c: Any) -> Any:
        c += fp.sum(c)
        return c

    x = np.arange(4, dtype=np.float32)
    t = fp.Tensor(x)
    for found in (fp.fori_loop(0, 2, body, t), fp.fuse(lambda t: fp.fori_loop(0, 2, body, t))(t)):
        np.testing.assert_array_equal(found.to_numpy(), x + 36)
    np.testing.assert_array_equal(t.to_numpy(), x)

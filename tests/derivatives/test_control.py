"""Gradients of loops: any number of steps in bounded memory and code, bounds that are traced, torch's tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.ir.ops.loop_vjp import levels
from tests.support.selection import daily

X = np.float32([0.1, 0.2, 0.3])


def grown(x: Any, n: Any, max_steps: int | None = None) -> Any:
    return fp.sum(fp.fori_loop(0, n, lambda i, c: c * (1 + x * 1e-3), x, max_steps=max_steps))


def gradient(n: int) -> Any:
    return fp.grad(lambda x: grown(x, n))


def slope(n: Any) -> Any:
    """The derivative of x (1 + x / 1000) ** n."""
    x = X.astype(float)
    return (1 + x * 1e-3) ** n + x * n * 1e-3 * (1 + x * 1e-3) ** (n - 1)


@pytest.mark.parametrize("steps", daily([0, 1, 2, 64, 65, 66, 143, 1000, 20_000], 0, 64, 65, 1000, 20_000))
def test_gradients_of_any_number_of_steps(steps: int) -> None:
    np.testing.assert_allclose(fp.grad(lambda x: grown(x, steps))(X), slope(steps), rtol=4e-3)

    def until(x: Any) -> Any:
        step = lambda c: (c[0] + 1, c[1] * (1 + x * 1e-3))  # noqa: E731
        return fp.sum(fp.while_loop(lambda c: c[0] < steps, step, (0, x), max_steps=steps + 7)[1])

    np.testing.assert_allclose(fp.grad(until)(X), slope(steps), rtol=4e-3)


def test_kept_states_and_code_grow_with_a_root_of_the_steps() -> None:
    for steps in (1, 64, 65, 10_000, 1_000_000, 2**31 - 1):
        found = levels(steps)
        assert np.prod(found, dtype=object) >= steps
        assert max(found) <= 128
        assert len(found) <= 5
    few, many = (len(gradient(n).source(X)) for n in (1000, 10_000))
    assert many < 1.1 * few
    told = str(gradient(10_000).explain(X))
    assert "keeps what 100 segments begin with, and of one of them its 100 steps; 10,000 steps are computed again once" in told


def test_traced_bounds_are_taken_with_max_steps() -> None:
    n = np.int32([1, 70, 3])
    np.testing.assert_allclose(fp.grad(lambda x, n: grown(x, n, max_steps=100))(X, n), slope(n), rtol=1e-3)
    assert fp.fori_loop(0, n, lambda i, c: c + 1, n * 0, max_steps=5).tolist() == [1, 5, 3]
    moved = fp.jvp(lambda x, n: grown(x, n, max_steps=100), (X, n), (np.ones_like(X), None)).d
    np.testing.assert_allclose(moved, np.sum(slope(n)), rtol=1e-3)
    with pytest.raises(fp.GradientError, match=r"fori_loop whose bounds[^~]*max_steps=…"):
        fp.grad(lambda x, n: grown(x, n))(X, n)
    with pytest.raises(fp.ArgumentError, match="no count of steps"):
        fp.fori_loop(0, n, lambda i, c: c, X, max_steps=-1)


def test_loops_outside_of_functions_take_part_in_autograd_or_say_so_at_once() -> None:
    torch = pytest.importorskip("torch")
    carried, captured = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    fp.fori_loop(0, 3, lambda i, c: c * c, carried).sum().backward()
    fp.fori_loop(0, 3, lambda i, c: c * captured, torch.ones(2)).sum().backward()
    assert carried.grad.tolist() == [8, 1024]
    assert captured.grad.tolist() == [3, 12]
    for call in (
        lambda: fp.fori_loop(0, torch.tensor([1, 2]), lambda i, c: c * captured, torch.ones(2)),
        lambda: fp.while_loop(lambda c: c < 10, lambda c: c * 2, carried),
    ):
        with pytest.raises(fp.GradientError, match="without max_steps"):
            call()

"""Computed vectors whose numbers are used one by one: stored, where each number would compute the whole vector again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp

SOURCE = """
[Differentiable] float3 curved(float3 c, float g) { return pow(max(c, 1e-3), 1 / g) * exp(g * c) + sin(c) * cos(c * g); }
[Differentiable] float3 gain(float3 c, float g) { return c * g; }
[Differentiable] float3x3 turned(float3x3 m, float g) { return sin(mul(m, m) * g) + cos(mul(m, m * g)) * exp(mul(m, m) * m); }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "vectors_of_numbers", SOURCE)


def thrice(m: Any, c: Any) -> Any:
    return m.curved(m.curved(m.curved(c, 2.0), 1.5), 1.2)


def test_the_gradient_of_numbers_that_a_chain_takes_as_vectors(m: Any) -> None:
    """Its kernel computes the chain once for each vector, not for each number."""
    image = np.random.default_rng(0).random((5, 4, 3), np.float32)
    of_numbers = fp.value_and_grad(lambda c: fp.mean(thrice(m, c).x))
    of_vectors = fp.value_and_grad(lambda c: fp.mean(thrice(m, fp.vcast(c, "float3")).x))
    numbers, vectors = fp.Tensor.from_numpy(m.device, image), fp.Tensor.empty(m.device, (5, 4), "float3")
    vectors.copy_from_numpy(image)
    assert of_numbers.explain(numbers).kernels == 1
    again = fp.fuse(lambda c: fp.grad(lambda c: fp.mean(thrice(m, c).x))(c) * 2)  # reads the numbers
    assert "12 bytes for each of 20 elements" in str(again.explain(numbers))
    assert of_numbers.source(numbers).count("bwd_diff") == of_vectors.source(vectors).count("bwd_diff")
    for mine, theirs in zip(of_numbers(numbers), of_vectors(vectors)):
        np.testing.assert_allclose(mine.to_numpy(), theirs.to_numpy(), rtol=1e-5, atol=1e-7)
    fp.check_grads(lambda c: fp.mean(thrice(m, c).x), numbers)


def test_what_is_cheap_is_computed_again(m: Any) -> None:
    numbers = fp.Tensor.from_numpy(m.device, np.ones((4, 3), np.float32))
    assert fp.grad(lambda c: fp.mean(m.gain(c, 2.0).x)).explain(numbers).kernels == 1


def test_matrices_and_their_sums(m: Any) -> None:
    a, w = np.random.default_rng(1).random((6, 3, 3), np.float32), np.random.default_rng(2).random((6, 3, 3), np.float32)
    f = fp.fuse(lambda a, w: fp.sum(m.turned(a, 0.5) * w, 0))
    np.testing.assert_allclose(f(a, w), np.sum(np.asarray(m.turned(a, 0.5)) * w, 0), rtol=1e-5)
    assert "takes its elements on a larger grid" in str(f.explain(a, w))

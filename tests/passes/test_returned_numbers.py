"""Vectors that a program returns as numbers: the array that the kernel of the vectors fills, and no kernel for the components."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp

SOURCE = """
[Differentiable] float3 bent(float3 c, float g) { return c * c * g; }
[Differentiable] half3 narrow(half3 c) { return c * c; }
"""
PIXELS = np.random.default_rng(3).random((70, 3), np.float32)


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "returned_numbers", SOURCE)


def tensor(device: Any, array: Any) -> Any:
    return fp.Tensor.from_numpy(device, array)


def test_a_gradient_by_numbers_needs_no_kernel_of_its_own(m: Any, device: Any) -> None:
    both = fp.value_and_grad(lambda c, g: fp.sum(m.bent(c, g)))
    x = tensor(device, PIXELS)
    assert both.explain(x, 2.0).kernels == 1
    value, found = both(x, 2.0)
    assert (found.shape, str(found.dtype)) == ((70, 3), "float")
    np.testing.assert_allclose(found.to_numpy(), 4 * PIXELS, rtol=1e-6)
    np.testing.assert_allclose(np.sum(value.to_numpy()), 2 * np.sum(PIXELS.astype("f8") ** 2), rtol=1e-5)
    found = fp.grad(lambda c: fp.sum(m.bent(c, 2.0)))(tensor(device, PIXELS[0]))  # one vector
    np.testing.assert_allclose(found.to_numpy(), 4 * PIXELS[0], rtol=1e-6)
    halfs = tensor(device, PIXELS.astype(np.float16))
    found = fp.grad(lambda c: fp.sum(m.narrow(c)))(halfs)
    np.testing.assert_allclose(found.to_numpy(), 2 * halfs.to_numpy(), rtol=2e-3)


def test_destinations_take_the_numbers(m: Any, device: Any) -> None:
    slope, x = fp.grad(lambda c: fp.sum(m.bent(c, 2.0))), tensor(device, PIXELS)
    wide = tensor(device, np.zeros((70, 6), np.float32))
    for target in (fp.Tensor.empty(device, (70, 3), "float"), wide[:, ::2], wide[:, 1:4]):
        assert slope(x, _result=target) is target
        np.testing.assert_allclose(target.to_numpy(), 4 * PIXELS, rtol=1e-6)
    slope(x, _result=x)  # into its argument
    np.testing.assert_allclose(x.to_numpy(), 4 * PIXELS, rtol=1e-6)
    for shape, dtype in (((71, 3), "float"), ((70, 4), "float"), ((70, 3), "int")):
        with pytest.raises(fp.errors.FusepyError, match="does not fit"):
            slope(x, _result=fp.Tensor.empty(device, shape, dtype))


def test_numbers_beside_their_vectors_are_an_array_of_their_own(m: Any, device: Any) -> None:
    x, y = tensor(device, PIXELS), tensor(device, PIXELS + 1)
    several = fp.grad(lambda c, d: fp.sum(m.bent(c, 2.0) + m.bent(d, 3.0)), argnums=(0, 1))
    for found, expected in zip(several(x, y), (4 * PIXELS, 6 * (PIXELS + 1))):
        np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-6)
    vectors = fp.Tensor.empty(device, (70,), "float3")
    vectors.copy_from_numpy(PIXELS)

    @fp.fuse
    def twice(c: Any) -> Any:
        made = m.bent(c, 2.0)
        return made, made.flatten_dtype()

    whole, numbers = twice(vectors)
    numbers.copy_from_numpy(np.zeros((70, 3), np.float32))
    np.testing.assert_allclose(whole.to_numpy(), 2 * PIXELS**2, rtol=1e-6)
    texels = fp.fuse(lambda c: m.bent(c, 2.0).flatten_dtype())(vectors, _result="texture")
    np.testing.assert_allclose(texels.to_numpy().reshape(70, 3), 2 * PIXELS**2, rtol=1e-6)
    with fp.lazy():
        late = fp.fuse(lambda c: m.bent(c, 2.0).flatten_dtype())(vectors) + 1
        assert late.shape == (70, 3)
    np.testing.assert_allclose(late.to_numpy(), 2 * PIXELS**2 + 1, rtol=1e-6)

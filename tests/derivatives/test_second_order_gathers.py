"""Derivatives of the gradients of elements that are read at indices, against differences of the gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

RNG = np.random.default_rng(0)
TWICE = np.int32([0, -1, -1, 1])


def drawn(*shape: int) -> Any:
    return RNG.random(shape) + 0.4


Case = tuple[Callable[..., Any], tuple[Any, ...]]


def of_one_axis() -> Case:
    return lambda x, k: fp.sum((x[TWICE] ** 2 * k)[np.int32([0, 1, 1])] ** 2), (drawn(4), drawn(1))


def of_several_axes() -> Case:
    rows, columns, middle = np.int32([[0], [2], [2]]), np.int32([1, 1, 3]), np.int32([0, 1, 1])

    def total(image: Any, cube: Any) -> Any:
        others = cube[middle, :, middle] ** 3 * fp.take(image, middle, axis=0)[:, :3]
        return fp.sum(image[rows, columns] ** 3) + fp.sum(others)

    return total, (drawn(3, 4), drawn(2, 3, 2))


def of_vectors() -> Case:
    def total(v: Any) -> Any:
        v = fp.vcast(v, "double3")[TWICE]
        return fp.sum(v.x * v.x * v.y + v.z * v.z * v.z)

    return total, (drawn(3, 3),)


def of_a_product_with_itself() -> Case:
    """The gradient of the transposed matrix is scattered, and the product is a factor of another one."""
    return lambda x: fp.sum((x @ x.T) ** 3), (drawn(2, 3),)


@pytest.mark.req("B5")
@pytest.mark.parametrize("program", daily([of_one_axis, of_several_axes, of_vectors, of_a_product_with_itself], "of_vectors"))
def test_products_with_the_second_derivative(program: Callable[[], Case]) -> None:
    """Backwards and forwards over the gradient."""
    total, args = program()
    places = tuple(range(len(args)))
    along = tuple(RNG.standard_normal(a.shape) for a in args)
    gradient = fp.grad(total, places)

    def weighted(*args: Any) -> Any:
        return sum(fp.sum(g * d) for g, d in zip(gradient(*args), along))

    ends = [gradient(*(a + h * d for a, d in zip(args, along))) for h in (1e-5, -1e-5)]
    want = [(a - b) / 2e-5 for a, b in zip(*ends)]
    for found in (fp.grad(weighted, places)(*args), fp.jvp(gradient, args, along)[1]):
        for got, expected in zip(found, want):
            np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.rest
def test_elements_that_are_structs(device: fp.Device) -> None:
    m = fp.Module.load_from_source(device, "second_order_gathers", "struct Spot : IDifferentiable { float2 at; float power; };")
    given = np.array([((1, 2), 3), ((4, 5), 6), ((7, 8), 9)], [("at", "2f4"), ("power", "f4")])  # with gaps on CUDA
    spots = fp.Tensor.from_numpy(device, given.astype(m.Spot.dtype), m.Spot)
    slope = fp.grad(lambda s: fp.sum(s[np.int32([0, 2, 2])].power ** 2 * s[np.int32([0, 2, 2])].at.x))
    first = slope(spots)
    assert first.power.to_numpy().tolist() == [6, 0, 252]
    back, forth = fp.grad(lambda s: fp.sum(slope(s).power ** 2))(spots), fp.jvp(slope, (spots,), (first,))[1]
    assert (back.at.to_numpy()[:, 0].tolist(), back.power.to_numpy().tolist()) == ([72, 0, 18144], [24, 0, 14112])
    assert (forth.at.to_numpy()[:, 0].tolist(), forth.power.to_numpy().tolist()) == ([36, 0, 9072], [66, 0, 12888])


@pytest.mark.rest  # daily of first order in test_scatter
def test_the_deterministic_mode() -> None:
    x, k = np.float32([[1, 2], [3, 4], [5, 6]]), np.float32([2, 3, 4, 5])
    slope = fp.grad(lambda x, k: fp.sum(fp.vcast(x, "float2")[TWICE].y ** 2 * k))
    by_x, by_k = fp.grad(lambda x, k: fp.sum(slope(x, k)), (0, 1)).options(deterministic=True)(x, k)
    assert (by_x[:, 1].tolist(), by_k.tolist()) == ([4, 10, 14], [4, 12, 12, 8])
    _, along = fp.jvp(slope.options(deterministic=True), (x, k), (x, None))
    assert along[:, 1].tolist() == [8, 40, 84]


@pytest.mark.rest
def test_halfs_and_the_third_order() -> None:
    x = np.float16([1, 2, 3])
    slope = fp.grad(lambda x: fp.sum(x[np.int32([0, 2, 2])] ** 4))
    second = fp.grad(lambda x: fp.sum(slope(x)))
    found = second(x)
    assert (found.dtype, found.tolist()) == (np.float16, [12, 0, 216])
    assert fp.jvp(second, (x,), (x,)).d.tolist() == [24, 0, 432]


def test_gradients_that_are_constant() -> None:
    x = np.float16([1, 2, 3])
    linear = fp.grad(lambda x: fp.sum(x[np.int32([0, 2, 2])]))
    assert fp.jvp(linear, (x,), (x,)).d.tolist() == [0, 0, 0]
    assert fp.grad(lambda x: fp.sum(linear(x) * x))(x).tolist() == [1, 0, 2]


def test_a_tangent_of_what_is_added_alone() -> None:
    """The array does not move, only what is added to its gradient does."""
    slope = fp.grad(lambda x, k: fp.sum(x[np.int32([0, 0, 2])] * k))
    k = np.float32([1, 2, 3])
    assert fp.jvp(slope, (k, k), (None, k)).d.tolist() == [3, 0, 3]


def test_torch_goes_back_twice() -> None:
    torch = pytest.importorskip("torch")
    t = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    at = torch.tensor([0, 2, 2])
    (slope,) = torch.autograd.grad((fp.take(t, at) ** 2).sum(), t, create_graph=True)
    (found,) = torch.autograd.grad((slope**2).sum(), t)
    assert found.tolist() == [8, 0, 96]


def test_the_second_order_of_reads_in_a_recorded_loop_is_an_error_that_names_the_other_loop() -> None:
    def total(table: Any, x: Any) -> Any:
        return fp.fori_loop(0, 3, lambda i, s: s + table[i] * table[i] * s, x)

    table = np.float32([0.5, 1, 2])
    for along in ((table, None), (None, np.float32(1))):
        with pytest.raises(fp.GradientError, match="write a loop of Python, for i in range"):
            fp.jvp(fp.grad(total), (table, np.float32(1)), along)

"""Vectors that an eager call on NumPy arrays hands out as numbers are numbers in fused functions too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import seldom
from tests.support.slang_functions import F32
from tests.trace.components.test_grouping import IMAGE, MATRIX, ROW, SOURCE, numbers

PROGRAMS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "a sum of all": (lambda m, i: fp.sum(m.scale(i, 0.5)), [IMAGE]),
    "a sum of the components": (lambda m, i: fp.sum(m.scale(i, 0.5), axis=-1), [IMAGE]),
    "a place among the components": (lambda m, i: fp.argmax(m.scale(i, 0.5), axis=-1), [IMAGE]),
    "a scan": (lambda m, i: fp.scan("sum", m.scale(i, 0.5), axis=2), [IMAGE]),
    "a row": (lambda m, i, r: m.scale(i, 0.5) * r, [IMAGE, ROW]),
    "another image": (lambda m, i, r: fp.mean((m.scale(i, 0.5) - r) ** 2), [IMAGE, numbers(2, 5, 3)]),
    "one number for all components": (lambda m, i, r: m.scale(i, 0.5) * r, [IMAGE, numbers(2, 5, 1)]),
    "a call of numbers": (lambda m, i: m.add(m.scale(i, 0.5), 1.0), [IMAGE]),
    "a call of a fixed array": (lambda m, i: m.three(m.scale(i, 0.5)), [IMAGE]),
    "a product of matrices": (lambda m, i, w: m.scale(i, 0.5) @ w, [IMAGE, MATRIX]),
    "a cast to vectors": (lambda m, i: fp.sum(fp.vcast(m.scale(i, 4.0), "float3")), [IMAGE]),
    "another type": (lambda m, i: fp.sum(fp.astype(m.scale(i, 4.0), "double")), [IMAGE]),
    "a mapped image": (lambda m, i, r: m.scale(fp.vmap(i, (1, 0)), 0.5) + r, [IMAGE, numbers(5, 2, 3)]),
    "a sum of a mapped image": (lambda m, i: fp.sum(m.scale(fp.vmap(i, (1, 0)), 0.5), axis=-1), [IMAGE]),
    "a mapped array beside it": (lambda m, i, r: fp.vmap(r, (1, 0, 2)) + m.scale(i, 0.5), [IMAGE, numbers(5, 2, 3)]),
    "a row for all rows": (lambda m, i, r: m.scale(i, 0.5) + fp.vmap(r, 0), [IMAGE, numbers(2)]),
    "a cast": (lambda m, i: m.add(fp.vcast(m.scale(i, 4.0), "float"), 1.0), [IMAGE]),
}


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "plain", SOURCE)


@pytest.mark.req("V1")
@pytest.mark.parametrize(
    "name",
    seldom(
        PROGRAMS,
        "a sum of all",
        "another image",
        "a mapped image",
        "a mapped array beside it",
        "a call of numbers",
        "a scan",
        "a cast",
    ),
)
def test_components_are_axes_as_outside(m: Any, name: str) -> None:
    program, given = PROGRAMS[name]
    found, want = fp.fuse(lambda *args: program(m, *args))(*given), program(m, *given)
    if not isinstance(want, np.ndarray):  # NumPy's own sum of one
        want = np.asarray(want)
    assert (type(found), found.shape, found.dtype) == (np.ndarray, want.shape, want.dtype)
    np.testing.assert_allclose(found, want, rtol=1e-6)


def test_tensors_keep_their_vectors(m: Any) -> None:
    tensor = fp.Tensor.from_numpy(m.device, IMAGE)
    for run in (fp.fuse(lambda i: fp.sum(m.scale(i, 0.5))), lambda i: fp.sum(m.scale(i, 0.5))):
        total = run(tensor)
        assert (str(total.dtype), total.shape) == ("float3", ())
        np.testing.assert_array_equal(total.to_numpy(), (IMAGE / 2).sum((0, 1)))


def test_a_return_type_says_what_holds_the_components(m: Any) -> None:
    """It was not heard inside of a fused function: the numbers of an array stayed vectors, and went along no axis."""
    row = np.float32([1, 2, 3])

    def as_numbers(i: Any) -> Any:
        return m.scale.return_type("numpy")(i, 0.5) + row

    def as_vectors(i: Any) -> Any:
        return fp.sum(m.scale.return_type("tensor")(i, 0.5))

    tensor = fp.Tensor.from_numpy(m.device, IMAGE)
    for run in (as_numbers, fp.fuse(as_numbers)):
        np.testing.assert_allclose(np.asarray(run(tensor)), IMAGE / 2 + row, rtol=1e-6)
    for run in (as_vectors, fp.fuse(as_vectors)):
        np.testing.assert_allclose(np.asarray(run(IMAGE)), IMAGE.sum((0, 1)) / 2, rtol=1e-6)


def test_vectors_are_vectors_where_numbers_have_no_meaning(m: Any) -> None:
    """These programs cannot be written call by call with arrays."""
    factors = numbers(2, 5)
    for program, want in (
        (lambda i, f: m.scale(i, 0.5).zyx, IMAGE[..., ::-1] / 2),
        (lambda i, f: m.scale(i, 0.5) * f, IMAGE / 2 * factors[..., None]),
        (lambda i, f: fp.dot(m.scale(i, 1.0), m.scale(i, 1.0)), (IMAGE * IMAGE).sum(-1, dtype=F32)),
    ):
        np.testing.assert_allclose(fp.fuse(program)(IMAGE, factors), want, rtol=1e-6)


def test_gradients_of_losses_over_arrays(m: Any) -> None:
    target = numbers(2, 5, 3)
    gradient = fp.grad(lambda i: fp.mean((m.scale(i, 0.5) - target) ** 2))(IMAGE)
    np.testing.assert_allclose(gradient, (IMAGE / 2 - target) / 30, rtol=1e-5)

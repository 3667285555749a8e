"""Functions of doubles are right to 2 units in the last place, however they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.ir.ops.doubles import FUNCTIONS
from tests import exact

CALLED = [name for name in (*exact.UNARY, "atan2", "pow") if name not in ("asinh", "acosh", "atanh", "exp10")]


def call(name: str, x: Any, y: Any) -> Any:
    """One of fusepy's functions under Slang's name."""
    two: dict[str, Callable[..., Any]] = {"atan2": fp.atan2, "pow": fp.power}
    return two[name](x, y) if name in two else getattr(fp, name)(x)


@fp.fuse
def everything(x: Any, y: Any) -> Any:
    return tuple(call(name, x, y) for name in CALLED)


def check(results: Any, names: list[str], x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> None:
    wrong = []
    for name, result in zip(names, results, strict=True):
        off, where = exact.worst(name, np.ravel(result).tolist(), x.ravel().tolist(), y.ravel().tolist())
        if off > 2:
            wrong.append(where)
    assert not wrong, "\n".join(wrong)


def test_the_table_has_every_function():
    assert set(exact.UNARY) | {"atan2", "pow"} == FUNCTIONS


def test_all_functions_in_one_kernel():
    x, y = exact.points(60, 1)
    check(everything(x, y), CALLED, x, y)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_all_functions_at_many_points(seed: int):
    x, y = exact.points(3000, seed)
    check(everything(x, y), CALLED, x, y)


@pytest.mark.parametrize("name", ["sin", "pow"])
def test_eager_calls(name: str):
    x, y = np.array([0.5, 2.0, -3.0, 1e10, 1e300]), np.array([3.0, 0.5, 3.0, -2.0, 0.25])
    check([call(name, x, y)], [name], x, y)


def test_numbers_vectors_matrices_and_what_is_folded():
    x = np.linspace(-3, 3, 24).reshape(4, 2, 3)

    def f(x: Any) -> Any:
        vector, matrix = fp.vcast(x, "double3"), fp.vcast(x, "double2x3")
        return fp.sin(vector), fp.exp(matrix), fp.sum(fp.log(fp.abs(x))), fp.max(fp.cos(x), 0), fp.scan("sum", fp.exp(x))

    sines, powers, total, cosines, running = fp.fuse(f)(x)
    check([sines, powers], ["sin", "exp"], x, x)
    np.testing.assert_allclose(total, np.log(np.abs(x)).sum(), rtol=1e-14)
    np.testing.assert_allclose(cosines, np.cos(x).max(0), rtol=1e-15)
    np.testing.assert_allclose(running, np.exp(x).cumsum(0), rtol=1e-14)
    with fp.lazy():
        later = fp.exp(fp.sin(x))
    check([np.asarray(later)], ["exp"], np.sin(x), x)


def test_a_function_of_the_users_with_that_name_does_not_matter():
    source = "double sin(double x) { return 3; } double floor(double x) { return 4; } double halved(double x) { return x / 2; }"
    m = fp.Module.load_from_source(fp.default_device(), "hiding", source)
    x = np.array([0.5, 7.0])
    check([fp.fuse(lambda x: fp.sin(m.halved(x)))(x)], ["sin"], x / 2, x)
    assert m.sin(x).tolist() == [3, 3]


def test_kernels_without_such_functions_do_without_the_module():
    singles = fp.fuse(lambda x: fp.sin(x))
    assert "fz64_sin" in singles.source(np.zeros(3))
    assert "fz64_" not in singles.source(np.zeros(3, np.float32))
    assert "math64" not in fp.fuse(lambda x: fp.sqrt(x) * 2).source(np.zeros(3))


def test_a_thread_does_not_repeat_long_functions():
    """Lavapipe's compiler took 20 seconds for a sine that was spelled out for each of a thread's elements."""
    assert "[unroll]" not in fp.fuse(lambda x: fp.cos(x)).source(np.zeros(3))

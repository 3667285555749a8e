"""Scans of short rows as GPUs run them: groups load and store rows that lie side by side, and some threads scan each.

Waves of lavapipe have 8 lanes, which are fewer than share the longest of these rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

SOURCE = "float kept(float a, float b) { return b < 0 ? a : a + b; }"
RNG = np.random.default_rng(6)


def is_short(function: Any, *args: Any) -> bool:
    return "rows side by side" in function.source(*args).splitlines()[0]


def sums(x: Any) -> Any:
    return fp.cumsum(x * 2, -1) * 0.5 + x, fp.cummax(x, -1), x + 1


def sums_of_numpy(x: Any) -> Any:
    return np.cumsum(x, -1) + x, np.maximum.accumulate(x, -1), x + 1


def whole(shape: tuple[int, ...], kind: str = "f4") -> Any:
    return RNG.integers(-9, 9, shape).astype(kind)


@pytest.mark.req("V11")
def test_one_kernel_has_numpys_values_for_all_lengths(gpu: Any) -> None:
    """A thread alone or several, all elements of each or not, a last group that is cut; longer rows have tiles."""
    function, kernels = fp.fuse(sums), 0
    for length in (1, 3, 8, 15, 16, 17, 32, 33, 64, 100, 129, 255, 256, 257):
        for rows in (1, 31, 200):
            x = whole((rows, length))
            given = fp.Tensor.from_numpy(gpu, x)
            for got, want in zip(function(given), sums_of_numpy(x)):
                np.testing.assert_array_equal(got.to_numpy(), want, f"{rows} x {length}")
            assert is_short(function, given) == (length <= 256)
            made = gpu.counters.disk_hits + gpu.counters.kernels_compiled
            assert made == (kernels := kernels or made)


PROGRAMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "without the last": (lambda x: fp.scan("sum", x, axis=-1, exclusive=True), lambda x: np.cumsum(x, -1) - x),
    "products": (lambda x: fp.cumprod(fp.sign(x), -1), lambda x: np.cumprod(np.sign(x), -1)),
    "least": (lambda x: fp.cummin(x, -1), lambda x: np.minimum.accumulate(x, -1)),
}


@pytest.mark.parametrize("name", daily(PROGRAMS, "without the last"))
@pytest.mark.parametrize("kind", daily(["f4", "f2", "i4", "u1", "f8"], "f4", one=True))
def test_kinds(gpu: Any, name: str, kind: str) -> None:
    ours, numpys = PROGRAMS[name]
    x = abs(whole((3, 20, 45))).astype(kind)
    got = fp.fuse(ours)(fp.Tensor.from_numpy(gpu, x)).to_numpy()
    np.testing.assert_array_equal(got, numpys(x.astype("f8")).astype(got.dtype))


def test_no_numbers_and_infinities_go_on(gpu: Any) -> None:
    """Behind an infinity there is no rounding error, in threads behind the one that met it either."""
    x = whole((60, 45))
    for row, (place, value) in enumerate([(3, np.inf), (20, -np.inf), (44, np.nan), (0, np.nan), (11, np.inf)]):
        x[row, place] = value
    x[5, 2], x[5, 40] = np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        want = np.cumsum(x.astype("f8"), -1)
    np.testing.assert_array_equal(fp.fuse(lambda x: fp.cumsum(x, -1))(fp.Tensor.from_numpy(gpu, x)).to_numpy(), want)


def test_errors_of_rounding_are_kept_between_threads(gpu: Any) -> None:
    x = np.full((5, 96), 0.25, np.float32)  # eight threads of 12 elements each
    x[:, :12], x[:, 0], x[:, 84:], x[:, 84] = 0, 2.0**25, 0, -(2.0**25)
    got = fp.fuse(lambda x: fp.cumsum(x, -1))(fp.Tensor.from_numpy(gpu, x)).to_numpy()
    assert got[:, -1].tolist() == [18] * 5


def test_in_place_and_by_functions_of_users(gpu: Any) -> None:
    m = fp.Module.load_from_source(gpu, "scans_of_short_rows", SOURCE)
    x = whole((40, 33))
    t = fp.Tensor.from_numpy(gpu, x)
    function = fp.fuse(lambda x: fp.scan(m.kept, 0.0, x, axis=-1))
    assert is_short(function, t)
    function(t, _result=t)
    np.testing.assert_array_equal(t.to_numpy(), np.cumsum(np.maximum(x, 0), -1))

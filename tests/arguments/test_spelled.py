"""Types by NumPy's words, in `vcast` and `declare` as in ``astype`` and ``fp.zeros``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp

X = np.array([[1.75, -2.5], [300.0, 0.0]], np.float32)
SOURCE = "double twice(double x) { return 2 * x; } struct S { float x; }; float of(S s) { return s.x; }"


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "spelled", SOURCE)


@pytest.mark.parametrize("dtype", [np.int32, np.uint64, np.float16, np.float64, np.bool_])
def test_a_vcast_takes_numpys_types_and_their_names(dtype: Any) -> None:
    values = np.abs(X) if np.dtype(dtype).kind == "u" else X
    for spelled in (dtype, np.dtype(dtype), np.dtype(dtype).name):
        for found in fp.fuse(lambda x: (fp.vcast(x, spelled), fp.vcast(x * 1, spelled)))(values):  # noqa: B023
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, values.astype(dtype))


def test_calls_and_declarations_take_them_too(m: Any) -> None:
    np.testing.assert_array_equal(m.twice(fp.vcast(X, "float64")), 2.0 * X)
    np.testing.assert_array_equal(m.twice.declare(np.float64)(X), 2.0 * X)


def test_short_names_of_numpy_are_structs(m: Any) -> None:
    """Slang's own words stay what they are: its float has 32 bits."""
    assert m.of({"_type": "S", "x": 2.0}) == 2.0
    assert fp.fuse(lambda x: fp.vcast(x, "float"))(X.astype(np.float64)).dtype == np.float32
    with pytest.raises(fp.ArgumentError, match="not a Slang type"):
        fp.vcast(X, object())

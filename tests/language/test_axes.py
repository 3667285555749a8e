"""Keywords of functions along axes: ``dtype=``, and those of NumPy's and torch's that they do not take."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

X = np.float32([[1.5, -2.0, 3.0], [0.5, 4.0, -1.0]])
SMALL = np.int8([[100, -2, 3], [105, 4, -7]])
TYPED: dict[str, Any] = {
    "sum": lambda fp, x: fp.sum(x, axis=1, dtype=np.float64),
    "mean": lambda fp, x: fp.mean(x, dtype=np.float64),
    "prod": lambda fp, x: fp.prod(x, axis=0, keepdims=True, dtype=np.int64),
    "std": lambda fp, x: fp.std(x, axis=0, dtype=np.float64),
    "cumsum": lambda fp, x: fp.cumsum(x, dtype=np.int64),
    "wraps": lambda fp, x: fp.sum(x, dtype=np.int8),
}
LINES = {  # the lines that hints say
    "fp.mean(x, axis=1, where=x > 1)": np.mean(X, axis=1, where=X > 1),
    "fp.max(x, axis=0, where=x > 1)": np.max(X, axis=0, where=X > 1, initial=-np.inf),
    "fp.prod(x, where=x > 1)": np.prod(X, where=X > 1),
    "fp.all(x, where=x > 1)": np.True_,
    "fp.max(x, axis=0, initial=2.5)": np.max(X, axis=0, initial=2.5),
    "fp.sum(x, axis=1, initial=2.5)": np.sum(X, axis=1, initial=2.5),
}


@pytest.mark.parametrize("name", daily(TYPED, "sum", "prod", "wraps"))
def test_sums_are_computed_in_a_type(device: Any, name: str) -> None:
    wanted = TYPED[name](np, SMALL)
    for found in (TYPED[name](fp, SMALL), fp.fuse(lambda x: TYPED[name](fp, x))(SMALL), TYPED[name](np, fp.asarray(SMALL))):
        array = np.asarray(found)
        assert array.dtype == wanted.dtype
        np.testing.assert_allclose(array, wanted, rtol=1e-12)


@pytest.mark.parametrize("code", LINES)
def test_the_line_in_the_hint_means_what_numpy_means(device: Any, code: str) -> None:
    names = {"fp": fp, "x": X}
    with pytest.raises(fp.ArgumentError) as raised:
        eval(code, names)
    np.testing.assert_allclose(eval(raised.value.hint.removeprefix("write "), names), LINES[code], rtol=1e-6)


def test_hints_of_folds_have_a_function_and_an_identity() -> None:
    """They said `fp.reduce(x)`, which is no call."""
    for word, line in {"initial": "2.0, x)", "where": "identity, fp.where(x > 1, x, identity))"}.items():
        with pytest.raises(fp.ArgumentError, match=re.escape(f"write fp.reduce(function, {line}")):
            fp.reduce(max, x=X, **{word: 2.0})

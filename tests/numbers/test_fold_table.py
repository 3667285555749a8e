"""Every reduction and scan of every scalar against NumPy: ties, NaN, wrapping, and what the results are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.ir.types import Type
from tests.support.op_table import SCALARS
from tests.support.selection import daily

WIDER = {"b": np.int32, "i": np.int32, "u": np.uint32}  # of sums and products of fewer than 32 bits


def numbers(dtype: Any) -> Any:
    """Three rows: with ties, of extremes, and with NaN and infinities or bits."""
    if dtype.kind == "b":
        rows = [[0, 1, 1, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]]
    elif dtype.kind == "f":
        rows = [[2, 7.5, 7.5, -1, -1], [np.nan, 3, np.nan, -2, 1], [np.inf, 1, -0.0, 0, -np.inf]]
    else:
        info = np.iinfo(dtype)
        rows = [[2, 7, 7, 1, 1], [info.max, 3, info.min, info.max, 1], [info.min, 0, 5, 0, info.min]]
    return np.array(rows, dtype)


@pytest.mark.req("C5")
@pytest.mark.parametrize("name", daily(SCALARS, "bool", "int8_t", "uint64_t", "half", "float"))
def test_every_fold_of_every_scalar(device: Any, name: str) -> None:
    dtype = Type.parse(name).dtype
    assert dtype is not None
    x = numbers(dtype)
    total = np.dtype(WIDER[dtype.kind]) if dtype.kind in "biu" and dtype.itemsize < 4 else dtype
    mean = dtype if dtype.kind == "f" else np.dtype(np.float32)
    folds = [fp.sum, fp.mean, fp.prod, fp.max, fp.min, fp.any, fp.all, fp.argmax, fp.argmin]
    meanings = [np.sum, np.mean, np.prod, np.max, np.min, np.any, np.all, np.argmax, np.argmin]
    types = [total, mean, total, dtype, dtype, np.dtype(bool), np.dtype(bool), np.dtype(np.int32), np.dtype(np.int32)]
    found = fp.fuse(lambda x: tuple(f(x, 1) for f in folds))(x)
    with np.errstate(all="ignore"):
        for f, result, meaning, type in zip(folds, found, meanings, types, strict=True):
            if meaning in (np.sum, np.prod):
                wanted = meaning(x, axis=1, dtype=type)
            elif meaning is np.mean and dtype.kind == "f":
                wanted = np.mean(x.astype(np.float64), axis=1).astype(type)
            else:
                wanted = meaning(x, axis=1).astype(type)
            assert result.dtype == type, f.__name__
            if meaning is np.mean:
                np.testing.assert_allclose(result, wanted, rtol=2e-3 if name == "half" else 2e-7, err_msg=f.__name__)
            else:
                np.testing.assert_array_equal(result, wanted, err_msg=f.__name__)


@pytest.mark.parametrize("name", daily(SCALARS, "bool", "float"))
def test_folds_of_nothing(device: Any, name: str) -> None:
    empty = np.zeros((2, 0), Type.parse(name).dtype)
    found = fp.fuse(lambda x: (fp.sum(x, 1), fp.prod(x, 1), fp.any(x, 1), fp.all(x, 1), fp.mean(x, 1)))(empty)
    for result, wanted in zip(found, (0, 1, False, True, np.nan), strict=True):
        np.testing.assert_array_equal(result, [wanted, wanted])
    for f in (fp.max, fp.min, fp.argmax, fp.argmin):
        with pytest.raises(fp.ShapeError, match="no elements"):
            f(empty, 1)


@pytest.mark.req("C5")
@pytest.mark.parametrize("name", daily(SCALARS, "bool", "int8_t", "uint64_t", "float"))
def test_every_scan_of_every_scalar(device: Any, name: str) -> None:
    """Each along both axes, with and without the element itself, and beside a sum with its axes kept."""
    dtype = Type.parse(name).dtype
    assert dtype is not None
    x = numbers(dtype)
    total = np.dtype(WIDER[dtype.kind]) if dtype.kind in "biu" and dtype.itemsize < 4 else dtype
    ways = [(kind, axis, exclusive) for kind in ("sum", "prod", "max", "min") for axis in (0, 1) for exclusive in (False, True)]

    @fp.fuse
    def program(x: Any) -> Any:
        return tuple(fp.scan(kind, x, axis=axis, exclusive=exclusive) for kind, axis, exclusive in ways), fp.max(x, 1, True)

    found, kept = program(x)
    low, high = (False, True) if dtype.kind == "b" else (-np.inf, np.inf)
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    start = {"sum": 0, "prod": 1, "max": low, "min": high}
    meaning = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(kept, np.max(x, 1, keepdims=True))
        for (kind, axis, exclusive), result in zip(ways, found, strict=True):
            type = total if kind in ("sum", "prod") else dtype
            wanted = meaning[kind].accumulate(x.astype(type), axis, type)
            if exclusive:
                first = np.full_like(np.take(wanted, [0], axis), start[kind])
                wanted = np.concatenate([first, np.delete(wanted, -1, axis)], axis)
            assert result.dtype == type, kind
            np.testing.assert_array_equal(result, wanted, err_msg=f"{kind} along {axis}, exclusive {exclusive}")

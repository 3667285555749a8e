"""NumPy's functions of single elements against NumPy: of every kind of number, fused, at once and recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.vocabulary import arithmetic, names
from tests.support.selection import daily

Array = np.ndarray[Any, Any]
CONSTANTS = ("pi", "e", "inf", "nan", "newaxis")
APART = {"distance", "astype", "around", "isclose", "nan_to_num", "mix", "pow", "reciprocal"}
WORDS = [n for n in (*arithmetic.__all__, *names.__all__) if n not in APART and n not in CONSTANTS]
INTEGERS = {n for n in WORDS if n.startswith("bitwise") or n.endswith("shift")} | {"invert"}
FLOATS = np.array([0.0, -0.0, 0.5, -1.5, 2.0, -3.25, 1e-6, 1e6, np.inf, -np.inf, np.nan])
ULPS = 4


def spaced(dtype: Any) -> Array:
    """Numbers of both signs and of all sizes, and the edges."""
    info = np.finfo(dtype)
    sizes = np.geomspace(float(info.tiny) * 4, float(info.max) / 4, 3000).astype(dtype)
    near = np.linspace(-3, 3, 601).astype(dtype)
    return np.concatenate([sizes, -sizes, near, np.array([0, -0.0, 1, -1, info.max, -info.max, np.inf, -np.inf, np.nan], dtype)])


def arity(name: str) -> int:
    return getattr(np, name).nin if hasattr(getattr(np, name), "nin") else 1


def operands(name: str, dtype: Any) -> list[Array]:
    """Numbers for which NumPy and the device agree on the meaning: no integer division by 0, no sine of a large number."""
    dtype = np.dtype(dtype)
    x = FLOATS if dtype.kind == "f" else np.array([0, 1, 2, 7, 100] if dtype.kind != "i" else [0, 1, -1, -7, 7, 100])
    if dtype.kind == "f" and name in ("arcsin", "arccos"):
        x = x[np.abs(x) <= 1]
    if dtype.kind == "f" and name.startswith(("mod", "remainder", "fmod", "floor_div", "arctan2")):
        x = x[np.isfinite(x) & (np.abs(x) < 100) & (np.abs(x) > 0.1)]
    x = x.astype(dtype)
    if arity(name) == 1:
        return [x]
    y = x[(x != 0)] if name in ("mod", "remainder", "fmod", "floor_divide", "arctan2") else x
    return [x, y[:, None] % 8 if name.endswith("shift") else y[:, None]]


def same(name: str, found: Any, given: list[Array]) -> None:
    """Compares with NumPy by value and by kind; an integer that becomes a float does so in the device's 32 bits."""
    with np.errstate(all="ignore"):
        numpy = np.round if name == "rint" else getattr(np, name)  # NumPy's rint makes integers float64
        wanted = numpy(*(g.astype(np.float64) if g.dtype.kind == "f" else g for g in given))
    found = np.asarray(found)
    assert found.shape == wanted.shape, name
    if given[0].dtype.kind == "f" and wanted.dtype.kind == "f":
        assert found.dtype == given[0].dtype, name
    else:
        assert found.dtype.kind == wanted.dtype.kind, f"{name}: {found.dtype}, in NumPy {wanted.dtype}"
    rounded = wanted.astype(found.dtype)
    rough = 8192 if name.startswith("arc") else ULPS  # which are lavapipe's own
    fits = (found == rounded) | ((found != found) & (rounded != rounded))
    if found.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            fits |= np.abs(found - wanted) <= rough * np.spacing(np.maximum(np.abs(rounded), np.finfo(found.dtype).tiny))
    assert np.all(fits), (name, [g[0] for g in given], found[~fits], rounded[~fits])


def taken(dtype: Any) -> list[str]:
    kind = np.dtype(dtype).kind
    return [n for n in WORDS if n not in INTEGERS or kind in "iu"]


@pytest.mark.req("C5")
@pytest.mark.parametrize("dtype", daily(["float32", "float64", "int32", "uint32"], "float32"))
def test_every_word_in_one_program(device: Any, dtype: str) -> None:
    words = taken(dtype)
    given = {n: operands(n, dtype) for n in words}
    flat = [x for n in words for x in given[n]]

    @fp.fuse
    def program(*arrays: Any) -> Any:
        left = iter(arrays)
        return [getattr(fp, n)(*(next(left) for _ in range(arity(n)))) for n in words]

    for name, found in zip(words, program(*flat), strict=True):
        same(name, found, given[name])


# `test_every_word_in_one_program` has all of them daily, and `test_op_table` what they do with integers
@pytest.mark.parametrize("name", daily(WORDS, "arctan2", "floor_divide", "hypot", "invert", "isnan", "left_shift", "logical_xor"))
def test_words_at_once(device: Any, name: str) -> None:
    given = operands(name, "int32" if name in INTEGERS else "float32")
    same(name, getattr(fp, name)(*given), given)


def test_words_of_numbers_lists_and_empty_arrays_and_in_lazy_calls(device: Any) -> None:
    assert (fp.hypot(3, 4.0), fp.square(3), fp.logical_not([1, 0]), fp.signbit(-0.0)) == (5.0, 9, [False, True], True)
    half = fp.hypot(np.ones(2, np.float16), np.ones(2, np.uint8))
    assert half.dtype == np.float16
    empty = fp.hypot(np.ones((0, 3), np.float32), np.float32(2))
    assert (empty.shape, empty.dtype) == ((0, 3), np.float32)
    assert fp.log1p(fp.Tensor(np.zeros((), np.float32))).shape == ()
    with fp.lazy():
        t = fp.hypot(fp.Tensor([3.0, 6.0]), fp.Tensor([4.0, 8.0]))
        found = fp.log1p(fp.square(t))
    np.testing.assert_allclose(found.to_numpy(), np.log1p([25, 100]), rtol=1e-6)


@pytest.mark.parametrize("dtype", daily([np.float16, np.float32, np.float64], "float32"))
@pytest.mark.parametrize("name", ["log1p", "expm1", "cbrt", "hypot"])
def test_digits(device: Any, name: str, dtype: Any) -> None:
    """Right to a few units in the last place: near 0, far from it, and where squares overflow."""
    x = spaced(dtype)
    given = [x, x[::-1].copy()] if name == "hypot" else [x]
    with np.errstate(all="ignore"):
        numpy = np.round if name == "rint" else getattr(np, name)  # NumPy's rint makes integers float64
        wanted = numpy(*(g.astype(np.longdouble) for g in given))
        rounded = wanted.astype(dtype)
    found = getattr(fp, name)(*given)
    same_kind = np.isnan(found) == np.isnan(rounded)
    assert np.all(same_kind), x[~same_kind]
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(found[~finite & ~np.isnan(rounded)], rounded[~finite & ~np.isnan(rounded)])
    finite &= np.abs(rounded) < np.finfo(dtype).max / 2
    ulps = np.abs(found[finite] - wanted[finite]) / np.spacing(np.maximum(np.abs(rounded[finite]), np.finfo(dtype).tiny))
    assert ulps.max() <= 3, (x[finite][ulps.argmax()], float(ulps.max()))


def test_words_with_options(device: Any) -> None:
    x = np.array([1.0, np.nan, np.inf, -np.inf, 2.00001])
    y = np.array([1.0, np.nan, np.inf, np.inf, 2.0])
    for dtype in (np.float32, np.float64):
        a, b = x.astype(dtype), y.astype(dtype)
        for equal in (False, True):
            assert fp.isclose(a, b, equal_nan=equal).tolist() == np.isclose(a, b, equal_nan=equal).tolist()
        assert fp.isclose(a, b, 0.0, 1e-7).tolist() == np.isclose(a, b, 0.0, 1e-7).tolist()
        np.testing.assert_array_equal(fp.nan_to_num(a), np.nan_to_num(a))
        np.testing.assert_array_equal(fp.nan_to_num(a, nan=7, posinf=8, neginf=9), np.nan_to_num(a, nan=7, posinf=8, neginf=9))
    assert fp.isclose(np.uint8([1]), np.uint8([2])).tolist() == [False]
    assert fp.nan_to_num(np.int32([1])).dtype == np.int32
    z = np.array([1.255, -125.5, 15.0, 25.0])
    for decimals in (0, 1, 2, -1):
        np.testing.assert_array_equal(fp.around(z, decimals), np.around(z, decimals))
    assert fp.reciprocal([2, 4]) == [0.5, 0.25]  # a float, where NumPy truncates
    assert fp.mix([0.0, 10.0], 20.0, 0.25) == [5.0, 12.5]


def test_astype(device: Any) -> None:
    x = np.array([1.75, -2.5, 0.0])
    for dtype in (np.float16, np.float32, np.int8, np.int64, bool):
        found = fp.astype(x, dtype)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, x.astype(dtype))
    assert fp.astype(x, "half").dtype == np.float16
    assert fp.astype(x, float).dtype == np.float32  # Slang's float, as for Python's numbers
    colours = fp.Tensor.from_numpy(device, np.ones((2, 3), np.float32), "float3")
    assert str(fp.astype(colours, "half").dtype) == "half3"
    assert fp.fuse(lambda c: fp.astype(c, np.float16).x)(colours).tolist() == [1, 1]
    assert fp.fuse(lambda x: x + fp.astype(3, "uint"))(np.uint32([2**31])).tolist() == [2**31 + 3]
    assert float(fp.distance(fp.float3(1, 2, 3), fp.float3(1, 2, 5))) == 2.0


SMOOTH = ["hypot", "fmod", "copysign", "fmin", "fmax", "cbrt", "log1p", "expm1"]
SMOOTH += ["square", "reciprocal", "fabs", "deg2rad", "rad2deg", "nan_to_num"]


# most are made of those whose formulas `test_elementwise` has
@pytest.mark.parametrize("name", daily(SMOOTH, "hypot", "fmax", "cbrt", "nan_to_num"))
def test_gradients_at_smooth_points(device: Any, name: str) -> None:
    x, y = np.array([0.5, -1.5, 2.0, 3.0]), np.array([2.0, 0.75, 2.0, -3.0])
    fp.check_grads(getattr(fp, name), *([x, y] if SMOOTH.index(name) < 5 else [np.abs(x)]))


def test_gradients_at_tricky_points(device: Any) -> None:
    assert fp.grad(fp.hypot, (0, 1))(0.0, 0.0) == (0.0, 0.0)
    np.testing.assert_allclose(fp.grad(fp.hypot, (0, 1))(3.0, -3.0), [0.5**0.5, -(0.5**0.5)], rtol=1e-6)
    np.testing.assert_allclose(fp.grad(fp.hypot)(3e30, 4e30), 0.6, rtol=1e-6)
    assert fp.grad(fp.log1p)(0.0) == 1.0
    assert fp.grad(fp.expm1)(1e-20) == 1.0

"""``x ** y``: NumPy's meaning for every type, and the same for an exponent that is an argument as for one in the program."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.ir.types import Type
from tests.support import precision
from tests.support.selection import daily

BASES = [-3, -2, -1.5, -1, -0.5, -0.0, 0, 0.5, 0.999, 1, 1.5, 2, 5, np.inf, -np.inf, np.nan]
EXPONENTS = [-np.inf, -65, -3, -2, -1, -0.75, -0.5, 0, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 4, 10, 2.5, 64, 65, np.inf, np.nan]
LITERALS = (
    -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 10, 64, 65, 0.5, -0.5, 2.5, -2.5, 3.5, -3.5, 0.75, -0.75, 66.0, -65, 2.0, 1e-60, 0.3, 1.5,
    -1.5, np.inf, -np.inf, np.nan,
)  # fmt: skip
INTEGERS = ["int8_t", "uint8_t", "int16_t", "uint16_t", "int", "uint", "int64_t", "uint64_t"]

# units in the last place, where the exponent is no integer: of lavapipe's pow, which is exp2(y * log2(x)); of ours for double
ROUGH = {"half": 2, "float": 256, "double": 2}
# and where it is one, for an exponent of n: the products round n times
EXACT = {"half": lambda n: 1, "float": lambda n: 1 + np.abs(n), "double": lambda n: 2}


def close(found: Any, x: Any, y: Any, dtype: Any, name: str) -> None:
    wide = np.longdouble if dtype == np.float64 else np.float64
    with np.errstate(all="ignore"):
        base = np.where(np.isneginf(x) & (y == 0.5), np.inf, x)  # NumPy takes the square root where all exponents are 0.5
        exact = np.power(base.astype(wide), np.asarray(y, wide))
        whole = np.floor(np.asarray(y, wide)) == y
        wanted = exact.astype(dtype)
        y, whole = np.broadcast_to(y, x.shape), np.broadcast_to(whole, x.shape)
        units = np.where(whole & (np.abs(y) <= 64), EXACT[name](np.where(np.isfinite(y), y, 0)), ROUGH[name])
        if name == "float":
            units = np.maximum(units, np.where(whole, 0, precision.power_ulps(x, y)))
        units = units + precision.ulps("sqrt", np.dtype(dtype))  # of the root or the quotient that some have
        special = ~np.isfinite(wanted) | (wanted == 0)
        error = np.abs(found.astype(wide) - exact) / np.spacing(np.maximum(np.abs(wanted), np.finfo(dtype).tiny)).astype(wide)
        fits = precision.left_open("pow", [x], wanted) | np.where(
            special, (found == wanted) | (np.isnan(found) & np.isnan(wanted)), error <= units
        )
    bad = np.argwhere(~fits)[:5]
    told = [(x[tuple(b)], y[tuple(b)], found[tuple(b)], wanted[tuple(b)]) for b in bad]
    assert not len(bad), f"{name}: base, exponent, found, wanted: {told}"


@pytest.mark.req("C5")
@pytest.mark.parametrize("name", daily(["half", "float", "double"], "float"))
def test_powers_of_floats(device: Any, name: str) -> None:
    dtype = Type.parse(name).dtype
    assert dtype is not None
    x, y = (a.copy() for a in np.meshgrid(np.array(BASES, dtype), np.array(EXPONENTS, dtype)))
    program = fp.fuse(lambda x, y: (x**y, fp.vcast(x, f"{name}4") ** fp.vcast(y, f"{name}4")))
    x, y = x.reshape(-1, 4), y.reshape(-1, 4)
    for found in program(x, y):
        close(found, x, y, dtype, name)
    row = np.array(BASES, dtype)
    written = fp.fuse(lambda x: tuple(x**n for n in LITERALS))(row)
    for n, found in zip(LITERALS, written):
        given = fp.power(row, n)
        close(found, row, dtype.type(n), dtype, name)
        close(given, row, dtype.type(n), dtype, name)
        if name != "double" and float(n).is_integer() and abs(n) <= 64:
            np.testing.assert_array_equal(found, given, err_msg=f"{name} ** {n}: written and given")
        ends = np.isinf(row) | (row == 0)
        for a, b in ((np.isnan(found), np.isnan(given)), (np.signbit(found[ends]), np.signbit(given[ends]))):
            np.testing.assert_array_equal(a, b, err_msg=f"{name} ** {n}: written and given")


@pytest.mark.req("C5")
@pytest.mark.parametrize("name", daily(INTEGERS, "int8_t", "uint64_t"))
def test_powers_of_integers(device: Any, name: str) -> None:
    dtype = Type.parse(name).dtype
    assert dtype is not None
    base = np.array([0, 1, 2, 3, 5, -1, -2, -3, 7, 100, np.iinfo(dtype).max], object)
    base = (base % (1 << (8 * dtype.itemsize))).astype(f"u{dtype.itemsize}").view(dtype)
    x, n = (a.copy() for a in np.meshgrid(base, np.array([0, 1, 2, 3, 4, 5, 7, 20, 63], dtype)))
    powers = (0, 1, 2, 3, 4, 5, 9)
    found, *written = fp.fuse(lambda x, n: (x**n, *(x**k for k in powers)))(x, n)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.power(x, n))
    for k, product in zip(powers, written):
        np.testing.assert_array_equal(product, x ** dtype.type(k), err_msg=str(k))


@pytest.mark.req("C5")
def test_powers_of_integers_of_both_signs(device: Any) -> None:
    """A signed exponent of an unsigned base was taken as a large number."""
    for unsigned, signed in itertools.product(("u1", "u2", "u4", "u8"), ("i1", "i4", "i8")):
        x, n = (a.copy() for a in np.meshgrid(np.array([0, 1, 2, 3, 255], unsigned), np.array([-3, -2, -1, 0, 1, 9], signed)))
        for base, exponent in ((x, n), (n, x)):
            found = fp.fuse(lambda x, n: x**n)(base, exponent)
            assert np.array_equal(found, fp.power(base, exponent))
            of = [int(a) ** int(k) if k >= 0 else int(a == 1) for a, k in zip(base.flat, exponent.flat)]
            bits = (1 << 8 * found.itemsize) - 1
            assert [int(v) & bits for v in found.flat] == [v & bits for v in of], (base.dtype, exponent.dtype)
    vectors = fp.fuse(lambda x, n: fp.vcast(x, "uint3") ** fp.vcast(n, "int3"))(np.uint32([[1, 2, 3]]), np.int32([[-1, -2, 2]]))
    assert vectors.tolist() == [[1, 0, 9]]
    assert fp.fuse(lambda x: x ** fp.full(4, -1))(np.uint32([0, 1, 2, 3])).tolist() == [0, 1, 0, 0]


@pytest.mark.req("C5")
def test_negative_powers_of_integers(device: Any) -> None:
    x = np.array([-2, -1, 0, 1, 2], np.int32)
    with pytest.raises(fp.TraceError, match="negative integer powers") as failure:
        fp.fuse(lambda x: x**-1)(x)
    assert "1 / x" in str(failure.value)
    assert "test_powers.py" in str(failure.value)
    np.testing.assert_array_equal(fp.fuse(lambda x: x**-1.0)(np.array([-2, 4], np.int32)), np.float32([-0.5, 0.25]))
    with pytest.raises(fp.TraceError, match="negative integer powers"):
        fp.fuse(lambda x: fp.power(x, -2))(x)

    def lazily(n: int) -> Any:
        with fp.lazy():
            made = fp.power(x, n)
        return made.to_numpy()

    graph = fp.Graph(inputs=["x", "n"])
    graph.set_outputs(fp.fuse(lambda x, n: x**n).node()(*graph.get_inputs()))
    loop = fp.fuse(lambda x, n: fp.fori_loop(0, 2, lambda i, c: c + x**n, x))
    branch = fp.fuse(lambda x, n: fp.cond(x > 0, lambda x, n: x**n, lambda x, n: x, x, n))
    calls: list[Callable[[int], Any]] = [
        lambda n: fp.power(x, n),
        lambda n: fp.power(2, n),
        lambda n: fp.Tensor(x, device=device) ** n,
        lambda n: fp.power([1, 2], n),
        lambda n: fp.fuse(lambda x, n: (x + 1) ** n)(x, n),
        lambda n: fp.fuse(lambda x, n: x ** fp.vcast(n, "int"))(x, np.int32(n)),
        lambda n: loop(x, n),
        lambda n: branch(x, n),
        lambda n: graph(x, n),
        lazily,
    ]
    for call in calls:
        for n in (2, 3):
            assert np.asarray(call(n)).dtype.kind in "iu"
        for n in (-1, -2):  # of a key that is known
            with pytest.raises(fp.TraceError, match=r"test_powers.py:(.|\n)*negative integer powers(.|\n)*\*\* -\d(.|\n)*1 / x"):
                call(n)
    exponents = np.full_like(x, -1)  # those of arrays are not looked at
    assert fp.power(x, exponents).tolist() == [0, -1, 0, 1, 0]
    assert fp.power(x, 2 * exponents).tolist() == [0, 1, 0, 1, 0]
    assert fp.fuse(lambda x: x ** fp.full(5, -1))(x).tolist() == [0, -1, 0, 1, 0]
    with pytest.raises(fp.TraceError, match="negative integer powers"):
        fp.fuse(lambda x: x ** fp.vcast(-1, "int"))(x)
    assert fp.power(x, -1.0)[:2].tolist() == [-0.5, -1]
    assert fp.power([-2, -3], [2, 3]) == [4, -27]
    assert fp.power(5.0, 2) == 25.0
    assert fp.power(np.array([True, False]), 2).tolist() == [1, 0]


@pytest.mark.req("C5")
def test_powers_in_matrices_bodies_and_lazy_calls(device: Any) -> None:
    m = np.arange(12, dtype=np.float32).reshape(3, 2, 2) - 5
    cubes = fp.fuse(lambda m, y: (fp.vcast(m, "float2x2") ** 3, fp.vcast(m, "float2x2") ** y, 2.0 ** fp.vcast(m, "float2x2")))
    for found, wanted in zip(cubes(m, 3.0), (m**3, m**3, 2**m)):
        np.testing.assert_array_equal(found, wanted)
    loop = fp.fuse(lambda x: fp.fori_loop(0, 2, lambda i, c: (c + i) ** 2, x))
    x = np.array([-3.0, 2.0], np.float32)
    np.testing.assert_array_equal(loop(x), (x**2 + 1) ** 2)
    with fp.lazy():
        y = fp.power(x, 3)
    assert y.to_numpy().tolist() == [-27.0, 8.0] if isinstance(y, fp.Tensor) else list(y) == [-27.0, 8.0]


def test_literal_exponents_are_as_cheap_as_they_can_be(device: Any) -> None:
    x = np.ones(3, np.float32)
    source = fp.fuse(lambda x: (x**2, x**-1)).source(x)
    for text in ("a_x * a_x", "float(1) / (a_x)"):
        assert text in source
    assert "import powers" not in source
    source = fp.fuse(lambda x: (x**0.5, x**2.2, x**1.5, x**65, x**66, x**7)).source(x)
    for text in (
        *("fzp_root(a_x)", "fzp_real(a_x, float(2.2", "(abs(a_x)) * fzp_root(a_x)"),
        *("fzp_odd(a_x", "fzp_even(a_x", "fzp_whole(a_x, 7)"),
    ):
        assert text in source
    source = fp.fuse(lambda x: (x**2, x**0.5)).source(x.astype(np.float16))
    assert "float(" not in source.split("a_x * a_x")[0].rsplit("{", 1)[1]


def test_an_exponent_may_be_computed_of_numbers_alone(device: Any) -> None:
    """Each square doubled the time that lavapipe took to compile the power: of 22, more than 15 s."""

    def powers(x: Any, s: Any) -> Any:
        for _ in range(30):
            s = s * s - s
        return x**s

    x = np.array([0.5, 1.5, 2.0], np.float32)
    np.testing.assert_array_equal(fp.fuse(powers)(x, 2.0), x**2)

"""Casts of every scalar to every other against NumPy, of arrays and of numbers; what is out of range is left to the device."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.ir.types import Type
from tests.support.op_table import SCALARS
from tests.support.selection import daily
from tests.support.slang_functions import same

KINDS: dict[str, Any] = {name: Type.parse(name).dtype for name in SCALARS}
SHAPES = [(), (3,), (2, 3)]


def numbers(dtype: Any) -> Any:
    """The ends of the range of every type that fit this one, their neighbours, fractions, and what is no number."""
    if dtype.kind == "b":
        return np.array([False, True])
    found: set[Any] = {0, 1, 2, 100}
    for other in KINDS.values():
        if other.kind in "iu":
            info = np.iinfo(other)
            found |= {int(n) + k for n in (info.min, info.max) for k in (-1, 0, 1)}
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array(sorted(n for n in found if info.min <= n <= info.max), dtype)
    found |= {-0.0, 0.5, -0.5, 0.99, -0.99, 2.5, -2.5, 1 / 3, 65504.0, 254.996, -127.99, 1e-3, np.inf, -np.inf, np.nan, 1e30}
    with np.errstate(over="ignore"):
        return np.array(sorted(found, key=str), np.float64).astype(dtype)


def defined(x: Any, to: Any) -> Any:
    """Where a cast has a result that is the same on every device: integers wrap, and a float must fit without its fraction."""
    if x.dtype.kind == "f" and to.kind in "iu":
        info = np.iinfo(to)
        whole = np.trunc(x.astype(np.float64))
        return (whole >= float(info.min)) & (whole < float(info.max + 1))
    return np.ones(x.shape, bool)


def check(x: Any, found: Any, name: str, to: str) -> None:
    dtype = KINDS[to]
    assert found.dtype == dtype
    with np.errstate(all="ignore"):
        wanted = x.astype(dtype)
        fits = (found == wanted) | ((found != found) & (wanted != wanted))
        if dtype.kind == "f" and x.dtype.kind != "b":  # what lies between two numbers may become either of them
            wide = x.astype(np.longdouble)
            rounds = np.isfinite(wide) & (wanted.astype(np.longdouble) != wide)
            beside = [np.nextafter(wanted, np.array(end, dtype)) for end in (-np.inf, np.inf)]
            fits |= rounds & ((found == beside[0]) | (found == beside[1]))
    bad = np.argwhere(~fits & defined(x, dtype))[:4]
    told = [(str(x[tuple(b)]), "found", str(found[tuple(b)]), "wanted", str(wanted[tuple(b)])) for b in bad]
    assert not len(bad), f"{name} to {to}: {told}"


def run(name: str, shape: tuple[int, ...]) -> None:
    """A scalar to all of them in one kernel, as elements of this shape."""
    x = numbers(KINDS[name])
    x = np.resize(x, (max(1, -(-x.size // math.prod(shape))) + 1, *shape))

    def element(scalar: str) -> str:
        type = Type.parse(scalar)
        return str(Type.matrix(type, *shape) if len(shape) == 2 else Type.vector(type, shape[0]) if shape else type)

    def program(x: Any) -> Any:
        x = fp.vcast(x, element(name)) if shape else x
        return tuple(fp.vcast(x, element(to)) for to in SCALARS)

    for to, found in zip(SCALARS, fp.fuse(program)(x), strict=True):
        check(x, found, name, to)


@pytest.mark.req("C5", "V4")
@pytest.mark.parametrize("name", daily(SCALARS, "bool", "int8_t", "uint64_t", "half", "float", "double"))
def test_every_cast_of_scalars(device: Any, name: str) -> None:
    run(name, ())


@pytest.mark.long
@pytest.mark.parametrize(("name", "shape"), list(itertools.product(SCALARS, SHAPES[1:])), ids=str)
def test_every_cast_of_vectors_and_matrices(device: Any, name: str, shape: tuple[int, ...]) -> None:
    run(name, shape)


def casts(m: Any, to: str) -> Any:
    """A number as what it is cast to; the same beside another use of it; and as an argument of a Slang function."""
    function, type = (m.keep, "bool") if to == "bool" else (m.wide, "int64_t")
    return (
        fp.fuse(lambda x: fp.vcast(x, to)),
        fp.fuse(lambda x: (fp.vcast(x, to), x + 0.5)),
        fp.fuse(lambda x: function(fp.vcast(fp.vcast(x, to), type))),
    )


@pytest.fixture(scope="module")
def number_casts(device: Any) -> fp.Module:
    text = "int64_t wide(int64_t x) { return x; } bool keep(bool x) { return x; }"
    return fp.Module.load_from_source(device, "number_casts", text)


NUMBERS = {
    "uint": [2.5, 0.0, -0.99, 3],
    "int": [-2.5, 7.99, -3],
    "int64_t": [2.5, 2.0**40],
    "bool": [2.5, -1, 0.0, 300, math.nan],
}


@pytest.mark.req("V4")
@pytest.mark.parametrize("to", daily(NUMBERS, "uint", "bool"))
def test_a_number_is_cast_as_an_array_is(number_casts: fp.Module, to: str) -> None:
    """In one kernel each: as an argument, as a number of the program, in a list, and as one value of an array."""
    given, (cast, pair, call) = NUMBERS[to], casts(number_casts, to)
    wanted = np.array(given).astype(KINDS[to]).tolist()
    assert [cast(x) for x in given] == wanted  # the second call of each is a replayed one
    assert [pair(x)[0] for x in given] == wanted
    assert [call(x) for x in given] == wanted
    assert [cast([x])[0] for x in given] == wanted
    assert [cast(np.float32(x)) for x in given] == wanted
    assert [cast(np.array([x]))[0] for x in given] == wanted


@pytest.mark.req("V4")
def test_numbers_are_cast_at_once_lazily_and_in_graphs(number_casts: fp.Module) -> None:
    m = number_casts
    assert [m.wide(fp.vcast(x, "int64_t")) for x in (2.5, -7.5)] == [2, -7]
    assert fp.fuse(lambda x: x + fp.vcast(2.5, "int"))([1]) == [3]
    with fp.lazy():
        later = m.wide(fp.vcast(fp.asarray(2.5), "int64_t"))
    assert later.item() == 2
    graph = fp.Graph(inputs=["x"])
    graph.set_outputs(fp.fuse(lambda x: fp.vcast(x, "int")).node()(*graph.get_inputs()))
    assert [graph(2.5), graph(-3.5)] == [2, -3]


@pytest.mark.parametrize("value", [-1, -1.0, 300, 300.5, math.inf, math.nan])
def test_a_number_out_of_range_is_an_error(device: Any, value: float) -> None:
    cast = fp.fuse(lambda x: fp.vcast(x, "uint8_t"))
    both = fp.fuse(lambda x: (fp.vcast(x, "uint8_t"), x + 0.5))
    for program in (cast, both):
        with pytest.raises(fp.RangeError, match=r"argument 'x'"):
            program(value)
        assert program(7.5 if isinstance(value, float) else 7) in (7, (7, 8.0 if isinstance(value, float) else 7.5))
    with pytest.raises(fp.RangeError):
        cast([value])


@pytest.mark.req("V4")
@pytest.mark.parametrize("value", [2.5, 2])
def test_a_number_and_its_cast_in_one_kernel(device: Any, value: float) -> None:
    """What is cast is not weak any more, and so decides about the type beside the number that it was made of."""
    types = ["half", "float", "double"] if isinstance(value, float) else ["int16_t", "uint", "int64_t"]

    def program(x: Any, y: Any) -> Any:
        made = [fp.vcast(x, to) for to in types]
        return tuple(found for one in made for found in (one, fp.minimum(x * 2, one), one + x, y + one + x * 0))

    f = fp.fuse(program)
    y = np.arange(3, dtype=np.int16)
    for _ in range(2):
        found = f(value, y)
        for to, (one, least, total, beside) in zip(types, zip(*[iter(found)] * 4)):
            assert (one, least, total) == (value, value, 2 * value)
            np.testing.assert_array_equal(beside, y + value)
            assert beside.dtype == (KINDS[to] if to != "half" else np.float16)


@pytest.mark.req("V4")
def test_a_number_cast_to_its_own_type_is_not_weak(device: Any) -> None:
    """The type that it decides about is that of an operation with an array whose type is lower or narrower."""
    m = fp.Module.load_from_source(device, "cast_numbers", "float at(int i, float x) { return i + x; }")
    h, u = np.full(2, 7, np.float16), np.full(2, 7, np.uint16)

    def program(x: Any, n: Any, said: Any, listed: Any, h: Any, u: Any) -> Any:
        own = fp.vcast(x, "float")
        made = fp.float3(x, x, x)
        vector = fp.vcast(made, "float3")
        return (
            [h * x, h * made.x],
            [h * own, h * said, h * fp.vcast(listed, "float"), h * fp.vcast(0.5, "float"), h * fp.vcast(3, "float")],
            [fp.where(h > 0, h, own), fp.maximum(h, own), h * vector.x, h * vector[0], h * fp.sum(fp.vcast(listed, "float"))],
            [fp.cond(h > 0, lambda: h * own, lambda: h * vector.y), fp.fori_loop(0, 1, lambda _, c: c + h * vector.z, 0.0)],
            [u | n, fp.where(u > 0, u, n)],
            [u | fp.vcast(n, "int"), fp.where(u > 0, u, fp.vcast(n, "int")), u | fp.vcast(3, "int")],
            m.at(fp.grid(fp.vcast(h, "half")), own),
        )

    found = fp.fuse(program)(0.5, 3, fp.vcast(0.5, "float"), [0.5, 0.5], h, u)
    halfs, products, others, bodies, shorts, ints, placed = found
    assert [a.dtype for a in halfs] == [np.float16] * 2
    assert [a.dtype for a in (*products, *others, *bodies)] == [np.float32] * 12
    assert [a.dtype for a in shorts] == [np.uint16] * 2
    assert [a.dtype for a in ints] == [np.int32] * 3
    same(np.stack(products), np.array([[3.5, 3.5]] * 4 + [[21, 21]], np.float32))
    same(np.stack([*others, *bodies]), np.array([[7, 7]] * 2 + [[3.5, 3.5]] * 2 + [[7, 7]] + [[3.5, 3.5]] * 2, np.float32))
    same(np.stack([*shorts, *ints]), np.full((5, 2), 7, np.int32))
    same(placed, np.array([0.5, 1.5], np.float32))

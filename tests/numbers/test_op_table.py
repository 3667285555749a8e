"""The table of `op_table` on a device: every operation over every scalar, vector and matrix, with edges, against NumPy."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.ir.ops import OPS
from fusepy.ir.ops.base import Componentwise
from fusepy.ir.types import Type
from tests.support import precision
from tests.support.op_table import APART, EXEMPT, ROWS, SCALARS, SHORT, Row
from tests.support.selection import daily

KINDS = {name: Type.parse(name).dtype for name in SCALARS}


def edges(dtype: Any) -> Any:
    """Numbers where operations go wrong."""
    if dtype.kind == "b":
        return np.array([False, True], dtype)
    if dtype.kind == "f":
        top = np.finfo(dtype).max
        numbers = [0, -0.0, 0.1, 0.5, -0.5, 1, -1, 1.5, 2.5, -2.5, -3.5, 7, 100.25, top, -top, np.inf, -np.inf, np.nan]
        return np.array(numbers, dtype)
    info = np.iinfo(dtype)
    signed = [-1, -2, -7, info.min, info.min + 1] if dtype.kind == "i" else [info.max // 2 + 1]
    return np.array([0, 1, 2, 3, 7, 8, info.bits - 1, info.bits, info.max - 1, info.max, *signed], dtype)


def computed(row: Row, name: str) -> Any:
    """The scalar that a row computes with, and that of its result."""
    dtype = KINDS[name]
    if row.to == "float" and dtype.kind != "f":
        dtype = np.dtype(np.float32)
    if row.to == "same" and dtype.kind == "b":
        dtype = np.dtype(np.int32)
    return dtype, np.dtype(bool) if row.to == "bool" else dtype


def check(row: Row, name: str, found: Any, operands: Sequence[Any]) -> None:
    dtype, result = computed(row, name)
    assert found.dtype == result, f"{row.name} of {name} is {found.dtype}, not {result}"
    with np.errstate(all="ignore"):
        given = [x.astype(dtype) for x in operands[: row.arity]]
        wide = [x.astype(np.longdouble if dtype.itemsize == 8 else np.float64) for x in given]
        exact = row.ulps != (0, 0, 0) or row.slack is not None
        wanted = np.asarray(row.numpy(*(wide if dtype.kind == "f" and exact else given)))
        rounded = wanted.astype(result)
        fits = (found == rounded) | ((found != found) & (rounded != rounded))
        if dtype.kind == "f" and exact:
            unit = np.spacing(np.maximum(np.abs(rounded), np.finfo(dtype).tiny))
            ulps = max(row.ulps[(2, 4, 8).index(dtype.itemsize)], precision.ulps(row.name, dtype))
            bound = ulps * unit + (row.slack(*given) if row.slack else 0)
            fits |= np.abs(found - wanted) <= bound
        fits |= np.broadcast_to(precision.left_open(row.name, given, rounded), fits.shape)
        fits |= ~np.broadcast_to(row.where(*given), fits.shape) if row.where else False
    bad = np.argwhere(~fits)[:4]
    told = [(*(str(x[tuple(b)]) for x in given), "found", str(found[tuple(b)]), "wanted", str(wanted[tuple(b)])) for b in bad]
    assert not len(bad), f"{row.name} of {name}: {told}"


def run(name: str, rows: Sequence[Row], shape: tuple[int, ...] = ()) -> None:
    """All rows that take the scalar, on all pairs of edges and some triples, as elements of this shape.

    They are one kernel for scalars and vectors; drivers spend minutes on all the components of large matrices of half at once.
    """
    rows = [r for r in rows if KINDS[name].kind in r.takes]
    most = max(1, 256 // math.prod(shape))
    if len(rows) > most:
        for i in range(0, len(rows), most):
            run(name, rows[i : i + most], shape)
        return
    numbers = edges(KINDS[name])
    a, b, c = (x.ravel() for x in np.meshgrid(numbers, numbers, numbers[:: max(1, len(numbers) // 4)]))
    count = int(np.prod(shape))
    a, b, c = (np.resize(x, (-(-x.size // count), *shape)) for x in (a, b, c))
    element = str(Type.matrix(Type.parse(name), *shape) if len(shape) == 2 else Type.vector(Type.parse(name), count))

    @fp.fuse
    def program(a: Any, b: Any, c: Any) -> Any:
        operands = [fp.vcast(x, element) for x in (a, b, c)] if shape else [a, b, c]
        return tuple(r.run(*operands[: r.arity]) for r in rows)

    for row, found in zip(rows, program(a, b, c), strict=True):
        check(row, name, found, (a, b, c))


@pytest.mark.req("C5")
@pytest.mark.parametrize("name", daily(SCALARS, "bool", "int8_t", "uint64_t", "float"))
def test_every_operation_of_scalars(device: Any, name: str) -> None:
    run(name, ROWS)


@pytest.mark.req("C5")
@pytest.mark.parametrize("name", daily(["bool", "int8_t", "uint16_t", "int", "uint64_t", "float"], "uint64_t", "float"))
def test_operations_of_vectors(device: Any, name: str) -> None:
    run(name, SHORT, (3,))


@pytest.mark.req("C5")
@pytest.mark.parametrize("name", daily(["bool", "int8_t", "int", "uint64_t", "float"], "int", "float"))
def test_operations_of_matrices(device: Any, name: str) -> None:
    run(name, SHORT, (2, 3))


@pytest.mark.long
@pytest.mark.parametrize(("name", "shape"), list(itertools.product(SCALARS, [(2,), (3,), (4,), (2, 2), (2, 3), (4, 4)])), ids=str)
def test_every_operation_of_every_shape(device: Any, name: str, shape: tuple[int, ...]) -> None:
    run(name, ROWS, shape)


def test_every_operation_has_a_table() -> None:
    assert {r.name for r in ROWS} | set(APART) | set(EXEMPT) == set(OPS)
    assert {n for n, op in OPS.items() if isinstance(op, Componentwise)} == {r.name for r in ROWS} | {"pow", "power"}
    for place in APART.values():
        module, _, test = place.partition(".")
        assert hasattr(importlib.import_module(f"tests.numbers.{module}"), test), place


@pytest.mark.parametrize("row", [r for r in ROWS if r.takes != "biuf"], ids=lambda r: r.name)
def test_what_an_operation_does_not_take_is_an_error(device: Any, row: Row) -> None:
    for name in SCALARS:
        if KINDS[name].kind not in row.takes:
            x = np.ones(3, KINDS[name])
            program = fp.fuse((lambda a: row.run(a)) if row.arity == 1 else (lambda a: row.run(a, a)))
            with pytest.raises(fp.TraceError, match=r"of (bool|float|half|double) values"):
                program.ir(x)


@pytest.mark.parametrize("name", daily(["half", "float", "double"], "half", "float"))
def test_two_operations_that_compilers_join(device: Any, name: str) -> None:
    """Negations and constants move through sums, products and quotients: spirv-opt lost a sign where halfs are divided, and
    NVIDIA's Vulkan driver the 0 of ``(x + 3) / 3``."""
    texts = [f"{a} {op} {b}" for op in ("+", "-", "*", "/") for a, b in (("2", "(-x)"), ("(-x)", "2"))]
    texts += [f"-({a} {op} {b})" for op in ("+", "-", "*", "/") for a, b in (("2", "x"), ("x", "2"))]
    texts += [f"(x {a} 3) {b} 2" for a in ("+", "-", "*", "/") for b in ("+", "-", "*", "/")]
    texts += [f"2 {b} (3 {a} x)" for a in ("+", "-", "*", "/") for b in ("+", "-", "*", "/")]
    texts += ["2 % (-x)", "(-x) % 2", "2 // (-x)", "(-x) // 2"]
    texts += ["(x + 3) // 3", "(3 + x) % 3", "(x - 5.75) // 3", "(5.75 - x) / 3", "(x - 5.75) * 0.7"]  # 0 for -3 and 5.75
    program = eval(f"lambda x: ({', '.join(texts)})")
    x = np.array([5.75, 2, 3.5, -1.5, -3], {"half": np.float16, "float": np.float32, "double": np.float64}[name])
    rough = {"half": 4e-3, "float": 1e-6, "double": 1e-14}[name]
    for text, found, wanted in zip(texts, fp.fuse(program)(x), program(x.astype(np.float64)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=rough, err_msg=text)


def test_divisors_of_64_bits_hold_no_choice(device: fp.Device) -> None:
    """NVIDIA's Vulkan driver computes garbage from a constant divisor that is chosen component by component."""
    for scalar, dtype in (("uint64_t", np.uint64), ("int64_t", np.int64)):
        x = np.arange(12, dtype=dtype).reshape(4, 3)
        f = fp.fuse(lambda x: fp.vcast(x, f"{scalar}3") // fp.vcast(5, scalar))  # noqa: B023
        np.testing.assert_array_equal(np.asarray(f(x)), x // 5)
        assert " ? " not in f.source(x).split("void fz_call")[1].split("\n}")[0]

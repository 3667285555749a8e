"""Every row of the misuse table that these arguments can meet: what is raised, what it names, and that the next call works."""

from __future__ import annotations

import gc
import math
import operator
import os
import re
import subprocess
import textwrap
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.arguments.mapped import Taken
from fusepy.backend.device.pool import Pool
from fusepy.trace.traced import Numberless
from tests.support import child as processes
from tests.support.slang_functions import F32, ramp, same

HERE = os.path.basename(__file__)


def misuse(call: Callable[[], Any], error: type[fp.FusepyError], builtin: type[Exception], *named: str) -> fp.FusepyError:
    """`call` raises `error`, a `builtin` as well, naming `named` and this file, and ending in a hint."""
    with pytest.raises(error) as caught:
        call()
    raised = caught.value
    text = str(raised)
    assert type(raised) is error
    assert isinstance(raised, fp.FusepyError)
    assert isinstance(raised, builtin)
    assert raised.hint, text
    assert text.splitlines()[-1].strip().startswith("hint:") or raised.hint in text
    for name in named:
        assert name in text, f"{name!r} is not in\n{text}"
    if raised.is_placed:
        assert re.match(r"test_\w+\.py:\d+: ", text), f"no call site in\n{text}"
    return raised


@pytest.fixture(autouse=True)
def _next_call_works(request: pytest.FixtureRequest) -> Iterator[None]:
    """After whatever a test has provoked, good calls of both kinds give right results."""
    yield
    if "lib" in request.fixturenames:
        lib = request.getfixturevalue("lib")
        same(lib.add(ramp(5), 1.0), ramp(5) + 1)
        same(GOOD(ramp(2, 3), ramp(3)), ramp(2, 3) + ramp(3))


GOOD = fp.fuse(lambda x, y: x + y)


# ---- 1: arguments ---------------------------------------------------------------------------------------------------


def test_row_1_too_many(lib: Any) -> None:
    misuse(
        lambda: lib.add(1, 2, 3), fp.ArgumentError, TypeError, "add() takes 2 arguments, 3 were given", "add(float a, float b)"
    )


def test_row_1_missing(lib: Any) -> None:
    misuse(lambda: lib.add(1), fp.ArgumentError, TypeError, "add() misses the argument 'b'")
    misuse(lambda: lib.add(b=1), fp.ArgumentError, TypeError, "add() misses the argument 'a'")
    misuse(lambda: lib.add(), fp.ArgumentError, TypeError, "add() misses the argument 'a'")


def test_row_1_unknown(lib: Any) -> None:
    misuse(
        lambda: lib.tone(ramp(3), gian=2), fp.ArgumentError, TypeError, "tone() has no parameter 'gian'", "did you mean 'gain'?"
    )
    misuse(lambda: lib.tone(ramp(3), 1.0, lifft=2), fp.ArgumentError, TypeError, "'lifft'", "did you mean 'lift'?")


def test_row_1_doubled(lib: Any) -> None:
    misuse(lambda: lib.add(1, 2, a=3), fp.ArgumentError, TypeError, "add() got 'a' twice")


def test_row_1_fused(device: Any) -> None:
    @fp.fuse
    def look(colour: Any, gain: Any) -> Any:
        return colour * gain

    misuse(lambda: look(1, 2, 3), fp.ArgumentError, TypeError, "look()", "too many", "colour, gain")
    misuse(lambda: look(1), fp.ArgumentError, TypeError, "look()", "'gain'")
    misuse(lambda: look(1, gian=3), fp.ArgumentError, TypeError, "look() has no parameter 'gian'", "did you mean 'gain'?")
    misuse(lambda: look(1, 2, colour=3), fp.ArgumentError, TypeError, "look()", "'colour'")
    same(look(2.0, 3.0), 6.0)


def test_row_1_configuration(lib: Any) -> None:
    misuse(lambda: lib.add.declare(c=None), fp.ArgumentError, TypeError, "add() has no parameter 'c'")
    misuse(lambda: fp.fuse(lambda x: x, static=("y",)), fp.ArgumentError, TypeError, "no parameter 'y'")
    misuse(lambda: lib.add.declare(0), fp.ArgumentError, TypeError, "vmapping(0)")
    misuse(lambda: lib.add.return_type("cupy"), fp.ArgumentError, TypeError, "'cupy'", "'numpy'")
    misuse(lambda: lib.add(1, 2, _result="cupy"), fp.ArgumentError, TypeError, "'cupy'", "'numpy'")
    misuse(lambda: lib.add.ir(1, 2, after="fuse"), fp.ArgumentError, TypeError, "'fuse'", "fuse_chains")


# ---- 2, 3: shapes and mappings --------------------------------------------------------------------------------------


@pytest.mark.req("C4")
def test_row_2_shapes(lib: Any) -> None:
    misuse(lambda: lib.add(ramp(3), ramp(4)), fp.ShapeError, ValueError, "add", "'a'", "'b'", "(3,)", "(4,)", "axis 0")
    misuse(lambda: lib.add(ramp(2, 3), ramp(2, 4)), fp.ShapeError, ValueError, "(2, 3)", "(2, 4)", "axis 1")
    misuse(lambda: lib.add([1.0, 2.0, 3.0], [1.0] * 4), fp.ShapeError, ValueError, "(3,)", "(4,)", "axis 0")
    misuse(lambda: GOOD(ramp(2, 3), ramp(4, 3)), fp.ShapeError, ValueError, "'x'", "'y'", "(2, 3)", "(4, 3)", "axis 0")


def test_row_2_tensors_that_fitted_before(lib: Any, device: Any) -> None:
    a, b = fp.Tensor.from_numpy(device, ramp(7)), fp.Tensor.from_numpy(device, ramp(8))
    same(lib.add(a, a).to_numpy(), 2 * ramp(7))
    misuse(lambda: lib.add(a, b), fp.ShapeError, ValueError, "(7,)", "(8,)")


def test_row_2_ragged_list(lib: Any) -> None:
    misuse(lambda: lib.add([[1, 2], [3]], 1), fp.ShapeError, ValueError, "add: argument 'a'", "ragged")


@pytest.mark.req("T3")
def test_row_2_trailing_extent_of_a_later_call(lib: Any) -> None:
    same(lib.four(ramp(5, 4)), 2 * ramp(5, 4))
    misuse(lambda: lib.four(ramp(5, 3)), fp.NoMatchError, TypeError, "four", "'x'", "float4", "[?,3]")
    misuse(lambda: lib.four(ramp(5, 9)), fp.NoMatchError, TypeError, "four", "'x'", "float4")


def test_row_3_vmap(lib: Any) -> None:
    misuse(lambda: fp.vmap(ramp(3), -1), fp.ShapeError, ValueError, "-1")
    misuse(lambda: fp.vmap(ramp(3, 3), (1, 1)), fp.ShapeError, ValueError, "dimension 1 is named twice")
    misuse(lambda: fp.vmap(ramp(3, 3), (0, 99)), fp.ShapeError, ValueError, "99")
    misuse(lambda: fp.vmap(ramp(3), 0.5), fp.ShapeError, ValueError, "0.5")
    misuse(lambda: fp.vmap(fp.vmap(ramp(3), 0), 0), fp.ShapeError, ValueError, "twice")
    misuse(lambda: fp.vmapping(0, 0), fp.ShapeError, ValueError, "dimension 0")
    misuse(lambda: lib.add(fp.vmap(ramp(3), (0, 1)), 1), fp.ShapeError, ValueError, "add", "'a'", "2 axes", "rank 1")
    misuse(lambda: lib.add(fp.vmap(ramp(3), 2), 1), fp.ShapeError, ValueError, "add", "d0, d1")


@pytest.mark.parametrize(
    ("use", "what"),
    [
        (bool, "the truth"), (hash, "the hash"), (list, "iteration"), (len, "len()"), (float, "float()"), (int, "int()"),
        (range, "the integer"), (lambda v: v[0], "an index"), (lambda v: {v}, "the hash"),
    ],
)  # fmt: skip
def test_row_3_mapped_values_are_no_python_values(device: Any, use: Any, what: str) -> None:
    misuse(lambda: use(fp.vmap(ramp(3), 0)), fp.ArgumentError, TypeError, what, "of a mapped value", "vmap(d0)")
    misuse(lambda: fp.fuse(lambda x: use(fp.vmap(x, 0)))(ramp(3)), fp.ArgumentError, TypeError, what, "of a mapped value")


def test_row_3_operators_of_mapped_values(lib: Any) -> None:
    square, row = ramp(3, 3), ramp(3)
    refused = [
        (lambda x: fp.vmap(x, 0) + 1, square, "add", "1 of the 2 axes", "vcast"),
        (lambda x: fp.vmap(x, (0, 1)) + 1, row, "2 axes of a value with 1"),
        (lambda x: fp.vmap(x, 1) + row, row, "no operand runs along grid dimension d0"),
    ]
    for function, value, *named in refused:
        misuse(lambda: fp.fuse(function)(value), fp.ShapeError, ValueError, *named)  # noqa: B023
    misuse(lambda: fp.fuse(lambda a, b: a + b)(fp.vmap(square, 0), fp.vmap(square, 1)), fp.ShapeError, ValueError, "1 of the 2")
    same(fp.fuse(lambda x: fp.vmap(x, (1, 0)))(square), square.T)
    misuse(
        lambda: fp.fuse(lambda x: x)(fp.vmap(row, (0, 1))),
        fp.ShapeError,
        ValueError,
        "return: vmap names 2 axes of a value with 1",
    )
    loops = (lambda x: fp.fori_loop(0, 2, lambda i, c: c, x), lambda x: fp.cond(fp.vmap(1, ()) > 0, lambda: x, lambda: x))
    for loop in loops:
        misuse(lambda: fp.fuse(loop).declare(None)(row), fp.ShapeError, ValueError, "vmap names 0 of the 1 axes")  # noqa: B023
    mapped = fp.vcast(fp.vmap(square, 0), "int")
    misuse(lambda: fp.fuse(lambda x: x + 1)(mapped), fp.ShapeError, ValueError, "vcast: vmap names 1 of the 2 axes")
    mapped = fp.vcast(fp.vmap(square, (0, 1)), "float3")
    misuse(lambda: fp.fuse(lambda x: x)(mapped), fp.ShapeError, ValueError, "vmap names 2 axes of a value with 1", "float3")
    misuse(lambda: fp.vmap(square, (0, 1)).x, fp.UnknownNameError, AttributeError, "'x'", "value.x")
    struct = fp.vcast({"position": ramp(4, 3), "direction": ramp(3)}, lib.Ray)
    misuse(lambda: fp.fuse(lambda r: r)(struct), fp.UnknownNameError, AttributeError, "cast to Ray", "return m.Ray(")
    misuse(lambda: fp.vmap(row, 0).x, fp.UnknownNameError, AttributeError, "'x'", "value.x")


def test_row_3_index_and_reshape(device: Any) -> None:
    tensor = fp.Tensor.from_numpy(device, ramp(2, 3))
    misuse(lambda: tensor[0, 3], fp.IndexRangeError, ValueError, "index 3 on axis 1", "(2, 3)")
    misuse(lambda: tensor[0, 0, 0], fp.ShapeError, ValueError, "3 indices")
    misuse(lambda: tensor.reshape(4), fp.ShapeError, ValueError, "(2, 3)", "(4,)")
    misuse(lambda: fp.Tensor.zeros(device, (2, -1)), fp.ShapeError, ValueError, "(2, -1)")
    misuse(lambda: fp.grid(()), fp.ShapeError, ValueError, "0 dimensions")


NO_SHAPES = (
    2.7,
    (2.7,),
    "12",
    b"12",
    ["2", 3],
    (True, 2),
    (2, None),
    {"a": 1},
    np.array([2.5]),
    (2, np.float32(2)),
    [[2, 3]],
)
TAKE_SHAPES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "empty": lambda lib, device, shape: fp.Tensor.empty(device, shape),
    "zeros": lambda lib, device, shape: fp.Tensor.zeros(device, shape),
    "full": lambda lib, device, shape: fp.Tensor.full(device, shape, 1),
    "arange": lambda lib, device, shape: fp.Tensor.arange(device, shape),
    "reshape": lambda lib, device, shape: fp.Tensor.zeros(device, 6).reshape(shape),
    "view": lambda lib, device, shape: fp.Tensor.zeros(device, 6).view(shape),
    "broadcast_to": lambda lib, device, shape: fp.Tensor.zeros(device, 1).broadcast_to(shape),
    "transpose": lambda lib, device, shape: fp.Tensor.zeros(device, (2, 3)).transpose(shape),
    "grid": lambda lib, device, shape: fp.grid(shape),
    "offset": lambda lib, device, shape: fp.grid((2, 3), offset=shape),
    "stride": lambda lib, device, shape: fp.grid((2, 3), stride=shape),
    "Shape": lambda lib, device, shape: fp.Shape(shape),
    "linspace": lambda lib, device, shape: fp.linspace(0, 1, shape),
    "NDBuffer": lambda lib, device, shape: fp.NDBuffer(device, shape=shape),
    "numthreads": lambda lib, device, shape: lib.add.options(numthreads=shape),
    "call_group_shape": lambda lib, device, shape: lib.add.call_group_shape(shape),
    "vmap": lambda lib, device, shape: fp.vmap(ramp(2, 3), shape),
    "axis": lambda lib, device, shape: fp.sum(ramp(2, 3), axis=shape),
}


@pytest.mark.parametrize("name", TAKE_SHAPES)
def test_row_3_what_is_no_shape(lib: Any, device: Any, name: str) -> None:
    for shape in NO_SHAPES:
        with pytest.raises((fp.ShapeError, fp.ArgumentError)) as caught:
            TAKE_SHAPES[name](lib, device, shape)
        assert caught.value.hint, shape
    if name not in ("axis", "arange", "linspace"):
        good = {"reshape": [1, 6], "view": [1, 6], "transpose": [1, 0]}.get(name, [1, 2])
        TAKE_SHAPES[name](lib, device, np.array(good))


def test_row_3_counts(lib: Any, device: Any) -> None:
    with pytest.raises(fp.ShapeError):
        fp.Tensor.zeros(device, {2})  # type: ignore[arg-type]  # a set has no order
    with pytest.raises(fp.ArgumentError):
        fp.Tensor.full(device, 2, None)
    misuse(lambda: fp.Tensor.arange(device, 300, "uint8_t"), fp.RangeError, OverflowError, "arange(300)")
    misuse(lambda: fp.Tensor.zeros(device, 1).broadcast_to(-1), fp.ShapeError, ValueError, "negative")
    wide = lib.add.call_group_shape((4, 4))
    misuse(lambda: wide(ramp(5), 1.0), fp.ArgumentError, TypeError, "add", "2 dimensions", "the grid has 1")
    same(lib.add.call_group_shape((1, 4))(ramp(5), 1.0), ramp(5) + 1)
    same(lib.add.call_group_shape((2, 4))(ramp(3, 5), 1.0), ramp(3, 5) + 1)
    m = fp.Module.load_from_source(
        device, "places", "int3 of(int p[3]) { return int3(p[0], p[1], p[2]); } int3 at(int3 p) { return p; }"
    )
    for grid in (fp.grid((2, 2)), fp.grid((2, 2, 2, 2)), fp.grid(2), fp.Shape(2, 2)):
        rank = 4 if grid is not None and "2, 2, 2, 2" in repr(grid) else 2
        misuse(lambda: m.of(grid), fp.NoMatchError, TypeError, "'p'", f"int{rank}", f"int[{rank}]", "int[3]")  # noqa: B023
        misuse(lambda: m.at(grid), fp.NoMatchError, TypeError, "'p'", f"int{rank}", f"int[{rank}]", "int3")  # noqa: B023
    same(m.of(fp.grid((1, 2, 2))).to_numpy(), np.indices((1, 2, 2), np.int32).transpose(1, 2, 3, 0))


def test_row_3_the_identity_of_a_reduction_in_the_place_of_functools(lib: Any, device: Any) -> None:
    tensor = fp.Tensor.from_numpy(device, ramp(5))
    named = (fp.ArgumentError, TypeError, "the identity comes before the array", "m.add")
    for x in (ramp(5), [1.0, 2.0], [5.0], tensor, fp.vmap(ramp(5), 0)):
        misuse(lambda: fp.reduce(lib.add, x, 0.0), *named, "reduce(function, identity, x)")  # noqa: B023
        misuse(lambda: fp.scan(lib.add, x, 0.0), *named, "scan(function, identity, x)")  # noqa: B023
        misuse(lambda: fp.fuse(lambda v: fp.reduce(lib.add, v, 0.0))(x), *named)  # noqa: B023
    for x in (ramp(5), [1.0, 2.0], tensor):
        misuse(lambda: fp.scan(lib.add, x), fp.ArgumentError, TypeError, "identity", "m.add")  # noqa: B023
    misuse(lambda: fp.reduce(lib.add, [0.0, 0.0], [1.0]), fp.ShapeError, ValueError, "2 components")
    assert fp.reduce(lib.add, 0.0, 5.0) == 5
    assert fp.reduce(lib.add, identity=0.0, x=[1.0, 2.0]) == 3


def test_strict_broadcasting(lib: Any) -> None:
    strict = lib.add.strict_broadcasting()
    same(strict(ramp(2, 3), 1.0), ramp(2, 3) + 1)
    misuse(lambda: strict(ramp(2, 3), ramp(3)), fp.ShapeError, ValueError, "(2, 3)", "(3,)", "Strict broadcasting")
    misuse(lambda: strict(ramp(2, 3), ramp(1, 3)), fp.ShapeError, ValueError, "(2, 3)", "(1, 3)", "axis 0")
    same(lib.add(ramp(2, 3), ramp(3)), ramp(2, 3) + ramp(3))


# ---- 4, 5, 6: types -------------------------------------------------------------------------------------------------


def test_row_4_wrong_vector_or_matrix(lib: Any, device: Any) -> None:
    misuse(lambda: lib.luma(ramp(5, 4)), fp.NoMatchError, TypeError, "luma", "'c'", "float4", "float3")
    misuse(lambda: lib.luma(fp.Tensor.zeros(device, 5, "float4")), fp.NoMatchError, TypeError, "'c'", "float4", "float3")
    misuse(lambda: lib.turn(ramp(5, 4, 4)), fp.NoMatchError, TypeError, "'m'", "float4x4", "float3x3")
    misuse(lambda: lib.luma(fp.vcast(ramp(5, 4), "float3")), fp.ShapeError, ValueError, "luma", "(5, 4)", "(3,)")
    misuse(lambda: lib.luma(fp.vcast(ramp(5, 9), "float3")), fp.ShapeError, ValueError, "luma", "(5, 9)", "(3,)")
    misuse(lambda: lib.at(fp.Tensor.zeros(device, 2, "float3"), 1.0), fp.NoMatchError, TypeError, "'r'", "Ray", "float3")


def test_row_4_fused(lib: Any) -> None:
    @fp.fuse
    def mixed(a: Any, b: Any) -> Any:
        return fp.vcast(a, "float3") + fp.vcast(b, "float4")

    misuse(lambda: mixed(ramp(5, 3), ramp(5, 4)), fp.TraceError, TypeError, "float3", "float4", "operator +")
    misuse(lambda: fp.fuse(lambda x: fp.dot(x, x))(ramp(2, 2, 4)), fp.TraceError, TypeError, "dot()", "float")


def test_row_4_silent_conversions_are_refused(lib: Any) -> None:
    misuse(lambda: lib.add.strict()(np.ones(5), 1), fp.NoMatchError, TypeError, "'a'", "double", "float", "vcast")
    misuse(lambda: lib.add(np.ones(5, np.int32), 1), fp.NoMatchError, TypeError, "'a'", "int", "float", "vcast(value, m.float)")
    misuse(lambda: lib.add_int(1.5, 1), fp.NoMatchError, TypeError, "'a'", "float", "int")


@pytest.mark.parametrize(
    ("value", "seen"),
    [(object(), "object"), ("text", "str"), (1j, "complex"), (None, "NoneType"), ({1, 2}, "set"), (b"x", "bytes")],
    ids=lambda v: type(v).__name__,
)
def test_row_5_python_values(lib: Any, value: Any, seen: str) -> None:
    misuse(lambda: lib.add(1, value), fp.UnsupportedArgumentError, TypeError, "add", "argument 'b'", seen, "NumPy arrays")
    misuse(lambda: lib.add(1, b=value), fp.UnsupportedArgumentError, TypeError, "argument 'b'", seen)
    if isinstance(value, (str, NoneType)):  # a static argument: the operation refuses it
        error = fp.TraceError if value is None else fp.UnsupportedArgumentError
        misuse(lambda: GOOD(value, 1.0), error, TypeError, "operator" if value is None else seen)
    else:
        misuse(lambda: GOOD(value, 1.0), fp.UnsupportedArgumentError, TypeError, "argument 'x'", seen)
    misuse(lambda: fp.fuse(lambda x: lib.add(x, value))(1.0), fp.UnsupportedArgumentError, TypeError, "argument 'b'", seen)


@pytest.mark.parametrize("dtype", ["complex64", ">f4", "U3", "O", "S2", "M8[s]", "longdouble"])
def test_row_5_dtypes(lib: Any, dtype: str) -> None:
    array = np.zeros(3, dtype)
    misuse(
        lambda: lib.add(array, 1),
        fp.UnsupportedArgumentError,
        TypeError,
        "add: argument 'a'",
        str(array.dtype),
        "float32, float64",
    )
    misuse(lambda: GOOD(array, 1), fp.UnsupportedArgumentError, TypeError, "argument 'x'", str(array.dtype), "float32, float64")


MASKED = np.ma.masked_array(ramp(4), [0, 1, 0, 0])


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, device: lib.add(MASKED, 1.0),
        lambda lib, device: lib.add(1.0, b=MASKED),
        lambda lib, device: lib.add([MASKED, MASKED], 1.0),
        lambda lib, device: lib.add([1.0, np.ma.masked], 1.0),
        lambda lib, device: lib.add(fp.vmap(MASKED, 0), 1.0),
        lambda lib, device: GOOD(MASKED, 1.0),
        lambda lib, device: fp.fuse(lambda x: lib.add(x, MASKED))(1.0),
        lambda lib, device: lib.add(ramp(4), 1.0, _result=MASKED.copy()),
        lambda lib, device: lib.split(ramp(4), ramp(4), MASKED.copy()),
        lambda lib, device: fp.Tensor.from_numpy(device, MASKED),
        lambda lib, device: fp.Tensor.from_dlpack(device, MASKED),
        lambda lib, device: fp.Tensor.full(device, 4, np.ma.masked),
        lambda lib, device: fp.Tensor.zeros(device, 4).copy_from_numpy(MASKED),
        lambda lib, device: fp.NDBuffer(device, shape=4).from_numpy(MASKED),
        lambda lib, device: fp.reduce(lib.add, np.ma.masked, ramp(4)),
    ],
)
def test_row_5_masked_arrays(lib: Any, device: Any, call: Any) -> None:
    misuse(lambda: call(lib, device), fp.UnsupportedArgumentError, TypeError, "masked array", "filled")


def test_row_5_lists(lib: Any) -> None:
    misuse(lambda: lib.add(["a"], 1), fp.UnsupportedArgumentError, TypeError, "add: argument 'a'", "U1", "numbers")
    misuse(lambda: lib.add([1j], 1), fp.UnsupportedArgumentError, TypeError, "add: argument 'a'", "complex")
    misuse(lambda: lib.add([None], 1), fp.UnsupportedArgumentError, TypeError, "add: argument 'a'", "object")


def test_row_5_structured_dtype_that_no_struct_has(lib: Any) -> None:
    array = np.zeros(3, [("who", "f4"), ("knows", "i8")])
    misuse(lambda: lib.at(array, 1.0), fp.UnsupportedArgumentError, TypeError, "argument 'r'", "who", "dtype=m.")


def test_row_5_copy_into_a_tensor(device: Any) -> None:
    tensor = fp.Tensor.zeros(device, 3)
    misuse(lambda: tensor.copy_from_numpy(np.ones(3)), fp.UnsupportedArgumentError, TypeError, "float64", "float32")
    misuse(lambda: tensor.copy_from_numpy(ramp(4)), fp.ShapeError, ValueError, "(4,)", "(3,)")


def test_row_6_feature_that_the_device_lacks(lib: Any, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "features", device.features - {"double", "int64"})
    fresh = lib.find_function("twice_double")
    error = misuse(lambda: fresh(np.ones(3)), fp.UnsupportedArgumentError, TypeError, "double", device.name, "'double'", "'x'")
    assert "twice_double" in str(error)
    with pytest.raises(fp.UnsupportedArgumentError, match="int64"):
        lib.find_function("id_int64")(np.ones(3, np.int64))
    monkeypatch.undo()
    same(fresh(np.ones(3)), np.full(3, 2.0))


# ---- 7: ranges ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "value", "target"),
    [
        ("id_int32", 2**31, "int"),
        ("id_int32", -(2**31) - 1, "int"),
        ("id_int32", 10**30, "int"),
        ("id_uint32", -1, "uint"),
        ("id_uint32", 2**32, "uint"),
        ("id_int8", 128, "int8_t"),
        ("id_uint8", 256, "uint8_t"),
        ("id_int16", -32769, "int16_t"),
        ("id_uint16", -1, "uint16_t"),
        ("id_int64", 2**63, "int64_t"),
        ("id_uint64", -1, "uint64_t"),
        ("id_uint64", 2**64, "uint64_t"),
    ],
)
def test_row_7_numbers(lib: Any, function: str, value: Any, target: str) -> None:
    misuse(lambda: lib[function](value), fp.RangeError, OverflowError, function, "'x'", str(value), target)
    misuse(lambda: fp.fuse(lambda: lib[function](value))(), fp.RangeError, OverflowError, str(value), target)


def test_row_7_floats(lib: Any) -> None:
    misuse(lambda: lib.twice_half(1e6), fp.RangeError, OverflowError, "twice_half", "'x'", "half")
    misuse(lambda: lib.add(1e300, 1), fp.RangeError, OverflowError, "add", "'a'", "1e+300", "float")
    assert lib.add(float("inf"), 1) == float("inf")


def test_row_7_lists(lib: Any) -> None:
    misuse(lambda: lib.add_uint([1, -1], 0), fp.RangeError, OverflowError, "add_uint: argument 'a'", "-1", "uint")
    misuse(lambda: lib.add_int([2**40], 0), fp.RangeError, OverflowError, "add_int: argument 'a'", str(2**40), "int")


def test_row_7_constants_in_operators(device: Any) -> None:
    misuse(lambda: fp.fuse(lambda x: x + 2**40)(np.ones(3, np.int32)), fp.RangeError, OverflowError, str(2**40), "int")
    misuse(lambda: fp.fuse(lambda x: x - (-1))(np.ones(3, np.uint32)), fp.RangeError, OverflowError, "-1", "uint")
    same(fp.fuse(lambda x: x > 300)(np.ones(3, np.uint8)), np.zeros(3, bool))  # a comparison has an answer, as in NumPy
    misuse(lambda: fp.fuse(lambda x: fp.minimum(x, 300))(np.ones(3, np.uint8)), fp.RangeError, OverflowError, "300", "uint8_t")
    same(fp.fuse(lambda x: x + 2**40)(np.ones(3, np.int64)), np.full(3, 2**40 + 1))


def test_row_7_fill(device: Any) -> None:
    misuse(lambda: fp.Tensor.full(device, 3, -1, "uint"), fp.RangeError, OverflowError, "-1", "uint")


# ---- 8, 9, 10: destinations -----------------------------------------------------------------------------------------


def test_row_8_read_only(lib: Any) -> None:
    frozen = np.zeros(3, F32)
    frozen.setflags(write=False)
    misuse(
        lambda: lib.split(ramp(3), np.zeros(3, F32), frozen), fp.ShapeError, ValueError, "split", "argument 'rest'", "read-only"
    )
    misuse(lambda: lib.bump(frozen, 1.0), fp.ShapeError, ValueError, "bump", "argument 'v'", "read-only")
    misuse(lambda: lib.add(ramp(3), 1.0, _result=frozen), fp.ShapeError, ValueError, "add", "_result", "read-only")
    assert not frozen.any()


def test_row_8_values_that_cannot_be_written(lib: Any) -> None:
    misuse(lambda: lib.split(ramp(3), [0, 0, 0], np.zeros(3, F32)), fp.UnsupportedArgumentError, TypeError, "'whole'", "list")
    misuse(lambda: lib.add(1, 2, _result=3.0), fp.ArgumentError, TypeError, "add", "float")


def test_row_9_overlap(lib: Any, device: Any) -> None:
    t = fp.Tensor.from_numpy(device, ramp(8))
    misuse(lambda: lib.add(t[1:], t[:-1], _result=t[1:]), fp.ShapeError, ValueError, "result", "argument 'b'")
    misuse(lambda: lib.add(t, t[::-1], _result=t), fp.ShapeError, ValueError, "result", "argument 'b'")
    misuse(lambda: lib.fetch(t, [0, 1, 2, 3, 4, 5, 6, 7], _result=t), fp.ShapeError, ValueError, "result", "argument 'p'")
    misuse(lambda: lib.add(t[:1], t, _result=t), fp.ShapeError, ValueError, "result", "argument 'a'")
    same(t.to_numpy(), ramp(8))
    lib.add(t, 1.0, _result=t)  # exactly over an argument is in place, and fine
    same(t.to_numpy(), ramp(8) + 1)


def test_row_9_two_results_in_one_place(lib: Any, device: Any) -> None:
    t, a = fp.Tensor.zeros(device, 3), np.zeros(3, F32)
    misuse(lambda: lib.split(ramp(3), t, t), fp.ShapeError, ValueError, "split", "argument 'rest'", "another result")
    misuse(lambda: lib.split(ramp(3), a, a), fp.ShapeError, ValueError, "split", "argument 'rest'", "another result")
    columns = np.zeros((3, 2), F32)  # which have no element in common
    lib.split(ramp(3), columns[:, 0], columns[:, 1])
    same(columns.sum(1), ramp(3))


def test_row_9_tensor_that_repeats(lib: Any, device: Any) -> None:
    t = fp.Tensor.from_numpy(device, ramp(4))
    repeated = fp.Tensor(device, t.element, (3, 4), block=t.block, strides=(0, 1))
    misuse(lambda: lib.add(ramp(3, 4), 1.0, _result=repeated), fp.ShapeError, ValueError, "repeats")


def test_row_10_results_of_wrong_shape_or_type(lib: Any, device: Any) -> None:
    call = lambda result: lambda: lib.add(ramp(3), 1.0, _result=result)  # noqa: E731
    misuse(call(np.zeros(4, F32)), fp.ShapeError, ValueError, "add", "float32[4]", "float32[3]")
    misuse(call(np.zeros((3, 1), F32)), fp.ShapeError, ValueError, "float32[3, 1]", "float32[3]")
    misuse(call(np.zeros(3)), fp.ShapeError, ValueError, "float64[3]", "float32[3]")
    misuse(call(fp.Tensor.zeros(device, 4)), fp.ShapeError, ValueError, "float[4]", "float[3]")
    misuse(call(fp.Tensor.zeros(device, 3, "int")), fp.ShapeError, ValueError, "int[3]", "float[3]")
    misuse(
        lambda: lib.split(ramp(3), np.zeros(3, F32), np.zeros((), F32)),
        fp.ShapeError,
        ValueError,
        "'rest'",
        "float32[]",
        "float32[3]",
    )
    misuse(lambda: lib.bump(np.zeros(1, F32), ramp(3)), fp.ShapeError, ValueError, "'v'", "float32[1]", "float32[3]")
    misuse(lambda: lib.add(ramp(3), 1.0, _result=(np.zeros(3, F32), np.zeros(3, F32))), fp.ArgumentError, TypeError, "tuple")


def test_row_10_nothing_is_written_when_one_of_two_does_not_fit(lib: Any) -> None:
    whole = np.zeros(3, F32)
    misuse(lambda: lib.split(ramp(3, start=5), whole, np.zeros(4, F32)), fp.ShapeError, ValueError, "'rest'")
    assert not whole.any()


def test_row_10_vmap_on_what_is_written(lib: Any) -> None:
    square = np.zeros((2, 2), F32)
    misuse(lambda: lib.bump(fp.vmap(square, (0, 2)), ramp(2, 2)), fp.ShapeError, ValueError, "bump", "'v'", "vmap(d0,d2)")


# ---- 11 to 14: tracing ----------------------------------------------------------------------------------------------


def _if(x: Any) -> Any:
    return x if x > 0 else -x


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (_if, "the truth of a traced bool"),
        (lambda x: x > 0 and x < 1, "the truth of a traced bool"),
        (lambda x: 0 < x < 1, "the truth of a traced bool"),
        (lambda x: x in (1, 2), "the truth of a traced bool"),
        (lambda x: max(x, 0), "the truth of a traced bool"),
        (lambda x: float(x), "float()"),
        (lambda x: int(x), "int()"),
        (lambda x: range(x), "the integer"),
        (lambda x: list(fp.concatenate([x] * 13)), "iteration"),
        (lambda x: __import__("math").sin(x), "float()"),
        (lambda x: np.spacing(x), "numpy.spacing()"),
        (lambda x: np.partition(x, 1), "numpy.partition()"),
        (lambda x: np.vander(x), "numpy.vander()"),
        (lambda x: np.asarray(x), "a NumPy array cannot be made"),
        (lambda x: round(x), "round()"),
        (lambda x: round(x, 2), "round()"),
        (lambda x: __import__("math").floor(x), "math.floor()"),
        (lambda x: __import__("math").ceil(x), "math.ceil()"),
        (lambda x: __import__("math").trunc(x), "math.trunc()"),
        (lambda x: f"{x:.2f}", "the digits"),
        (lambda x: complex(x), "complex()"),
        (lambda x: __import__("operator").index(x), "the integer"),
        (lambda x: [1, 2, 3][x], "the integer"),
        (lambda x: 1.0 in x, "the truth of `in`"),
        (lambda x: np.add.reduce(x), "numpy.add.reduce()"),
    ],
)
def test_row_11_numbers_that_do_not_exist_yet(device: Any, function: Any, what: str) -> None:
    error = misuse(lambda: fp.fuse(function)(ramp(5)), fp.TraceError, TypeError, what)
    line = int(str(error).split(":")[1])
    assert line == function.__code__.co_firstlineno + (function is _if), "the user's own line"


NUMBERS = [
    (round, "round()"),
    (lambda x: round(x, 2), "round()"),
    (lambda x: f"{x:.2f}", "the digits"),
    (complex, "complex()"),
    (float, "float()"),
    (int, "int()"),
    (operator.index, "the integer"),
    (math.floor, "math.floor()"),
    (math.ceil, "math.ceil()"),
    (math.trunc, "math.trunc()"),
    (lambda x: 1.0 in x, "the truth of `in`"),
    (bool, "the truth"),
]


@pytest.mark.parametrize(("function", "what"), NUMBERS)
def test_row_11_mapped_and_cast_values_refuse_what_traced_ones_do(device: Any, function: Any, what: str) -> None:
    misuse(lambda: function(fp.vmap(ramp(5), 0)), fp.ArgumentError, TypeError, what, "mapped value")
    misuse(lambda: fp.fuse(lambda x: function(fp.vmap(x, 0)))(ramp(5)), fp.ArgumentError, TypeError, what, "mapped value")
    misuse(lambda: fp.fuse(lambda x: function(fp.vcast(x, "float")))(ramp(5)), fp.TraceError, TypeError, what, "traced float")


def test_row_11_a_cast_value_has_each_method_of_a_traced_one() -> None:
    """What is refused of a mapped value is asked of the traced one behind a cast to the type that it has."""
    refused = {n for n, f in vars(Numberless).items() if n.startswith("__") and callable(f)} - {"__setattr__"}  # is inherited
    assert {"__round__", "__format__", "__complex__", "__contains__"} <= refused
    assert refused | {"__len__", "__iter__", "__bool__", "__getitem__", "__float__", "__int__", "__index__"} <= vars(Taken).keys()


ELSEWHERE = "compute it before the call"
LIKE_NUMPY = [
    (lambda x: np.vander(x), ELSEWHERE),
    (lambda x: np.unwrap(x), ELSEWHERE),
    (lambda x: np.sum(x, initial=1.0), "use fusepy.sum"),
    (lambda x: np.nextafter(x, x), ELSEWHERE),
    (lambda x: np.add.reduce(x), "use fusepy.sum"),
    (lambda x: np.logical_or.reduce(x), "use fusepy.any"),
    (lambda x: np.subtract.reduce(x), ELSEWHERE),
    (lambda x: np.maximum.accumulate(x), "use fusepy.cummax"),
    (lambda x: np.subtract.outer(x, x), ELSEWHERE),
    (lambda x: np.add(x, x, out=np.zeros(5)), "leave out out="),
]


@pytest.mark.parametrize(("function", "hint"), LIKE_NUMPY)
def test_row_11_hints_name_functions_that_exist_or_none(device: Any, function: Any, hint: str) -> None:
    error = misuse(lambda: fp.fuse(function)(ramp(5)), fp.TraceError, TypeError, "numpy.")
    assert hint in error.hint
    for name in re.findall(r"fusepy\.(\w+)", error.hint):
        assert hasattr(fp, name)


@pytest.mark.parametrize("where", [np.where, fp.where])
def test_row_11_where_of_a_condition_alone(device: Any, where: Any) -> None:
    error = misuse(lambda: fp.fuse(lambda x: where(x > 0))(ramp(5)), fp.ArgumentError, TypeError, "where() takes a condition")
    assert "fusepy.where(condition, a, b)" in error.hint


@pytest.mark.parametrize("name", ["nbytes", "numpy"])
def test_row_11_attributes_of_arrays(device: Any, name: str) -> None:
    misuse(lambda: fp.fuse(lambda x: getattr(x, name))(ramp(5)), fp.UnknownNameError, AttributeError, f".{name}", "float")


def test_row_11_what_has_a_meaning(device: Any) -> None:
    x, y = ramp(5) * 4 - 2, ramp(5) + 1
    quotient, rest = fp.fuse(lambda x, y: divmod(x, y))(x, y)
    same(quotient, x // y)
    same(rest, x % y)
    same(fp.fuse(lambda x: divmod(3.0, x)[1])(y), np.float32(3) % y)
    same(divmod(fp.vmap(x, 0), 2.0)[1], x % np.float32(2))
    same(fp.fuse(lambda x: np.where(x > 0, x, 0.5))(x), np.where(x > 0, x, np.float32(0.5)))
    found = fp.fuse(lambda x, y: (np.floor(x), np.rint(x), np.abs(x), np.minimum(x, y), np.maximum(ramp(5), x), -x))(x, y)
    for have, want in zip(found, (np.floor(x), np.rint(x), np.abs(x), np.minimum(x, y), np.maximum(ramp(5), x), -x)):
        same(have, want)
    np.testing.assert_allclose(fp.fuse(lambda y: np.sin(y) + np.arctan2(y, y))(y), np.sin(y) + np.arctan2(y, y), rtol=1e-5)


def test_row_11_the_hint_names_where() -> None:
    assert "where(condition, a, b)" in misuse(lambda: fp.fuse(_if)(ramp(5)), fp.TraceError, TypeError).hint


def test_row_12_leaks(lib: Any) -> None:
    kept: list[Any] = []

    @fp.fuse
    def keep(x: Any) -> Any:
        kept.append(x * 2)
        return x

    line = keep.__wrapped__.__code__.co_firstlineno + 2  # the line of the multiplication
    same(keep(ramp(5)), ramp(5))
    uses = [
        lambda: kept[0] + 1,
        lambda: bool(kept[0]),
        lambda: float(kept[0]),
        lambda: kept[0].shape,
        lambda: lib.add([kept[0], 1.0], 1),
        lambda: np.asarray(kept[0]),
        lambda: 1 - kept[0],
        lambda: kept[0].x,
        lambda: kept[0][0],
        lambda: fp.sin(kept[0]),
        lambda: fp.where(kept[0], 1, 2),
        lambda: fp.vcast(kept[0], "int"),
        lambda: lib.add(kept[0], 1),
        lambda: lib.add(1, b=kept[0]),
        lambda: lib.float3(kept[0], 1, 1),
        lambda: GOOD(kept[0], 1.0),
        lambda: GOOD(1.0, y=kept[0]),
        lambda: fp.fuse(lambda x: x + kept[0])(1.0),
        lambda: fp.fuse(lambda x: lib.add(x, kept[0]))(1.0),
        lambda: fp.fuse(lambda x: kept[0])(1.0),
        lambda: fp.Tensor.from_numpy(lib.device, kept[0]),
        lambda: fp.Tensor.full(lib.device, 2, kept[0]),
        lambda: fp.Tensor([1, 2]).__setitem__(0, kept[0]),
        lambda: lib.add.set(k=kept[0])(1.0, 1.0),
    ]
    for use in uses:
        misuse(use, fp.LeakedTracerError, TypeError, f"made at {HERE}:{line}")


def test_row_12_leak_after_a_failed_trace(lib: Any) -> None:
    kept: list[Any] = []

    @fp.fuse
    def fails(x: Any) -> Any:
        kept.append(x)
        raise KeyError("the user's own")

    with pytest.raises(KeyError, match="the user's own"):
        fails(1.0)
    misuse(lambda: lib.add(kept[0], 1), fp.LeakedTracerError, TypeError, "made at")


def test_row_13_static_arguments(device: Any) -> None:
    @lambda f: fp.fuse(f, static=("count",))
    def repeat(x: Any, count: Any) -> Any:
        for _ in range(count):
            x = x * 2
        return x

    same(repeat(ramp(5), 3), ramp(5) * 8)
    misuse(lambda: repeat(ramp(5), [3]), fp.ArgumentError, TypeError, "repeat()", "'count'", "list")
    misuse(lambda: repeat(ramp(5), count={}), fp.ArgumentError, TypeError, "repeat()", "'count'", "dict")
    same(repeat(ramp(5), 2), ramp(5) * 4)


def test_row_14_recursion(device: Any) -> None:
    @fp.fuse
    def ping(x: Any) -> Any:
        return pong(x)

    @fp.fuse
    def pong(x: Any) -> Any:
        return ping(x) + 1

    misuse(lambda: ping(1.0), fp.TraceRecursionError, RecursionError, "ping -> pong -> ping")
    misuse(lambda: pong(1.0), fp.TraceRecursionError, RecursionError, "pong -> ping -> pong")


# ---- 15 to 20: names and Slang --------------------------------------------------------------------------------------


def test_row_15_names(lib: Any) -> None:
    misuse(lambda: lib.tonne, fp.UnknownNameError, AttributeError, "'lib'", "'tonne'", "did you mean 'tone'")
    misuse(lambda: lib["deep::iner"], fp.UnknownNameError, AttributeError, "'lib'", "'deep::iner'")
    misuse(lambda: lib.find_function("splitt"), fp.UnknownNameError, AttributeError, "'splitt'", "'split'")
    misuse(lambda: lib.find_type("Rayy"), fp.UnknownNameError, AttributeError, "'Rayy'", "'Ray'")
    misuse(lambda: lib.flaot3, fp.UnknownNameError, AttributeError, "'flaot3'")
    assert not hasattr(lib, "tonne")
    assert not hasattr(lib, "__array__")


def test_row_15_fields(lib: Any) -> None:
    nofield = fp.fuse(lambda p: lib.make_ray(p, p).positon)
    misuse(lambda: nofield(ramp(2, 3)), fp.UnknownNameError, AttributeError, "Ray", "'positon'", "'position'")
    misuse(lambda: fp.fuse(lambda p: fp.vcast(p, "float3").w)(ramp(2, 3)), fp.UnknownNameError, AttributeError, "float3", "'w'")
    misuse(lambda: fp.fuse(lambda p: fp.vcast(p, "float3")[3])(ramp(2, 3)), fp.TraceError, TypeError, "index 3", "float3")


def test_row_16_syntax_and_type_errors(device: Any, tmp_path: Path) -> None:
    path = tmp_path / "broken.slang"
    path.write_text("float fine(float x) { return x; }\n\nfloat f(float x)\n{\n    return undefined_name;\n}\n")
    misuse(
        lambda: fp.Module.load_from_file(device, path), fp.CompileError, RuntimeError,
        f"{path}:5:", "undefined_name", "return undefined_name",
    )  # fmt: skip
    path.write_text("float f(float x { return x; }\n")
    misuse(lambda: fp.Module.load_from_file(device, path), fp.CompileError, RuntimeError, f"{path}:1:")
    path.write_text("struct S {}; float f(S s) { return s; }\n")
    misuse(lambda: fp.Module.load_from_file(device, path), fp.CompileError, RuntimeError, f"{path}:1:", "'S'", "float")
    misuse(
        lambda: fp.Module.load_from_source(device, "text", "int f() { return g(); }"), fp.CompileError, RuntimeError,
        "text.slang:1:", "undefined identifier",
    )  # fmt: skip


def test_row_16_error_in_an_imported_file(device: Any, tmp_path: Path) -> None:
    (tmp_path / "inner.slang").write_text("float g(float x) {\n  return nowhere;\n}\n")
    (tmp_path / "outer.slang").write_text("import inner;\nfloat f(float x) { return g(x); }\n")
    misuse(
        lambda: fp.Module.load_from_file(device, tmp_path / "outer.slang"), fp.CompileError, RuntimeError,
        "inner.slang", "nowhere",
    )  # fmt: skip


def test_row_17_the_same_failure_twice_and_mended(device: Any, tmp_path: Path) -> None:
    path = tmp_path / "mend.slang"
    good, bad = "float mend(float x) { return x + 1; }", "float mend(float x) { return y + 1; }"
    for _ in range(2):  # mended, broken again, mended again
        path.write_text(bad)
        texts = []
        for _ in range(2):
            with pytest.raises(fp.CompileError) as caught:
                fp.Module.load_from_file(device, path)
            texts.append(str(caught.value))
        assert texts[0] == texts[1]
        path.write_text(good)
        assert fp.Module.load_from_file(device, path).mend(1.0) == 2.0
    assert str(caught.value) == texts[0]


def test_row_17_an_import_is_mended(device: Any, tmp_path: Path) -> None:
    (tmp_path / "outer.slang").write_text("import inner;\nfloat f(float x) { return g(x); }\n")
    with pytest.raises(fp.CompileError, match=r"inner\.slang"):
        fp.Module.load_from_file(device, tmp_path / "outer.slang")
    (tmp_path / "inner.slang").write_text("float g(float x) { return nowhere; }\n")
    with pytest.raises(fp.CompileError, match="nowhere"):
        fp.Module.load_from_file(device, tmp_path / "outer.slang")
    (tmp_path / "inner.slang").write_text("float g(float x) { return x * 3; }\n")
    assert fp.Module.load_from_file(device, tmp_path / "outer.slang").f(2.0) == 6.0
    (tmp_path / "inner.slang").write_text("float g(float x) { return x * 4; }\n")
    assert fp.Module.load_from_file(device, tmp_path / "outer.slang").f(2.0) == 8.0


def test_row_17_failed_calls_say_the_same_twice(lib: Any) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: lib.add(ramp(3), ramp(4)),
        lambda: lib.luma(ramp(5, 4)),
        lambda: lib.size_of(ramp(4, 3)),
        lambda: lib.add.strict()(np.ones(3), 1.0),
        lambda: lib.add(1, 2, 3),
        lambda: lib.id_uint32(-1),
    ]
    for call in calls:
        texts = []
        for _ in range(3):
            with pytest.raises(fp.FusepyError) as caught:
                call()
            texts.append(str(caught.value))
        assert len(set(texts)) == 1


COLD_AND_WARM = """
import numpy as np
import fusepy as fp
from tests.support.slang_functions import SOURCE

m = fp.Module.load_from_source(fp.default_device(), "lib", SOURCE)
calls = [
    lambda: m.add(np.ones(3, "f4"), np.ones(4, "f4")),
    lambda: m.luma(np.ones((5, 4), "f4")),
    lambda: m.size_of(np.ones((4, 3), "f4")),
    lambda: m.size_of(np.ones(4, "i4")),
    lambda: m.add(1, 2, 3),
    lambda: m.add(1, c=3),
    lambda: m.add("x", 3),
    lambda: m.total(np.ones((4, 3), "f4"), np.ones((4, 3), "f4")),
    lambda: m.id_uint32(-1),
    lambda: m.nothing_like_it,
    lambda: m.find_type("Rey"),
    lambda: m.make_ray(np.ones((2, 3), "f4"), np.ones((2, 4), "f4")),
    lambda: fp.fuse(lambda p: m.make_ray(p, p).positon)(np.ones((2, 3), "f4")),
    lambda: fp.Module.load_from_source(fp.default_device(), "bad", "float f(float x) { return y; }"),
]
for call in calls:
    try:
        print(call())
    except fp.FusepyError as error:
        print(type(error).__name__, str(error))
print(m.add(1, 2), m.luma(np.ones((2, 3), "f4")))
"""


def child(program: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own."""
    run = processes.run(textwrap.dedent(program), **env)
    # slang-rhi prints a line where there is no CUDA driver
    run.stdout = "".join(line for line in run.stdout.splitlines(keepends=True) if not line.startswith("rhi"))
    return run


@pytest.mark.rest
def test_row_17_cold_and_warm_caches_give_the_same_texts(tmp_path: Path) -> None:
    runs = [child(COLD_AND_WARM, FUSEPY_CACHE_DIR=str(tmp_path / "cache")) for _ in range(2)]
    assert [r.returncode for r in runs] == [0, 0], runs[0].stderr + runs[1].stderr
    assert runs[0].stdout.count("hint:") == 14
    assert runs[0].stdout == runs[1].stdout
    assert runs[0].stdout.endswith("3.0 [111. 111.]\n")


def test_row_18_missing_imports_and_files(device: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outer.slang").write_text("import not_there;\nfloat f(float x) { return x; }\n")
    load = fp.Module.load_from_file
    misuse(
        lambda: load(device, tmp_path / "outer.slang"), fp.CompileError, RuntimeError, "not_there.slang", str(tmp_path),
        "paths searched",
    )  # fmt: skip
    (tmp_path / "header.slang").write_text('#include "not_there.slangh"\nfloat f(float x) { return x; }\n')
    misuse(
        lambda: load(device, tmp_path / "header.slang"), fp.CompileError, RuntimeError, "not_there.slangh", str(tmp_path),
        "paths searched",
    )  # fmt: skip
    misuse(
        lambda: load(device, tmp_path / "ouster.slang"),
        fp.CompileError,
        RuntimeError,
        str(tmp_path),
        "'outer.slang'",
    )
    monkeypatch.chdir(tmp_path)
    misuse(lambda: load(device, "nothing.slang"), fp.CompileError, RuntimeError, str(tmp_path), "paths searched")
    misuse(lambda: load(device, str(tmp_path)), fp.CompileError, RuntimeError, str(tmp_path), "is a folder")


NAMES = ["a;} void x(){", "f(", "float*", "a b", "", "__typeof(x)", "f<", "1f", "f\n", "f//", "ns::", "f)(", "é\x00"]


@pytest.mark.parametrize("name", NAMES)
def test_row_19_names_that_are_no_identifiers(lib: Any, device: Any, name: str) -> None:
    for look_up in (lib.find_function, lib.__getitem__):
        misuse(lambda look_up=look_up: look_up(name), fp.InvalidNameError, ValueError, repr(name))
    load = fp.Module.load_from_source
    misuse(lambda: load(device, name, "float f(float x) { return x; }"), fp.InvalidNameError, ValueError, repr(name))
    if name.strip() == name:
        misuse(lambda: fp.vcast(1.0, name), fp.InvalidNameError, ValueError, repr(name))


@pytest.mark.parametrize("key", ["a;} void x(){", "F(x)", "a b", "", "1", "a\n", 1])
def test_row_19_names_of_defines(device: Any, key: Any) -> None:
    load = fp.Module.load_from_source
    misuse(lambda: load(device, "defined", "", defines={key: "1"}), fp.InvalidNameError, ValueError, "define")


def test_row_19_text_that_would_reach_a_source(device: Any, tmp_path: Path) -> None:
    load, source = fp.Module.load_from_source, "float f(float x) { return x * SCALE; }"
    for text in ("1\nfloat g() { return 1; }", "1\r\nfloat g();", "1\x00", "1\u2028"):
        misuse(lambda: load(device, "defined", source, defines={"A": text}), fp.InvalidNameError, ValueError, "'A'")  # noqa: B023
    misuse(lambda: load(device, "defined", source, defines={"A": [1]}), fp.ArgumentError, TypeError, "'A'")  # type: ignore[dict-item]
    for name in ("defines", "include_paths"):
        misuse(lambda: load(device, "defined", source, options={name: {}}), fp.ArgumentError, TypeError, name)  # noqa: B023
    assert load(device, "defined", source, defines={"SCALE": "(1 + 2)"}).f(2.0) == 6

    function = lambda x: x * 2  # noqa: E731
    function.__name__ = "twice\n} void smuggled() {\n//"
    assert not re.search(r"^\} *void smuggled", fp.fuse(function).source(ramp(3)), re.M)
    same(fp.fuse(function)(ramp(3)), 2 * ramp(3))
    made: Any = eval(compile("fp.fuse(lambda x: x + 1)", 'we\nird".py', "eval"), {"fp": fp})
    same(made(ramp(3)), ramp(3) + 1)
    for file in ('quo"te.slang', "li\nne.slang", "back\\slash.slang", "größe.slang"):
        path = tmp_path / file
        path.write_text("float f(float x) { return x + 1; }")
        same(fp.Module.load_from_file(device, path).f(ramp(3)), ramp(3) + 1)
        path.write_text("float f(float x) { return x + y; }")
        with pytest.raises(fp.CompileError, match="undefined identifier 'y'"):
            fp.Module.load_from_file(device, path)


def test_no_message_has_warnings_of_modules_of_fusepy(device: Any) -> None:
    """The cause of the error had some 60 warnings about macros in modules that a user has not written."""
    with pytest.raises(fp.CompileError) as caught:
        fp.Module.load_from_source(device, "warned", "import fusepy;\nfloat f(float x) { return y; }")
    for error in (caught.value, caught.value.__cause__):
        assert "undefined identifier 'y'" in str(error)
        assert "warning" not in str(error)


@pytest.mark.req("C9")
def test_row_20_ambiguity(lib: Any) -> None:
    misuse(
        lambda: lib.size_of(ramp(4, 3)), fp.AmbiguousCallError, TypeError,
        "size_of(float3 x) -> float", "size_of(float x) -> float", "'x'", "fp.vcast(x, m.float)", "fp.vcast(x, m.float3)",
    )  # fmt: skip
    same(lib.size_of(fp.vcast(ramp(4, 3), lib.float3)), ramp(4, 3).sum(axis=1))
    same(lib.size_of(fp.vmap(ramp(4, 3), (0, 1))), ramp(4, 3))
    misuse(lambda: lib.same([1.0, 2.0, 3.0]), fp.AmbiguousCallError, TypeError, "same(float x)", "same(float3 x)", "vcast")
    misuse(lambda: lib.total(ramp(4, 3), ramp(4, 3)), fp.AmbiguousCallError, TypeError, "total(float", "total(float3", "vcast")


def test_row_20_ambiguity_does_not_depend_on_earlier_calls(lib: Any) -> None:
    fresh = lib.find_function("size_of")
    same(fresh(ramp(4, 5)), ramp(4, 5))
    misuse(lambda: fresh(ramp(4, 3)), fp.AmbiguousCallError, TypeError, "vcast")


# ---- 22 to 25: devices, memory, cache -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def second() -> Iterator[Any]:
    device = fp.init_device(os.environ.get("FUSEPY_DEVICE"))
    yield device
    device.close()


def test_row_22_two_devices(lib: Any, device: Any, second: Any) -> None:
    here, there = fp.Tensor.zeros(device, 3), fp.Tensor.zeros(second, 3)
    names = (device.name, second.name)
    misuse(lambda: lib.add(there, 1), fp.ShapeError, ValueError, "add", "'a'", *names)
    misuse(lambda: lib.add(here, there), fp.ShapeError, ValueError, "add", "'b'", *names)
    misuse(lambda: lib.add(here, 1, _result=there), fp.ShapeError, ValueError, "add", *names)
    misuse(lambda: lib.add(ramp(3), 1, _result=there), fp.ShapeError, ValueError, "add", *names)
    misuse(lambda: GOOD(here, there), fp.ShapeError, ValueError, "'y'", *names)
    misuse(lambda: fp.fuse(lambda x: x + there)(here), fp.ShapeError, ValueError, *names)
    other = fp.Module.load_from_source(second, "other", "float twice(float x) { return 2 * x; }")
    misuse(lambda: fp.fuse(lambda x: other.twice(lib.add(x, 1)))(1.0), fp.ShapeError, ValueError, "'other'", *names)
    assert other.twice(2.0) == 4.0


def test_row_22_not_a_device(device: Any) -> None:
    misuse(lambda: fp.Tensor.zeros("cuda:0", 3), fp.ArgumentError, TypeError, "'cuda:0'")
    misuse(lambda: fp.init_device("vulcan"), fp.DeviceError, RuntimeError, "'vulcan'", "'vulkan'")


@pytest.mark.rest
def test_row_23_more_than_a_buffer_holds(lib: Any, device: Any) -> None:
    gc.collect()  # a failed allocation collects garbage, which frees tensors of earlier tests
    before = fp.stats(device).pool_live_bytes
    misuse(
        lambda: fp.Tensor.empty(device, (1 << 33,), "float"), fp.OutOfDeviceMemory, MemoryError,
        "34,359,738,368 bytes", "in use", "at most 4,294,967,295",
    )  # fmt: skip
    assert fp.stats(device).pool_live_bytes == before


@pytest.mark.rest
def test_row_23_over_the_limit_of_the_pool(lib: Any, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    small = Pool(device.raw, slab_bytes=1 << 20, limit_bytes=3 << 20, before_release=device.wait, lock=device.lock)
    monkeypatch.setattr(device, "pool", small)
    kept = fp.Tensor.zeros(device, 1 << 18)
    misuse(
        lambda: lib.add(fp.Tensor.zeros(device, 1 << 20), 1.0), fp.OutOfDeviceMemory, MemoryError,
        "4,194,304 bytes", "in use 1,048,576", "limit of 3,145,728",
    )  # fmt: skip
    same(lib.add(kept, 1.0).to_numpy(), np.ones(1 << 18, F32))


def test_row_24_after_close() -> None:
    device = fp.init_device(os.environ.get("FUSEPY_DEVICE"))
    module = fp.Module.load_from_source(device, "closing", "float twice(float x) { return 2 * x; }")
    tensor = fp.Tensor.from_numpy(device, ramp(3))
    fused = fp.fuse(lambda x: module.twice(x))
    same(fused(tensor).to_numpy(), 2 * ramp(3))
    device.close()
    device.close()
    uses: list[Callable[[], Any]] = [
        lambda: module.twice(1.0),
        lambda: module.twice(tensor),
        lambda: module.twice(ramp(2, 2)),
        lambda: fused(tensor),
        lambda: fused(1.0),
        lambda: tensor.to_numpy(),
        lambda: np.asarray(tensor),
        lambda: repr(tensor),
        lambda: tensor.copy_from_numpy(ramp(3)),
        lambda: fp.Tensor.zeros(device, 3),
        lambda: fp.Module.load_from_source(device, "late", "float f(float x) { return x; }"),
        lambda: fp.resolve(module.twice, 1.0),
        lambda: fused.source(tensor),
        lambda: fp.stats(device),
        lambda: device.wait(),
        lambda: device.sgl,
    ]
    for use in uses:
        misuse(use, fp.DeviceLostError, RuntimeError, "it was closed")
    assert "closed" in repr(device)
    assert not device.is_open
    assert fp.Module.load_from_source(fp.default_device(), "again", "float f(float x) { return x; }").f(1.0) == 1.0


FORK = """
import os, sys, time
import numpy as np
import fusepy as fp

m = fp.Module.load_from_source(fp.default_device(), "forked", "float twice(float x) { return 2 * x; }")
t = fp.Tensor.from_numpy(fp.default_device(), np.ones(3, "f4"))
assert m.twice(2.0) == 4.0
pid = os.fork()
if pid == 0:
    for use in (lambda: m.twice(2.0), lambda: m.twice(t), lambda: t.to_numpy(), lambda: m.device.wait()):
        try:
            use()
            os._exit(2)
        except fp.DeviceLostError as error:
            assert isinstance(error, RuntimeError)
            assert "fork" in str(error) and "hint" in str(error), str(error)
    {leave}
deadline = time.time() + 60
while time.time() < deadline:
    done, status = os.waitpid(pid, os.WNOHANG)
    if done:
        break
    time.sleep(0.02)
else:
    os.kill(pid, 9)
    sys.exit("the child hangs")
assert status == 0, status
assert m.twice(3.0) == 6.0
assert np.asarray(t).sum() == 3
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(
    "leave",
    [
        "os._exit(0)",  # as multiprocessing leaves
        pytest.param("sys.exit(0)", marks=pytest.mark.xfail(run=False, reason="hangs in the destructors of the driver")),
    ],
)
def test_row_24_after_a_fork(leave: str) -> None:
    run = child(FORK.replace("{leave}", leave))
    assert run.returncode == 0, run.stderr + run.stdout


CACHED = """
import warnings
import numpy as np
import fusepy as fp

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    m = fp.Module.load_from_source(fp.default_device(), "cached", "float twice(float x) { return 2 * x; }")
    assert m.twice([1.0, 2.0]) == [2.0, 4.0]
    assert fp.fuse(lambda x: m.twice(x) + 1)([1.0]) == [3.0]
    fp.default_device().cache.flush()
for w in caught:
    if issubclass(w.category, fp.CacheWarning):
        print(w.message)
s = fp.stats()
print("hits", s.disk_hits, "misses", s.disk_misses, "compiled", s.kernels_compiled)
"""


@pytest.mark.rest  # tests/backend/cache/test_disk.py has such folders
def test_row_25_unwritable_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    run = child(CACHED, FUSEPY_CACHE_DIR=str(tmp_path / "file" / "below"))
    assert run.returncode == 0, run.stderr
    *said, counts = run.stdout.splitlines()
    assert sum("file/below" in line for line in said) == 1, run.stdout
    assert counts == "hits 0 misses 2 compiled 2"


def test_row_25_corrupt_entries_heal(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = child(CACHED, FUSEPY_CACHE_DIR=str(cache))
    assert first.stdout == "hits 0 misses 2 compiled 2\n", first.stdout + first.stderr
    files = [p for p in cache.rglob("*") if p.is_file()]
    assert len(files) >= 3
    for i, path in enumerate(files):
        data = path.read_bytes()
        damaged = (data[: len(data) // 2], b"", data[:-1] + bytes([data[-1] ^ 1]), os.urandom(200))[i % 4]
        path.write_bytes(damaged)
    healed = child(CACHED, FUSEPY_CACHE_DIR=str(cache))
    assert healed.returncode == 0, healed.stderr
    *said, counts = healed.stdout.splitlines()
    assert len(said) == 1, healed.stdout
    assert "damaged" in said[0]
    assert any(str(path) in said[0] for path in files)
    assert counts == "hits 0 misses 2 compiled 2"
    again = child(CACHED, FUSEPY_CACHE_DIR=str(cache))
    assert again.stdout == "hits 2 misses 0 compiled 0\n", again.stdout + again.stderr


@pytest.mark.rest  # tests/backend/cache/test_disk.py has such a cache
def test_row_25_cache_that_is_off() -> None:
    run = child(CACHED, FUSEPY_CACHE="0")
    assert run.stdout == "hits 0 misses 2 compiled 2\n", run.stdout + run.stderr


# ---- not errors -----------------------------------------------------------------------------------------------------


def test_what_is_no_error(lib: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(lib.add(np.zeros((0, 3), F32), 1.0), np.zeros((0, 3), F32))
        same(lib.add(ramp(6)[::-1], 1.0), ramp(6)[::-1] + 1)
        same(lib.add(ramp(6, 4)[::2, 1:3], 1.0), ramp(6, 4)[::2, 1:3] + 1)
        same(lib.add(np.broadcast_to(ramp(3), (4, 3)), 1.0), np.broadcast_to(ramp(3), (4, 3)) + 1)
        same(lib.add(np.array([np.nan, np.inf, -np.inf], F32), 1.0), np.array([np.nan, np.inf, -np.inf], F32))
        same(lib.add(np.array(2, F32), 1.0), np.array(3, F32))

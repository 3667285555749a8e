"""The NumPy meaning and the types of operations, against NumPy written out by hand."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fusepy.errors import TraceError, UnknownNameError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.arrivals import PLAIN, TENSOR
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Attr
from fusepy.ir.interpret import interpret
from fusepy.ir.ops import OPS
from fusepy.ir.parse import parse_graph
from fusepy.ir.types import Type
from tests.support.fake_oracle import FUNCTIONS, RAY
from tests.support.reference import ORACLE

A = np.array([[1.5, -2.0, 0.25], [3.0, -0.5, 8.0]])
B = np.array([0.5, 2.0, -4.0])
K = np.array([[7, -7, 6], [-6, 5, -5]])
J = np.array([2, 3, -4])


def run(op: str, *operands: tuple[str, Any], maps: list[ArgMap] | None = None, **attrs: Attr) -> tuple[Any, str]:
    """One operation on arrays of the named types: its result and its type."""
    builder = Builder("f", ORACLE)
    values = []
    for i, (name, array) in enumerate(operands):
        type = Type.parse(name.removeprefix("weak "))
        rank = np.ndim(array) - len(type.shape)
        arrival = PLAIN if rank == 0 else TENSOR
        values.append(builder.input(f"x{i}", type, (None,) * rank, arrival=arrival, weak=name.startswith("weak")))
    (result,) = builder.add(OPS[op], values, maps, attrs)
    (found,) = interpret(builder.finish([result]), [a for _, a in operands], FUNCTIONS)
    assert found.shape[result.rank :] == result.type.shape
    return found, result.type.name


def same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)


# ---- operators and intrinsics ---------------------------------------------------------------------------------------

ARITHMETIC = [
    *(("add", operator.add), ("sub", operator.sub), ("mul", operator.mul), ("div", operator.truediv)),
    *(("floordiv", operator.floordiv), ("mod", operator.mod), ("fmod", np.fmod)),
    *(("lt", operator.lt), ("le", operator.le), ("gt", operator.gt), ("ge", operator.ge)),
    *(("eq", operator.eq), ("ne", operator.ne)),
    *(("minimum", np.minimum), ("maximum", np.maximum), ("atan2", np.arctan2)),
]


@pytest.mark.parametrize(("name", "function"), ARITHMETIC, ids=[a[0] for a in ARITHMETIC])
@pytest.mark.req("C5")
def test_two_operands(name: str, function: Callable[..., Any]) -> None:
    found, type = run(name, ("float", A), ("float", B))
    same(found, function(A, B))
    assert type == ("bool" if found.dtype == bool else "float")
    found, type = run(name, ("int", K), ("int", J))
    same(found, function(K, J))
    assert type == ("bool" if found.dtype == bool else "float" if name in ("div", "atan2") else "int")


INTEGER = [("bitand", operator.and_), ("bitor", operator.or_), ("bitxor", operator.xor), ("shl", operator.lshift)]


@pytest.mark.parametrize(("name", "function"), [*INTEGER, ("shr", operator.rshift)])
def test_integer_operands(name: str, function: Callable[..., Any]) -> None:
    found, type = run(name, ("int", K), ("int", np.abs(J)))
    np.testing.assert_array_equal(found, function(K, np.abs(J)))
    assert type == "int"
    with pytest.raises(TraceError, match="of float values"):
        run(name, ("float", A), ("int", J))


UNARY = [
    *((f.__name__, f) for f in (np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh, np.exp, np.exp2)),
    *(("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("abs", np.abs), ("sign", np.sign), ("round", np.round)),
    *(("asin", np.arcsin), ("acos", np.arccos), ("atan", np.arctan), ("neg", np.negative)),
    *((f.__name__, f) for f in (np.log, np.log2, np.log10, np.sqrt)),
    ("rsqrt", lambda x: x**-0.5),
    ("fract", lambda x: x % 1),
    ("relu", lambda x: np.where(x > 0, x, 0)),
    ("saturate", lambda x: np.minimum(np.maximum(x, 0), 1)),
]


@pytest.mark.parametrize(("name", "function"), UNARY, ids=[u[0] for u in UNARY])
def test_one_operand(name: str, function: Callable[..., Any]) -> None:
    x = np.array([0.25, 0.5, 0.75, 1.0]) if name in ("asin", "acos", "log", "log2", "log10", "sqrt", "rsqrt") else A / 2
    found, type = run(name, ("float", x))
    same(found, function(x))
    assert type == "float"
    if name not in ("asin", "acos", "log", "log2", "log10", "sqrt", "rsqrt"):
        found, type = run(name, ("int", J))
        same(found, function(J))
        assert type == ("int" if name in ("abs", "neg", "floor", "ceil", "trunc", "round", "sign") else "float")


def test_three_operands() -> None:
    same(run("clip", ("float", A), ("float", -1.0), ("float", 2.0))[0], np.clip(A, -1, 2))
    same(run("lerp", ("float", A), ("float", B), ("float", 0.25))[0], 0.75 * A + 0.25 * B)
    t = np.clip((A + 2) / 5, 0, 1)
    same(run("smoothstep", ("float", -2.0), ("float", 3.0), ("float", A))[0], 3 * t**2 - 2 * t**3)
    same(run("step", ("float", 0.5), ("float", A))[0], A >= 0.5)


def test_pow_and_invert() -> None:
    same(run("pow", ("float", np.abs(A)), ("float", B))[0], np.abs(A) ** B)
    found, type = run("pow", ("int", J), ("int", np.array([2, 3, -1])))
    assert (found.tolist(), type) == ([4, 27, 0], "int")
    assert run("pow", ("int8_t", np.int8([-7])), ("weak int", 3))[0].tolist() == [np.int8(-343 + 256)]
    assert run("power", ("int", J), exponent=2, type="int")[0].tolist() == [4, 9, 16]
    np.testing.assert_array_equal(run("invert", ("int", K))[0], ~K)
    np.testing.assert_array_equal(run("invert", ("bool", K > 0))[0], K <= 0)


def test_division_is_pythons() -> None:
    for a in range(-7, 8):
        for b in (-3, -2, 2, 3):
            assert run("floordiv", ("int", a), ("int", b))[0] == a // b
            assert run("mod", ("int", a), ("int", b))[0] == a % b
            same(run("mod", ("float", a / 2), ("float", b / 2))[0], math.fmod(a / 2, b / 2) % (b / 2))


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ("half", "weak float", "half"),
        ("half", "weak int", "half"),
        ("int", "weak float", "float"),
        ("uint8_t", "weak int", "uint8_t"),
        ("uint8_t", "half", "half"),
        ("double", "float", "double"),
        ("bool", "bool", "int"),
        ("float3", "weak int", "float3"),
        ("half3", "float", "float3"),
        ("float2x2", "weak float", "float2x2"),
    ],
)
def test_promotion_of_a_sum(left: str, right: str, result: str) -> None:
    shape = Type.parse(left).shape
    found, type = run("add", (left, np.ones(shape)), (right, np.ones(Type.parse(right.split()[-1]).shape)))
    assert type == result
    assert found.dtype == Type.parse(result).dtype
    same(found, np.full(Type.parse(result).shape, 2))


def test_scalars_meet_vectors_and_matrices() -> None:
    vectors, matrices = A.reshape(2, 3), np.arange(8.0).reshape(2, 2, 2)
    same(run("mul", ("float3", vectors), ("float", np.array([2.0, 3.0])))[0], vectors * [[2.0], [3.0]])
    same(run("add", ("float", 1.0), ("float2x2", matrices))[0], matrices + 1)
    found, type = run("lt", ("float3", vectors), ("float", 0.0))
    np.testing.assert_array_equal(found, vectors < 0)
    assert type == "bool3"


@pytest.mark.parametrize(
    ("op", "types", "said"),
    [
        ("add", ["float3", "float2"], "operator + of float3 and float2"),
        ("add", ["Ray", "float"], "operator + does not apply to a value of type Ray"),
        ("sin", ["Ray"], "sin() does not apply"),
        ("dot", ["float3", "float2"], "dot() needs vectors of one length"),
        ("cross", ["float2", "float2"], "cross() needs vectors of three"),
        ("matmul", ["float3x3", "float2"], "operator @ of float3x3 and float2"),
        ("matmul", ["float3", "float3"], "operator @ of float3 and float3"),
        ("index", ["float", "int"], "a float cannot be indexed with a int"),
        ("index", ["float3", "float"], "a float3 cannot be indexed with a float"),
        ("select", ["Ray", "Ray", "Ray"], "where() does not apply"),
        ("select", ["bool3", "float2", "float"], "where() of bool3 and float2"),
    ],
)
def test_operands_that_do_not_fit(op: str, types: list[str], said: str) -> None:
    builder = Builder("f", ORACLE)
    values = [builder.input(f"x{i}", Type.parse(t)) for i, t in enumerate(types)]
    with pytest.raises(TraceError) as caught:
        builder.add(OPS[op], values, loc="look.py:4")
    assert caught.value.what.startswith(said)
    assert caught.value.place == "look.py:4"
    assert caught.value.hint
    assert builder.nodes == []


# ---- vectors --------------------------------------------------------------------------------------------------------


def test_vector_functions() -> None:
    v, w = np.array([[1.0, 2.0, 2.0], [0.0, 3.0, 4.0]]), np.array([2.0, -1.0, 0.5])
    same(run("dot", ("float3", v), ("float3", w))[0], v @ w)
    same(run("cross", ("float3", v), ("float3", w))[0], np.cross(v, w))
    same(run("length", ("float3", v))[0], [3, 5])
    same(run("normalize", ("float3", v))[0], v / [[3], [5]])
    same(run("reflect", ("float3", v), ("float3", w))[0], v - 2 * (v @ w)[:, None] * w)
    assert run("dot", ("int3", v), ("int3", v))[1] == "float"


def test_matrix_products() -> None:
    m, n, v = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4) - 5, np.array([1.0, -2.0, 3.0])
    batch = np.stack([m, 2 * m, -m])
    for matrices in (m, batch):
        same(run("matmul", ("float2x3", matrices), ("float3x4", n))[0], matrices @ n)
        same(run("matmul", ("float2x3", matrices), ("float3", v))[0], matrices @ v)
    same(run("matmul", ("float3", v), ("float3x4", n))[0], v @ n)
    assert run("matmul", ("float2x3", m), ("half3", v))[1] == "float2"


# ---- structure ------------------------------------------------------------------------------------------------------


def test_constants_are_spread_where_they_are_used() -> None:
    graph = parse_graph(
        'graph @f() -> (weak half) {\n  %0 = const() {type = "half", value = 0.1} : weak half\n  return %0\n}', ORACLE
    )
    (found,) = interpret(graph, [])
    assert found.dtype == np.float16
    assert found == np.float16(0.1)


def test_cast() -> None:
    np.testing.assert_array_equal(run("cast", ("float", A), type="int")[0], np.trunc(A))
    same(run("cast", ("float", A[0]), maps=[ArgMap((0,))], type="half")[0], A[0])
    same(run("cast", ("float", 2.0), type="float3")[0], [2, 2, 2])
    found, type = run("cast", ("int3", K), type="half3")
    same(found, K)
    assert (found.dtype, type) == (np.float16, "half3")
    for have, want in (("float3", "float2"), ("float3", "float"), ("Ray", "float"), ("float", "Ray")):
        with pytest.raises(TraceError, match=f"a {have} cannot be cast to {want}"):
            run("cast", (have, np.zeros(Type.parse(have).shape)), type=want)


def test_a_cast_never_spreads_an_array_over_a_matrix() -> None:
    with pytest.raises(TraceError, match="a float cannot be cast to float3x3"):
        run("cast", ("float", B), type="float3x3")


def test_construct() -> None:
    same(run("construct", ("float", B), ("int", 2), ("float", A), type="float3")[0][1, 2], [-4, 2, 8])
    same(run("construct", ("float2", A[:, :2]), ("float", 9.0), type="float3")[0], np.c_[A[:, :2], [9, 9]])
    same(run("construct", ("float2", [1.0, 2.0]), ("float2", [3.0, 4.0]), type="float2x2")[0], [[1, 2], [3, 4]])
    for type in ("float4", "Ray", "Ptr<float>"):
        with pytest.raises(TraceError, match=f"{type} cannot be built from"):
            run("construct", ("float", 1.0), type=type)
    with pytest.raises(TraceError, match=r"saw: +a Ray\n"):
        run("construct", ("Ray", np.zeros(())), ("float", 1.0), type="float2")


@pytest.mark.req("V15")
def test_members() -> None:
    same(run("member", ("float3", A), name="zx")[0], A[:, [2, 0]])
    same(run("member", ("float3", A), name="g")[0], A[:, 1])
    rays = np.zeros(2, RAY)
    rays["dir"], rays["weight"] = A, 0.5
    same(run("member", ("Ray", rays), name="dir")[0], A)
    assert run("member", ("Ray", rays), name="weight")[1] == "half"


@pytest.mark.parametrize(
    ("type", "name", "hint"),
    [
        ("float3", "w", "known names: x, y, z"),
        ("float3", "xg", "did you mean 'x'?"),
        ("Ray", "dirs", "did you mean 'dir'?"),
        ("float", "y", "none"),
    ],
)
@pytest.mark.req("V15")
def test_members_that_are_not_there(type: str, name: str, hint: str) -> None:
    with pytest.raises(UnknownNameError, match=f"{type} has no member '{name}'") as caught:
        run("member", (type, np.zeros((), RAY) if type == "Ray" else np.zeros(Type.parse(type).shape)), name=name)
    assert hint in caught.value.hint


def test_index() -> None:
    m = np.arange(24.0).reshape(4, 2, 3)
    same(run("index", ("float3", A), ("int", np.array([2, 0])))[0], [A[0, 2], A[1, 0]])
    same(run("index", ("float2x3", m), ("int", 1))[0], m[:, 1])
    same(run("index", ("float[3]", A), ("uint", 1))[0], A[:, 1])
    same(run("index", ("float3[2]", m), ("int", np.array([0, 1, 1, 0])))[0], m[range(4), [0, 1, 1, 0]])


def test_select() -> None:
    same(run("select", ("bool", A > 0), ("float", A), ("float", B))[0], np.where(A > 0, A, B))
    same(run("select", ("bool3", A > 0), ("float3", A), ("weak int", 7))[0], np.where(A > 0, A, 7))
    same(run("select", ("int", [0, 2]), ("float3", A), ("float", 1.0))[0], [[1, 1, 1], A[1]])
    same(run("select", ("bool", [True, False]), ("float[3]", A), ("float[3]", -A))[0], [A[0], -A[1]])
    rays = np.zeros(2, RAY)
    rays["tmax"] = [1, 2]
    found, type = run("select", ("bool", [True, False]), ("Ray", rays), ("Ray", rays[::-1].copy()))
    assert type == "Ray"
    same(found["tmax"], [1, 1])

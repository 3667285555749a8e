"""Operators of what `vmap` and `vcast` return: in a trace, at once, in lazy calls and graphs, beside arrays and traced values."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, ramp, same

A, B, C = ramp(4), ramp(5, start=2), ramp(4, 5)
V, W = ramp(4, 3), ramp(5, 3)
BINARY = (
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
)
BITS = (operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift)


@pytest.mark.parametrize(
    ("binary", "bits"), [(BINARY[2::3], BITS[::2]), pytest.param(BINARY, BITS, marks=pytest.mark.rest)], ids=["some", "all"]
)
def test_every_operator_takes_mapped_values(device: Any, binary: Any, bits: Any) -> None:
    """In a trace as outside of it: both sides mapped, and one side a number, an array or a traced value."""
    a, b = ramp(3), ramp(4, start=1)
    i, j = np.arange(1, 4, dtype=np.int32), np.arange(1, 5, dtype=np.int32)
    for operators, x, y in ((binary, a, b), (bits, i, j)):
        fused = fp.fuse(_all_sides(operators, y))
        with np.errstate(all="ignore"):
            for f, (made, right, left, both, captured) in zip(operators, fused(x, y)):
                same(made, f(x[:, None], y))
                same(right, f(x, x.dtype.type(2)))
                same(left, f(x.dtype.type(2), x))
                same(both, f(y, y))
                assert captured is None or np.array_equal(captured, f(y, y))
    with np.errstate(all="ignore"):
        same(-fp.vmap(V, (1, 0)), -V.T)
        same(~fp.vmap(i, 0), ~i)
        same(abs(fp.vmap(-V, (1, 0))), V.T)
        same(fp.vmap(A, 0) < fp.vmap(B, 1), A[:, None] < B)
        same(C + fp.vmap(A, 0), C + A[:, None])


def _all_sides(operators: Any, array: Any) -> Any:
    def run(x: Any, y: Any) -> Any:
        return [
            (
                f(fp.vmap(x, (0,)), fp.vmap(y, (1,))),
                f(fp.vmap(x, 0), 2),
                f(2, fp.vmap(x, 0)),
                f(y, fp.vmap(y, 0)),
                f(array, fp.vmap(y, 0)) if f in (operator.sub, operator.lt, operator.xor) else None,  # an array has its own
            )
            for f in operators
        ]

    return run


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...], Any]] = [
    (lambda a, b: fp.vmap(a, (0,)) == fp.vmap(b, (1,)), (A, B), A[:, None] == B),
    (lambda a, b: fp.vmap(a, 1) * 2 + fp.vmap(b, 0), (A, B), A * 2 + B[:, None]),  # the dimensions go along
    (lambda a, c: fp.vmap(a, 0) * 2 + c, (A, C), A[:, None] * 2 + C),
    (lambda v, w: fp.vmap(v, (1, 0)) + w, (V, ramp(3, 4)), V.T + ramp(3, 4)),
    (lambda a, b: fp.vmap(a, 0) * fp.vmap([1.0, 2.0], 1), (A.astype(np.float16), B), (A[:, None] * [1, 2]).astype(np.float16)),
    (lambda v, w: fp.vmap(fp.vcast(v, "float3"), 1) + fp.vmap(fp.vcast(w, "float3"), 0), (V, W), V[None] + W[:, None]),
    (lambda v, w: fp.vcast(fp.vmap(v, 1), "float3") * fp.vcast(fp.vmap(w, 0), "float3"), (V, W), V[None] * W[:, None]),
    (lambda v, w: v + w, (fp.vmap(fp.vcast(V, "float3"), 1), fp.vmap(fp.vcast(W, "float3"), 0)), V[None] + W[:, None]),
    (lambda v, b: fp.sum(fp.vmap(v, (1, 0)), axis=0) + fp.vmap(b, 1), (V, B), V.sum(0)[:, None] + B),
    (lambda v, b: fp.sum(v, axis=1) + b, (fp.vmap(V, 0), fp.vmap(B, 1)), V.sum(1)[:, None] + B),
    (lambda a, b: fp.where(fp.vmap(a, 0) > 2, fp.vmap(b, 1), 0.5), (A, B), np.where(A[:, None] > 2, B, F32(0.5))),
    (lambda a, b: fp.minimum(fp.vmap(a, 0), fp.vmap(b, 1)), (A, B), np.minimum(A[:, None], B)),
    (lambda a, b: fp.cond(fp.vmap(a, 0) > 1, lambda x: x * 2, lambda x: x + 1, fp.vmap(b, 1)), (A, B), None),
    (lambda a, b: fp.fori_loop(0, 3, lambda i, c: c + fp.vmap(b, 1), fp.vmap(a, 0)), (A, B), A[:, None] + 3 * B),
    (lambda a, n: fp.fori_loop(0, fp.vmap(n, 1), lambda i, c: c * 2, fp.vmap(a, 0)), (A, np.arange(3)), None),
]
PROGRAMS[12] = (*PROGRAMS[12][:2], np.where(A[:, None] > 1, B * 2, B + 1))
PROGRAMS[14] = (PROGRAMS[14][0], (A, np.arange(3, dtype=np.int32)), A[:, None] * F32(2) ** np.arange(3, dtype=F32))


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_programs(device: Any, program: Any) -> None:
    function, args, want = program
    fused = fp.fuse(function)
    same(fused(*args), want)
    same(fused(*args), want)  # replayed


def test_outside_of_fused_functions(device: Any) -> None:
    same(fp.vmap(fp.Tensor.from_numpy(device, A), 0) - fp.vmap(B, 1), A[:, None] - B)
    same(fp.Tensor.from_numpy(device, C) - fp.vmap(B, 1), C - B)
    same(fp.vcast(A, "int") // 2, A.astype(np.int32) // 2)
    with fp.lazy():
        late = fp.vmap(A, 0) - fp.vmap(B, 1)
    same(late, A[:, None] - B)
    graph = fp.Graph(inputs=["x", "y"])
    x, y = graph.get_inputs()
    graph.set_outputs(fp.vmap(x, 0) - fp.vmap(y, 1), x - fp.vmap(x, 0), 1 - fp.vmap(x, 0))
    for got, want in zip(graph(A, B), (A[:, None] - B, A - A, 1 - A)):
        same(got, want)


def test_random_mappings(device: Any) -> None:
    """The axes of operands land where vmap says, and results go on along the same dimensions."""
    rng = random.Random(4)
    sizes = (2, 3, 4)
    for _ in range(4):
        dims = [tuple(rng.sample(range(3), rng.randint(1, 3))) for _ in range(3)]
        dims[2] = (*dims[2], *(d for d in range(3) if not any(d in other for other in dims)))  # without gaps
        arrays = [
            np.arange(math.prod(sizes[d] for d in m), dtype=F32).reshape([sizes[d] for d in m]) + n for n, m in enumerate(dims)
        ]

        def meaning(array: Any, map: Any) -> Any:
            order = np.argsort(map)
            return array.transpose(order).reshape([sizes[d] if d in map else 1 for d in range(3)])

        x, y, z = map(meaning, arrays, dims)
        want = (x - 2 * y) * z
        top = max(max(m) for m in dims) + 1
        want = want.reshape(want.shape[:top])
        same(fp.fuse(_weighted(dims))(*arrays), want)
        same(fp.fuse(lambda a, b, c: (a - 2 * b) * c)(*(fp.vmap(v, m) for v, m in zip(arrays, dims))), want)


def _weighted(dims: Any) -> Any:
    return lambda a, b, c: (fp.vmap(a, dims[0]) - 2 * fp.vmap(b, dims[1])) * fp.vmap(c, dims[2])


def test_structs(device: Any) -> None:
    source = (
        "struct P { float x; float y; }; P operator+(P a, P b) { return { a.x + b.x, a.y * b.y }; }"
        "P make(float a) { return { a, a }; } float sum(P p) { return p.x + p.y; }"
    )
    m = fp.Module.load_from_source(device, "mapped_structs", source)
    run = fp.fuse(lambda a, b: m.sum(fp.vmap(m.make(a), 0) + fp.vmap(m.make(b), 1)))
    same(run(A, B), (A[:, None] + B) + A[:, None] * B)


def test_a_function_gives_back_its_arguments_as_they_were_mapped_and_cast(device: Any) -> None:
    """A random law: the identity over `vmap` and `vcast` is NumPy's transpose and astype, in every structure and mode."""
    rng = random.Random(9)

    @fp.fuse
    def identity(a: Any) -> Any:
        return a

    @fp.fuse
    def nested(a: Any) -> Any:
        return identity(a), {"again": [a]}

    @fp.fuse
    def branch(a: Any, positive: Any) -> Any:
        return fp.cond(positive, lambda: a, lambda: a)

    for k in range(24):
        dtype = rng.choice((np.float32, np.int32, np.float64, np.int16, np.uint8))
        rank = rng.randint(1, 3)
        plain = (np.arange(math.prod(range(2, 2 + rank)), dtype=dtype) + dtype(k)).reshape(range(2, 2 + rank))
        array = rng.choice((plain, plain[::-1], np.asfortranarray(plain), np.broadcast_to(plain, plain.shape)))
        leading = rng.randint(0, rank)
        dims = tuple(rng.sample(range(5), leading)) if rng.random() < 0.8 else None
        want = array if dims is None else array.transpose([*np.argsort(dims, kind="stable"), *range(leading, rank)])
        types = {"float": np.float32, "double": np.float64, "int": np.int32, "uint": np.uint32, "bool": np.bool_}
        if array.shape[-1] <= 4 and (dims is None or leading < rank):
            types |= {f"float{array.shape[-1]}": np.float32, f"double{array.shape[-1]}": np.float64}
        type = rng.choice([*types, None])
        value = array if rng.random() < 0.5 else fp.Tensor.from_numpy(device, array)
        given: Any = value if dims is None else fp.vmap(value, dims)
        given = given if type is None else fp.vcast(given, type)
        want = want if type is None else want.astype(types[type])
        mode = k % 4
        if mode == 0:
            same(_array(identity(given)), want)
            same(_array(identity(given)), want)  # by the program that is there
        elif mode == 1 and type is None and dims is not None and leading == rank:
            same(_array(fp.fuse(lambda a: fp.vmap(a, dims))(value)), want)  # noqa: B023
        elif mode == 2 or mode == 1:
            first, more = nested(given)
            same(_array(first), want)
            same(_array(more["again"][0]), want)
            if dims is None or leading == rank:  # else a branch would run for each row
                same(_array(branch(given, True)), want)
        else:
            with fp.lazy():
                late = identity(given)
            same(_array(late), want)
            graph = fp.Graph(inputs=["x"])
            graph.set_outputs(graph.get_inputs()[0], identity.node()(graph.get_inputs()[0]))
            for found in graph(given):
                same(_array(found), want)


def _array(value: Any) -> Any:
    return value.to_numpy() if isinstance(value, fp.Tensor) else value


def test_structs_come_back_as_they_were_mapped_and_cast(device: Any) -> None:
    m = fp.Module.load_from_source(device, "mapped_back", "struct Q { float x; float y; }; float of(Q q) { return q.x; }")
    numbers = ramp(2, 3, 2)
    identity = fp.fuse(lambda q: q)
    for given in (fp.vcast(numbers, m.Q), identity(fp.vcast(numbers, m.Q))):
        same(identity(given)["y"], numbers[..., 1])
        same(identity(fp.vmap(given, (1, 0)))["x"], numbers[..., 0].T)
        same(fp.fuse(lambda q: fp.fori_loop(0, 2, lambda i, c: c, q))(fp.vmap(given, (1, 0)))["x"], numbers[..., 0].T)
    fields = fp.vcast({"x": fp.vmap(numbers[..., 0], (1, 0)), "y": 2}, m.Q)
    back, also = fp.fuse(lambda q: (q, {"also": q, "x": m.of(q)}))(fields)
    for found in (back, also["also"]):
        same(found["x"], numbers[..., 0].T)
        same(found["y"], np.full((3, 2), 2, F32))
    same(also["x"], numbers[..., 0].T)
    same(identity.declare(m.Q)(numbers)["y"], numbers[..., 1])


@pytest.mark.req("V14")
def test_results_of_calls_inherit_dimensions_as_those_of_operators_do(device: Any) -> None:
    """Each program computes something of `a` along d0 and adds `c`; twice of it, by an operator, is known to inherit."""
    m = fp.Module.load_from_source(device, "inherits", INHERITS)
    a, c = ramp(2, start=1), ramp(2, 3)
    v, w, p = ramp(2, 3, start=1), ramp(3, start=2), np.array([1, 0], np.int32)
    double = 2 * a[:, None]
    programs: dict[str, tuple[Any, Any]] = {
        "a call": (lambda a, c: m.twice(fp.vmap(a, 0)) + c, double + c),
        "a chain": (lambda a, c: m.add(m.halved(m.twice(m.twice(fp.vmap(a, 0)))), c), double + c),
        "a number beside it": (lambda a, c: m.add(fp.vmap(a, 0), 1) + c, a[:, None] + 1 + c),
        "a struct": (lambda a, c: m.both_of(m.make(fp.vmap(a, 0))) + c, double + c),
        "a member": (lambda a, c: m.make(fp.vmap(a, 0)).x + c, a[:, None] + c),
        "a method": (lambda a, c: m.make(fp.vmap(a, 0)).at(1) + c, double + c),
        "an operator": (lambda a, c: (m.make(fp.vmap(a, 0)) + m.make(fp.vmap(a, 0))).x + c, double + c),
        "fields": (lambda a, c: m.both_of({"x": fp.vmap(a, 0), "y": 1}) + c, a[:, None] + 1 + c),
        "outputs": (lambda a, c: m.both(fp.vmap(a, 0))[1] + c, double + c),
        "a vector": (lambda a, c: m.total(fp.vmap(v, 0), 1) + c, v.sum(1)[:, None] + 1 + c),
        "a vector for all": (lambda a, c: m.inner(fp.vmap(v, 0), w) + c, (v @ w)[:, None] + c),
        "a pointer": (lambda a, c: m.pick(w, fp.vmap(p, 0)) + c, w[p][:, None] + c),
        "a whole array": (lambda a, c: m.first(w, fp.vmap(a, 0)) + c, w[0] + a[:, None] + c),
        "a declaration": (lambda a, c: m.twice.declare(fp.vmapping(0))(a) + c, double + c),
        "a function inside": (lambda a, c: fp.fuse(lambda x: m.twice(x))(fp.vmap(a, 0)) + c, double + c),
        "a loop": (lambda a, c: fp.fori_loop(0, 1, lambda i, x: m.twice(x), fp.vmap(a, 0)) + c, double + c),
        "a body": (lambda a, c: fp.fori_loop(0, 1, lambda i, x: x + m.twice(fp.vmap(a, 0)), c), double + c),
        "a reduction": (lambda a, c: fp.sum(m.twice(fp.vmap(c, (1, 0))), axis=0) + fp.vmap(w, 0), 2 * c.sum(1) + w[:, None]),
        "a sum beside no mapping": (
            lambda a, c: fp.sum(m.add(fp.vmap(a, 0), fp.vmap(w, 1)), axis=0) + w,
            (a[:, None] + w).sum(0) + w,
        ),
        "a sum in a call": (
            lambda a, c: m.add(fp.sum(m.add(fp.vmap(a, 0), fp.vmap(w, 1)), axis=0), w),
            (a[:, None] + w).sum(0) + w,
        ),
        "another dimension": (lambda a, c: m.twice(fp.vmap(a, 1)) * m.twice(fp.vmap(w, 0)), 4 * a * w[:, None]),
    }

    def all_of(a: Any, c: Any) -> Any:
        return {name: program(a, c) for name, (program, _) in programs.items()}

    fused = fp.fuse(all_of)
    with fp.lazy():
        late = fused(a, c)
    for found in (fused(a, c), fused(a, c), late):
        for name, (_, want) in programs.items():
            assert np.array_equal(np.asarray(found[name]), want), name
    one = fp.fuse(lambda a, c: m.twice(a) + c)
    same(one(fp.vmap(a, 0), c), double + c)
    graph = fp.Graph(inputs=["a", "c"])
    x, y = graph.get_inputs()
    graph.set_outputs(fp.fuse(programs["a chain"][0]).node()(x, y))
    same(graph(a, c), double + c)


INHERITS = """
import fusepy;
struct S { float x; float y; float at(float t) { return x + y * t; } };
S operator+(S a, S b) { return { a.x + b.x, a.y + b.y }; }
S make(float a) { return { a, a }; }
float both_of(S s) { return s.x + s.y; }
float twice(float a) { return 2 * a; }
float halved(float a) { return a / 2; }
float add(float a, float b) { return a + b; }
void both(float a, out float b, out float c) { b = a; c = 2 * a; }
float total(float3 v, float k) { return v.x + v.y + v.z + k; }
float inner(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
float pick(float* p, int i) { return p[i]; }
float first(Tensor<float,1> t, float x) { return t[0] + x; }
"""


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a: fp.sqrt("x"), "sqrt: argument 'x': a str"),
        (lambda a: fp.minimum(a, "x"), "minimum: argument 'y': a str"),
        (lambda a: fp.clip(a, 0.0, "x"), "clip: argument 'high': a str"),
        (fp.fuse(lambda a: a + fp.maximum(a, "x")), "<lambda>: maximum: argument 'y': a str"),
    ],
)
def test_a_string_is_refused_under_the_name_of_its_parameter(call: Any, words: str) -> None:
    """It was called 'captured', a word of fusepy's own."""
    with pytest.raises(fp.UnsupportedArgumentError, match=words):
        call(np.ones(3, np.float32))


def test_comparisons_with_infinity_and_nan(device: Any) -> None:
    """A literal that is no integer was converted to one, which Python refuses."""
    for x in (np.float32([1, np.inf, -np.inf, np.nan]), np.int32([1, 2])):
        found = fp.fuse(lambda x: (x == math.inf, x > -math.inf, math.inf >= x, x != math.nan))(x)
        for made, wanted in zip(found, (x == np.inf, x > -np.inf, np.inf >= x, x != np.nan), strict=True):
            np.testing.assert_array_equal(made, wanted)

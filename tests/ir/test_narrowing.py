"""NumPy's default dtypes where Slang wants smaller ones: converted as they are uploaded, with a warning."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

F32 = np.float32
A, B = np.random.default_rng(3).random((2, 16))
P = np.random.default_rng(4).random((7, 3))
N = np.arange(5)
SOURCE = """
import fusepy;
struct Ray { float3 position; float t; }
float add(float a, float b) { return a + b; }
float mixed(double a, float b) { return float(a) + b; }
float exact(float a) { return a; }
double exact(double a) { return a; }
int next(int a) { return a + 1; }
uint next_unsigned(uint a) { return a + 1; }
int next_small(int8_t a) { return a + 1; }
float3 scale(float3 v, float k) { return v * k; }
void turn(inout Ray r) { r.t = 0; }
float reach(Ray r) { return r.position.x + r.t; }
float look(Tensor<float,1> a, int i) { return a[i]; }
float behind(float* a, int i) { return a[i]; }
float ends(float w[4]) { return w[0] + w[3]; }
float maybe(Optional<float> x) { return x.hasValue ? x.value : -1; }
void bump(inout float x) { x += 1; }
void put(float x, out float y) { y = x; }
void fill(RWTensor<float,1> a, int i) { a[i] = 1; }
T same<T>(T x) { return x; }
T add_to<T : IFloat>(T a, float b) { return a; }
float either(float a) { return a; }
uint64_t wide(uint64_t a) { return a * 2; }
float wider(uint64_t a, float b) { return a * b; }
float either(half a) { return float(a); }
float kinds(int a) { return 1; }
float kinds(float a) { return 2; }
half small(half a) { return a; }
double twice(double a) { return a * 2; }
float placed(int a, float b) { return a + b; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "narrowing", SOURCE)


def told(call: Callable[[], Any]) -> tuple[Any, int]:
    """What a call gives, and how often it warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    assert all(w.category is fp.PrecisionWarning and w.filename == __file__ for w in caught)
    return result, len(caught)


# each with what it means where the array has Slang's type already, and whether an array is converted
CALLS: dict[str, tuple[Callable[[Any, Any], Any], int]] = {
    "two": (lambda m, to: m.add(to(A), to(B)), 1),
    "beside a number": (lambda m, to: m.add(to(A), 0.1), 1),
    "beside an array of float": (lambda m, to: m.add(to(A), B.astype(F32)), 1),
    "beside a double": (lambda m, to: m.mixed(A, to(B)), 1),
    "0-d": (lambda m, to: m.add(to(np.array(0.1)), to(A)), 1),
    "empty": (lambda m, to: m.add(to(np.zeros(0)), 1.0), 1),
    "strided": (lambda m, to: m.add(to(A[::-2]), to(B[1::2])), 1),
    "an overload for double": (lambda m, to: m.exact(A), 0),
    "generic": (lambda m, to: m.same(A), 0),
    "generic beside float": (lambda m, to: m.add_to(A, to(B)), 1),
    "integers": (lambda m, to: m.next(to(N)), 1),
    "unsigned": (lambda m, to: m.next_unsigned(to(N, np.uint32)), 1),
    "eight bits": (lambda m, to: m.next_small(to(N - 2, np.int8)), 1),
    "integers as floats": (lambda m, to: m.add(to(N, F32), 1.0), 1),
    "integers beside floats": (lambda m, to: m.add(to(N, F32), to(A[:5])), 1),
    "integers as doubles": (lambda m, to: m.twice(to(N, np.float64)), 1),
    "integers as halves": (lambda m, to: m.small(to(N, np.float16)), 1),
    "integers as what they are first": (lambda m, to: m.kinds(to(N)), 1),
    "integers as both": (lambda m, to: m.placed(to(N), to(N, F32)), 1),
    "integers as vectors": (lambda m, to: m.scale(to(N[:3], F32), to(N, F32)), 1),
    "integers as leaves": (lambda m, to: m.reach({"position": {"x": to(N, F32), "y": 1, "z": 2}, "t": to(N, F32)}), 1),
    "integers as a whole array": (lambda m, to: m.look(to(N, F32), [3, 0, 1]), 1),
    "integers as a fixed array": (lambda m, to: m.ends(to(N[:4], F32)), 1),
    "integers as a pointer": (lambda m, to: m.behind(to(N, F32), [3, 0, 1]), 1),
    "fused integers": (lambda m, to: fp.fuse(lambda x, y: m.add(x, 1) * m.add(x, y))(to(N, F32), to(N, F32)), 1),
    "captured integers": (lambda m, to: fp.fuse(lambda x: m.add(x, to(N, F32)))(to(A[:5])), 1),
    "vectors": (lambda m, to: m.scale(to(P), 2.0), 1),
    "vectors under vmap": (lambda m, to: m.scale(fp.vmap(to(P), (0,)), to(A[:7])), 1),
    "leaves": (lambda m, to: m.reach({"position": to(P), "t": to(A[:7])}), 1),
    "deep leaves": (lambda m, to: m.reach({"position": {"x": to(A), "y": 1, "z": to(B)}, "t": 2.0}), 1),
    "a whole array": (lambda m, to: m.look(to(A), [3, 0, 1]), 1),
    "a pointer": (lambda m, to: m.behind(to(A), [3, 0, 1]), 1),
    "a fixed array": (lambda m, to: m.ends(to(A.reshape(4, 4))), 1),
    "optional": (lambda m, to: m.maybe(to(A)), 1),
    "vcast": (lambda m, to: m.add(fp.vcast(A, m.float), 0.0), 0),
    "declared": (lambda m, to: m.add.declare(fp.vmapping(0), fp.vmapping(1))(to(A), to(B)), 1),
    "by name": (lambda m, to: m.add(b=to(A), a=1.0), 1),
    "fused": (lambda m, to: fp.fuse(lambda x, y: m.add(m.add(x, y), x) * 2)(to(A), to(B)), 1),
    "captured": (lambda m, to: fp.fuse(lambda x: m.add(x, to(B)))(to(A)), 1),
    "two kernels": (lambda m, to: fp.fuse(lambda x: m.add(x, fp.sum(m.add(x, 1))))(to(A)), 1),
    "fused leaves": (lambda m, to: fp.fuse(lambda r: m.reach(r))({"position": to(P), "t": 1.0}), 1),
}


@pytest.mark.req("C20", "C17")
@pytest.mark.parametrize("name", daily(CALLS, *[*CALLS][::2]))
def test_a_call_is_that_of_the_converted_array(m: Any, name: str) -> None:
    call, expected = CALLS[name]
    as_given = lambda a, dtype=None: a  # noqa: E731
    plain = lambda a, dtype=None: a.astype(dtype or (F32 if a.dtype == np.float64 else np.int32))  # noqa: E731
    want, silent = told(lambda: call(m, plain))
    assert silent == 0
    for _ in range(2):  # traced, and found again
        got, count = told(lambda: call(m, as_given))
        assert count == expected
        np.testing.assert_array_equal(got, want)
        assert np.asarray(got).dtype == np.asarray(want).dtype


@pytest.mark.req("C20")
def test_one_warning_for_each_line(m: Any) -> None:
    assert told(lambda: [m.add(A, B) for _ in range(3)])[1] == 1
    assert told(lambda: m.add(m.add(A, B), m.add(B, A)))[1] == 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            m.add(A, B)
            m.add(A, 1.0)
    assert len({w.lineno for w in caught}) == len(caught) == 2
    with pytest.warns(fp.PrecisionWarning, match=r"\.astype\(np\.float32\)"):
        m.add(A, B)
    assert issubclass(fp.PrecisionWarning, Warning)


@pytest.mark.req("C20")
def test_the_warning_names_the_types(m: Any) -> None:
    whole = np.arange(3)
    for _ in range(2):
        with pytest.warns(fp.PrecisionWarning, match=r"converted to uint64_t as.*\.astype\(np\.uint64\), or") as caught:
            assert m.wide(whole).tolist() == [0, 2, 4]
        assert len(caught) == 1
    with pytest.warns(fp.PrecisionWarning, match="converted to float and uint64_t as"):
        m.wider(whole, A[0] if A.ndim > 1 else A[:3])


@pytest.mark.req("C20")
def test_lazy_calls_and_graphs(m: Any) -> None:
    def lazily() -> Any:
        x = A.copy()
        with fp.lazy():
            y = m.add(m.add(x, B), x)
            x[:] = 0  # what was recorded is what it was
        return y.to_numpy()

    want = m.add(m.add(A.astype(F32), B.astype(F32)), A.astype(F32))
    for _ in range(2):
        got, count = told(lazily)
        assert count == 1
        np.testing.assert_array_equal(got, want)

    def double_too() -> Any:
        with fp.lazy():
            y, z = fp.fuse(lambda x: (m.add(x, 1), x * 2))(A)
        return y.to_numpy(), z.to_numpy()

    (y, z), count = told(double_too)
    assert count == 1
    np.testing.assert_array_equal(y, A.astype(F32) + F32(1))
    np.testing.assert_array_equal(z, A * 2)

    graph = fp.Graph(inputs=["x"])
    graph.set_outputs(m.add.node()(*graph.get_inputs(), 1.0))
    got, count = told(lambda: graph(A))
    assert count == 1
    np.testing.assert_array_equal(got, A.astype(F32) + F32(1))


@pytest.mark.req("C20")
def test_operators_keep_the_type_of_the_array(m: Any) -> None:
    """One array may be a float to a call and a double to an operator; what an operator makes of it is a float to a call again."""
    got, _ = told(lambda: fp.fuse(lambda x: m.add(x, 1) + x)(A))
    np.testing.assert_array_equal(got, (A.astype(F32) + F32(1)).astype(np.float64) + A)
    got, _ = told(lambda: fp.fuse(lambda x: (m.next(x), m.next_unsigned(x), x + 1))(N))
    assert [g.dtype for g in got] == [np.int32, np.uint32, np.int64]
    got, _ = told(lambda: fp.fuse(lambda x: (m.ends(x), fp.sum(x, axis=1)))(A.reshape(4, 4)))
    np.testing.assert_array_equal(got[0], m.ends(A.reshape(4, 4).astype(F32)))
    np.testing.assert_allclose(got[1], A.reshape(4, 4).sum(1), rtol=1e-15)
    got, _ = told(lambda: fp.fuse(lambda x: (m.add(x, 1), m.next(x), x * 2))(N))
    assert [g.dtype for g in got] == [np.float32, np.int32, np.int64]
    assert [g.tolist() for g in got] == [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [0, 2, 4, 6, 8]]
    got, said = told(lambda: fp.fuse(lambda x: m.add(x + 1, 1))(A))
    np.testing.assert_array_equal(got, (A + 1).astype(F32) + F32(1))
    assert said == 1
    np.testing.assert_array_equal(fp.fuse(lambda x: m.add(fp.vcast(x + 1, m.float), 1))(A), (A + 1).astype(F32) + F32(1))


@pytest.mark.req("C20")
def test_an_array_that_is_read_whole_keeps_its_digits_elsewhere(m: Any) -> None:
    """What user code sees in memory is converted; other uses have an upload of their own."""
    others: list[tuple[Callable[[Any], Any], Any]] = [
        (lambda x: x, A),
        (lambda x: x * 2, A * 2),
        (lambda x: fp.sum(x), A.sum()),
        (lambda x: fp.vcast(x, "double"), A),
        (lambda x: fp.fori_loop(0, 2, lambda i, c: c + x, x), 3 * A),
        (lambda x: m.twice(x), A * 2),
    ]
    for read in (lambda x: m.look(x, 3), lambda x: m.behind(x, 3)):
        for other, want in others:
            (got, rest), warned = told(lambda: fp.fuse(lambda x: (read(x), other(x)))(A))  # noqa: B023
            assert (got, warned) == (A.astype(F32)[3], 1)
            assert rest.dtype == np.float64
            np.testing.assert_allclose(rest, want, rtol=1e-15)
    (got, same, rest), _ = told(lambda: fp.fuse(lambda n: (m.look(n, 3), m.next(n), n))(N))
    assert (got, same.tolist(), rest.tolist(), rest.dtype) == (3, [1, 2, 3, 4, 5], N.tolist(), np.int64)


BODIES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "for": lambda m, x, a: fp.fori_loop(0, 2, lambda i, c: m.add(c, a), x),
    "while": lambda m, x, a: fp.while_loop(lambda c: c < 3, lambda c: m.add(c, a) + 1, x),
    "test": lambda m, x, a: fp.while_loop(lambda c: m.exact(c) + m.add(a, 0) < 3, lambda c: c + 1, x),
    "cond": lambda m, x, a: fp.cond(x > 0.5, lambda: m.add(a, 1), lambda: x),
    "nested": lambda m, x, a: fp.fori_loop(0, 2, lambda i, c: fp.cond(c > 0.5, lambda: m.add(a, c), lambda: c), x),
    "a vector": lambda m, x, a: fp.fori_loop(0, 2, lambda i, c: c + m.scale(a, 2).y, x),
    "whole": lambda m, x, a: fp.fori_loop(0, 2, lambda i, c: c + m.look(a, i), x),
    "a pointer": lambda m, x, a: fp.fori_loop(0, 2, lambda i, c: c + m.behind(a, i), x),
    "mapped": lambda m, x, a: fp.fori_loop(0, 2, lambda i, c: m.add(c, fp.vmap(a, 0)), fp.vmap(x, 0)),
}


@pytest.mark.req("C20")
@pytest.mark.parametrize("name", BODIES)
def test_bodies_of_loops_and_branches_convert_what_calls_outside_do(m: Any, name: str) -> None:
    body, x, a = BODIES[name], A[:7].astype(F32), P if name == "a vector" else B[:7]
    fused = fp.fuse(lambda x, a: body(m, x, a))
    want = fused(x, a.astype(F32))
    for call in (lambda: fused(x, a), lambda: fp.fuse(lambda x: body(m, x, a))(x)):
        got, warned = told(call)
        assert warned == 1
        assert got.dtype == F32
        assert np.array_equal(got, want)


def test_casts_in_bodies_are_the_users(m: Any) -> None:
    x, a = A.astype(F32), B + 2.0**-30
    got, warned = told(lambda: fp.fuse(lambda x, a: fp.fori_loop(0, 1, lambda i, c: m.add(c, fp.vcast(a, "float")), x))(x, a))
    assert warned == 0
    assert np.array_equal(got, x + a.astype(F32))
    got, warned = told(lambda: fp.fuse(lambda a: fp.fori_loop(0, 1, lambda i, c: c + fp.vcast(a + c, "float"), 0.0))(a))
    assert warned == 0
    big = np.array([1 << 40])
    with pytest.raises(fp.RangeError):
        fp.fuse(lambda n: fp.fori_loop(0, 1, lambda i, c: m.next(n), 0))(big)
    got, _ = told(lambda: fp.fuse(lambda n: fp.fori_loop(0, 1, lambda i, c: fp.vcast(n, "int"), 0))(big))
    assert got.tolist() == [0]  # as in C
    with pytest.raises(fp.NoMatchError):
        fp.fuse(lambda x, a: fp.fori_loop(0, 1, lambda i, c: m.add.strict()(c, a), x))(x, a)


@pytest.mark.req("C20")
def test_numbers_out_of_range(m: Any) -> None:
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: m.next(N + 2**31), "2147483652"),
        (lambda: m.next_unsigned(N - 1), "saw:      -1"),
        (lambda: m.next_small(N + 125), "expected: -128 to 127"),
        (lambda: fp.fuse(lambda x: (m.next(x), m.next_unsigned(x)))(N - 1), "uint"),  # stored as int64 for both
        (lambda: m.add(np.array([1.0, -1e300, np.inf]), 1.0), "1e\\+300"),
        (lambda: m.reach({"position": P * 1e300, "t": 1.0}), "r.position"),
        (lambda: m.add(N + 2**24, 1.0), "16777220(.|\n)*-16777216 to 16777216"),
        (lambda: m.add(-N - 2**24, 1.0), "-16777220"),
        (lambda: m.add(np.array([0, -(2**63)]), 1.0), "-9223372036854775808"),
        (lambda: m.small(N + 2**11), "2052(.|\n)*-2048 to 2048"),
        (lambda: m.twice(np.array([2**53 + 1])), "9007199254740993"),
        (lambda: m.scale(np.array([1, 2, 2**24 + 1]), 1.0), "16777217"),  # a constant, in the parameter block
        (lambda: m.scale(np.array([1, 2, 1e300]), 1.0), "1e\\+300"),
        (lambda: fp.fuse(lambda x: (m.add(x, 1), x + 1))(N + 2**24), "16777220"),  # stored as int64 for both
    ]
    for call, words in wrong:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # nothing is converted, so there is nothing to warn of
            with pytest.raises(fp.RangeError, match=words):
                call()
    assert told(lambda: m.add(np.array([-(2**24), 2**24]), 0.0))[0].tolist() == [-(2**24), 2**24]
    got, _ = told(lambda: m.add(np.array([np.inf, -np.inf, np.nan, 1e-60, 3.4e38]), 0.0))
    np.testing.assert_array_equal(got, F32([np.inf, -np.inf, np.nan, 0, 3.4e38]))


@pytest.mark.req("C20")
def test_lists_and_globals_that_become_infinite(device: Any) -> None:
    source = """import fusepy;
    uniform float k; uniform half h; uniform float3 v; uniform half w[3]; uniform Tensor<half,1> held;
    float set(float x) { return x * k + float(h) + v.y + float(w[2]) + float(held[0]); }
    float element(half x) { return float(x); }
    float pointed(half* x, int i) { return float(x[i]); }
    float buffered(StructuredBuffer<half> x, int i) { return float(x[i]); }
    float whole(Tensor<half,1> x, int i) { return float(x[i]); }
    """
    m = fp.Module.load_from_source(device, "infinite", source)
    fits, big = [1.0, 2.0, 65504.0], [1.0, 2.0, 70000.0]
    good: dict[str, Any] = {"k": 2.0, "h": 1.0, "v": [1.0, 2.0, 3.0], "w": fits, "held": fits}
    assert m.set.set(good)(1.0) == 2 + 1 + 2 + 65504 + 1
    wrong: list[Callable[[], Any]] = [lambda: m.element(big), lambda: fp.Tensor(big, dtype="half"), lambda: fp.Tensor([1e300])]
    wrong += [lambda f=f: f(big, 2) for f in (m.pointed, m.buffered, m.whole)]
    wrong += [lambda f=f: fp.fuse(lambda x: f(x, 2))(big) for f in (m.pointed, m.buffered, m.whole)]
    for bad in ({"k": 1e39}, {"k": -1e300}, {"h": 70000}, {"h": 7e4}, {"v": [1.0, 1e300, 1.0]}, {"w": big}, {"held": big}):
        wrong.append(lambda bad=bad: m.set.set({**good, **bad})(1.0))
    wrong.append(lambda: fp.Tensor.full(device, 3, 70000, "half"))
    for call in wrong:
        with pytest.raises(fp.RangeError, match=r"out of range for (half|float)"):
            call()
    assert m.element(fits)[2] == m.pointed(fits, 2) == m.whole(fits, 2) == 65504
    assert m.set.set({**good, "k": float("inf")})(1.0) == float("inf")  # what is infinite stays so
    assert np.isnan(m.element([1.0, np.nan])[1])
    assert fp.Tensor([3.4028235e38]).tolist() == [float(np.finfo(F32).max)]


@pytest.mark.req("C20", "T8")
def test_arrays_of_structs(m: Any, device: Any) -> None:
    """Numbers that `vcast` reads as structs are converted as it converts others: that was said, so nothing warns."""
    at = fp.fuse(lambda r: m.reach(fp.vcast(r, m.Ray)))
    for numbers in (np.arange(12), np.arange(12.0).reshape(3, 4)):
        for call in (lambda n: m.reach(fp.vcast(n, m.Ray)), at):
            got, count = told(lambda: call(numbers))  # noqa: B023
            assert (got.tolist(), count) == ([3, 11, 19], 0)
    wrong = [(np.full((3, 4), 1e300), "1e\\+300"), (np.full((3, 4), 2**24 + 1), "16777217")]
    for numbers, words in wrong:
        with pytest.raises(fp.RangeError, match=words):
            m.reach(fp.vcast(numbers, m.Ray))
        with pytest.raises(fp.RangeError, match=words):
            at(numbers)
    with pytest.raises(fp.UnsupportedArgumentError, match=r"a tensor of double cannot be read as Ray"):
        m.reach(fp.vcast(fp.Tensor.from_numpy(device, np.ones((3, 4))), m.Ray))
    with pytest.raises(fp.ShapeError, match=r"read-only(.|\n)*have the types of the members"):  # what is written would be lost
        m.turn(fp.vcast(np.ones((3, 4)), m.Ray))


@pytest.mark.req("C20")
def test_what_is_never_converted(m: Any, device: Any) -> None:
    tensor = fp.Tensor.from_numpy(device, A)
    refused: list[Callable[[], Any]] = [
        lambda: m.add(tensor, 1.0),
        lambda: m.add(A, tensor),
        lambda: m.next(fp.Tensor.from_numpy(device, N)),
        lambda: m.reach({"position": P, "t": fp.Tensor.from_numpy(device, A[:7])}),
        lambda: m.add(fp.Tensor.from_numpy(device, N), 1.0),
        lambda: m.add(N.astype(np.int32), 1.0),
        lambda: m.add(N > 1, 1.0),
        lambda: m.next(A),  # which would lose what makes them floats
        lambda: m.add.strict()(N, 1.0),
        lambda: m.add(A.astype(np.float16), 1.0),
        lambda: m.next(N.astype(np.int16)),
        lambda: m.next(N.astype(np.uint64)),
        lambda: m.bump(A.copy()),
        lambda: m.fill(A.copy(), N.astype(np.int32)),
        lambda: m.add.strict()(A, B),
        lambda: m.reach.strict()({"position": P, "t": 1.0}),
        lambda: fp.fuse(lambda x: m.add(x, 1)).strict()(A),
        lambda: fp.fuse(lambda r: m.reach(r)).strict()({"position": P, "t": 1.0}),
        lambda: fp.fuse(lambda x: m.add.strict()(x, 1))(A),
        lambda: fp.Module.load_from_source(device, "narrowing_strict", SOURCE, strict=True).add(A, B),
    ]
    for call in refused:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(fp.NoMatchError) as caught:
                call()
        assert "vcast" in caught.value.hint or "what is written" in caught.value.hint or "takes 1 axis" in caught.value.hint
    for array, dtype in itertools.product((A, A.astype(F32)), (np.float64, F32)):
        given = np.zeros(16, dtype)  # results are not converted: what receives them has their type
        if dtype is np.float64:
            with pytest.raises(fp.ShapeError, match=r"float64\[16\](.|\n)*float32\[16\]"):
                told(lambda: m.put(array, given))  # noqa: B023
            assert not given.any()
        else:
            told(lambda: m.put(array, given))  # noqa: B023
            np.testing.assert_array_equal(given, A.astype(F32))
    with pytest.raises(fp.AmbiguousCallError, match=r"vcast\(a, m\.half\)"):
        m.either(A)


def test_torch_tensors_are_never_converted(m: Any) -> None:
    torch = pytest.importorskip("torch")
    for wrong in (torch.ones(3, dtype=torch.float64), torch.ones(3, dtype=torch.int64)):
        with pytest.raises(fp.NoMatchError, match="never silent"):
            m.add(wrong, 1.0)


@pytest.mark.req("V16", "C20")
def test_resolve_and_explain_tell(m: Any) -> None:
    assert fp.resolve(m.add, A, 1.0).types == [m.float, m.float]
    assert "a: float over 1 axes" in str(m.add.explain(A, 1.0))

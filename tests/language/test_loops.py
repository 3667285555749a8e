"""Loops and branches in traces: what they compute, what they become, and what is refused."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, OTHER, close, ramp, same

SOURCE = """
import fusepy;
float at(Tensor<float,1> t, int i) { return t[i]; }
float fetch(float* p, int i) { return p[i]; }
void put(RWTensor<float,1> t, int i, float x) { t[i] = x; }
float4 texel(Texture2D<float4> t, int2 p) { return t[p]; }
float3 tone(float3 c, float g) { return c * g; }
double thrice(double x) { return x * 3; }
float sin(float x) { return x + 100; }
struct Ray
{
    float3 o; float3 d;
    float3 at(float t) { return o + t * d; }
    [mutating] void move(float t) { o = o + t * d; }
};
Ray ray(float3 o, float3 d) { Ray r; r.o = o; r.d = d; return r; }
float mandel(float2 c, int most)
{
    float2 z = 0; int n = 0;
    while (n < most && dot(z, z) <= 4) { z = float2(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + c; n++; }
    return n;
}
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "control", SOURCE)


def kernels(call: Callable[[], Any]) -> int:
    before = fp.stats().dispatches
    call()
    return fp.stats().dispatches - before


# ---- what they compute ----------------------------------------------------------------------------------------------


def test_newton_iteration_is_one_kernel(device: Any) -> None:
    @fp.fuse
    def root(x: Any, steps: Any) -> Any:
        return fp.fori_loop(0, steps, lambda i, y: 0.5 * (y + x / y), 1.0)

    x = ramp(50, start=0.5)
    close(root(x, 12), np.sqrt(x), ulps=2)
    assert kernels(lambda: root(x, 9)) == 1
    text = root.source(x, 12)
    assert text.count("for (int") == 1, "another number of steps is no other program"
    assert fp.stats().kernels_compiled == (root(x, 3), fp.stats().kernels_compiled)[1]


def test_mandelbrot_stops_at_each_pixel_for_itself(m: Any) -> None:
    @fp.fuse
    def count(x: Any, y: Any) -> Any:
        def step(c: Any) -> Any:
            z, n = c
            return m.float2(z.x * z.x - z.y * z.y + x, 2 * z.x * z.y + y), n + 1

        return fp.while_loop(lambda c: (fp.dot(c[0], c[0]) <= 4) & (c[1] < 60), step, (m.float2(0.0, 0.0), 0))[1]

    y, x = np.mgrid[-1.2:1.2:24j, -2.2:0.8:40j].astype(F32)
    found = count(x, y)
    same(found, m.mandel(np.stack([x, y], -1), 60).astype(np.int32))
    assert len(np.unique(found)) > 10


def test_branches_compute_one_side(m: Any) -> None:
    written = fp.Tensor.zeros(m.device, 6, "float")

    @fp.fuse
    def mark(x: Any, i: Any, to: Any) -> Any:
        return fp.cond(x > 0.5, lambda: m.put(to, i, x), lambda: None)

    assert mark(ramp(6), np.arange(6, dtype=np.int32), written) is None
    same(written.to_numpy(), np.where(ramp(6) > 0.5, ramp(6), 0).astype(F32))


def test_nested_in_each_other() -> None:
    @fp.fuse
    def f(x: Any, n: Any) -> Any:
        def outer(i: Any, c: Any) -> Any:
            def inner(j: Any, d: Any) -> Any:
                return fp.cond(d[0] > j, lambda: (d[0] - j, d[1] + 1), lambda: (d[0] + i, d[1]))

            return fp.fori_loop(0, i, inner, c)

        return fp.fori_loop(1, n, outer, (x, 0))

    def expected(x: float, n: int) -> tuple[float, int]:
        c = (x, 0)
        for i in range(1, n):
            for j in range(i):
                c = (c[0] - j, c[1] + 1) if c[0] > j else (c[0] + i, c[1])
        return c

    x = ramp(20, start=-2.0)
    a, b = f(x, 6)
    same(a, np.array([expected(v, 6)[0] for v in x], F32))
    same(b, np.array([expected(v, 6)[1] for v in x], np.int32))


def test_trip_counts_that_differ_by_thread_and_swapped_carries() -> None:
    fib = fp.fuse(lambda n: fp.fori_loop(0, n, lambda i, c: (c[1], c[0] + c[1]), (0, 1))[0])
    n = np.array([[0, 1, 2], [10, 20, 30]], np.int32)
    same(fib(n), np.array([[0, 1, 1], [55, 6765, 832040]], np.int32))
    same(fib(n, _result="tensor").to_numpy(), fib(n))


def test_structures_are_carried_and_given_back() -> None:
    @dataclasses.dataclass
    class State:
        position: Any
        count: Any

    @fp.fuse
    def f(x: Any) -> Any:
        start = {"state": State(x, 0), "pair": [x, (1.0,)]}
        return fp.fori_loop(
            0,
            3,
            lambda i, c: {"state": State(c["pair"][0], c["state"].count + i), "pair": [c["state"].position, c["pair"][1]]},
            start,
        )

    found = f(ramp(4))
    assert type(found["state"]) is State
    same(found["state"].position, ramp(4))
    same(found["state"].count, np.full(4, 3, np.int32))
    assert type(found["pair"][1]) is tuple
    same(found["pair"][1][0], np.ones(4, F32))


def test_structs_and_their_methods(m: Any) -> None:
    o, d = ramp(5, 3), ramp(5, 3, start=1.0)
    walk = fp.fuse(lambda o, d: fp.fori_loop(0, 3, lambda i, r: m.ray(r.at(1.0), r.d), m.ray(o, d)).o)
    close(walk(o, d), o + 3 * d)
    move = fp.fuse(lambda o, d: fp.fori_loop(0, 3, lambda i, r: r.move(1.0), m.ray(o, d)).o)
    close(move(o, d), o + 3 * d)


def test_unrolled_by_slang() -> None:
    f = fp.fuse(lambda x: fp.fori_loop(0, 8, lambda i, c: c * 2 + i, x, unroll=True))
    expected = ramp(9)
    for i in range(8):
        expected = expected * 2 + i
    same(f(ramp(9)), expected.astype(F32))
    assert "[ForceUnroll]\n" in f.source(ramp(9))


def test_max_steps_ends_a_loop_that_would_not() -> None:
    f = fp.fuse(lambda n: fp.while_loop(lambda c: c >= 0, lambda c: c + 1, n, max_steps=7))
    same(f(np.array([0, 5, -1], np.int32)), np.array([7, 12, -1], np.int32))


def test_outside_of_fused_functions() -> None:
    assert fp.fori_loop(0, 5, lambda i, c: c + i, 0) == 10
    assert fp.while_loop(lambda c: c["n"] < 100, lambda c: {"n": c["n"] * 3}, {"n": 1}) == {"n": 243}
    same(fp.fori_loop(0, 3, lambda i, c: c * 2, ramp(4)), ramp(4) * 8)
    same(fp.cond(ramp(4) > 0.3, lambda x: x * 2, lambda x: -x, ramp(4)), np.where(ramp(4) > 0.3, ramp(4) * 2, -ramp(4)))
    assert fp.cond(True, lambda x: x, lambda x: 1 / 0, 3) == 3
    assert fp.fori_loop(0, 4, lambda i, c: c + i, 1, unroll=True) == 7


def test_a_python_bool_chooses_while_tracing() -> None:
    f = fp.FusedFunction(lambda x, fast: fp.cond(fast, lambda: x * 2, lambda: fp.exp(x)), static=["fast"])
    same(f(ramp(3), True), ramp(3) * 2)
    assert "exp" not in f.ir(ramp(3), True)


# ---- what bodies use from outside -----------------------------------------------------------------------------------


def test_arrays_that_slang_code_reads_whole(m: Any) -> None:
    x, w = ramp(6), ramp(5, start=1.0)
    total = fp.fuse(lambda x, w: fp.fori_loop(0, 5, lambda i, s: s + m.at(w, i) * x, 0.0))
    close(total(x, w), x * w.sum())
    pointed = fp.fuse(lambda x, w: fp.fori_loop(0, 5, lambda i, s: s + m.fetch(w, i) * x, 0.0))
    close(pointed(x, fp.Tensor.from_numpy(m.device, w)), x * w.sum())
    deep = fp.fuse(lambda x: fp.fori_loop(0, 5, lambda i, s: fp.fori_loop(0, i, lambda j, t: t + m.at(w, j), s), x))
    close(deep(x), x + sum(w[:i].sum() for i in range(5)))
    assert "vmap() vcast(fusepy::Tensor<float,1>)" in deep.ir(x, after="dce")


def test_an_array_computed_before_the_loop_is_stored_for_it(m: Any) -> None:
    blur = fp.fuse(lambda x: (lambda y: fp.fori_loop(0, 4, lambda i, s: s + m.at(y, i), x))(x * 2))
    close(blur(ramp(4)), ramp(4) + (ramp(4) * 2).sum())
    assert kernels(lambda: blur(ramp(4))) == 2


def test_textures(m: Any) -> None:
    texels = ramp(4, 4, 4)
    usage = fp.TextureUsage.shader_resource
    texture = m.device.create_texture(width=4, height=4, format=fp.Format.rgba32_float, usage=usage, data=texels)
    f = fp.fuse(lambda t, k: fp.fori_loop(0, 4, lambda i, s: s + m.texel(t, [i, i]) * k, 0.0))
    close(f(texture, ramp(3), _result="numpy"), np.einsum("iic,k->kc", texels, ramp(3)).astype(F32))


def test_trailing_axes_become_vectors_where_slang_wants_them(m: Any) -> None:
    colors = ramp(5, 3)
    same(fp.fuse(lambda c, g: fp.fori_loop(0, 3, lambda i, s: s + m.tone(c, g), 0.0))(colors, 2.0), colors * 6)
    same(fp.fuse(lambda c: fp.fori_loop(0, 3, lambda i, s: m.tone(s, 2.0), c))(fp.vcast(colors, "float3")), colors * 8)


def test_declared_mappings_reach_into_bodies(m: Any) -> None:
    a, b = ramp(2), ramp(3, start=1.0)
    f = fp.fuse(lambda a, b: fp.fori_loop(0, 2, lambda i, s: s + fp.maximum(a, 0.1) * b, 0.0))
    same(f(fp.vmap(a, (1,)), fp.vmap(b, (0,))), (2 * np.maximum(a, F32(0.1))[None] * b[:, None]).astype(F32))
    transposed = fp.fuse(lambda a: fp.fori_loop(0, 2, lambda i, s: s + a, 0.0))
    same(transposed(fp.vmap(ramp(2, 3), (1, 0))), 2 * ramp(2, 3).T)


def test_numbers_come_with_all_their_digits(m: Any) -> None:
    f = fp.fuse(lambda x, k: fp.fori_loop(0, 1, lambda i, s: s + m.thrice(k) + k * x + 0.1, 0.1))
    assert f(np.ones(2), 0.1).tolist() == [0.1 + 0.1 * 3 + 0.1 + 0.1] * 2


def test_functions_of_two_modules_and_ones_that_hide_intrinsics(m: Any, lib: Any, device: Any) -> None:
    other = fp.Module.load_from_source(device, "other", OTHER)
    f = fp.fuse(lambda x: fp.fori_loop(0, 2, lambda i, s: lib.add(s, other.half_of(x)), 0.0))
    same(f(ramp(5)), ramp(5))
    g = fp.fuse(lambda x: fp.cond(x > 1, lambda: fp.sin(x), lambda: m.sin(x)))
    close(g(ramp(9)), np.where(ramp(9) > 1, np.sin(ramp(9)), ramp(9) + 100).astype(F32), ulps=8)


def test_fused_functions_inside_bodies() -> None:
    double = fp.fuse(lambda x: x * 2)
    f = fp.fuse(lambda x: fp.fori_loop(0, 3, lambda i, c: double(c), x))
    same(f(ramp(4)), ramp(4) * 8)


def test_operators_on_values_from_outside_are_recorded_inside() -> None:
    f = fp.fuse(lambda x, p: fp.cond(p, lambda: fp.exp(x) + 1, lambda: -x))
    text = f.ir(ramp(3), np.array([True, False, True]))
    assert text.index("if_true") < text.index("exp")


# ---- types ----------------------------------------------------------------------------------------------------------


def test_numbers_to_start_with_take_the_type_of_the_body(m: Any) -> None:
    h, i = ramp(3).astype(np.float16), np.arange(3, dtype=np.int32)
    assert fp.fuse(lambda x: fp.fori_loop(0, 2, lambda i, c: c + x, 0))(h).dtype == np.float16
    assert fp.fuse(lambda x: fp.fori_loop(0, 2, lambda i, c: c + x, 0))(i).dtype == np.int32
    assert fp.fuse(lambda x: fp.fori_loop(0, 2, lambda i, c: c + 0.5, 0) + x * 0)(ramp(2)).tolist() == [1.0, 1.0]
    assert fp.fuse(lambda x: fp.fori_loop(0, x, lambda i, c: 0, 1.5))(i).tolist() == [1.5, 0.0, 0.0]
    same(fp.fuse(lambda x: fp.fori_loop(0, 2, lambda i, c: c + m.float3(x, x, i), 1))(ramp(1)), np.array([[1, 1, 2]], F32))
    a, b = fp.fuse(lambda x: fp.fori_loop(0, 3, lambda i, c: (c[0] + x, c[1] + c[0]), (0, 0)))(ramp(3))
    same(a, ramp(3) * 3)
    same(b, ramp(3) * 3)


def test_numbers_in_a_branch_take_the_type_of_the_other() -> None:
    h = ramp(3).astype(np.float16)
    same(fp.fuse(lambda x: fp.cond(x > 0.3, lambda: x, lambda: 1))(h), np.where(h > 0.3, h, 1).astype(np.float16))
    chosen = lambda x: x * fp.cond(x > 0.3, lambda: 1, lambda: 0.5)  # noqa: E731 - an array of floats, as call by call
    assert fp.fuse(chosen)(h).dtype == chosen(h).dtype == np.float32


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x, n: fp.fori_loop(0, 2, lambda i, c: c + x, n), ["c is a int at first, and a float after a step", "vcast"]),
        (lambda x, n: fp.fori_loop(0, 2, lambda i, c: {"a": c["a"] + x}, {"a": n}), ["c['a'] is a int at first"]),
        (lambda x, n: fp.fori_loop(0, 2, lambda i, c: 0.5, n), ["c is a int at first, and a float"]),
        (lambda x, n: fp.fori_loop(0, 2, lambda i, c: n, 0.5), ["c is a float at first, and a int after"]),
        (lambda x, n: fp.fori_loop(0, 2, lambda i, c: (c, c), x), ["another structure", "(*, *)", "expected: *"]),
        (lambda x, n: fp.fori_loop(0, 2, lambda i, c: None, x), ["another structure", "None"]),
        (lambda x, n: fp.fori_loop(0, x, lambda i, c: c, x), ["hi is a float", "integer"]),
        (lambda x, n: fp.fori_loop(0, n, lambda i, c: c, x, unroll=True), ["Python integers"]),
        (lambda x, n: fp.while_loop(lambda c: c, lambda c: c, x), ["what the test gives back is a float", "compare"]),
        (lambda x, n: fp.cond(x, lambda: x, lambda: x), ["pred is a float", "compare"]),
        (lambda x, n: fp.cond(x > 0, lambda: x, lambda: n), ["a float in one branch and a int in the other"]),
        (lambda x, n: fp.cond(x > 0, lambda: (x, n), lambda: [x, n]), ["different structures", "(*, *) and [*, *]"]),
        (
            lambda x, n: fp.fori_loop(0, n, lambda i, c: c + fp.sum(x), x),
            ["inside the body", "sort before the loop", "Python int"],
        ),
        (lambda x, n: fp.while_loop(lambda c: c > 9, lambda c: c / fp.sum(2 * c), x), ["sum() inside the body"]),
        (lambda x, n: fp.while_loop(lambda c: c > 9, fp.sort, x), ["sort() inside the body", "sort before the loop"]),
        (lambda x, n: fp.cond(x > 9, lambda: fp.sort(x), lambda: x), ["sort() inside the body", "sort before the loop"]),
        (lambda x, n: x if x > 0 else n, ["where(condition, a, b)", "fusepy.cond"]),
    ],
)
def test_refused_with_the_line_of_the_user(call: Any, words: list[str]) -> None:
    f = fp.fuse(lambda x, n: call(x, n))
    with pytest.raises(fp.TraceError) as caught:
        f(ramp(3), np.arange(3, dtype=np.int32))
    assert str(caught.value).startswith("test_loops.py:")
    assert [w for w in words if w not in str(caught.value)] == []
    assert caught.value.hint


def test_refused_as_arguments() -> None:
    with pytest.raises(fp.ArgumentError, match="body is no function"):
        fp.fori_loop(0, 2, 3, 0)  # type: ignore[arg-type]
    with pytest.raises(fp.ArgumentError, match="max_steps"):
        fp.while_loop(lambda c: c, lambda c: c, 0, max_steps=-1)
    with pytest.raises(fp.ArgumentError, match="returns a object"):
        fp.fori_loop(0, 2, lambda i, c: c, object())


def test_a_vector_that_is_carried_must_be_one_before(m: Any) -> None:
    with pytest.raises(fp.NoMatchError, match="vcast it before the loop"):
        fp.fuse(lambda c: fp.fori_loop(0, 3, lambda i, s: m.tone(s, 2.0), c))(ramp(4, 3))


@pytest.mark.parametrize("use", [lambda v: v + 1, lambda v: v.x, fp.sin], ids=["operator", "member", "function"])
def test_leaked_values(use: Callable[[Any], Any]) -> None:
    kept: list[Any] = []

    def body(i: Any, c: Any) -> Any:
        kept.append(c + 1)
        return c

    with pytest.raises(fp.LeakedTracerError, match=r"outside of the body of the fori_loop") as caught:
        fp.fuse(lambda x: (fp.fori_loop(0, 2, body, x), use(kept[-1]))[1])(ramp(3))
    assert "return it from the body" in caught.value.hint
    with pytest.raises(fp.LeakedTracerError):
        use(kept[-1])
    with pytest.raises(fp.LeakedTracerError):  # from one branch into the other
        fp.fuse(lambda x: fp.cond(x > 0, lambda: (kept.append(x * 2), kept[-1])[1], lambda: kept[-1]))(ramp(3))


def test_writing_what_is_read_too(m: Any) -> None:
    to = fp.Tensor.zeros(m.device, 4, "float")
    with pytest.raises(fp.TraceError, match=r"fori_loop writes the whole array %to, and gets it twice"):
        fp.fuse(lambda i, to: fp.fori_loop(0, 2, lambda k, c: (m.put(to, i, m.at(to, k)), None)[1], None))(
            np.arange(4, dtype=np.int32), to
        )


# ---- unrolled by Python ---------------------------------------------------------------------------------------------


def unrolled(count: int) -> Any:
    def long(x: Any) -> Any:
        for _ in range(count):
            x = x * 0.5
        return x

    return fp.fuse(long)


def test_a_long_unrolled_loop_is_told() -> None:
    with pytest.warns(fp.UnrollWarning) as told:
        unrolled(1200).ir(1.0)
    assert len(told) == 1
    assert "test_loops.py:" in str(told[0].message)
    assert "1200 operations" in str(told[0].message)
    assert "fori_loop" in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unrolled(900).ir(1.0)


def test_explain_shows_what_bodies_do(m: Any) -> None:
    f = fp.fuse(lambda x: fp.fori_loop(0, 3, lambda i, c: fp.cond(c > i, lambda: m.sin(c), lambda: c), x))
    text = str(f.explain(ramp(3)))
    assert "fori_loop (test_loops.py:" in text
    assert text.index("body:") < text.index("cond (") < text.index("if_true:") < text.index("sin (")

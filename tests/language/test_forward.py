"""`jvp` and `diffpair`: forward mode against differences, structures and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.derivatives.test_elementwise import BY_NAME
from tests.derivatives.test_reverse import CASES, SOURCE
from tests.support.selection import daily

X = np.float32([1, 2, 3])


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    more = """
    [Differentiable] float poly(float a, float x) { return a * x * x; }
    [Differentiable] float bump(inout float x, float by) { float old = x; x += by; return old; }
    """
    return fp.Module.load_from_source(device, "forward_cases", SOURCE + more)


@pytest.mark.req("B5")
@pytest.mark.parametrize("part", daily(range(4), 1))
def test_tangents_of_all_operations_agree_with_differences(m: fp.Module, part: int) -> None:
    """Every fourth of the formulas and cases of reverse mode as one function, moved along one direction."""
    found = {**{n: (lambda m, c=c: c) for n, c in BY_NAME.items() if n != "cast"}, **CASES}
    cases = {name.replace(" ", "_"): make(m) for name, make in [*found.items()][part::4]}

    def everything(p: dict[str, dict[str, Any]]) -> dict[str, Any]:
        return {name: function(*p[name].values()) for name, (function, _) in cases.items()}

    random = np.random.default_rng(5)
    args = {name: {f"x{i}": np.asarray(a) for i, a in enumerate(given)} for name, (_, given) in cases.items()}
    moved = {name: {i: random.choice([-1.0, 1.0], a.shape) for i, a in given.items()} for name, given in args.items()}
    values, tangents = fp.jvp(everything, (args,), (moved,))
    h = 1e-5
    ends = [
        fp.jvp(
            everything,
            ({n: {i: np.asarray(a + s * moved[n][i]) for i, a in given.items()} for n, given in args.items()},),
            (moved,),
        ).p
        for s in (h, -h)
    ]
    for name in cases:
        want = (np.asarray(ends[0][name]) - np.asarray(ends[1][name])) / (2 * h)
        assert np.shape(values[name]) == np.shape(tangents[name])
        np.testing.assert_allclose(tangents[name], want, rtol=1e-6, atol=1e-8, err_msg=name)


def test_none_inside_of_tangents_is_zero() -> None:
    """In place of a leaf or of a container, in dicts, lists of arrays and of numbers, eagerly and in a fused function."""

    def f(p: Any) -> Any:
        return p["a"] * p["b"]["c"] + p["a"] * p["b"]["d"][0] * p["b"]["d"][1]

    p = {"a": X, "b": {"c": 2 * X, "d": [X, 3 * X]}}
    moves: list[tuple[Any, Any]] = [
        ({"a": X, "b": None}, 2 * X * X + 3 * X**3),
        ({"a": None, "b": {"c": X, "d": None}}, X * X),
        ({"a": None, "b": {"c": None, "d": [None, X]}}, X**3),
        ({"a": None, "b": None}, 0 * X),
    ]
    for tangent, want in moves[1:3]:
        np.testing.assert_allclose(fp.jvp(f, (p,), (tangent,)).d, want, rtol=1e-6)
    found = fp.fuse(lambda p, x: [fp.jvp(f, (p,), (t,)).d for t, _ in moves])(p, X)
    for got, (_, want) in zip(found, moves):
        np.testing.assert_allclose(got, want, rtol=1e-6)
    assert fp.jvp(lambda x: x * x, ([1.0, 2.0],), ([None, 1.0],)).d == [0, 4]
    row = np.ones((2, 3), np.float32)
    np.testing.assert_allclose(fp.jvp(lambda v: v[0] * v[1], ([X, row],), ([None, row],)).d, X * row)
    with pytest.raises(fp.GradientError, match="has another shape"):
        fp.jvp(f, (p,), ({"a": X, "c": None},))


def test_tangents_that_are_computed_in_the_same_function() -> None:
    made = fp.fuse(lambda a, b: fp.jvp(lambda p, q: p * q, (a, b), (a, b + 1)).d)(X, 2 * X)
    np.testing.assert_allclose(made, X * 2 * X + X * (2 * X + 1))


@pytest.mark.req("B5")
def test_pairs_and_structures(m: fp.Module) -> None:
    assert fp.jvp(m.poly, (fp.diffpair(3.0, 1.0), fp.diffpair(2.0))) == (12, 4)
    assert fp.jvp(m.poly, (3.0, 2.0), (None, 1.0)).d == 12
    value, tangent = fp.jvp(lambda p, n: (fp.sum(p["x"] ** 2), {"n": n + 1}), ({"x": X}, np.int32(3)), ({"x": X}, None))
    assert (float(value[0]), float(tangent[0]), tangent[1]) == (14, 28, {"n": None})
    assert float(fp.jvp(lambda x, y: fp.sum(y * 2.0), (X, X), (X, None)).d) == 0
    speed = fp.fuse(lambda x: fp.jvp(lambda t: fp.sin(t) * t, (x,), (x,)).d)  # part of a fused function
    np.testing.assert_allclose(speed(X), X * (np.sin(X) + X * np.cos(X)), rtol=1e-5)


def test_a_loop_without_limit_has_tangents(m: fp.Module) -> None:
    grown = fp.jvp(lambda x: fp.while_loop(lambda c: c < 50.0, lambda c: c * x + c, x), (X,), (X * 0 + 1,))
    np.testing.assert_allclose(grown.d, [_slope(x) for x in X], rtol=1e-5)


def _slope(x: float) -> float:
    """The slope of ``x * (1 + x) ** n``, for the first n at which it is 50."""
    n = 0
    while x * (1 + x) ** n < 50:
        n += 1
    return float((1 + x) ** n + n * x * (1 + x) ** (n - 1))


def test_constants_of_calls_have_no_tangent_left_over_from_another_element(m: fp.Module) -> None:
    """In forward mode Slang leaves variables that begin with a constant undefined, so elements took those of others."""
    x = np.random.default_rng(0).random((3, 5, 20), np.float32)
    turned = fp.Tensor.from_numpy(fp.default_device(), x).transpose((2, 1, 0))
    for function in (lambda x: m.bump(2.0, x)[1], lambda x: m.bump(fp.floor(x), x)[1]):
        tangent = fp.jvp(function, (turned,), (np.ones((20, 5, 3), np.float32),)).d
        assert np.all(tangent.to_numpy() == 1)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda m: fp.jvp(lambda x: x * x, (X,), (X[:2],)), fp.GradientError, "the tangent of argument 0 has another shape"),
        (lambda m: fp.jvp(lambda x: x * x, ({"a": X},), (X,)), fp.GradientError, "the tangent of argument 0 has another shape"),
        (lambda m: fp.jvp(lambda x: x * x, (np.int32(1),), (1.0,)), fp.GradientError, "argument 0 has no derivative"),
        (lambda m: fp.jvp(lambda x: x * x, (X,), ()), fp.ArgumentError, "one tangent for each argument"),
        (lambda m: fp.jvp(m.plain, (2.0,), (1.0,)), fp.GradientError, "cannot differentiate plain"),
    ],
)
def test_misuse_is_named(m: fp.Module, call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(m)
    assert fp.jvp(m.poly, (3.0, 2.0), (None, 1.0)).d == 12


def test_tangents_of_lists_that_slang_takes_as_vectors_and_arrays(device: fp.Device) -> None:
    source = """
    struct Lamp : IDifferentiable { float power; float3 at; };
    [Differentiable] float lit(Lamp lamp, float x) { return lamp.power * x * dot(lamp.at, lamp.at); }
    [Differentiable] float line(float w[2], float x) { return w[0] * x + w[1] * w[1]; }
    """
    m = fp.Module.load_from_source(device, "forward_lists", source)
    lamp, moved = {"power": 2.0, "at": [1.0, 2.0, 3.0]}, {"power": 1.0, "at": [0, 1, 0]}
    for f in (m.lit, lambda lamp, x: m.lit({**lamp, "power": lamp["power"] * 1.0}, x)):
        value, tangent = fp.jvp(f, (lamp, X), (moved, None))
        assert (value.tolist(), tangent.tolist()) == ([28, 56, 84], [22, 44, 66])
    assert fp.jvp(m.line, ([1.0, 3.0], X), ([0.0, 1.0], None)).d.tolist() == [6, 6, 6]
    both = fp.jvp(lambda at: m.lit({"power": 2.0, "at": at}, X) + fp.sum(at), ([1.0, 2.0, 3.0],), ([0.0, 1.0, 0.0],))
    assert both.d == [9, 17, 25]
    fp.check_grads(m.lit, lamp, X, points=2)

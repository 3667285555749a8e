"""A fused function inside another one means what it means by itself: its `declare`, its strictness, its strict broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, ramp

SOURCE = """
struct P { float x; float y; };
float add(float a, float b) { return a + b; }
float of(P p, float k) { return p.x * p.y + k; }
"""
A, B = F32([0.5, 1.5, 2.5]), F32([0, 10, 20])
ACROSS = (fp.vmapping(0), fp.vmapping(1))


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "declared_inside", SOURCE)


def inside(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls a function in a fused one, with the same arguments."""
    return fp.fuse(lambda *given, **named: f(*given, **named))(*args, **kwargs)


def in_a_graph(f: Any, *args: Any) -> Any:
    graph = fp.Graph(inputs=[f"x{i}" for i in range(len(args))])
    graph.set_outputs(f.node()(*graph.get_inputs()))
    return graph(*args)


CASES: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...], dict[str, Any]]] = {
    "axes, in a call": (lambda m: fp.fuse(lambda a, b: m.add(a, b)).declare(*ACROSS), (A, B), {}),
    "axes, in operators": (lambda m: fp.fuse(lambda a, b: a * 2 - b).declare(*ACROSS), (A, B), {}),
    "axes, in reductions": (lambda m: fp.fuse(lambda a, b: fp.sum(a) + b).declare(*ACROSS), (A, B), {}),
    "axes of another order": (lambda m: fp.fuse(lambda a, b: a - b).declare(fp.vmapping(1, 0), None), (ramp(2, 3), 3.0), {}),
    "a type": (lambda m: fp.fuse(lambda a, b: a - b).declare(m.int, m.float), (A, B), {}),
    "a type by name": (lambda m: fp.fuse(lambda a, b: a - b).declare(a=m.int), (A,), {"b": B}),
    "a type of a number": (lambda m: fp.fuse(lambda a, b: a - b).declare(b=m.int), (A, F32(2.5)), {}),
    "fields": (lambda m: fp.fuse(lambda p, k: m.of(p, k)).declare(*ACROSS), ({"x": A, "y": 2.0}, B), {}),
    "a struct": (lambda m: fp.fuse(lambda p, k: m.of(p, k)).declare(m.P, None), (ramp(3, 2), 1.0), {}),
    "one value for all": (lambda m: fp.fuse(lambda a, k: m.add(a, k)).declare(m.float, None), (A, 2.0), {}),
}


@pytest.mark.req("V13")
@pytest.mark.parametrize("name", CASES)
def test_what_is_declared_holds_inside(name: str, m: Any) -> None:
    made, args, kwargs = CASES[name]
    f = made(m)
    wanted = np.asarray(f(*args, **kwargs))
    np.testing.assert_array_equal(np.asarray(inside(f, *args, **kwargs)), wanted)


def test_what_is_declared_holds_in_lazy_calls_graphs_and_gradients(m: Any) -> None:
    f = fp.fuse(lambda a, b: a * b).declare(*ACROSS)
    wanted = A[:, None] * B
    with fp.lazy():
        found = f(A, B)
    np.testing.assert_array_equal(np.asarray(found), wanted)
    np.testing.assert_array_equal(np.asarray(in_a_graph(f, A, B)), wanted)
    np.testing.assert_array_equal(np.asarray(fp.grad(lambda a, b: fp.sum(f(a, b)))(A, B)), [30, 30, 30])


@pytest.mark.parametrize("other", [ramp(1, 4), pytest.param(ramp(4), marks=pytest.mark.rest)])
def test_strict_broadcasting_holds_inside(m: Any, other: Any) -> None:
    x = ramp(3, 4)
    calls = (lambda a, b: m.add(a, b), lambda a, b: a + 2 * b, lambda a, b: fp.where(a > b, a, b), lambda a, b: m.add(a * 1, b))
    for f in calls:
        strict = fp.fuse(f).strict_broadcasting()
        for call in (strict, lambda *given, f=strict: inside(f, *given), lambda *given, f=strict: in_a_graph(f, *given)):
            with pytest.raises(fp.ShapeError, match="Strict broadcasting is enabled"):
                call(x, other)
            np.testing.assert_array_equal(np.asarray(call(x, x)), np.asarray(fp.fuse(f)(x, x)))
            np.testing.assert_array_equal(np.asarray(call(x, 2.0)), np.asarray(fp.fuse(f)(x, 2.0)))
    after = fp.fuse(lambda a, b: fp.fuse(calls[0]).strict_broadcasting()(a, a) + b)  # what follows is not strict
    np.testing.assert_array_equal(np.asarray(after(x, other)), 2 * x + other)


def test_strict_functions_convert_nothing_inside(m: Any) -> None:
    f = fp.fuse(lambda a: m.add(a, 1)).strict()
    doubles = np.arange(3.0)
    for call in (f, lambda a: inside(f, a), lambda a: inside(f, a * 1.0)):
        with pytest.raises(fp.NoMatchError):
            call(doubles)
    with pytest.warns(fp.PrecisionWarning):
        found = fp.fuse(lambda a: (f(F32([1])), m.add(a, 1)))(doubles)  # what follows is not strict
    np.testing.assert_array_equal(np.asarray(found[1]), doubles + 1)


def test_a_struct_is_that_of_the_functions_module(m: Any, device: Any) -> None:
    """Another module has one of the same name with other fields."""
    other = fp.Module.load_from_source(device, "declared_elsewhere", "struct P { float3 x; }; float first(P p) { return p.x.x; }")
    assert float(other.first({"x": [4, 5, 6]})) == 4
    rows = ramp(3, 2)
    declared = fp.fuse(lambda p: m.of(p, 1.0)).declare(m.P)
    np.testing.assert_array_equal(inside(declared, rows), rows[:, 0] * rows[:, 1] + 1)

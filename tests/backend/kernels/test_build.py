"""Regions that do the same share a kernel, whatever names and lines the user has given them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily
from tests.support.slang_functions import ramp, same

SOURCE = """
import fusepy;
float at(Tensor<float,2> t, int y, int x) { return t[clamp(y, 0, int(t.shape[0]) - 1), clamp(x, 0, int(t.shape[1]) - 1)]; }
float jacobi(int2 p, Tensor<float,2> x, float b) { return 0.25 * (at(x, p.y - 1, p.x) + at(x, p.y + 1, p.x) + 2 * b); }
float twice(float value) { return 2 * value; }
float blend(float a, float b) { return a - b; }
"""
STEPS = 10


@pytest.fixture
def m(device: Any) -> Any:
    """A module of its own for each test: its kernels are known to no other, in memory or on disk."""
    made = fp.Module.load_from_source(device, "alike", f"{SOURCE}// {np.random.default_rng().integers(1 << 62)}\n")
    fp.clear_cache()
    return made


def compiled(call: Callable[[], Any]) -> int:
    before = fp.stats().kernels_compiled
    call()
    return fp.stats().kernels_compiled - before


def repeated(step: Callable[..., Any]) -> Callable[..., Any]:
    def program(p: Any, b: Any) -> Any:
        for _ in range(STEPS):
            p = step(p, b)
        return p

    return program


def counted(m: Any, p: Any, b: Any) -> Any:
    return fp.fori_loop(0, 3, lambda _, carry: m.blend(carry, b), fp.cumsum(p, 0)[:, ::-1] - p)


# ten equal steps of a program, and how many kernels one of them has
PROGRAMS: dict[str, tuple[Callable[..., Any], int]] = {
    "generators": (lambda m, p, b: m.jacobi(fp.grid(b), p, b), 1),
    "a grid of what is computed": (lambda m, p, b: m.jacobi(fp.grid(p), p, b), 1),
    "operators between": (lambda m, p, b: m.jacobi(fp.grid(b), m.twice(p) * 0.25 + b, b), 2),
    "reductions": (lambda m, p, b: m.jacobi(fp.grid(b), p, b) / fp.sum(p, 1, keepdims=True), 2),
    "control flow": (counted, 2),
}


@pytest.mark.parametrize("what", daily(PROGRAMS, "generators"))
def test_equal_steps_of_a_program_are_one_kernel(m: Any, what: str) -> None:
    step, kernels = PROGRAMS[what]
    function = fp.fuse(repeated(lambda p, b: step(m, p, b)))
    b = ramp(4, 8)
    # the first step reads arguments, and a reduction of these has two kernels; the last one stores the result
    assert compiled(lambda: function(b, b)) <= kernels + 3, what
    assert function.explain(b, b).kernels >= STEPS
    wanted = fp.fuse(lambda p, b: step(m, p, b))
    found: Any = b
    for _ in range(STEPS):
        found = wanted(found, b)
    for _ in range(2):  # the call that is replayed, too
        np.testing.assert_allclose(function(b, b), found, rtol=1e-5)


def test_names_and_lines_make_no_kernels(m: Any, device: Any) -> None:
    def first(image: Any, gain: Any) -> Any:
        return m.twice(image) * gain

    def second(x: Any, y: Any) -> Any:
        doubled = m.twice(x)
        return doubled * y

    a, b = ramp(4, 8), ramp(4, 8, start=1)
    one, other = fp.fuse(first), fp.fuse(second)
    assert compiled(lambda: same(one(a, b), 2 * a * b)) == 1
    assert compiled(lambda: same(other(b, a), 2 * a * b)) == 0
    assert compiled(lambda: same(fp.fuse(lambda u, v: first(u, v))(a, b), 2 * a * b)) == 0
    plain = compiled(lambda: same(m.twice(a), 2 * a))
    assert plain + compiled(lambda: same(fp.fuse(lambda other: m.twice(other))(a), 2 * a)) == 1
    assert "float a_image" in one.source(a, b)
    assert "float a_x" in other.source(a, b)
    with pytest.raises(fp.ShapeError, match="second: arguments 'x' and 'y'"):
        other(a, ramp(3, 8))
    with fp.lazy():
        total = m.twice(m.twice(fp.Tensor.from_numpy(device, a)))
        assert compiled(lambda: same(total.to_numpy(), 4 * a)) <= 1


def test_a_shared_kernel_tells_of_each_function_by_its_own_names(device: Any) -> None:
    m = fp.Module.load_from_source(device, "alike_unset", "uniform float gain;\nfloat by(float x) { return x * gain; }\n")
    for name, function in (("one", fp.fuse(_named("one", m))), ("other", fp.fuse(_named("other", m)))):
        same(function.set(gain=2.0)(ramp(4)), 2 * ramp(4))
        with pytest.raises(fp.FusepyError, match=name):
            function(ramp(4))


def _named(name: str, m: Any) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        return m.by(x)

    function.__name__ = name
    return function


def test_a_kernel_is_shared_by_numbers_and_arrays_without_axes(m: Any) -> None:
    x = np.float32([1, 2])
    leaves = [np.array(3.0, np.float32), np.float64(3), np.array(3.0, np.float32), 3.0, np.float32(3), 3]
    for leaf in leaves:  # each is another program of one kernel text
        made = fp.fuse(lambda p, x: m.twice(p["a"]) * x)({"a": leaf}, x)
        assert np.asarray(made).tolist() == [6, 12], type(leaf)

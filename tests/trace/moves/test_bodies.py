"""``table[i]`` by the index of a loop: values, gradients and tangents against the same loops in float64, in one kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily
from tests.support.slang_functions import F32

RNG = np.random.default_rng(0)
X, V, T = RNG.normal(size=4).astype(F32), RNG.normal(size=5).astype(F32), RNG.normal(size=(5, 3)).astype(F32)
WIDE, BLOCKS = RNG.normal(size=(4, 3)).astype(F32), RNG.normal(size=(2, 4, 3)).astype(F32)
AT = np.int32([2, 0, 1, 2])
Program = Callable[..., Any]


def plain(lo: int, hi: int, body: Program, c: Any) -> Any:
    for i in range(lo, hi):
        c = body(i, c)
    return c


def nested(loop: Program, x: Any, t: Any) -> Any:
    return loop(0, 5, lambda i, s: loop(0, 3, lambda j, r: r * t[i, j] + r, s), x)


PROGRAMS: dict[str, tuple[Program, Any, Any]] = {  # a program of a loop and two arrays
    "from the end": (lambda loop, x, v: loop(0, 5, lambda i, s: s * v[-1 - i] + s, x), X, V),
    "of a diagonal": (lambda loop, x, t: loop(0, 3, lambda i, s: s * t[1:][i, i] + s, x), X, T),
    "a row": (lambda loop, x, t: loop(0, 5, lambda i, s: s * t[i] + s, x), WIDE, T),
    "a block": (lambda loop, x, t: loop(0, 2, lambda i, s: s * t[i] + s, x), WIDE, BLOCKS),
    "beside an array of indices": (lambda loop, x, t: loop(0, 5, lambda i, s: s * t[i, AT] + s, x), X, T),
    "in nested loops": (nested, X, T),
}


@pytest.mark.parametrize("name", daily(PROGRAMS, "of a diagonal", "beside an array of indices"))
def test_elements_are_read_by_the_index_of_a_loop(name: str) -> None:
    program, x, table = PROGRAMS[name]

    def mine(x: Any, table: Any) -> Any:
        return program(fp.fori_loop, x, table)

    def value(x: Any, table: Any) -> Any:
        return np.sum(program(plain, x, table))

    wanted = program(plain, x.astype(float), table.astype(float))
    np.testing.assert_allclose(fp.fuse(mine)(x, table), wanted, rtol=1e-4, atol=1e-5)
    found = fp.fuse(fp.grad(lambda x, table: fp.sum(mine(x, table)), argnums=(0, 1)))(x, table)
    given = x.astype(float), table.astype(float)
    for k, gradient in enumerate(found):
        for at in np.ndindex(given[k].shape):
            near = []
            for step in (1e-6, -1e-6):
                moved = [a.copy() for a in given]
                moved[k][at] += step
                near.append(value(*moved))
            np.testing.assert_allclose(gradient[at], (near[0] - near[1]) / 2e-6, rtol=1e-3, atol=1e-4, err_msg=f"{k}{at}")
    tangent = fp.jvp(lambda x, table: fp.sum(mine(x, table)), (x, table), (np.ones_like(x), np.ones_like(table)))
    np.testing.assert_allclose(tangent.d, sum(np.sum(g) for g in found), rtol=1e-3, atol=1e-4)
    assert fp.fuse(mine).explain(x, table).kernels == 1


def test_loops_that_end_by_a_test_and_branches_read_elements(device: fp.Device) -> None:
    def walk(x: Any, v: Any) -> Any:
        def step(c: Any) -> Any:
            return c[0] + 1, fp.cond(c[1] > 0, lambda: c[1] * v[c[0]], lambda: c[1] - v[c[0]])

        return fp.while_loop(lambda c: c[0] < 5, step, (0, x), max_steps=8)[1]

    wanted, slope = X.astype(float), np.ones(4)
    for element in V.astype(float):
        wanted, slope = np.where(wanted > 0, wanted * element, wanted - element), slope * np.where(wanted > 0, element, 1)
    np.testing.assert_allclose(fp.fuse(walk)(X, V), wanted, rtol=1e-3)
    np.testing.assert_allclose(fp.grad(lambda x, v: fp.sum(walk(x, v)))(X, V), slope, rtol=1e-3)
    vectors = fp.Tensor.empty(device, 5, "float3")
    vectors.copy_from_numpy(T)

    def chosen(i: Any, s: Any) -> Any:
        return fp.where(flags[i], s + fp.take(vectors, i, axis=0).y, s)

    flags = fp.Tensor(np.array([True, False, True, True, False]))
    np.testing.assert_allclose(fp.fori_loop(0, 5, chosen, fp.Tensor(X)), X + T[[0, 2, 3], 1].sum(), atol=1e-6)


def test_an_index_of_what_a_loop_carries_makes_steps_over_the_whole_array() -> None:
    found = fp.fuse(lambda x: fp.fori_loop(0, 3, lambda i, s: s * s[i] * 0.5, x))(X)
    np.testing.assert_allclose(found, plain(0, 3, lambda i, s: s * s[i] * 0.5, X), rtol=1e-5)


@pytest.mark.parametrize("kind", ["uint8_t", "int16_t", "uint", "uint64_t"])
def test_indices_in_bodies_are_integers_of_any_type(device: Any, kind: str) -> None:
    m = fp.Module.load_from_source(device, f"indices_{kind}", f"{kind} converted(int i) {{ return {kind}(i); }}")

    def loop(at: Any, v: Any) -> Any:
        return fp.fori_loop(0, 2, lambda i, s: s + v[m.converted(at)] * fp.take(v, m.converted(i)), 0.0)

    np.testing.assert_allclose(fp.fuse(loop)(AT, V), V[AT] * V[:2].sum(), rtol=1e-5)
    branch = fp.fuse(lambda at, v: fp.cond(at > 0, lambda: v[m.converted(at)], lambda: 0.0))
    np.testing.assert_allclose(branch(AT, V), np.where(AT > 0, V[AT], 0), rtol=1e-6)

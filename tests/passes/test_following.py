"""Generators have the extents of what is read beside them: where these are 1 they stay, however long the rest is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

SOURCE = """
float at(int2 p) { return p.y * 100 + p.x; }
float by(int2 p, float x) { return p.y * 100 + p.x + x; }
float nth(uint t, float x) { return t + x; }
float plus(float a, float b) { return a + b; }
float first(int i, float x) { return i + x; }
"""


@pytest.fixture(scope="module")
def m(device: fp.Device) -> Any:
    return fp.Module.load_from_source(device, "grid_extents", SOURCE)


def kept(x: Any, axis: Any) -> Any:
    return fp.sum(x, axis=axis, keepdims=True)


def loop(m: Any, x: Any, y: Any) -> Any:
    c = fp.grid(x)
    return m.plus(fp.fori_loop(0, 2, lambda i, s: s + m.at(c), x), y)


Case = Callable[[Any, Any, Any], Any]
# what is fused, and what it means call by call: `x` is small, `y` is large
CASES: dict[str, tuple[Case, Case]] = {
    "grid of an argument": (
        lambda m, x, y: m.plus(m.at(fp.grid(x)), y),
        lambda m, x, y: m.plus(m.at(fp.grid(x.shape)), y),
    ),
    "grid of what is computed": (
        lambda m, x, y: m.plus(m.at(fp.grid(x * 2 + 1)), y),
        lambda m, x, y: m.plus(m.at(fp.grid(x.shape)), y),
    ),
    "grid of a kept axis": (
        lambda m, x, y: m.plus(m.at(fp.grid(kept(x, 0))), y),
        lambda m, x, y: m.plus(m.at(fp.grid((1, x.shape[1]))), y),
    ),
    "call_id": (lambda m, x, y: m.plus(m.by(fp.call_id(), x), y),) * 2,
    "call_id beside a kept axis": (lambda m, x, y: m.plus(m.by(fp.call_id(), kept(x, 0)), y),) * 2,
    "call_id beside one number": (lambda m, x, y: m.plus(m.by(fp.call_id(), kept(x, None)), y),) * 2,
    "call_id under vmap": (
        lambda m, x, y: m.plus(m.by(fp.call_id(), fp.vmap(x, (1, 0))), fp.vmap(y, (1, 0))),
        lambda m, x, y: m.plus(m.by(fp.call_id(), fp.vmap(x, (1, 0))), fp.vmap(y, (1, 0))),
    ),
    "call_id twice": (lambda m, x, y: m.plus(m.by(fp.call_id(), x), m.by(fp.call_id(), y)),) * 2,
    "thread_id": (lambda m, x, y: m.plus(m.nth(fp.thread_id(), x), y),) * 2,
    "rand_float": (lambda m, x, y: m.plus(m.plus(fp.rand_float(), x), y),) * 2,
    "a generator computed with": (
        lambda m, x, y: m.plus(m.plus(fp.vcast(fp.thread_id(1) * 2 + 1, "float"), x), y),
        lambda m, x, y: m.plus(m.nth(fp.thread_id(), m.plus(m.nth(fp.thread_id(), x), 1.0)), y),
    ),
    "a loop": (loop, lambda m, x, y: m.plus(m.plus(m.plus(m.at(fp.grid(x.shape)), m.at(fp.grid(x.shape))), x), y)),
    "a sum of it": (lambda m, x, y: fp.sum(m.plus(m.by(fp.call_id(), x), y), axis=0),) * 2,
    "beside a sum of more": (
        lambda m, x, y: m.plus(m.nth(fp.thread_id(), fp.sum(x, axis=1)), fp.sum(x + y, axis=1)),
        lambda m, x, y: m.plus(m.nth(fp.thread_id(), fp.sum(x, axis=1)), fp.sum(m.plus(x, y), axis=1)),
    ),
}
SMALL = [(1, 1), (1, 4), (2, 1), (2, 4)]


@pytest.mark.req("V3")
@pytest.mark.parametrize(
    "name", daily(CASES, "grid of an argument", "call_id", "call_id beside one number", "thread_id", "a loop", "a sum of it")
)
def test_a_generator_stays_where_what_it_is_beside_stretches(m: Any, device: fp.Device, name: str) -> None:
    fused, apart = CASES[name]
    f = fp.fuse(lambda x, y: fused(m, x, y))
    y = fp.Tensor.from_numpy(device, np.arange(8, dtype=np.float32).reshape(2, 4) / 4)
    for shape in SMALL:
        x = fp.Tensor.from_numpy(device, np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 8)
        want = apart(m, x, y).to_numpy()
        with fp.lazy():
            lazy = fused(m, x, y) if fused is apart else apart(m, x, y)
        graph = fp.Graph(inputs=["x", "y"])
        graph.set_outputs(f.node()(*graph.get_inputs()))
        for found in (f(x, y), f(x, y), lazy, graph(x, y)):  # the second call is replayed
            np.testing.assert_array_equal(found.to_numpy(), want, f"{name}, {shape}")


@pytest.mark.req("V3")
def test_one_generator_beside_small_and_large(m: Any) -> None:
    f = fp.fuse(lambda c, x, y: m.by(c, x) + m.by(c, y))
    x, y = np.zeros((1, 4), np.float32), np.zeros((2, 4), np.float32)
    for _ in range(2):
        assert f(fp.call_id(), x, y).tolist() == [[0, 2, 4, 6], [100, 102, 104, 106]]


@pytest.mark.req("V3")
def test_generators_with_extents_of_their_own(m: Any) -> None:
    """`Shape`, ranges and grids, whose open extents follow the other arguments of the call and not the rest of the program."""
    f = fp.fuse(lambda s, y: m.at(s) + y)
    y = np.zeros((2, 4), np.float32)
    for s in (fp.Shape(1, 1), fp.Shape(1, 4), fp.Shape(2, 1), fp.grid((1, 4)), fp.grid((1, 1))):
        want = np.broadcast_to(m.at(s).to_numpy(), (2, 4))
        np.testing.assert_array_equal(f(s, y), want)
    g = fp.fuse(lambda s, y: m.first(s, 0.5) + y)
    assert g(range(3, 4), y[0]).tolist() == [3.5] * 4
    assert g(range(3, 7), y[0]).tolist() == [3.5, 4.5, 5.5, 6.5]
    h = fp.fuse(lambda s, x, y: m.by(s, x) + y)
    for s in (fp.grid(2), fp.grid((1, -1)), fp.grid((-1, 4))):
        for x in (np.zeros((1, 1), np.float32), np.zeros((1, 4), np.float32)):
            np.testing.assert_array_equal(h(s, x, y), np.broadcast_to(m.by(s, x), (2, 4)), f"{s} {x.shape}")

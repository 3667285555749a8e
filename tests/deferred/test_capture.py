"""Captures: launches recorded once, and run again on the same memory."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, ramp

SOURCE = """
import fusepy;
uniform float gain;
float twice(float x) { return x * 2; }
float add(float a, float b) { return a + b; }
float amplified(float x) { return gain * x; }
float around(int2 p, Tensor<float, 2> t) { return t[p.y, p.x] + t[(p.y + 1) % int(t.shape[0]), p.x]; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "captured", SOURCE)


def test_a_replay_is_the_calls_again(m: Any, device: Any) -> None:
    """Elementwise kernels, rows, reductions, a sort, whole arrays, copies of views, memory between launches."""

    @fp.fuse
    def centred(y: Any) -> Any:
        return y - fp.mean(y, -1, True) + fp.sum(y)

    def step(x: Any) -> Any:
        y = m.twice(x)
        z = centred(y)
        turned = y.T.copy().T
        return {"sum": m.add(z, turned), "sorted": fp.sort(x.reshape(x.size)), "around": m.around(fp.grid(x.shape), z)}

    x = fp.Tensor.from_numpy(device, ramp(6, 8))
    g = fp.capture(step, x)
    first = device.counters.dispatches
    for given in (None, ramp(6, 8, start=3, step=-0.5), fp.Tensor.from_numpy(device, ramp(6, 8)[::-1] ** 2)):
        found = g.replay() if given is None else g.replay(given)
        held = x.to_numpy()
        if given is not None:
            np.testing.assert_array_equal(held, np.asarray(given if isinstance(given, np.ndarray) else given.to_numpy()))
        assert found is g.result
        expected = step(fp.Tensor.from_numpy(device, held))
        for name in expected:
            np.testing.assert_array_equal(found[name].to_numpy(), expected[name].to_numpy())
    assert device.counters.dispatches > first + 3 * g.launches > first
    assert f"{g.launches} launches" in repr(g)


def test_a_capture_keeps_its_memory_and_its_parameters(m: Any, device: Any) -> None:
    """Later calls of the same kernels have other numbers, globals and memory, and other work takes what was freed."""
    loud = m.amplified.set(gain=3.0)
    x, out = fp.Tensor.from_numpy(device, ramp(500)), fp.Tensor.zeros(device, 500)

    def f(x: Any) -> Any:
        loud(m.add(m.twice(x), 5.0), _result=out)
        return out

    g = fp.capture(f, x)
    m.amplified.set(gain=-1.0)(x)
    rest = [m.add(m.twice(fp.Tensor.from_numpy(device, np.full(500, 9, F32))), 7.0) for _ in range(40)]
    out.clear()
    np.testing.assert_array_equal(g.replay().to_numpy(), 3 * (ramp(500) * 2 + 5))
    assert all(bool((t.to_numpy() == 25).all()) for t in rest)
    graph = fp.Graph(["x"])
    graph.set_outputs(m.twice.node()(*graph.get_inputs()))
    np.testing.assert_array_equal(graph.freeze(x).replay().to_numpy(), ramp(500) * 2)


def test_calls_of_other_threads_are_not_captured(m: Any, device: Any) -> None:
    x, seen = fp.Tensor.from_numpy(device, ramp(10)), list[Any]()
    others = [threading.Thread(target=lambda call=call: seen.append(call(x).to_numpy())) for call in (m.twice, lambda x: x)]

    def f(x: Any) -> Any:
        y = m.twice(x)
        for other in others:
            other.start()
        time.sleep(0.02)  # the second one reads
        return m.add(y, 1.0)

    g = fp.capture(f, x)
    for other in others:
        other.join()
    assert g.launches == 2
    np.testing.assert_array_equal(sorted(a.sum() for a in seen), [ramp(10).sum(), ramp(10).sum() * 2])


def test_arguments_that_change_places(m: Any, device: Any) -> None:
    """A replay reads all new contents before it overwrites any, also of views of what it overwrites."""
    a, b, c = (fp.Tensor.from_numpy(device, ramp(4, start=s)) for s in (1, 10, 100))
    g = fp.capture(lambda a, b, c: m.add(m.twice(a), b) * c, a, b, c)
    first, second, third = (t.to_numpy() for t in (a, b, c))
    np.testing.assert_array_equal(g.replay(b, c, a).to_numpy(), (2 * second + third) * first)
    np.testing.assert_array_equal(a.to_numpy(), second)
    np.testing.assert_array_equal(g.replay(a[::-1], b, a).to_numpy(), (2 * second[::-1] + third) * second)


def test_what_cannot_be_captured(m: Any, device: Any) -> None:
    """After each refusal calls run as before."""
    x = fp.Tensor.from_numpy(device, ramp(4))
    for f, saw in [
        (lambda x: float(fp.sum(x)), "a read"),
        (lambda x: m.twice(x.to_numpy()), "a read"),
        (lambda x: m.twice(np.ones(4, F32)), "returns numpy"),
        (lambda x: m.twice(2.0), "returns scalar"),
        (lambda x: (m.twice(x), x.copy_from_numpy(ramp(4))), "a write"),
    ]:
        with pytest.raises(fp.ExportError, match=saw):
            fp.capture(f, x)
        assert m.twice(2.0) == 4
        assert float(fp.sum(x)) == ramp(4).sum()
    with pytest.raises(ZeroDivisionError):
        fp.capture(lambda x: (m.twice(x), 1 // 0), x)
    g = fp.capture(m.add, x, 2.0)
    with pytest.raises(fp.ShapeError):
        g.replay(fp.Tensor.zeros(device, 5), 2.0)
    np.testing.assert_array_equal(g.replay(x, 2.0).to_numpy(), ramp(4) + 2)


def test_lazy_calls_inside_run_in_each_replay(m: Any, device: Any) -> None:
    def step(x: Any) -> Any:
        with fp.lazy():
            y = m.twice(x)
            return {"last": m.add(y, 1.0), "first": [y]}

    x, other = (fp.Tensor.from_numpy(device, ramp(5, start=s)) for s in (1, 7))
    captured = fp.capture(step, x)
    for array in (x, other):
        found = captured.replay(array)
        np.testing.assert_array_equal(found["first"][0].to_numpy(), array.to_numpy() * 2)
        np.testing.assert_array_equal(found["last"].to_numpy(), array.to_numpy() * 2 + 1)

"""What recorded calls are going to run, told before they do; and how much Python a second round of them takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.python_calls import python_calls

SOURCE = """
import fusepy;
float add(float a, float b) { return a + b; }
float twice(float x) { return 2 * x; }
float neighbour(Tensor<float, 1> t, int i) { return t[max(i - 1, 0)] + t[i]; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "lazy_explained", SOURCE)


def tensor(n: int) -> fp.Tensor:
    return fp.Tensor.from_numpy(fp.default_device(), np.arange(n, dtype=np.float32))


def chain(m: Any) -> Any:
    return fp.sqrt(m.add(m.twice(tensor(8)), 1.0))


def around_a_sum(m: Any) -> Any:
    a = m.twice(tensor(8))
    return m.add(tensor(4), fp.sum(a)), a


def without_a_grid(m: Any) -> Any:
    x, b = tensor(4).reshape(4, 1), tensor(5)
    y = m.twice(x)
    return m.add(fp.sum(y), fp.sum(m.add(y, b))), y


def first(found: Any) -> Any:
    return found[0] if isinstance(found, tuple) else found


@pytest.mark.req("G5")
@pytest.mark.parametrize(("block", "kernels"), [(chain, 1), (around_a_sum, 2), (without_a_grid, 3)])
def test_it_tells_what_then_runs(m: fp.Module, block: Callable[[Any], Any], kernels: int) -> None:
    for _ in range(2):
        with fp.lazy():
            found = block(m)
        before = fp.stats()
        told = fp.explain(first(found))
        after = fp.stats()
        assert (before.dispatches, before.kernels_compiled, before.plan_misses) == (
            after.dispatches,
            after.kernels_compiled,
            after.plan_misses,
        )
        assert told.kernels == len(told.variants) == kernels, str(told)
        first(found).compute()
        assert fp.stats().dispatches - after.dispatches == kernels


def test_reasons_have_the_lines_of_the_calls(m: fp.Module) -> None:
    with fp.lazy():
        a = m.twice(tensor(8))
        b = m.add(tensor(4), fp.sum(a))
    told = str(fp.explain(b))
    assert "lazy: 2 kernels" in told
    assert "twice (test_explain.py:" in told
    (split,) = [p for p in fp.explain(b).neighbours if not p.fused]
    assert "sum" in split.first
    assert "add" in split.second
    kept = fp.explain(b).reasons[-1]
    assert kept.startswith("kept, since somebody holds the result: twice")
    assert "add" in kept
    del a
    assert "twice" not in fp.explain(b).reasons[-1]


def test_calls_without_a_common_grid(m: fp.Module) -> None:
    with fp.lazy():
        found, kept = without_a_grid(m)
    told = fp.explain(found)
    assert fp.explain(kept).kernels == told.kernels == 3
    with fp.lazy():
        y = m.twice(tensor(4).reshape(4, 1))
        wide, wider = m.add(y, tensor(5)), m.add(y, tensor(7))
    told = fp.explain(wide)
    assert told.kernels == 3
    assert told.reasons[0] == "split: the results have extents that share no grid, so each gets a kernel of its own"
    assert (wide.to_numpy().shape, wider.to_numpy().shape) == ((4, 5), (4, 7))
    with fp.lazy():
        y = m.twice(tensor(4).reshape(4, 1))
        nothing, some = m.add(y, tensor(5)[:0]), m.add(fp.sum(y), tensor(7))
    assert nothing.to_numpy().shape == (4, 0)
    assert some.to_numpy().tolist() == [12.0 + i for i in range(7)]


def test_it_says_whether_the_program_is_there(m: fp.Module) -> None:
    def told(k: Any) -> tuple[str, Any]:
        with fp.lazy():
            found = m.twice(m.twice(m.add(tensor(8), k)))
            fp.sqrt(m.add(tensor(3), tensor(3))).to_numpy()  # other calls with such arguments
        return fp.explain(found).cache, found

    told(1.0)[1].compute()
    assert told(2.0)[0] == "a program for such calls is there"
    changed, _ = told(tensor(8))
    assert changed.startswith("a new program: argument 'b' is Tensor")


def test_there_is_nothing_to_tell_of_what_is_there(m: fp.Module) -> None:
    with fp.lazy():
        found = m.twice(tensor(3))
    found.compute()
    for value in (found, tensor(3), 1.0, m.twice):
        with pytest.raises(fp.ArgumentError, match="not computed yet"):
            fp.explain(value)


def test_a_second_round_runs_little_python(m: fp.Module) -> None:
    """Counted, since what it takes beside kernels is what speaks against recording small calls."""
    x, y = tensor(8), tensor(8)

    def calls() -> Any:
        p = m.add(x, 2.0)
        return m.twice(m.add(m.twice(m.add(p, y)), p))

    def recorded() -> Any:
        with fp.lazy():
            return calls()

    fused = fp.fuse(lambda x, y: m.twice(m.add(m.twice(m.add(m.add(x, 2.0), y)), m.add(x, 2.0))))
    eager, alone = python_calls(calls), python_calls(lambda: fused(x, y))
    recording, both = python_calls(recorded), python_calls(lambda: recorded().compute())
    assert recording < eager, (recording, eager)
    assert both - recording - alone <= 12 * 5, (both, recording, alone)

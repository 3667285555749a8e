"""Calls whose destination alone says on which device they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

X = np.arange(4, dtype=np.float32)


def in_lazy(f: Any, result: Any) -> Any:
    with fp.lazy():
        return f(X, _result=result)


def as_graph(f: Any, result: Any) -> Any:
    g = fp.Graph(inputs=["x"], name="doubled")
    (v,) = g.get_inputs()
    g.set_outputs(v * 2)
    return g(X, _result=result)


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "fused": lambda f, result: f(X, _result=result),
    "several": lambda f, result: fp.fuse(lambda x: (x * 2, x))(X, _result=(result, fp.Tensor.empty_like(result)))[0],
    "lazy": in_lazy,
    "graph": as_graph,
    "gradient": lambda f, result: fp.grad(lambda x: fp.sum(x * x))(X, _result=result),
}


@pytest.mark.parametrize("name", daily(CALLS, "several", "gradient"))
def test_a_call_of_arrays_runs_where_its_destination_is(device: Any, name: str) -> None:
    f, there = fp.fuse(lambda x: x * 2), fp.init_device("vulkan")
    for where in (there, fp.default_device(), there):
        result = fp.Tensor.zeros(where, (4,), "float")
        assert CALLS[name](f, result) is result
        assert np.array_equal(result.to_numpy(), X * 2)


def test_destinations_on_two_devices_are_refused(device: Any) -> None:
    there, here = (fp.Tensor.zeros(d, (4,), "float") for d in (fp.init_device("vulkan"), fp.default_device()))
    with pytest.raises(fp.ShapeError, match="lies on another device"):
        fp.fuse(lambda x: (x, x * 2))(X, _result=(there, here))


def test_repeated_calls_go_straight_to_the_device(device: Any) -> None:
    """The first one is traced on the default device too; a call that has run there is not traced again."""
    traces: list[int] = []

    def twice(x: Any) -> Any:
        traces.append(1)
        return x * 2

    f, there = fp.fuse(twice), fp.init_device("vulkan")
    results = [fp.Tensor.zeros(there, (4,), "float") for _ in range(2)]
    f(X, _result=results[0])
    traces.clear()
    assert f(X, _result=results[1]) is results[1]
    assert np.array_equal(results[1].to_numpy(), X * 2)
    here = fp.Tensor.zeros(fp.default_device(), (4,), "float")
    assert f(X, _result=here).to_numpy().tolist() == f(X).tolist() == (X * 2).tolist()
    assert not traces

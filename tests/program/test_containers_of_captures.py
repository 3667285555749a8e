"""Fused functions without arrays among their arguments: captured arrays say the container, as they do call by call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp

X = np.arange(6, dtype=np.float32).reshape(2, 3)
SOURCE = "float luma(float3 c) { return c.x + c.y; } float twice(float k) { return 2 * k; }"
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "an operator": lambda m, x: fp.sqrt(x) * 2,
    "components": lambda m, x: m.luma(fp.sqrt(x)),
    "moved": lambda m, x: fp.flip(fp.sqrt(x), 0),
    "a branch": lambda m, x: fp.cond(True, lambda: fp.sqrt(x), lambda: x),
    "a loop": lambda m, x: fp.fori_loop(0, 2, lambda i, s: s + x, 0.0),
}


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "captured_containers", SOURCE)


@pytest.mark.parametrize("name", PROGRAMS)
def test_captured_arrays_give_arrays_of_their_container(m: fp.Module, device: Any, name: str) -> None:
    for x, kind in ((X, np.ndarray), (fp.Tensor.from_numpy(device, X), fp.Tensor), (X.tolist(), list)):
        program = PROGRAMS[name]
        found = fp.fuse(lambda: program(m, x))()  # noqa: B023
        assert isinstance(found, kind)
        np.testing.assert_allclose(found, program(m, X), rtol=1e-6)


@pytest.mark.req("V3")
def test_single_values_are_in_the_container_of_the_eager_call(m: fp.Module, device: Any) -> None:
    def program(k: Any) -> Any:
        return m.twice(fp.sum(x)) * k

    for x in (X, fp.Tensor.from_numpy(device, X), X.tolist(), fp.ones(3)):
        graph = fp.Graph(inputs=["k"])
        graph.set_outputs(fp.fuse(program).node()(*graph.get_inputs()))
        with fp.lazy():
            late = fp.fuse(program)(0.5)
        wanted = m.twice(fp.sum(x))
        for found in (fp.fuse(program)(0.5), graph(0.5), program(0.5), late):
            assert float(found) == float(wanted) / 2
            of_numpy = isinstance(wanted, np.ndarray)  # whose operators give NumPy's numbers
            assert isinstance(found, fp.Tensor if of_numpy and found is late else (type(wanted), np.number))


def test_arguments_go_before(m: fp.Module) -> None:
    assert type(fp.fuse(lambda y: y * X)([1.0, 2.0, 3.0])) is list
    assert type(fp.fuse(lambda k: m.twice(k) * 2)(2.0)) is float

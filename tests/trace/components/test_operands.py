"""Calls of computed arrays are taken, or refused, in fused functions as they are eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.trace.components.test_grouping import IMAGE, SOURCE, numbers


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "operands", SOURCE)


# what no call takes, in any mode
REFUSED: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "four components": (lambda m, i: m.luma(fp.abs(i)), [numbers(2, 5, 4)]),
    "many components": (lambda m, i: m.luma(fp.abs(i)), [numbers(2, 5)]),
    "two overloads": (lambda m, i: m.size(fp.abs(i)), [IMAGE]),
    "a vcast of other extents": (lambda m, i: m.luma(fp.vcast(fp.abs(i), m.float3)), [numbers(2, 5)]),
    "a fixed array of one": (lambda m, i: m.six(i * 2), [numbers(5, 1)]),
    "a fixed array of other extents": (lambda m, i: m.six(i * 2), [numbers(5, 7)]),
    "all axes on the grid": (lambda m, i: m.luma(fp.vmap(i * 2, (0, 1, 2))), [IMAGE]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_call_takes_is_refused_alike(m: Any, name: str) -> None:
    program, given = REFUSED[name]
    with pytest.raises(fp.FusepyError) as eager:
        program(m, *given)
    with pytest.raises(fp.FusepyError) as fused:
        fp.fuse(lambda *args: program(m, *args))(*given)
    assert type(fused.value) is type(eager.value)


@pytest.mark.parametrize(
    "f",
    [
        lambda m, i: m.at(fp.grid((4, 5)), fp.sqrt(i)),
        lambda m, i: m.at(fp.grid((4, 5)), i * i + 1),
        lambda m, i: fp.sum(m.at(fp.grid((4, 5)), fp.sqrt(i))),
        lambda m, i: m.first(fp.arange(4), fp.sqrt(i)),
    ],
)
def test_a_computed_image_is_read_whole_in_every_mode(f: Any) -> None:
    source = """import fusepy;
    float3 at(int2 p, Tensor<float3,2> t) { return t[p.y, p.x]; }
    float first(int i, Tensor<float3,2> t) { return t[i, 0].z; }"""
    m = fp.Module.load_from_source(fp.default_device(), "whole_computed", source)
    image = np.random.default_rng(0).random((4, 5, 3)).astype(np.float32)
    for given in (image, fp.Tensor(image)):
        eager, fused = f(m, given), fp.fuse(lambda i: f(m, i))(given)
        with fp.lazy():
            deferred = f(m, given)
        assert deferred.dtype is eager.dtype
        assert deferred.shape == eager.shape
        for found in (fused if given is image else fused.to_numpy(), deferred.to_numpy()):
            np.testing.assert_allclose(found, eager.to_numpy(), rtol=1e-5)

"""Calls of computed arrays are refused in fused functions where they are refused eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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

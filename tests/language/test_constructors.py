"""Slang's vectors as constructors: what is no number of Python in and outside of a trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp

pytestmark = pytest.mark.req("V5")
X = np.array([1, 2, 3, 4], np.float32)
ONES = np.ones(4, np.float32)


def test_what_is_not_traced_itself_is_recorded_in_a_trace(device: Any) -> None:
    """A cast to the type that it has, mapped values, arrays and numbers beside them; one value fills a vector."""

    @fp.fuse
    def all_of(a: Any) -> Any:
        cast, mapped = fp.vcast(a, "float"), fp.vmap(a, 0)
        return {
            "cast": fp.float3(cast, 1.0, 2.0),
            "filled": fp.float3(cast),
            "mapped": fp.float2(mapped, 1.0),
            "captured": fp.float2(X, a),
            "numbers": a[:, None] * fp.float2(np.float32(1), np.int64(2)),  # along the last axis, as NumPy has it
            "double": a[:, None] * fp.double3(np.float32(1), 1, 2),
        }

    found = all_of(X)
    wanted = {
        "cast": (X, ONES, 2 * ONES),
        "filled": (X, X, X),
        "mapped": (X, ONES),
        "captured": (X, X),
        "numbers": (X, 2 * X),
        "double": (X, X, 2 * X),
    }
    for name, parts in wanted.items():
        np.testing.assert_array_equal(found[name], np.stack(parts, -1), name)


def test_numbers_of_numpy_outside_of_a_trace() -> None:
    assert fp.float3(np.float32(1), np.int64(2), 3) == fp.float3(1, 2, 3)
    assert fp.int2(np.bool_(True), np.int8(3)) == fp.int2(1, 3)
    np.testing.assert_array_equal(fp.double3(np.float32(1), 1, np.float64(2)), [1.0, 1.0, 2.0])


REFUSED: list[tuple[Callable[[], Any], type[fp.FusepyError], str]] = [
    (lambda: fp.int3(1.5, 1, 2), fp.ArgumentError, "would cut a float"),
    (lambda: fp.int3(2**40, 1, 2), fp.RangeError, "out of range"),
    (lambda: fp.uint2(-1, 1), fp.RangeError, "out of range"),
    (lambda: fp.float3(1.0, 2.0), fp.ArgumentError, "takes 3 numbers"),
    (lambda: fp.float3("a", 1.0, 2.0), fp.ArgumentError, "takes 3 numbers"),
    (lambda: fp.float3(fp.vmap(X, 0), 1.0, 2.0), fp.ArgumentError, "takes 3 numbers"),
    (lambda: fp.float3(None, 1, 1), fp.ArgumentError, "takes 3 numbers"),
    (lambda: fp.double3(1j, 1, 1), fp.ArgumentError, "takes 3 numbers"),
    (lambda: fp.float3(a=1), fp.ArgumentError, "takes 3 numbers"),
    (lambda: fp.float2x2(1, 2, 3, 4), fp.ArgumentError, "one list"),
]


@pytest.mark.parametrize(("call", "error", "says"), REFUSED)
def test_what_is_no_component_is_refused(call: Callable[[], Any], error: type[fp.FusepyError], says: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert says in str(caught.value)
    assert "test_constructors.py" in str(caught.value)
    assert caught.value.hint

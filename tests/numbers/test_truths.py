"""Doubles that user code takes as bools: right, or refused with the line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp

SOURCE = """
bool cast(double x) { return bool(x); }
int branch(double x) { if (x) return 1; return 2; }
int chosen(double2 v) { return v.x ? 1 : 2; }
int negated(double x) { return !x ? 2 : 1; }
bool3 vector(double3 v) { return bool3(v); }
int compared(double x) { return x != 0 ? 1 : 2; }
int single(double x) { return float(x) ? 1 : 2; }
"""
X = np.array([0.0, 0.5, -0.0, np.nan])
PAIRS = np.stack([X, X[::-1]], -1)


@pytest.mark.parametrize(("name", "given"), [("cast", X), ("branch", X), ("chosen", PAIRS), ("negated", X)])
def test_scalars_are_right_or_refused(device: Any, name: str, given: Any) -> None:
    """All four were always true on SPIR-V, in an eager call and in a fused function."""
    m = fp.Module.load_from_source(device, "truths", SOURCE)
    wanted = np.where(X != 0, 1, 2) if name != "cast" else X != 0
    for call in (m[name], fp.fuse(lambda x: m[name](x))):
        if device.raw.info.type.name != "vulkan":
            np.testing.assert_array_equal(call(given), wanted)
            continue
        with pytest.raises(fp.CompileError, match="takes a double as a bool") as caught:
            call(given)
        assert "one of truths.slang:2: bool cast" in str(caught.value)
        assert "write x != 0" in str(caught.value)


def test_comparisons_and_vectors_run(device: Any) -> None:
    m = fp.Module.load_from_source(device, "truths", SOURCE)
    for name in ("compared", "single"):
        assert m[name](X).tolist() == [2, 1, 2, 1]
    assert m.vector(np.array([[0, 0.5, -0.0]])).tolist() == [[False, True, False]]
    assert fp.fuse(lambda x: fp.vcast(x, "bool"))(X).tolist() == [False, True, False, True]

"""Choices among numbers, in all modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp


def test_numbers_that_an_array_chooses_are_an_array(device: Any) -> None:
    """They have their type for good in every mode: a function of floats refuses ints, and 8 bits become 32."""
    m = fp.Module.load_from_source(device, "chosen", "int i(int a) { return a + 1; } float f(float a) { return a + 1; }")
    mask, byte = np.array([True, False, True]), np.array([1, 2, 3], np.uint8)
    for make, want in (
        (lambda x, f: f(m.i)(fp.where(x, 2, 3)), np.array([3, 4, 3], np.int32)),
        (lambda x, f: f(m.f)(fp.where(x, 2.0, 3)), np.array([3, 4, 3], np.float32)),
        (lambda x, f: f(m.f)(fp.where(x, 2, 3)), None),
        (lambda x, f: fp.maximum(fp.where(x, 2, 3), byte), np.array([2, 3, 3], np.int32)),
    ):
        for run in _in_all_modes(make, mask):
            if want is None:
                with pytest.raises(fp.NoMatchError, match="argument 'a' does not fit"):
                    run()
                continue
            made = np.asarray(run())
            assert (made.dtype, made.tolist()) == (want.dtype, want.tolist())


def _in_all_modes(make: Any, x: Any) -> tuple[Any, ...]:
    """A program that runs eagerly, fused, lazily and as a graph."""

    def lazily() -> Any:
        with fp.lazy():
            return make(x, lambda f: f)

    def as_graph() -> Any:
        g = fp.Graph(inputs=["x"])
        g.set_outputs((make(*g.get_inputs(), lambda f: f.node()),))
        return g(x)[0]

    return (lambda: make(x, lambda f: f), lambda: fp.fuse(lambda x: make(x, lambda f: f))(x), lazily, as_graph)

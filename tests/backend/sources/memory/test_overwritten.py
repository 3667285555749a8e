"""Functions that read and write the same memory have no derivative: it would run them again."""

from __future__ import annotations

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.sources.memory.overwritten import overwritten_read

PARAMS = "RWStructuredBuffer<float> b, uint i, float x"


@pytest.mark.parametrize(
    "body",
    [
        "float v = b[i]; b[i] = x; return v * x;",
        "b[i] += x; return x;",
        "b[i]++; return x;",
        "InterlockedAdd(b[i], 1.0); return x;",
        "b[b.Load(i)].y = x; return x;",
        "g[i] = x; return b[i] * x;",
        "put(b, i, x); return b[i] * x;",
    ],
)
def test_reads_and_writes_are_told(body: str) -> None:
    text = f"RWStructuredBuffer<float> g; void put({PARAMS}) {{ b[i] = x; }} float f({PARAMS}) {{ {body} }}"
    assert "its derivative would run it again" in (overwritten_read("f", [text]) or "")


@pytest.mark.parametrize(
    "body",
    [
        "return b[i] == x ? b[b[i]] * x : x;",
        "b[i] = x; return x * x;",
        "float c[2]; c[0] = x; return c[0] * b[i];",
        "return other(b, i, x);",
    ],
)
def test_reads_alone_and_writes_alone_pass(body: str) -> None:
    text = f"void put({PARAMS}) {{ b[i] += x; }} float other({PARAMS}) {{ return b[i]; }} float f({PARAMS}) {{ {body} }}"
    assert overwritten_read("f", [text]) is None


def test_own_derivatives_pass() -> None:
    assert overwritten_read("f", [f"[BackwardDerivative(g)] float f({PARAMS}) {{ b[i] += x; return b[i]; }}"]) is None


def test_gradient_of_a_function_that_overwrites_what_it_read(device: fp.Device) -> None:
    m = fp.Module.load_from_source(
        device,
        "overwritten",
        """
        [Differentiable] float swap(RWStructuredBuffer<float> b, uint i, float x)
        { float v = b[i]; b[i] = detach(x); return v * x; }
        [Differentiable] float look(RWStructuredBuffer<float> b, uint i, float x) { return b[i] * x; }
        """,
    )
    held = fp.Tensor.from_numpy(device, np.float32([5, 6]))
    at, x = np.uint32([1, 0]), np.float32([2, 3])
    for call in (
        lambda: fp.grad(lambda x: fp.sum(m.swap(held, at, x)))(x),
        lambda: fp.fuse(lambda b, x: fp.grad(lambda x: fp.sum(m.swap(b, at, x)))(x))(held, x),
        lambda: fp.jvp(lambda x: m.swap(held, at, x), (x,), (x,)),
    ):
        with pytest.raises(fp.GradientError, match="'swap' writes 'b'"):
            call()
    assert held.to_numpy().tolist() == [5, 6]
    assert np.asarray(fp.grad(lambda x: fp.sum(m.look(held, at, x)))(x)).tolist() == [6, 5]

"""Random sequences of calls, with reads, writes and dropped values between them: lazy and eager give the same."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support.examples import examples
from tests.support.slang_functions import F32

SOURCE = """
float add(float a, float b) { return a + b; }
float3 vector(float a, float b) { return float3(a, b, a - b); }
float3 turn(float3 v, float k) { return v.yzx * k; }
float inner(float3 v) { return v.x + 2 * v.y + 4 * v.z; }
void parts(float x, out float low, out float high) { low = min(x, 0); high = max(x, 0); }
float total(Tensor<float, 1> t) { float s = 0; for (int i = 0; i < t.shape[0]; ++i) s += t[i]; return s; }
"""
SHAPES = [(), (1,), (3,), (5,), (2, 3), (4, 1), (2, 5), (3, 2, 3)]


class Step(NamedTuple):
    what: str
    operands: tuple[int, int]
    number: int


@st.composite
def sequences(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], list[Step]]:
    shapes = [draw(st.sampled_from(SHAPES)) for _ in range(draw(st.integers(1, 3)))]
    names = st.sampled_from([*CALLS, *CALLS, "read", "drop", "write", "inout"])
    step = st.builds(Step, names, st.tuples(st.integers(0, 30), st.integers(0, 30)), st.integers(-3, 3))
    return shapes, draw(st.lists(step, min_size=1, max_size=14))


def calls(m: Any) -> dict[str, Any]:
    """Each takes two tensors and a number; those that do not fit raise, in both modes."""
    fused = fp.fuse(lambda a, b, k: {"x": m.add(a, b) * k, "y": m.add(a, k)})
    shown = fp.fuse(lambda a: (fp.max(a, axis=0, keepdims=True), fp.where(a > 0, a, 1.0)))
    return {
        "add": lambda a, b, k: m.add(a, b),
        "number": lambda a, b, k: m.add(a, k),
        "array": lambda a, b, k: m.add(a, np.full(a.shape, k, F32)),
        "list": lambda a, b, k: m.add(a, [float(k), 1.0, 2.0]),
        "vector": lambda a, b, k: m.vector(a, b),
        "turn": lambda a, b, k: m.turn(a, k),
        "inner": lambda a, b, k: m.inner(a),
        "cast": lambda a, b, k: m.turn(fp.vcast(a, "float3"), b),
        "parts": lambda a, b, k: m.parts(a),
        "fused": fused,
        "shown": lambda a, b, k: shown(a),
        "abs": lambda a, b, k: fp.abs(a),
        "max": lambda a, b, k: fp.maximum(a, b),
        "sum": lambda a, b, k: fp.sum(a),
        "sum axis": lambda a, b, k: fp.sum(a, axis=k),
        "keep": lambda a, b, k: fp.sum(a, axis=-1, keepdims=True),
        "scan": lambda a, b, k: fp.scan("sum", a),
        "argmax": lambda a, b, k: fp.argmax(a),
        "whole": lambda a, b, k: m.total(a),
        "outer": lambda a, b, k: m.add(fp.vmap(a, (1,)), fp.vmap(b, (0,))),
    }


CALLS = list(calls(type("Names", (), {"__getattr__": lambda self, name: None})()))


def leaves(result: Any) -> list[Any]:
    if isinstance(result, dict):
        result = tuple(result.values())
    return list(result) if isinstance(result, tuple) else [result]


def run(m: Any, shapes: list[tuple[int, ...]], steps: list[Step], lazy: bool) -> list[Any]:
    """What was seen: numbers, types and extents, and the classes of errors."""
    device = fp.default_device()
    known = calls(m)
    values = [
        fp.Tensor.from_numpy(device, (np.arange(np.prod(s, dtype=int)).reshape(s) % 7 - 3 + i).astype(F32))
        for i, s in enumerate(shapes)
    ]
    count = len(values)
    seen: list[Any] = []
    with fp.lazy() if lazy else contextlib.nullcontext():
        for step in steps:
            a, b = (values[i % len(values)] for i in step.operands)
            if step.what == "read":
                seen.append(a.to_numpy())
            elif step.what == "drop":
                if len(values) > count:
                    values.pop(count + step.operands[0] % (len(values) - count))
            elif step.what == "write":
                a.copy_from_numpy(np.full(a.shape + a.element.shape, step.number, a.element.dtype))
            elif step.what == "inout":
                if str(a.dtype) == "float":
                    m.add(a, step.number, _result=a)
            else:
                try:
                    found = leaves(known[step.what](a, b, step.number))
                except fp.FusepyError as error:
                    seen.append(type(error))
                    continue
                # an eager call of numbers, lists or arrays alone gives these back; here there always is a tensor
                assert all(isinstance(f, fp.Tensor) for f in found)
                seen += [(str(f.dtype), f.shape) for f in found]
                values += found
            del a, b
    return seen + [v.to_numpy() for v in values]


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "lazy_random", "import fusepy;\n" + SOURCE)


@examples(20)
@given(program=sequences())
def test_lazy_is_eager(m: fp.Module, program: tuple[list[tuple[int, ...]], list[Step]]) -> None:
    shapes, steps = program
    eager, lazy = run(m, shapes, steps, False), run(m, shapes, steps, True)
    assert len(eager) == len(lazy)
    for want, found in zip(eager, lazy):
        if isinstance(want, np.ndarray):
            assert (want.dtype, want.shape) == (found.dtype, found.shape)
            np.testing.assert_array_equal(found, want)  # small integers: nothing is rounded
        else:
            assert want == found

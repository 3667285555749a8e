"""Kernels that go along rows: every shape on the same device, held to kernels for each reduction and to NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from fusepy.backend.emit.row import tuning
from fusepy.backend.emit.row.variant import RowShape
from fusepy.backend.execute.rows import plan as row_plan
from tests.support.examples import examples
from tests.support.selection import daily
from tests.support.slang_functions import F32

Shape = Callable[[str, int, tuning.RowWork], tuple[RowShape, int]]
SHAPES: dict[str, Shape] = {
    "chosen": tuning.row_shape,
    "in registers": lambda kind, lanes, work: tuning.row_shape("gpu", lanes, work),
    "again and again": lambda kind, lanes, work: (RowShape(64, 0), 64),
    "several rows a wave": lambda kind, lanes, work: (RowShape(32, 0, 2), 4),
    "a thread each": lambda kind, lanes, work: (RowShape(16, 0, 4, "thread", exact=True), 1),
}
OF_COLUMNS: dict[str, Shape] = {"of columns": lambda kind, lanes, work: (RowShape(64, 0, 2, columns=True), 4)}
SOURCE = """
float3 scaled(float3 v, float s) { return v * s; }
float square(float3 v) { return dot(v, v); }
float largest(float a, float b) { return max(abs(a), abs(b)); }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "along_rows", SOURCE)


class Ways:
    """Runs a function as one kernel for each reduction, and as one kernel of each shape."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.set = monkeypatch.setattr

    def apart(self, f: Any, *args: Any) -> list[Any]:
        self.set(row_plan, "cost", lambda *_: (1.0, 0.0))
        return arrays(fp.fuse(f)(*args))

    def joined(self, f: Any, shape: Shape, *args: Any, one: bool = True) -> list[Any]:
        self.set(row_plan, "cost", lambda *_: (0.0, 1.0))
        self.set(row_plan, "row_shape", shape)
        made = fp.fuse(f)
        found = arrays(made(*args))
        assert not one or made.explain(*args).kernels == 1
        return found


@pytest.fixture
def ways(device: Any, monkeypatch: pytest.MonkeyPatch) -> Ways:
    return Ways(monkeypatch)


def arrays(results: Any) -> list[Any]:
    return [np.asarray(r) for r in (results if isinstance(results, tuple) else (results,))]


def alike(found: Sequence[Any], expected: Sequence[Any], tolerance: float) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        scale = np.abs(b[np.isfinite(b)], dtype=np.float64).max(initial=1)
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=tolerance, atol=tolerance * scale)


def softmax(x: Any) -> Any:
    e = fp.exp(x - fp.max(x, -1, True))
    return e / fp.sum(e, -1, True)


def layer_norm(x: Any, gain: Any, shift: Any) -> Any:
    d = x - fp.mean(x, -1, True)
    return d / fp.sqrt(fp.mean(d * d, -1, True) + 1e-5) * gain + shift


def several(x: Any) -> Any:
    high, low = fp.max(x, -1, True), fp.min(x, -1, True)
    return (x - high) / (high - low + 1), fp.sum((x - high) * (x - low), -1), high, fp.argmax(x, -1), fp.any(x > high - 1, -1)


def numbers(*shape: int, kind: Any = np.float32) -> Any:
    made = np.random.default_rng(sum(shape)).normal(size=shape)
    return (made * 9).astype(kind) if np.dtype(kind).kind in "iu" else made.astype(kind)


def vectors(m: Any) -> Callable[[Any], Any]:
    return lambda v: m.scaled(v, 1 / fp.sqrt(fp.sum(m.square(v), -1, True)))


def by_call(m: Any) -> Callable[[Any], Any]:
    return lambda x: x / fp.reduce(m.largest, x, axis=-1, identity=0.0, keepdims=True)


CASES: dict[str, tuple[Any, tuple[Any, ...], float]] = {
    "softmax": (lambda m: softmax, (numbers(7, 33),), 1e-6),
    "half": (lambda m: softmax, (numbers(7, 33, kind=np.float16),), 2e-3),
    "double": (lambda m: softmax, (numbers(5, 20, kind=np.float64),), 1e-6),
    "one row": (lambda m: softmax, (numbers(300),), 1e-6),
    "strides": (lambda m: softmax, (numbers(14, 66)[::2, ::2],), 1e-6),
    "turned": (lambda m: softmax, (numbers(33, 7).T,), 1e-6),
    "layer norm": (lambda m: layer_norm, (numbers(9, 300), numbers(300), numbers(300)), 1e-5),
    "several": (lambda m: several, (numbers(6, 21),), 1e-6),
    "integers": (lambda m: several, (numbers(6, 21, kind=np.int32),), 1e-6),
    "bytes": (lambda m: several, (numbers(6, 21, kind=np.int8),), 1e-6),
    "vectors": (vectors, (numbers(5, 11, 3),), 1e-6),
    "by a call": (by_call, (numbers(6, 40),), 1e-6),
    "two axes": (lambda m: lambda x: x / fp.max(x, (1, 2), True), (numbers(4, 5, 6),), 1e-6),
    "columns beside": (lambda m: lambda x, c: x - fp.sum(x * c, -1, True) * c, (numbers(6, 20), numbers(6, 1)), 1e-5),
}


@pytest.mark.parametrize("name", daily(CASES, "softmax", "vectors", "by a call"))
@pytest.mark.req("V9")
def test_one_kernel_means_what_several_mean(m: Any, ways: Ways, name: str) -> None:
    make, args, tolerance = CASES[name]
    expected = ways.apart(make(m), *args)
    for shape in SHAPES.values() if name in ("softmax", "several") else [SHAPES["chosen"], SHAPES["in registers"]]:
        alike(ways.joined(make(m), shape, *args), expected, tolerance)


@pytest.mark.parametrize("length", daily([2, 31, 32, 139, 170, 257, 1100, 5000], 139))
def test_rows_of_any_length(ways: Ways, length: int) -> None:
    x = numbers(5, length)
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    for shape in (SHAPES["chosen"], SHAPES["in registers"]):
        alike(ways.joined(softmax, shape, x), [(e / e.sum(-1, keepdims=True)).astype(np.float32)], 1e-6)


def test_the_same_bits_every_time_and_in_place(device: Any, ways: Ways) -> None:
    x = numbers(40, 300)
    for shape in SHAPES.values():
        (first,) = ways.joined(softmax, shape, x)
        t = fp.Tensor.from_numpy(device, x)
        fp.fuse(softmax)(t, _result=t)
        np.testing.assert_array_equal(t.to_numpy(), first)


STEPS: dict[str, Callable[[Any, Any, int], Any]] = {
    "less the largest": lambda v, w, d: v - fp.max(v, d, True),
    "less the mean": lambda v, w, d: v - fp.mean(v, d, True),
    "over the norm": lambda v, w, d: v / fp.sqrt(fp.sum(v * v, d, True) + 1),
    "over the sizes": lambda v, w, d: v / (fp.sum(fp.abs(v), d, True) + 1),
    "exp": lambda v, w, d: fp.exp(v / (fp.max(fp.abs(v), d, True) + 1)),
    "from its place": lambda v, w, d: v - 0.125 * fp.argmax(w, d, True),
    "weighted": lambda v, w, d: v * w - fp.sum(v * w, d, True) * 0.125,
    "clipped": lambda v, w, d: fp.where(v > fp.mean(w, d, True), v, w),
}


@examples(36)
@given(data=st.data())
def test_random_programs_of_rows(device: Any, data: st.DataObject) -> None:
    """Steps that depend on reductions of the steps before, over operands that broadcast along either axis: rows, or columns."""
    rows, length = data.draw(st.sampled_from([(1, 7), (3, 40), (9, 1), (5, 130), (2, 1500)]))
    beside = data.draw(st.sampled_from([(rows, length), (length,), (rows, 1), (1, length)]))
    steps = data.draw(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4))
    reduced, axis = data.draw(st.booleans()), data.draw(st.sampled_from([0, -1]))
    kind = data.draw(st.sampled_from([F32, F32, np.float64]))

    def program(x: Any, w: Any) -> Any:
        for step in steps:
            x = STEPS[step](x, w, axis)
        return (x, fp.sum(x, axis)) if reduced else x

    random = np.random.default_rng(rows + length)
    turned = [(rows, length)[:: 1 if axis else -1], beside[:: 1 if axis else -1] if len(beside) == 2 or axis else (length, 1)]
    args = [random.normal(size=shape).astype(kind) for shape in turned]
    with pytest.MonkeyPatch.context() as patch:
        ways = Ways(patch)
        expected = ways.apart(program, *args)
        patch.setattr(row_plan, "cost", lambda *_: (0.0, 1.0))
        shapes = SHAPES if axis else {**SHAPES, **OF_COLUMNS}
        patch.setattr(row_plan, "row_shape", shapes[data.draw(st.sampled_from(sorted(shapes)))])
        alike(arrays(fp.fuse(program)(*args)), expected, 1e-4)


def test_two_results_of_one_call_that_belong_to_a_row(device: Any) -> None:
    source = "void two(float x, out float less, out float twice) { less = x / 2; twice = x * 2; }"
    m = fp.Module.load_from_source(device, "two_of_a_row", source)

    @fp.fuse
    def scaled(x: Any) -> Any:
        less, twice = m.two(fp.sum(x, 1, True))
        return x * less + twice, fp.sum(x * twice - less, 1)

    x = np.linspace(0.5, 1, 240, dtype=np.float32).reshape(6, 40)
    whole = x.sum(1, keepdims=True)
    first, second = scaled(x)
    np.testing.assert_allclose(first, x * whole / 2 + whole * 2, rtol=1e-5)
    np.testing.assert_allclose(second, (x * whole * 2 - whole / 2).sum(1), rtol=1e-5)
    assert scaled.explain(x).kernels == 1

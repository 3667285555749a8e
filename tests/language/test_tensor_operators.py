"""Operators of tensors and generators: at once, captured by a fused function, lazy, in graphs; never Python's identity."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.language.test_elementwise import BINARY, BITS
from tests.support.precision import agree
from tests.support.slang_functions import F32, ramp, same

X, Y = ramp(3, 4), ramp(4, start=1)
N, M = np.arange(1, 13, dtype=np.int32).reshape(3, 4), np.array([1, 2, 3, 4], np.int32)


def all_sides(x: Any, y: Any, array: Any) -> list[Any]:
    return [x == y, x == 2, array == x, x - y, x - 2, 3 - x, array - x, x - F32(2), F32(2) - x, x - [1, 2, 3, 4]]


def test_every_operator(device: Any) -> None:
    """All are recorded first, so that one program compiles. No quotient is whole, since division may be off by some units."""
    divisor = ramp(4, start=1.1, step=0.37)
    with fp.lazy():
        a, b, i, j = (fp.Tensor.from_numpy(device, v) for v in (X, divisor, N, M))
        made = [f(a, b) for f in BINARY] + [f(i, j) for f in BITS] + [-a, abs(a), ~i, divmod(a, b)[1]]
    assert not any(isinstance(v, bool) for v in made)
    wanted = [f(X, divisor) for f in BINARY] + [f(N, M) for f in BITS] + [-X, X, ~N, X % divisor]
    names = [{"truediv": "div"}.get(f.__name__, f.__name__) for f in BINARY]
    for got, want, name in zip(made, wanted, [*names, *[""] * (len(made) - len(names) - 1), "mod"]):
        agree(got, want, name)


def test_operators_mean_the_same_everywhere(device: Any) -> None:
    a, b = fp.Tensor.from_numpy(device, X), fp.Tensor.from_numpy(device, Y)
    with fp.lazy():
        late = all_sides(a, b, Y)
    graph = fp.Graph(inputs=["y"])
    graph.set_outputs(*all_sides(a, graph.get_inputs()[0], Y))
    made = {
        "at once": all_sides(a, b, Y),
        "captured": fp.fuse(lambda x: all_sides(a, b, Y))(Y),
        "lazy": late,
        "graph": graph(b),
    }
    want = [np.asarray(v) for v in all_sides(X, Y, Y)]
    for name, results in made.items():
        assert len(results) == len(want), name
        for got, meant in zip(results, want):
            same(got, meant.astype(F32) if meant.dtype.kind == "f" else meant)


def test_results_are_tensors_and_hashes_are_identity(device: Any) -> None:
    a, b = fp.Tensor.from_numpy(device, X), fp.Tensor.from_numpy(device, X)
    for made in (a + 1, 1 + a, a == b, X - a, np.float32(2) * a, -a, abs(a), +a, *divmod(a, 2), *divmod(X, a)):
        assert type(made) is fp.Tensor
    assert {a: 1, b: 2}[a] == 1
    assert len({a, b, a}) == 2
    assert [a] == [a]
    assert +a is not a
    assert (6.0 in a, 66.0 in a, 0 in fp.Tensor.zeros(device, (0,))) == (bool((X == 6).any()), False, False)
    same(np.spacing(a), np.spacing(X))  # functions of NumPy's that fusepy does not have compute with the contents


def test_writing_in_place(device: Any) -> None:
    a, meant = fp.Tensor.from_numpy(device, X), X.copy()
    row, seen = a[0], meant[0]
    with fp.lazy():
        early = a * 1
    same_memory = a
    a += 1
    meant += 1
    assert a is same_memory
    row *= 2
    seen *= 2
    a[1] = 7
    meant[1] = 7
    a[2] -= Y
    meant[2] -= Y
    a[:, 1] = fp.Tensor.full(device, 3, 5)
    meant[:, 1] = 5
    a[0, 0] = X[0, 1]
    meant[0, 0] = X[0, 1]
    same(a, meant)
    same(early, X)
    host = X.copy()
    again = host
    host += a
    assert host is again
    same(host, X + meant)


GRID = np.stack(np.meshgrid(np.arange(3), np.arange(2)), -1).astype(np.int32)  # (x, y)


def test_generators(device: Any) -> None:
    """Outside of fused functions, captured by them, and made in them."""
    grid, ids = fp.grid((2, 3)), fp.call_id()
    line = np.array([0, 5, 2], np.int32)
    same(grid * 2 + 1, GRID * 2 + 1)
    same(fp.grid((3,)) == line, np.arange(3) == line)
    same(fp.linspace(0, 1, 3) >= 0.5, [False, True, True])
    same(fp.thread_id() + fp.Tensor.from_numpy(device, Y), Y + np.arange(4, dtype=F32))
    same(fp.fuse(lambda x: (ids == x) & (x != 2))(line), np.array([True, False, False]))
    assert fp.fuse(lambda k: grid - k)(1).tolist() == (GRID - 1).tolist()
    with pytest.raises(fp.ShapeError, match=r"test_tensor_operators.py:\d+.*\n(.*\n)*.*fp.grid"):
        ids + 1


REFUSED: dict[str, tuple[Callable[[Any, Any], Any], type[fp.FusepyError], str]] = {
    "the truth of many": (lambda t, m: bool(t), fp.ShapeError, "fp.any(t) or fp.all(t)"),
    "the truth of none": (lambda t, m: bool(t[:0]), fp.ShapeError, "fp.any(t) or fp.all(t)"),
    "the truth of a vector": (lambda t, m: bool(fp.Tensor.zeros(t.device, 1, "float3")), fp.ShapeError, "float3"),
    "a vector as a number": (lambda t, m: float(fp.Tensor.zeros(t.device, 1, "float3")), fp.ShapeError, "float3"),
    "lists that hold tensors": (lambda t, m: [t] == [t.copy()], fp.ShapeError, "the truth of a tensor of 12 bool"),
    "None": (lambda t, m: t == None, fp.ArgumentError, "is None"),  # noqa: E711
    "text": (lambda t, m: t == "a", fp.UnsupportedArgumentError, "str"),
    "shapes": (lambda t, m: t == np.zeros(5, F32), fp.ShapeError, "(3, 4)"),
    "the truth of a grid": (lambda t, m: bool(fp.grid((2, 2)) == fp.grid((2, 2))), fp.ShapeError, "the truth"),
    "a condition in a trace": (lambda t, m: fp.fuse(lambda x: x if t[0, 0] else -x)(1.0), fp.TraceError, "fp.where"),
    "a number in a trace": (lambda t, m: fp.fuse(lambda x: x * float(t[0, 0]))(1.0), fp.TraceError, "before the call"),
    "in, in a trace": (lambda t, m: fp.fuse(lambda x: x * (3 in t))(1.0), fp.TraceError, "the truth"),
    "an array in a trace": (lambda t, m: fp.fuse(lambda x: x * np.asarray(t))(1.0), fp.TraceError, "before the call"),
    "in place in a trace": (lambda t, m: fp.fuse(lambda x: operator.iadd(t, x))(1.0), fp.TraceError, "t = t + x"),
    "an element in a trace": (lambda t, m: fp.fuse(lambda x: operator.setitem(t, 0, 1))(1.0), fp.TraceError, "writing"),
    "a method that is not called": (
        lambda t, m: fp.fuse(lambda x: m.P(x).half == 1)(1.0), fp.TraceError, "write .half(…)",
    ),
    "NumPy's out": (lambda t, m: np.add(X, X, out=t), fp.ArgumentError, "copy_from_numpy"),
    "another dtype": (lambda t, m: operator.setitem(t, 0, np.zeros(4, np.int32)), fp.UnsupportedArgumentError, "astype"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_meaning_is_refused(device: Any, name: str) -> None:
    source = "struct P { float x; __init(float v) { x = v; } float half() { return x / 2; } };"
    m = fp.Module.load_from_source(device, "uncalled", source)
    tensor = fp.Tensor.from_numpy(device, X)
    run, error, words = REFUSED[name]
    with pytest.raises(error) as caught:
        run(tensor, m)
    assert words in str(caught.value)
    assert caught.value.hint
    same(tensor, X)

"""Effects: the order of calls that write memory, and of what reads it before and behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

SOURCE = """
import fusepy;
float whole(Tensor<float, 1> t, int i) { return t[i] * 2; }
float pointed(float* t, int i) { return t[i] * 2; }
float buffered(StructuredBuffer<float> t, int i) { return t[i] * 2; }
void put(RWTensor<float, 1> t, int i, float v) { t[i] = v; }
void put_buffer(RWStructuredBuffer<float> t, int i, float v) { t[i] = v; }
void put_pointer(float* t, int i, float v) { t[i] = v; }
"""
AT = np.arange(3, dtype=np.int32)
READS: dict[str, Any] = {
    "element": lambda m, t: t[::-1] * 2.0,
    "call": lambda m, t: m.whole(t, AT[::-1].copy()),
    "pointer": lambda m, t: m.pointed(t, AT[::-1].copy()),
    "buffer": lambda m, t: m.buffered(t, AT[::-1].copy()),
}


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    return fp.Module.load_from_source(device, "write_order", SOURCE)


@pytest.mark.parametrize("put", daily(["put", "put_buffer", "put_pointer"], "put", "put_pointer"))
@pytest.mark.parametrize("read", READS)
def test_reads_before_and_behind_a_write(device: fp.Device, m: fp.Module, read: str, put: str) -> None:
    @fp.fuse
    def around(t: Any) -> Any:
        before = READS[read](m, t)
        m[put](t, AT, 10.0)
        return before, before + fp.sum(READS[read](m, t)), before[1:]

    t = fp.Tensor.from_numpy(device, np.float32([1, 2, 3]))
    before, later, part = around(t)
    assert before.tolist() == [6, 4, 2]
    assert later.tolist() == [66, 64, 62]
    assert part.tolist() == [4, 2]


def test_calls_that_only_read_by_pointers_share_a_kernel(device: fp.Device, m: fp.Module) -> None:
    twice = fp.fuse(lambda t: m.pointed(t, AT) + m.pointed(t, AT[::-1].copy()))
    t = fp.Tensor.from_numpy(device, np.float32([1, 2, 3]))
    assert twice(t).tolist() == [8, 8, 8]
    assert twice.explain(t).kernels == 1


ADDS = """
import fusepy;
float tensor(RWTensor<float, 1> t, int i) { return t[i] += 1; }
float pointer(float* t, int i) { return t[i] += 1; }
float buffer(RWStructuredBuffer<float> t, int i) { return t[i] += 1; }
void nothing(float* t, int i) { t[i] += 1; }
RWStructuredBuffer<float> counts;
float shared(int i) { return counts[i] += 1; }
"""
X, TABLE = np.arange(8, dtype=np.float32), np.ones((5, 8), np.float32)
AROUND: dict[str, Any] = {
    "reduced": lambda b, x: fp.sum(b) + b,
    "scanned": lambda b, x: fp.cumsum(b) * 2,
    "moved": lambda b, x: b[::-1] + b[2:3],
    "larger": lambda b, x: fp.sum(b[:, None] * x[None, :], axis=1),
    "stretched": lambda b, x: b[:, None] + fp.sum(x),
    "computed": lambda b, x: fp.max(b * 2) - fp.reshape(b, (4, 2)),
}


def added(device: fp.Device, kind: str, function: Any, *args: Any) -> tuple[Any, list[float]]:
    """What a fused function gives whose calls add 1 to eight zeros, and what these are then."""
    m = fp.Module.load_from_source(device, "adds_once", ADDS)
    t, at = fp.Tensor.zeros(device, (8,), "float"), np.arange(8, dtype=np.int32)
    if kind == "shared":
        result = fp.fuse(lambda *given: function(m.shared(at), *given)).set(counts=t)(*args)
    else:
        result = fp.fuse(lambda t, *given: function(m[kind](t, at), *given))(t, *args)
    return result, t.tolist()


@pytest.mark.parametrize("kind", ["tensor", "pointer", "buffer", "shared"])
def test_a_call_that_writes_runs_once_for_each_element(device: fp.Device, kind: str) -> None:
    """Where its result was reduced, moved or stretched, each of these kernels ran it again."""
    together, memory = added(device, kind, lambda b, x: [f(b, x) for f in AROUND.values()], X)
    assert memory == [1] * 8
    ones = fp.Tensor.full(device, (8,), 1.0)
    for found, f in zip(together, AROUND.values()):
        assert found.tolist() == f(ones, X).tolist()


@pytest.mark.parametrize("kind", ["pointer", "shared", "nothing"])
def test_a_call_that_writes_has_its_own_grid(device: fp.Device, kind: str) -> None:
    """Beside a result of more elements it ran for each of these."""
    for f in (lambda b, y: y * 2, lambda b, y: (b, y * 2)):
        assert added(device, kind, f, TABLE)[1] == [1] * 8
    assert added(device, "pointer", lambda b, y: b[:1] + y, TABLE)[1] == [1] * 8


def test_a_call_that_writes_shares_a_kernel_with_what_follows_it(device: fp.Device) -> None:
    m = fp.Module.load_from_source(device, "adds_once", ADDS)
    function = fp.fuse(lambda t, i: m.pointer(t, i) * 2 + 1)
    t = fp.Tensor.zeros(device, (8,), "float")
    assert function.explain(t, np.arange(8, dtype=np.int32)).kernels == 1


@pytest.mark.parametrize("given", [np.zeros(3, np.float32), [0.0, 0.0, 0.0]])
def test_what_a_pointer_writes_is_not_lost(m: fp.Module, given: Any) -> None:
    """Arrays and lists are copied to the device, so that a write by a pointer changed the copy silently."""
    for call in (m.put_pointer, fp.fuse(lambda t, i, v: m.put_pointer(t, i, v))):
        with pytest.raises(fp.ShapeError, match=r"argument 't' is written to through Ptr<float>"):
            call(given, AT, 10.0)
    assert np.asarray(m.pointed(given, AT)).tolist() == [0, 0, 0]
    assert np.asarray(fp.fuse(lambda t: m.pointed(t, AT) + 1)(given)).tolist() == [1, 1, 1]

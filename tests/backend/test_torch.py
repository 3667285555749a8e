"""torch tensors in memory of the device: calls on torch's stream, without a copy and without a wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.device.pool import Pool
from fusepy.backend.marshals import torch as marshal
from tests.support.torch_device import OnDevice, TorchDevice, torch_device

torch: Any = pytest.importorskip("torch")

SOURCE = """
float twice(float x) { return x * 2 + 1; }
float add(float a, float b) { return a + b; }
float3 tint(float3 c, float k) { return c * k; }
bool flip(bool x) { return !x; }
void split(float x, out float whole, out float rest) { whole = floor(x); rest = x - whole; }
struct Pair { float a; int b; };
Pair pair(float x) { Pair p; p.a = x; p.b = 1; return p; }
"""


@pytest.fixture
def d(monkeypatch: pytest.MonkeyPatch) -> Iterator[TorchDevice]:
    with torch_device(monkeypatch, SOURCE) as made:
        yield made


@pytest.mark.req("P3")
def test_a_call_runs_on_torchs_stream_and_waits_for_nothing(d: TorchDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    x = d.tensor(torch.arange(1000.0))
    assert d.same(d.module.twice(x), torch.arange(1000.0) * 2 + 1)
    d.followed.clear()
    first = d.device.counters.dispatches
    with monkeypatch.context() as patch:
        patch.setattr(fp.Device, "wait", None)
        patch.setattr(type(d.device.transfer), "settle", None)
        d.stream = 7
        y = d.module.twice(x)
        z = d.module.add(y.as_subclass(OnDevice), x, _result=torch.empty(1000).as_subclass(OnDevice))
    assert d.followed == [(7, first), (7, first + 1), (7, first + 1), (7, first + 2)]
    assert d.same(z, torch.arange(1000.0) * 3 + 1)
    assert not d.device.retired  # torch frees its memory in the order of the stream


@pytest.mark.rest
@pytest.mark.req("P3", "C13")
def test_layouts_types_and_several_kernels(d: TorchDevice) -> None:
    m, v = d.module, torch.rand(40, 3)
    on = d.tensor(v)
    assert d.same(m.tint(on, 2.0), v * 2)
    assert d.same(m.twice(on.T), v.T * 2 + 1)
    assert d.same(m.twice(on[1::2, 1:]), v[1::2, 1:] * 2 + 1)
    assert d.same(m.twice(d.tensor(torch.tensor(3.0))), torch.tensor(7.0))
    assert d.same(m.flip(d.tensor(v > 0.5)), v <= 0.5)  # a bool has four bytes in fusepy
    whole, rest = m.split(on)
    assert d.same(whole, v.floor())
    assert d.same(rest, v - v.floor())
    f = fp.fuse(lambda a: m.twice(a - fp.min(a, axis=1, keepdims=True)) * fp.max(a))
    assert torch.allclose(f(on), ((v - v.amin(1, keepdim=True)) * 2 + 1) * v.max())
    assert m.add(on, np.ones(3, np.float32)).shape == (40, 3)
    out = torch.zeros(3, 40)
    m.twice(on, _result=d.tensor(out).T)
    assert d.same(out, (v * 2 + 1).T.contiguous())


def test_results_are_made_by_torch(d: TorchDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that torch's allocator knows their stream."""
    x = d.tensor(torch.rand(300_000))
    d.module.twice(x)
    monkeypatch.setattr(Pool, "allocate", None)
    y = d.module.twice(x)
    assert d.same(y, x.as_subclass(torch.Tensor) * 2 + 1)


def test_what_cannot_be_passed(d: TorchDevice) -> None:
    m, x = d.module, d.tensor(torch.rand(8))
    d.device.cuda = 0
    with pytest.raises(fp.ShapeError, match="lies on another device") as other:
        m.twice(x)
    assert ".cpu()" in other.value.hint
    d.device.cuda = -1
    for bad in (torch.rand(4, dtype=torch.complex64).conj(), torch.zeros(4, dtype=torch.bfloat16)):
        with pytest.raises(fp.UnsupportedArgumentError):
            m.twice(bad.as_subclass(OnDevice))
    negated = d.tensor(torch.view_as_complex(torch.rand(4, 2)).conj().imag.resolve_conj())
    assert negated.is_neg()
    assert d.same(m.twice(negated), negated.as_subclass(torch.Tensor).resolve_neg() * 2 + 1)
    with pytest.raises(fp.UnsupportedArgumentError, match="resolve_neg"):
        m.twice(x[:4], _result=negated)
    with pytest.raises(fp.UnsupportedArgumentError, match="bool in CUDA memory"):
        m.flip(d.tensor(torch.ones(4, dtype=torch.bool)), _result=d.tensor(torch.ones(4, dtype=torch.bool)))
    with pytest.raises(fp.ShapeError, match="does not fit"):
        m.twice(x, _result=d.tensor(torch.zeros(9)))
    with pytest.raises(fp.UnsupportedArgumentError, match="no dtype for Pair"):
        m.pair(x)


@pytest.mark.req("P3")
def test_a_known_call_of_one_launch_makes_no_tensor_of_fusepy(d: TorchDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    m, v = d.module, torch.rand(40, 3)
    on, other, out = d.tensor(v), d.tensor(torch.rand(40, 3)), d.tensor(torch.zeros(40, 3))
    none = d.tensor(v[:0])
    calls: list[tuple[Any, Any]] = [
        (lambda: m.twice(on), v * 2 + 1),
        (lambda: m.add(on, other, _result=out), v + other.as_subclass(torch.Tensor)),
        (lambda: m.tint(on, 3.0, _result=out), v * 3),
        (lambda: m.twice(out, _result=out), v * 6 + 1),  # in place
        (lambda: m.twice(none), torch.zeros(0, 3)),
    ]
    for call, _ in calls:
        call()
    version = out._version
    m.tint(on, 3.0, _result=out)
    with monkeypatch.context() as patch:
        patch.setattr(marshal, "over", None)
        for call, expected in calls:
            assert d.same(call(), expected)
    assert out._version > version  # or backward() would use what was overwritten
    for unusual in (v.T, v[1:], v[:, 1:], torch.view_as_complex(v[:, :2].contiguous()).conj().imag):
        plain = unusual.resolve_neg()
        assert d.same(m.add(d.tensor(unusual), d.tensor(unusual)), plain + plain)
    with pytest.raises(fp.ShapeError, match="overlaps"):
        m.add(d.tensor(v[1:]), d.tensor(v[1:]), _result=d.tensor(v[:-1]))
    with pytest.raises(fp.RangeError):
        m.tint(on, 10**60)
    assert not m.twice(on, _result=d.tensor(torch.zeros(40, 6)[:, ::2])).is_contiguous()

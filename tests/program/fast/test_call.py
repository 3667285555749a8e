"""Fast paths: what they compute, and what they leave to the ordinary way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fusepy as fp
from tests.support.fast import fast, is_fast
from tests.support.torch_device import TorchDevice

torch: Any = pytest.importorskip("torch")


def test_results_of_fast_calls(d: TorchDevice) -> None:
    m, v, w = d.module, torch.rand(40, 3), torch.rand(40, 3)
    x, y, out, more = d.tensor(v), d.tensor(w), d.tensor(torch.zeros(40, 3)), d.tensor(torch.zeros(40, 3))
    centred = fp.fuse(lambda a: m.twice(a - fp.mean(a, axis=1, keepdims=True)) * fp.max(a))
    pair = fp.fuse(lambda a, b: (a * 2 + b, [a - b]), device=d.device)
    expected = (v - v.mean(1, keepdim=True)).mul(2).add(1) * v.max()
    whole = fp.fuse(lambda a: (a - fp.mean(a)) * fp.max(a - fp.min(a)), device=d.device)
    calls: list[tuple[Callable[[], Any], Any]] = [
        (lambda: whole(x), (v - v.mean()) * (v - v.min()).max()),
        (lambda: m.twice(x), v * 2 + 1),
        (lambda: m.twice(x, _result=out), v * 2 + 1),
        (lambda: m.add(x, y, _result=out), v + w),
        (lambda: m.add(x, x), v + v),
        (lambda: m.tint(x, 3.0), v * 3),
        (lambda: m.shift(d.tensor(torch.arange(5, dtype=torch.int32)), 3), torch.arange(5, dtype=torch.int32) << 3),
        (lambda: centred(x), expected),
        (lambda: centred(x, _result=out), expected),
        (lambda: m.split(x)[1], v - v.floor()),
        (lambda: pair(x, y)[1][0], v - w),
        (lambda: pair(x, y, _result=(out, more))[1][0], v - w),
    ]
    for call, want in calls:
        for _ in range(3):
            assert torch.allclose(call().as_subclass(torch.Tensor), want, atol=1e-6)
        assert is_fast(call), call.__code__.co_firstlineno
    assert isinstance(pair(x, y), tuple)
    assert pair(x, y, _result=(out, more))[0] is out


def test_numbers_and_contents_change(d: TorchDevice) -> None:
    m, v = d.module, torch.rand(40, 3)
    x = d.tensor(v)
    for k in (1.0, 1.0, 2.0, float("inf"), -3.0):
        assert torch.equal(m.tint(x, k).as_subclass(torch.Tensor), v * k)
    v += 1
    assert is_fast(lambda: m.tint(x, 5.0))
    assert torch.equal(m.tint(x, 5.0).as_subclass(torch.Tensor), v * 5)
    with pytest.raises(fp.RangeError, match="k"):
        m.tint(x, 1e300)
    assert not is_fast(lambda: m.tint(x, 2))  # another key
    assert torch.equal(m.tint(x, 2).as_subclass(torch.Tensor), v * 2)
    for n in (3, 3, 4):
        m.twist(x, n)
    assert is_fast(lambda: m.twist(x, -(1 << 31)))
    assert not is_fast(lambda: m.twist(x, True))
    with pytest.raises(fp.FusepyError):  # as many bits are another key, too
        m.twist(x, 1 << 40)


def test_what_another_call_must_share(d: TorchDevice) -> None:
    m, v = d.module, torch.rand(8, 4)
    x, twice = d.tensor(v), fp.fuse(lambda a: a * 2 + 1, device=d.device)
    for _ in range(2):
        m.twice(x)
        twice(x)
    assert is_fast(lambda: twice(d.tensor(torch.rand(8, 4))))
    shifted = torch.rand(33)[1:].view(8, 4)
    negated = torch.view_as_complex(torch.rand(8, 4, 2)).conj().imag
    others = [v[:4], v.T.contiguous(), torch.rand(4, 8).T, v.int(), shifted, negated]
    for other in others:
        for again in (False, False, other is not negated):  # no call shares the path of another kind
            assert is_fast(lambda other=other: twice(d.tensor(other))) is again
            assert torch.equal(twice(d.tensor(other)).as_subclass(torch.Tensor), other.resolve_neg() * 2 + 1)
    tracked = d.tensor(v.clone()).requires_grad_()
    assert not is_fast(lambda: m.twice(tracked))
    with torch.no_grad():
        assert is_fast(lambda: m.twice(tracked))
    assert not is_fast(lambda: m.twice(torch.nn.Parameter(v)))
    for _ in range(3):
        m.flip(d.tensor(v > 0.5))
    assert not fast(m.flip)  # a bool has four bytes in fusepy
    assert not is_fast(lambda: m.twice(x=x))
    assert not is_fast(lambda: m.twice(x, _result="numpy"))
    d.stream = 9
    assert not is_fast(lambda: m.twice(x))
    for _ in range(2):
        m.twice(x)
    assert is_fast(lambda: m.twice(x))


def test_views_have_paths_of_their_own(d: TorchDevice) -> None:
    mixed, whole = fp.fuse(lambda a, b: a * 2 + b, device=d.device), torch.rand(65, 66)
    views = [whole[:64, :64], whole.T[1:65, :64], whole[1:, 2:], whole[:1, 1:65].expand(64, 64), whole[1:65, :1].expand(64, 64)]
    for x, y in [*zip(views, views[1:] + views[:1]), (views[2], views[2])]:
        for _ in range(2):
            mixed(d.tensor(x), d.tensor(y))
        call = lambda x=x, y=y: mixed(d.tensor(x), d.tensor(y))  # noqa: E731
        assert is_fast(call)
        assert torch.equal(call().as_subclass(torch.Tensor), x * 2 + y)
    into = torch.zeros(64, 130)
    for target in (into[:, ::2][:, :64], into[:, 1:65]):
        for _ in range(2):
            mixed(d.tensor(views[0]), d.tensor(views[1]), _result=d.tensor(target))
        into.zero_()
        assert is_fast(lambda target=target: mixed(d.tensor(views[0]), d.tensor(views[1]), _result=d.tensor(target)))
        d.device.wait()
        assert torch.equal(target, views[0] * 2 + views[1])
        assert int((into != 0).sum()) == int((target != 0).sum())  # nothing is written beside it
    shared = torch.rand(64, 128)
    left, right = d.tensor(shared[:, :64]), d.tensor(shared[:, 64:])
    for _ in range(3):
        mixed(left, left, _result=left)  # in place
        assert not is_fast(lambda: mixed(left, left, _result=right))  # rows in turns: the ordinary way finds that none is shared
    many = fp.fuse(lambda a: a * 3, device=d.device)
    for _ in range(3):
        many(left, _result=right)
    assert not fast(many)  # no path is made that would take no call


def test_destinations_that_are_refused_or_shared(d: TorchDevice) -> None:
    m, v = d.module, torch.rand(80)
    x, y = d.tensor(v[:40]), d.tensor(torch.zeros(40))
    for _ in range(2):
        m.twice(x, _result=y)
    version = y._version
    assert is_fast(lambda: m.twice(x, _result=y))
    assert y._version == version + 1  # or backward() would use what was overwritten
    tracked = d.tensor(torch.zeros(40)).requires_grad_()
    for bad in (x, d.tensor(v[4:44]), d.tensor(torch.zeros(80)[::2]), d.tensor(torch.zeros(41)), tracked, (y,)):
        assert not is_fast(lambda bad=bad: m.twice(x, _result=bad))
    with pytest.raises(fp.ShapeError, match="overlaps"):
        m.twice(x, _result=d.tensor(v[4:44]))
    with pytest.raises(fp.GradientError):
        m.twice(x, _result=tracked)
    before = v[:40].clone()
    for _ in range(3):
        m.twice(x, _result=x)  # in place has a path of its own
    assert is_fast(lambda: m.twice(x, _result=x))
    assert not is_fast(lambda: m.twice(x, _result=d.tensor(torch.zeros(40)))) or fast(m.twice) == 2
    assert torch.allclose(v[:40], ((((before * 2 + 1) * 2 + 1) * 2 + 1) * 2 + 1))

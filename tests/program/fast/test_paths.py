"""The table of fast paths: when they are dropped, and what is asked before them."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import fusepy as fp
from fusepy.program.fast import paths
from tests.program.fast.conftest import SOURCE
from tests.support.fast import fast, is_fast
from tests.support.torch_device import TorchDevice

torch: Any = pytest.importorskip("torch")


def test_a_change_of_the_source_and_lost_kernels(d: TorchDevice) -> None:
    x = d.tensor(torch.rand(40))
    for _ in range(2):
        d.module.twice(x)
    call = weakref.ref(d.module.twice.programs.fast.calls[0])
    d.device.forget()
    gc.collect(1)
    assert call() is None  # the kernels that it holds are free
    for _ in range(3):
        d.module.twice(x)
    assert fast(d.module.twice) == 1
    d.module.reload(SOURCE.replace("x * 2 + 1", "x * 5"))
    assert torch.equal(d.module.twice(x).as_subclass(torch.Tensor), x.as_subclass(torch.Tensor) * 5)


def test_other_ways_to_run_a_call_are_asked_first(d: TorchDevice) -> None:
    m, x = d.module, d.tensor(torch.ones(40))
    for _ in range(2):
        m.twice(x)
    with pytest.raises(fp.NonFiniteError):
        fp.debug.check_nan(m.twice)(d.tensor(torch.full((40,), float("nan"))))
    with fp.lazy():
        assert not is_fast(lambda: m.twice(x))
    d.device.close()
    with pytest.raises(fp.FusepyError):
        m.twice(x)


def test_only_so_many_are_kept(d: TorchDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "CALLS", 2)
    monkeypatch.setattr(paths, "_AGAIN", 12)
    m = d.module
    for n in (8, 16, 24):
        for _ in range(3):
            m.twice(d.tensor(torch.ones(n)))
    assert [is_fast(lambda n=n: m.twice(d.tensor(torch.ones(n)))) for n in (8, 16, 24)] == [True, True, False]
    for _ in range(9):  # until others may have become usual
        m.twice(d.tensor(torch.ones(24)))
    assert [is_fast(lambda n=n: m.twice(d.tensor(torch.ones(n)))) for n in (8, 16, 24)] == [False, False, True]

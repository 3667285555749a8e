"""Tapes by the layouts of calls: which calls ask for layouts, and what is kept of the last one."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.execute import layouts

SOURCE = "float next(int p, Tensor<float,1> t) { return t[(p + 1) % int(t.shape[0])]; }"


@pytest.fixture
def shifted(device: Any) -> Any:
    m = fp.Module.load_from_source(device, "tapes", "import fusepy;\n" + SOURCE)
    return fp.fuse(lambda x, k: (m.next(fp.grid((8,)), x) * k, m.next(fp.grid((8,)), x)))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls whose layouts were asked for."""
    found: list[Any] = []

    def noted(*given: Any) -> Any:
        found.append(given)
        return layout_key(*given)

    layout_key = layouts.layout_key
    monkeypatch.setattr(layouts, "layout_key", noted)
    return found


def ramp(device: Any, n: int = 8, step: int = 1) -> Any:
    return fp.Tensor.from_numpy(device, np.arange(n * step, dtype=np.float32))[::step]


def test_a_call_with_the_same_tensors_asks_for_no_layouts(device: Any, shifted: Any, asked: list[Any]) -> None:
    x, out = ramp(device), (fp.Tensor.empty(device, (8,)), fp.Tensor.empty(device, (8,)))
    for _ in range(2):
        shifted(x, 1.0, _result=out)
    asked.clear()
    for k in (2.0, 3.0):
        shifted(x, k, _result=out)
        assert out[0].to_numpy()[0] == k
    assert asked == []
    other = ramp(device, 8, 2)
    assert shifted(other, 1.0)[1].to_numpy().tolist() == [2, 4, 6, 8, 10, 12, 14, 0]
    assert shifted(x, 1.0, _result=(out[1], out[0]))[0] is out[1]
    with pytest.raises(fp.ShapeError):
        shifted(x, 1.0, _result=(out[0], fp.Tensor.empty(device, (9,))))
    assert len(asked) >= 3
    asked.clear()
    shifted(x, 1.0, _result=out)
    assert asked == []


def test_other_calls_take_the_place_of_the_last_one(device: Any, shifted: Any, asked: list[Any]) -> None:
    x, y = ramp(device), ramp(device)
    for _ in range(2):
        shifted(x, 1.0)
    for _ in range(2 * layouts._MISSES):
        assert shifted(y, 1.0)[1].to_numpy()[0] == 1
    asked.clear()
    shifted(y, 1.0)
    assert asked == []


def test_the_last_call_keeps_no_tensor_alive(device: Any, shifted: Any) -> None:
    x = ramp(device)
    out = (fp.Tensor.empty(device, (8,)), fp.Tensor.empty(device, (8,)))
    for _ in range(3):
        shifted(x, 1.0, _result=out)
    gone = [weakref.ref(t) for t in (x, *out)]
    del x, out
    assert [found() for found in gone] == [None] * 3
    assert shifted(ramp(device), 1.0)[1].to_numpy()[0] == 1

"""The quick way of calls on torch's tensors: what shares memory with the destination takes the ordinary way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import fusepy as fp
from tests.support.torch_device import TorchDevice, torch_device

torch: Any = pytest.importorskip("torch")

SOURCE = """
float add(float a, float b) { return a + b; }
float weighted(float a, float4 v) { return a * v.x + v.w; }
"""


@pytest.fixture
def d(monkeypatch: pytest.MonkeyPatch) -> Iterator[TorchDevice]:
    with torch_device(monkeypatch, SOURCE) as made:
        yield made


def test_a_destination_over_a_single_vector_is_refused(d: TorchDevice) -> None:
    """All threads read the vector, which has as many bytes as the result."""
    a, v, out = (d.tensor(torch.arange(4.0) + k) for k in range(3))
    for _ in range(3):  # the quick way begins with the second call
        d.module.weighted(a, v, _result=out)
        assert d.same(out, torch.arange(4.0) + 4)
    with pytest.raises(fp.ShapeError, match="overlaps argument 'v'"):
        d.module.weighted(a, v, _result=v)
    assert d.same(v, torch.arange(4.0) + 1)


def test_single_values_and_destinations_over_an_argument(d: TorchDevice) -> None:
    a, b = d.tensor(torch.arange(4.0)), d.tensor(torch.tensor(2.0))
    for k in range(1, 4):
        assert d.same(d.module.add(a, b, _result=a), torch.arange(4.0) + 2 * k)
    with pytest.raises(fp.ShapeError, match="overlaps argument 'b'"):
        d.module.add(a, a[0], _result=a)

"""Little memory between launches in one block: which part each launch has, and what stays apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.device.block import size_class
from fusepy.backend.execute import little
from fusepy.backend.execute.launch import Make, Row
from fusepy.backend.memory.element import element_of
from fusepy.ir.types import FLOAT


def row(makes: list[Make], frees: tuple[int, ...], addresses: list[tuple[int, int, int]]) -> Row:
    unused: Any = None
    return Row(unused, [], 0, None, False, True, frees, tuple(makes), addresses, (), (), (), unused)


def test_parts_of_one_block() -> None:
    """Slot 3 is a result, and 5 is large: both have blocks of their own. The block of the others lives to the end."""
    large, result = Make(5, 1 << 20, None, (1 << 18,)), Make(3, 64, element_of(FLOAT), (16,))
    rows = [
        row([result, Make(4, 300, None, (75,))], (), [(0, 3, 0), (1, 4, 0)]),
        row([large, Make(6, 64, None, (16,))], (), [(0, 4, 8), (1, 5, 0), (2, 6, 0)]),
        row([Make(7, 64, None, (16,))], (4, 5), [(0, 6, 4), (1, 7, 0), (2, 3, 12)]),
    ]
    first, second, third = little.in_one_block(rows)
    assert first.makes == (Make(4, 512 + 256 + 256, None, (1024,)), result)
    assert (second.makes, third.makes) == ((large,), ())
    assert (first.frees, second.frees, third.frees) == ((), (), (5,))
    assert first.addresses == [(0, 3, 0), (1, 4, 0)]
    assert second.addresses == [(0, 4, 8), (1, 5, 0), (2, 4, 512)]
    assert third.addresses == [(0, 4, 516), (1, 4, 768), (2, 3, 12)]


def test_a_single_one_stays_as_it_is() -> None:
    rows = [row([Make(4, 64, None, (16,))], (), [(0, 4, 0)]), row([], (4,), [(0, 4, 0)])]
    assert [*little.in_one_block(rows)] == rows


def test_no_more_than_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(little, "MOST", 512)
    rows = [row([Make(i, 256, None, (64,))], (), [(0, i, 0)]) for i in range(4)]
    makes = [made.makes for made in little.in_one_block(rows)]
    assert makes == [(Make(0, 512, None, (512,)),), (), rows[2].makes, rows[3].makes]


def test_programs_of_several_kernels_take_one_block(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The results of sums along both axes, which are used by later kernels: the values, and the blocks of the pool."""
    scaled = fp.fuse(lambda x: x / fp.sum(x / fp.sum(x, 1, keepdims=True), 0, keepdims=True) / fp.sum(x))
    array = np.random.default_rng(1).random((12, 40), np.float32)
    x, taken, plain = fp.Tensor.from_numpy(device, array), list[int](), device.pool.allocate
    wanted = array / (array / array.sum(1, keepdims=True)).sum(0, keepdims=True) / array.sum()
    for _ in range(3):
        np.testing.assert_allclose(scaled(x).to_numpy(), wanted, 1e-5)
    monkeypatch.setattr(device.pool, "allocate", lambda nbytes: (taken.append(nbytes), plain(nbytes))[1])
    scaled(x)
    assert len(taken) == 2, taken
    assert taken.count(array.nbytes) == 1
    assert all(nbytes == array.nbytes or size_class(nbytes) == nbytes for nbytes in taken)


def test_a_small_result_that_is_kept_keeps_little_of_the_others(device: Any) -> None:
    """Eighty sums of a launch in blocks of 8 KiB, and results of some kilobytes beside a number in blocks of their own."""
    x = fp.Tensor.from_numpy(device, np.ones(1000, np.float32))
    many = fp.fuse(lambda x: tuple(fp.sum(x * float(k)) for k in range(80)))
    beside = fp.fuse(lambda x: (fp.sum(x), *(x * float(k) for k in range(20))))
    for function in (many, beside):
        function(x)
        before = device.pool.live_bytes
        kept = [function(x)[0] for _ in range(50)]
        assert device.pool.live_bytes - before <= 50 * little.SHARED
        assert {float(k) for k in kept} <= {0.0, 1000.0}
    assert [float(v) for v in many(x)[::20]] == [0.0, 20000.0, 40000.0, 60000.0]


def test_small_results_of_a_launch_share_a_block_and_stand_alone(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five results in one block: each is a tensor of its own, and keeps the memory."""
    x = fp.Tensor.from_numpy(device, np.linspace(0, 1, 100, dtype=np.float32))
    five = fp.fuse(lambda x: (fp.sum(x), fp.max(x), fp.mean(x), fp.min(x), fp.sum(x * x)))
    for _ in range(2):
        five(x)
    taken, plain = list[int](), device.pool.allocate
    monkeypatch.setattr(device.pool, "allocate", lambda nbytes: (taken.append(nbytes), plain(nbytes))[1])
    results = five(x)
    assert taken == [size_class(4) * 5]
    wanted = [50.0, 1.0, 0.5, 0.0, float((np.linspace(0, 1, 100) ** 2).sum())]
    assert sorted(r.low % 256 for r in results) == [0] * 5
    assert [r.storage.size for r in results] == [4] * 5
    kept = results[2]
    assert [float(r) for r in results] == pytest.approx(wanted, rel=1e-6)
    del results
    later = [five(x) for _ in range(4)]  # takes what was dropped
    kept += 1
    assert float(kept) == pytest.approx(1.5, rel=1e-6)
    assert [float(v) for v in later[-1]] == pytest.approx(wanted, rel=1e-6)
    with pytest.raises(fp.ShapeError, match="a view exceeds the memory"):
        kept.view((2,), (64,))
    assert "Part" in repr(kept.block)
    assert kept.block.capacity == 256

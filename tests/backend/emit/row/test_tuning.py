"""The thread shapes of kernels that go along rows or columns, and the price of one kernel beside that of several."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

from fusepy.backend.emit.row.tuning import RowWork, cost, row_shape
from fusepy.backend.emit.row.variant import RowShape


@pytest.mark.parametrize("kind", ["software", "cuda", "gpu"])
def test_shapes_cover_the_row(kind: str) -> None:
    for rows in (1, 100, 100_000):
        for length in (1, 2, 33, 1000, 4096, 8192, 10_000, 32_000, 1 << 20):
            for words, light in itertools.product((1, 2, 3, 8, 40), (True, False)):
                work = RowWork(rows, length, words, (4, 4), 12, light)
                shape, lanes = row_shape(kind, 8, work)
                assert lanes & (lanes - 1) == 0
                assert lanes <= shape.threads <= 1024
                assert shape.held == 0 or (shape.held * lanes >= length and shape.held * words <= 64)
                assert min(cost(kind, 8, work)) > 0


@pytest.mark.parametrize("kind", ["software", "cuda", "gpu"])
def test_shapes_cover_the_column(kind: str) -> None:
    for rows in (1, 100, 5000, 100_000):
        for length in (1, 2, 5, 33, 64, 65, 1000, 1025, 2048, 1 << 20):
            for words, exchanged in ((1, 12), (2, 24), (3, 200), (8, 12), (40, 12)):
                work = RowWork(rows, length, words, (4, 4), 12, light=words != 8, columns=True, exchanged=exchanged)
                shape, lanes = row_shape(kind, 8, work)
                assert shape.columns
                assert shape.threads % lanes == lanes & (lanes - 1) == 0
                assert lanes <= shape.threads <= 512
                assert shape.held == 0 or (shape.held * lanes >= length and shape.held * words <= 64)
                assert lanes == 1 or not shape.held or (shape.threads * exchanged <= 1 << 14 and shape.threads // lanes >= 8)
                assert min(cost(kind, 8, work)) > 0


def test_rows_on_a_gpu() -> None:
    """Few threads with many elements; with twice as many where nothing is stored for each element."""
    softmax = RowWork(65536, 129, 1, (4, 4, 4), 16, light=True)
    for length, shape, lanes in [
        (128, RowShape(128, 16, 16, exact=True, sure=16, lanes=8), 8),
        (129, RowShape(128, 20, 16, sure=16, lanes=8), 8),
        (170, RowShape(128, 24, 16, sure=20, lanes=8), 8),
        (3000, RowShape(128, 24, 16, sure=23, lanes=128), 128),
        (8192, RowShape(256, 32, 16, exact=True, sure=32, lanes=256), 256),
        (10000, RowShape(512, 20, 16, sure=19, lanes=512), 512),
    ]:
        assert row_shape("cuda", 0, replace(softmax, length=length)) == (shape, lanes)
        assert row_shape("vulkan", 0, replace(softmax, length=length))[0].lanes == (lanes if lanes >= 32 else 0)
    for words, light, held in [(2, True, 16), (3, True, 16), (4, True, 8), (2, False, 8), (6, False, 5)]:
        assert row_shape("cuda", 0, replace(softmax, length=1024, words=words, light=light))[0].held == held
    variance = RowWork(8192, 8192, 1, (4, 4), 8, light=True)
    assert row_shape("cuda", 0, variance) == (RowShape(128, 64, 16, exact=True, sure=64, lanes=128), 128)
    assert row_shape("cuda", 0, replace(variance, length=1024)) == (RowShape(128, 32, 16, exact=True, sure=32, lanes=32), 32)
    for length in range(4, 2100, 4):  # of words of four elements, an even number, in two runs, or one
        shape, lanes = row_shape("cuda", 0, replace(softmax, length=length, together=4))
        assert shape.held % 8 == shape.sure % 4 == 0
        assert shape.sure * lanes <= length <= shape.held * lanes


@pytest.mark.parametrize(
    ("rows", "length", "shape"),
    [
        (1 << 22, 16, (RowShape(128, 16, 16, "thread", exact=True, columns=True), 1)),
        (512, 512, (RowShape(256, 16, 16, exact=True, columns=True), 32)),
        (4096, 2048, (RowShape(512, 64, 16, exact=True, columns=True), 32)),
        (1 << 20, 3, (RowShape(128, 4, 8, "thread", columns=True), 1)),
    ],
)
def test_columns_on_a_gpu(rows: int, length: int, shape: tuple[RowShape, int]) -> None:
    work = RowWork(rows, length, 1, (4, 4, 4), 16, light=True, columns=True, exchanged=12)
    assert row_shape("cuda", 0, work) == shape
    one, apart = cost("cuda", 0, work)
    assert one < apart
    for few, long in ((64, 1 << 20), (rows, 5000)):
        assert cost("cuda", 0, replace(work, rows=few, length=long))[0] == math.inf


def test_axes_of_long_columns_are_not_counted_again_on_the_cpu() -> None:
    work = RowWork(1000, 960, 1, (4, 4), 12, light=True, columns=True)
    assert cost("software", 8, work)[0] < math.inf
    assert cost("software", 8, replace(work, axes=2))[0] == math.inf
    assert cost("software", 8, replace(work, axes=2, length=8))[0] < math.inf


def test_memory_decides() -> None:
    """Two walks along rows that fill the device cost as much as one; with few rows the device would idle."""
    many, few = (RowWork(rows, 8192, 1, (4, 4, 4), 16, light=True) for rows in (8192, 2))
    one, apart = cost("cuda", 0, many)
    assert 1.9 < apart / one < 2.1
    one, apart = cost("cuda", 0, RowWork(1, 1 << 22, 1, (4, 4, 4), 16, light=True))
    assert apart < one
    assert cost("cuda", 0, few)[0] < cost("cuda", 0, few)[1], "a launch costs more than what two rows take"

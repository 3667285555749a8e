"""Coordinates of elements: division by products and shifts is exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fusepy as fp
from fusepy.ir.strides import reciprocal
from tests.support.examples import examples

NUMBERS = st.integers(0, 2**31 - 1)


@examples(300)
@given(NUMBERS, st.integers(1, 2**31 - 1))
@example(2**31 - 1, 1)
@example(2**31 - 1, 2**31 - 1)
@example(2**31 - 1, 2**30 + 1)
def test_a_product_and_a_shift_divide_all_numbers(number: int, divisor: int) -> None:
    factor, shift = reciprocal(divisor)
    assert 0 < factor < 2**32
    assert shift < 64
    for n in (number, number // divisor * divisor, max(number // divisor * divisor - 1, 0)):
        assert n * factor >> shift == n // divisor


def test_kernels_that_fold_divide_by_products_on_gpus(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Coordinates of the elements, and of results behind them; also of no elements."""
    monkeypatch.setattr("fusepy.backend.emit.fold.chunks.DIVIDING", ())
    source = "float at(int3 place, float x) { return place.x + 100 * place.y + 10000 * place.z + x; }"
    m = fp.Module.load_from_source(device, "divided", source)
    most = fp.fuse(lambda x: (fp.max(m.at(fp.grid(x.shape), x)), fp.sum(m.at(fp.grid(x.shape), x), 1)))
    for shape in [(3, 5, 7), (1, 1, 1), (2, 64, 33)]:
        x = np.zeros(shape, np.float32)
        z, y, at = np.indices(shape)
        want = at + 100.0 * y + 10000 * z
        found = most(x)
        assert float(found[0]) == want.max()
        assert found[1].tolist() == want.sum(1).tolist()
    assert "fz_args.factor2" in most.source(np.zeros((3, 5, 7), np.float32))
    assert fp.fuse(lambda x: fp.sum(m.at(fp.grid(x.shape), x), 1))(np.zeros((0, 2, 3), np.float32)).shape == (0, 3)

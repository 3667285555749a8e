"""Half of the programs use the kernels for large arrays: the limits below which others are used are 1 for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fusepy.backend.execute.folds import pairs, products

USUAL = products.SMALL, pairs.MANY, pairs.LEAST


@contextmanager
def limits_of(seed: int) -> Iterator[None]:
    """Has the limits of the program of this number inside."""
    products.SMALL, pairs.MANY, pairs.LEAST = (1, 1, 2) if seed // 2 % 2 else USUAL
    try:
        yield
    finally:
        products.SMALL, pairs.MANY, pairs.LEAST = USUAL

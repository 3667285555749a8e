"""Limits below which kernels for large arrays are not used: half of the programs go without, since none is drawn so large."""

from __future__ import annotations

from fusepy.backend.execute.folds import pairs, products

USUAL = products.SMALL, pairs.MANY, pairs.LEAST


def set_limits(seed: int) -> None:
    """Sets the limits for the program of this number."""
    products.SMALL, pairs.MANY, pairs.LEAST = (1, 1, 2) if seed // 10 % 2 else USUAL

"""Triangles, diagonals, grids, rows below rows: NumPy's values in every way, gradients, and no kernel for views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import ramp
from tests.support.ways import same_in_every_way

A, Q, V = ramp(4, 5, start=-3), ramp(2, 3, 4), ramp(5)


def words(xp: Any, a: Any, q: Any) -> tuple[Any, ...]:
    """What functions of fusepy or NumPy make of an array of two axes and one of three."""
    return (
        xp.tril(a, 1),
        xp.triu(q, -1),
        xp.diag(xp.ravel(a)[:5], 1),
        xp.diag(xp.ravel(a)[:5], -2),
        xp.diag(a, -1),
        xp.diagonal(q, 1),
        *xp.meshgrid(xp.ravel(a)[:3], xp.ravel(q)[:2]),
        *xp.meshgrid(xp.ravel(a)[:3], xp.ravel(q)[:2], indexing="ij"),
        xp.hstack([a, a]),
        xp.hstack([xp.ravel(a), xp.ravel(q)]),
        xp.vstack([a, xp.ravel(q)[:5]]),
        xp.flipud(xp.fliplr(a)),
        *(f(x) for f in (xp.atleast_1d, xp.atleast_2d, xp.atleast_3d) for x in (xp.sum(a), a[0], a, q)),
        *(xp.rot90(q, k, (0, 2)) for k in range(4)),
    )


@pytest.mark.long
def test_words_in_every_way(device: Any) -> None:
    same_in_every_way(device, lambda a, q: words(fp, a, q), [A, Q], words(np, A, Q))


@pytest.mark.long
def test_gradients_and_kernels() -> None:
    fp.check_grads(lambda a: fp.sum(fp.tril(a) ** 2) + fp.sum(fp.diagonal(a, 1) ** 2) + fp.sum(fp.diag(a[0], 1) ** 2), A / 4)
    fp.check_grads(lambda a: fp.sum(fp.vstack([a, a[0]]) ** 2) + fp.sum(fp.hstack([a, a]) * fp.rot90(a, 2)[0, 0]), A / 4)
    assert fp.fuse(lambda a: fp.rot90(fp.tril(a)) + fp.fliplr(fp.meshgrid(a[:, 0], a[0])[1])).explain(A).kernels == 1
    with pytest.raises(fp.ArgumentError, match="indexing"):
        fp.meshgrid(V, V, indexing="yx")

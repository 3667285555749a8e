"""Outer products and sums of products over labelled axes: NumPy's meaning in every way, and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily, seldom
from tests.support.slang_functions import ramp
from tests.support.ways import same_in_every_way

A, B, Q, S = ramp(4, 5, start=-1), ramp(5, 6), ramp(2, 4, 5, start=-0.5), ramp(5, 5)
EINSUMS: dict[str, tuple[Any, ...]] = {
    "ij,jk->ik": (A, B),
    "ij, jk": (A, B),
    "ij->ji": (A,),
    "ij->": (A,),
    "ji": (A,),
    "ii": (S,),
    "ii->i": (S,),
    "bij,jk->bik": (Q, B),
    "...ij,...jk->...ik": (Q, B),
    "...i,...i->...": (Q, A),
    "bij,bik->jk": (Q, Q),
    "ij,ij->ij": (A, A),
    "i,j->ji": (A[:, 0].copy(), B[0]),
    "i,i->": (A[:, 0].copy(), A[:1, 0].copy()),
    "bij,cij->cb": (Q, Q),
    "iij->j": (np.stack([S] * 5),),
    "ik,ki": (A, A.T.copy()),
}


INF, NONE = np.float32([[np.inf, 1], [2, 3]]), np.zeros(0, np.float32)
EMPTY: dict[str, tuple[Any, ...]] = {  # an axis without elements, which is summed before the product with an infinity
    "ij,k->ij": (INF, NONE),
    "k,ij->i": (NONE, INF),
    "i,kj->k": (INF[0].copy(), np.zeros((2, 0), np.float32)),
    "i,ij->": (INF[0].copy(), np.zeros((2, 0), np.float32)),
    "ji,j->j": (np.zeros((2, 0), np.float32), INF[0].copy()),
}


@pytest.mark.req("V1")
def test_a_sum_over_an_empty_axis_is_zero(device: Any) -> None:
    for subscripts, arrays in EMPTY.items():
        same_in_every_way(device, lambda *x, s=subscripts: fp.einsum(s, *x), arrays, np.einsum(subscripts, *arrays))
    fused = fp.fuse(lambda x, y: fp.einsum("ij,k->ij", x, y))
    assert fused(INF, np.float32([1, 2])).tolist() == (INF * 3).tolist()
    assert fused(INF, NONE).tolist() == [[0, 0], [0, 0]]
    assert fp.einsum("i,i,j->j", NONE, NONE, INF[0]).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("subscripts", "second", "chooses"),
    [
        ("ij,k->ij", np.ones(5, np.float32), True),
        ("ij,k->ij", np.ones(3, np.float32), False),  # an extent in the key
        ("ij,k->ij", np.ones(1, np.float32), False),  # an extent that is asked for
        ("ij,kl->ij", np.ones((5, 3), np.float32), True),
        ("ij,kl->ijk", np.ones((5, 3), np.float32), False),
    ],
)
def test_a_sum_over_an_axis_that_is_not_empty_chooses_nothing(device: Any, subscripts: str, second: Any, chooses: bool) -> None:
    fused = fp.fuse(lambda x, y: fp.einsum(subscripts, x, y))
    np.testing.assert_array_equal(fused(INF, second), np.einsum(subscripts, INF, second))
    assert ("select" in fused.ir(INF, second)) == chooses
    captured = fp.fuse(lambda x: fp.einsum(subscripts, x, second))
    assert "select" not in captured.ir(INF)
    empty = second[:0] if chooses else second[..., :0]
    np.testing.assert_array_equal(fused(INF, empty), 0 * np.einsum(subscripts, np.ones_like(INF), empty))
    np.testing.assert_array_equal(fused(INF, second), np.einsum(subscripts, INF, second))


@pytest.mark.parametrize(
    "subscripts", seldom(EINSUMS, "ij,jk->ik", "ij->ji", "ij->", "ii", "bij,jk->bik", "ij,ij->ij", "bij,cij->cb")
)
def test_einsum_in_every_way(device: Any, subscripts: str) -> None:
    arrays = EINSUMS[subscripts]
    same_in_every_way(device, lambda *x: fp.einsum(subscripts, *x), arrays, np.einsum(subscripts, *arrays))


def test_outer_and_tensordot_in_every_way(device: Any) -> None:
    same_in_every_way(device, fp.outer, [A, B[0]], np.outer(A, B[0]))
    same_in_every_way(device, lambda a, q: (fp.kron(a, q), fp.kron(q, a[0])), [A, Q], (np.kron(A, Q), np.kron(Q, A[0])))
    same_in_every_way(device, lambda a, b: fp.tensordot(a, b, 1), [Q, B], np.tensordot(Q, B, 1))
    same_in_every_way(device, lambda a, b: fp.tensordot(a, b, ((0, 2), (0, -1))), [Q, Q], np.tensordot(Q, Q, ((0, 2), (0, -1))))
    same_in_every_way(device, lambda a, b: fp.dot(a, b), [Q, B], np.dot(Q, B))
    same_in_every_way(device, lambda a, b: fp.dot(a, b), [A, Q.swapaxes(1, 2).copy()], np.dot(A, Q.swapaxes(1, 2)))


GRADIENTS: dict[str, tuple[Any, ...]] = {
    "product": (lambda a, b: fp.sum(fp.einsum("bij,jk->bk", a, b) ** 2), Q, B),
    "diagonal": (lambda s: fp.sum(fp.einsum("ii->i", s) ** 2) + fp.einsum("ii", s), S),
    "outer": (lambda a, b: fp.sum(fp.outer(a, b) ** 2), A / 2, B[0]),
}


@pytest.mark.parametrize("name", daily(GRADIENTS, "product"))
def test_gradients(name: str) -> None:
    function, *arrays = GRADIENTS[name]
    fp.check_grads(function, *arrays)


def test_three_operands_and_kernels() -> None:
    chained = fp.fuse(lambda a, b, c: fp.einsum("ij,jk,lk->il", a, b, c))
    np.testing.assert_allclose(np.asarray(chained(A, B, B)), A @ B @ B.T, rtol=1e-5)
    product = fp.fuse(lambda a, b: fp.exp2(fp.einsum("ij,kj->ki", a, b)) + 1)
    np.testing.assert_allclose(np.asarray(product(A, S)), np.exp2(S @ A.T) + 1, rtol=1e-4)
    assert product.explain(A, S).kernels == 1

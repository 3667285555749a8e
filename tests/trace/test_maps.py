"""Products of arrays: NumPy's meaning, in every mode, with gradients; errors that name both shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp

SHAPES = [
    ((7,), (7,)), ((7,), (7, 3)), ((5, 7), (7,)), ((5, 7), (7, 3)), ((4, 5, 7), (7, 3)), ((4, 1, 5, 7), (2, 7, 3)),
    ((2, 5, 7), (7,)), ((1, 1), (1, 9)), ((65, 33), (33, 17)), ((5, 0), (0, 3)), ((0, 5), (5, 3)), ((2, 300), (300, 40)),
]  # fmt: skip


def _given(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    made = np.random.default_rng(seed).uniform(-2, 2, shape)
    return made.astype(dtype)


def _same(found: Any, expected: Any) -> None:
    assert np.shape(found) == np.shape(expected)
    tolerance = {2: 1e-3, 4: 1e-5}.get(np.asarray(expected).dtype.itemsize, 1e-12)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * 16)


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_shapes(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = _given(a), _given(b, seed=1)
    _same(fp.matmul(x, y), np.matmul(x, y))


def test_every_mode(device: Any) -> None:
    x, w, c = _given((33, 8)), _given((8, 5), seed=1), _given((5,), seed=2)
    expected = np.maximum(x @ w + c, 0)

    def layer(x: Any, w: Any, c: Any) -> Any:
        return fp.maximum(x @ w + c, 0)

    fused = fp.fuse(layer)
    _same(fused(x, w, c), expected)
    assert fused.explain(x, w, c).kernels == 1
    t = fp.Tensor.from_numpy(device, x)
    with fp.lazy():
        late = fp.maximum(t @ w + c, 0)
    _same(late.to_numpy(), expected)
    _same(fp.dot(t, w).to_numpy(), x @ w)
    _same(x @ fp.Tensor.from_numpy(device, w), x @ w)
    assert fp.matmul([[1.0, 2.0]], [[3.0], [4.0]]) == [[11.0]]


def test_views(device: Any) -> None:
    x, w = _given((40, 12)), _given((40, 30), seed=1)
    t = fp.Tensor.from_numpy(device, x)
    _same(fp.matmul(fp.vmap(x, (1, 0)), w), x.T @ w)
    _same(fp.matmul(w.T, x), w.T @ x)
    _same((t[::2, 3:] @ w[:9]).to_numpy(), x[::2, 3:] @ w[:9])


def test_special_numbers() -> None:
    x, y = np.ones((3, 40), np.float32), np.ones((40, 4), np.float32)
    x[0, 3], x[1, 7], y[7, 2] = np.nan, np.inf, 0
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(fp.matmul(x, y), x @ y)


def test_long_sums_are_exact() -> None:
    """No worse than NumPy's own products, which add blocks."""
    x = np.full((2, 300_000), 0.1, np.float32)
    exact = float(np.float32(0.1)) ** 2 * 300_000
    found = fp.matmul(x, fp.vmap(x, (1, 0)))
    assert np.abs(np.asarray(found, np.float64) - exact).max() <= max(np.abs((x @ x.T).astype(np.float64) - exact).max(), 1e-3)


@pytest.mark.parametrize(
    ("a", "b"),
    [*(SHAPES[k] for k in (1, 3, 5)), *(pytest.param(*SHAPES[k], marks=pytest.mark.rest) for k in (0, 2, 8, 11))],
)
def test_gradients(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = _given(a), _given(b, seed=1)
    seed = _given(np.shape(x @ y), seed=2)

    def weighted(x: Any, y: Any, s: Any) -> Any:
        return fp.sum(fp.matmul(x, y) * s)

    found = fp.grad(weighted, argnums=(0, 1))(x, y, seed)
    e = 1e-3
    for k, (grad, value) in enumerate(zip(found, (x, y))):
        assert grad.shape == value.shape
        way = _given(value.shape, seed=3)
        moved = [[v + s * e * way if i == k else v for i, v in enumerate((x.astype("f8"), y))] for s in (1, -1)]
        ends = [np.sum(np.matmul(*pair) * seed) for pair in moved]
        np.testing.assert_allclose(np.sum(grad * way), (ends[0] - ends[1]) / (2 * e), rtol=1e-3, atol=1e-3)
        ways = tuple(way if i == k else np.zeros_like(v) for i, v in enumerate((x, y, seed)))
        _, tangent = fp.jvp(weighted, (x, y, seed), ways)
        np.testing.assert_allclose(tangent, np.sum(grad * way), rtol=1e-3, atol=1e-3)


def test_gradients_are_products(device: Any) -> None:
    """A dense layer's gradient reads and writes no array over rows, columns and the sum."""

    def loss(p: Any, x: Any) -> Any:
        return fp.mean(fp.maximum(x @ p["w"] + p["b"], 0) ** 2)

    x, w, b = _given((50, 6)), _given((6, 4), seed=1), _given((4,), seed=2)
    made = fp.grad(loss)({"w": w, "b": b}, x)
    z = np.maximum(x @ w + b, 0)
    _same(made["w"], 2 * x.T @ z / z.size)
    _same(made["b"], 2 * z.sum(0) / z.size)
    text = str(fp.grad(loss).ir({"w": w, "b": b}, x))
    assert text.count("contract(") == 2


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ((4, 3), (5, 2), "matmul: (4, 3) and (5, 2): the last axis of the left array and axis 0 of the right one differ"),
        ((4, 3), (1, 2), "(4, 3) and (1, 2)"),
        ((2, 4, 3), (2, 4, 3), "axis 1 of the right one"),
        ((3,), (4, 5), "(3,) and (4, 5)"),
        ((3, 4, 5), (2, 5, 6), "do not broadcast"),
        ((), (3,), "single number"),
    ],
)
def test_refused(a: tuple[int, ...], b: tuple[int, ...], said: str) -> None:
    with pytest.raises(fp.ShapeError) as caught:
        fp.matmul(np.ones(a, np.float32), np.ones(b, np.float32))
    assert said in str(caught.value)


def test_refused_meanings() -> None:
    x = np.ones((4, 3), np.float32)
    for wrong, said in (
        (lambda: fp.dot(np.ones((2, 2, 2), np.float32), x), "needs vectors of one length"),
        (lambda: fp.matmul(fp.vmap(x, (0, 2)), x), "vmap does not say where each axis"),
        (lambda: fp.matmul(fp.vcast(x, "float3"), x), "operator @ of float3 and float"),
        (lambda: fp.matmul(x, fp.call_id()), "no extents of its own"),
        (lambda: fp.matmul(2.0, 3.0), "operator @ of float and float"),
    ):
        with pytest.raises(fp.FusepyError, match=said):
            wrong()


def test_strict_broadcasting_stretches_no_batch() -> None:
    x, y = np.ones((1, 4, 3), np.float32), np.ones((2, 3, 5), np.float32)

    @fp.fuse
    def product(a: Any, b: Any) -> Any:
        return a @ b

    assert product.strict_broadcasting()(y, np.ones((2, 5, 4), np.float32)).shape == (2, 3, 4)
    with pytest.raises(fp.ShapeError, match="axes before the last two differ"):
        product.strict_broadcasting()(x, y)

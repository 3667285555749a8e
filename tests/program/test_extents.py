"""Programs of one key: a shape that has come before finds its program again, and nothing else does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.program import extents
from fusepy.program.extents import ByExtents

SHAPES = [(4, 6), (1, 6), (4, 1), (1, 1), (5, 7)]


def product(x: Any, y: Any) -> Any:
    return fp.sum(x * y)


def gradients(x: Any, y: Any) -> tuple[Any, Any]:
    """Of the sum of the product, which is broadcast."""
    by, of = np.broadcast_to(y, np.broadcast_shapes(x.shape, y.shape)), np.broadcast_to(x, np.broadcast_shapes(x.shape, y.shape))

    def summed(values: Any, shape: tuple[int, ...]) -> Any:
        return values.sum(tuple(i for i, n in enumerate(shape) if n == 1 != values.shape[i]), keepdims=True)

    return summed(by, x.shape), summed(of, y.shape)


def test_shapes_in_turn() -> None:
    """Each twice and in another order: axes of extent 1 are summed, and the same axes with more elements are not."""
    back, rng = fp.grad(product, (0, 1)), np.random.default_rng(0)
    arrays = [rng.integers(-4, 4, shape).astype(np.float32) for shape in SHAPES]
    for x in (*arrays, *arrays[::-1], *arrays):
        y = arrays[0] if x.shape[0] in (1, 4) and x.shape[1] in (1, 6) else x
        for found, wanted in zip(back(fp.Tensor(x), fp.Tensor(y)), gradients(x, y)):
            np.testing.assert_array_equal(found.to_numpy(), wanted)


def programs_of(function: Any) -> ByExtents:
    (found,) = function.programs.values()
    assert isinstance(found, ByExtents)
    return found


def test_a_known_shape_is_not_looked_through_again(monkeypatch: pytest.MonkeyPatch) -> None:
    back = fp.grad(product, (0, 1))
    first, second = [[fp.Tensor.zeros(shape), fp.Tensor.zeros((4, 6))] for shape in SHAPES[:2]]
    for args in (first, second, first, second):
        back(*args)
    assert len(programs_of(back).programs) == 2
    monkeypatch.setattr(extents, "_takes", None)
    for args in (first, second, second):
        back(*args)
    with pytest.raises(TypeError):
        back(fp.Tensor.zeros((4, 1)), first[1])


def test_shapes_without_end_keep_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extents, "KNOWN", 4)
    back = fp.grad(product)
    for n in (*range(5, 20), *range(5, 20)):
        x = fp.Tensor.full((n,), 2.0)
        assert back(x, x + 1).tolist() == [3.0] * n
    assert len(programs_of(back)._lookup[2]) <= 4
    assert len(programs_of(back).programs) == 1


@pytest.mark.parametrize("numbers", [(5, 2**30), (2**30, 5)])
def test_integers_that_calls_of_one_shape_compute(numbers: tuple[int, int]) -> None:
    """Each program of a key knows their types, not the first alone."""
    back = fp.fuse(lambda x, y, n: (fp.grad(product)(x, y), n * 4))
    x = fp.Tensor.zeros((4, 6))
    for n in numbers * 3:
        found = back(x, x, n)[1]
        assert (str(found.dtype), found.item()) == ("int64_t" if n > 5 else "int", n * 4)


class Scaler(fp.Struct):
    scaled: fp.Function

    def __init__(self, module: Any, scale: Any):
        super().__init__(module)
        self.scale = scale


def test_an_object_from_outside_that_changes_between_calls_of_one_shape(device: Any) -> None:
    source = "struct Scaler { float scale; [Differentiable] float scaled(float x) { return x * scale; } };"
    scaler = Scaler(fp.Module.load_from_source(device, "extents", source), 2.0)
    x, back = fp.Tensor.full((4,), 1.0), fp.grad(lambda x: fp.sum(scaler.scaled(x)))
    for scale in (2.0, 5.0, 2.0, 3.0):
        scaler.scale = scale
        for _ in range(3):
            assert back(x).tolist() == [scale] * 4


def test_arguments_of_several_kinds_beside_tensors() -> None:
    back = fp.grad(lambda x, y, p: fp.sum(x * y * p["w"][0]), (0, 2))
    for n in (3, 1, 3, 1):
        x, y, w = fp.Tensor.full((n, 3), 2.0), np.full((3, 3), 3.0, np.float32), fp.Tensor.full((3,), 5.0)
        found, weights = back(x, y, {"w": [w, 1.0]})
        assert found.tolist() == np.full((n, 3), 15.0 * (4 - n if n == 1 else 1)).tolist()
        assert weights["w"][0].tolist() == [18.0] * 3

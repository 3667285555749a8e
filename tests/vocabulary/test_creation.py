"""Arrays that are made: tensors outside of fused functions, constants without memory inside; NumPy's contents and types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp

# the same call of fusepy and of NumPy, whose default types are wider
CALLS: list[tuple[Callable[..., Any], Any]] = [
    (lambda: fp.zeros((2, 3)), np.zeros((2, 3), np.float32)),
    (lambda: fp.zeros((0, 2), int), np.zeros((0, 2), np.int32)),
    (lambda: fp.zeros(()), np.zeros((), np.float32)),
    (lambda: fp.ones(3, "half"), np.ones(3, np.float16)),
    (lambda: fp.ones((1, 2, 1, 3), bool), np.ones((1, 2, 1, 3), bool)),
    (lambda: fp.full((2, 2), 2.5), np.full((2, 2), 2.5, np.float32)),
    (lambda: fp.full(2, 7, np.int64), np.full(2, 7)),
    (lambda: fp.arange(5), np.arange(5, dtype=np.int32)),
    (lambda: fp.arange(10, 0, -3), np.arange(10, 0, -3, dtype=np.int32)),
    (lambda: fp.arange(3, 3), np.zeros(0, np.int32)),
    (lambda: fp.arange(0, 1, 0.25), np.arange(0, 1, 0.25, dtype=np.float32)),
    (lambda: fp.arange(4, dtype="double"), np.arange(4.0)),
    (lambda: fp.eye(3), np.eye(3, dtype=np.float32)),
    (lambda: fp.eye(2, 4, 1, int), np.eye(2, 4, 1, dtype=np.int32)),
    (lambda: fp.asarray([1, 2.5]), np.float32([1, 2.5])),
    (lambda: fp.asarray(np.arange(3)), np.arange(3)),
    (lambda: fp.asarray([1, 2], np.float64), np.float64([1, 2])),
    (lambda: fp.array(4), np.int32(4)),
]


@pytest.mark.req("C5")
def test_contents_and_types_at_once_and_in_one_program(device: Any) -> None:
    fused = fp.fuse(lambda x: [call() for call, _ in CALLS] + [x])(fp.Tensor([1.0]))
    for (call, wanted), traced in zip(CALLS, fused):
        for found in (call(), traced):
            assert isinstance(found, fp.Tensor)
            assert found.numpy().dtype == wanted.dtype
            np.testing.assert_array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("x", [np.ones((2, 3)), np.int8([4, 5]), np.float32(7).reshape(()), np.ones((0, 2), np.float32)], ids=str)
def test_like_another_array(device: Any, x: Any) -> None:
    for name in ("zeros_like", "ones_like"):
        found = getattr(fp, name)(x)
        assert np.asarray(found, x.dtype if x.ndim == 0 else None).dtype == x.dtype
        np.testing.assert_array_equal(found, getattr(np, name)(x))
        assert x.ndim == 0 or getattr(fp, name)(x, int).dtype == np.int32
    np.testing.assert_array_equal(np.asarray(fp.full_like(x, 3)), np.full_like(x, 3))


def test_they_have_no_memory_in_a_fused_function(device: Any) -> None:
    x = np.ones((2, 3), np.float32)
    program = fp.fuse(lambda x: x * fp.ones(3) + fp.arange(3) + fp.zeros_like(x) + fp.full((2, 1), 2.0) + fp.eye(2, 3))
    np.testing.assert_array_equal(program(x), x + np.arange(3) + 2 + np.eye(2, 3, dtype=np.float32))
    assert program.explain(x).kernels == 1
    colours = fp.Tensor.from_numpy(device, np.ones((2, 3), np.float32), "float3")
    assert str(fp.zeros_like(colours).dtype) == "float3"
    assert fp.fuse(lambda c: c + fp.ones_like(c))(colours).tolist() == [[2, 2, 2]] * 2
    assert fp.fuse(lambda x: fp.full(2, x))(3.0).tolist() == [3, 3]
    assert fp.grad(lambda x: fp.sum(fp.full((2, 3), x) * x))(3.0) == 36


def test_tensors_stay_and_arrays_are_copied(device: Any) -> None:
    t = fp.Tensor([1.0, 2.0])
    assert fp.asarray(t) is t
    assert fp.asarray(t, "float") is t
    assert fp.array(t).address != t.address
    assert str(fp.asarray(t, int).dtype) == "int"
    assert fp.zeros(2, device=device).device is device
    assert np.zeros_like(t).tolist() == [0, 0]
    with fp.lazy():
        later = fp.ones_like(t + 1) + fp.arange(2)
    assert later.tolist() == [1, 2]


@pytest.mark.req("C17", "T1")
def test_numbers_make_tensors_of_32_bits_in_every_mode(device: Any) -> None:
    """Computed ones too, by a call and by a kernel; what does not fit is an error, and `dtype` holds all digits."""

    def lazily(f: Callable[..., Any]) -> Callable[..., Any]:
        def run(k: Any) -> Any:
            with fp.lazy():
                return f(k)

        return run

    made: dict[Callable[[Any], Any], tuple[str, Any]] = {
        lambda k: fp.asarray([k * 2, k + 1]): ("int", [6, 4]),
        lambda k: fp.asarray([[fp.sum([k, 2]), k], [1, k]]): ("int", [[5, 3], [1, 3]]),
        lambda k: fp.asarray(k * k): ("int", 9),
        lambda k: fp.full(2, fp.sum([k, k])): ("int", [6, 6]),
        lambda k: fp.asarray([k * 2, 0.5]): ("float", [6, 0.5]),
        lambda k: fp.asarray([k * 10**10, 1], "int64_t"): ("int64_t", [3 * 10**10, 1]),
        lambda k: fp.asarray([k + 2**63, 1], "uint64_t"): ("uint64_t", [2**63 + 3, 1]),
        lambda k: fp.asarray([[0.1, k], [0.1, 0.2]], "double"): ("double", [[0.1, 3], [0.1, 0.2]]),
    }
    for f, (dtype, wanted) in made.items():
        for ways in (f, fp.fuse(f), lazily(f)):
            found = ways(3)
            assert (str(found.dtype), found.tolist()) == (dtype, wanted)
    assert [str(fp.asarray(x).dtype) for x in (np.int64(5), [np.uint8(5)], np.float64(0.5))] == ["int", "int", "float"]
    large: dict[Callable[[Any], Any], int] = {
        lambda k: fp.asarray([k * k, 1]): 100_000,
        lambda k: fp.asarray(k): 2**31,
        lambda k: fp.asarray([fp.sum([k, k]), 1]): 2**31 - 1,
        lambda k: fp.full(2, k + 1): 2**31 - 1,
        lambda k: fp.asarray([k, 1], "uint8_t"): 300,
        lambda k: fp.asarray([k, 1], "uint"): -1,
        lambda k: fp.asarray([k, -1]): 2**63,
    }
    for f, number in large.items():
        for ways in (f, fp.fuse(f), lazily(f)):
            with pytest.raises(fp.RangeError):
                np.asarray(ways(number))


@pytest.mark.parametrize(
    ("call", "error", "what"),
    [
        (lambda: fp.arange(1, 2, 0), fp.ArgumentError, "a step that is not 0"),
        (lambda: fp.fuse(lambda n: fp.arange(n))(3.0), fp.ArgumentError, "arange\\(\\) takes numbers"),
        (lambda: fp.arange(300, dtype="uint8_t"), fp.RangeError, "out of range for uint8_t"),
        (lambda: fp.zeros(-1), fp.ShapeError, "negative extent"),
        (lambda: fp.fuse(lambda x: x + fp.zeros(1, device=fp.default_device()))(1.0), fp.ArgumentError, "in a fused function"),
    ],
)
def test_what_cannot_be_made(device: Any, call: Any, error: Any, what: str) -> None:
    with pytest.raises(error, match=what) as raised:
        call()
    assert raised.value.hint


def test_evenly_spaced_numbers_are_like_an_array() -> None:
    row = fp.linspace(1, 2, 5)
    want = np.linspace(1, 2, 5, dtype=np.float32)
    assert (len(row), row[1:-1].tolist(), row.reshape(5, 1).shape, row.tolist()) == (
        5,
        want[1:-1].tolist(),
        (5, 1),
        want.tolist(),
    )
    assert float(row.mean()) == 1.5
    assert fp.linspace(0, 3, 3, False, dtype=int).tolist() == [0, 1, 2]
    halfs = np.ones(2, np.float16)
    for ways in (lambda f: f, fp.fuse):  # a list is a tensor of floats in both
        assert np.asarray(ways(lambda x: fp.multiply(x, fp.asarray([2.0, 0.5])))(halfs)).dtype == np.float32
        assert np.asarray(ways(lambda x: fp.tril(fp.greater(x, 0)[None]))(halfs)).dtype == bool
    for ways in (lambda f: f, fp.fuse):
        found = ways(lambda: (fp.logspace(0, 2, 5), fp.logspace(1, 3, 4, False, base=2.0), fp.geomspace(-2, -50, 4)))()
        wanted = np.logspace(0, 2, 5), np.logspace(1, 3, 4, False, base=2.0), np.geomspace(-2, -50, 4)
        for one, want in zip(found, wanted):
            np.testing.assert_allclose(np.asarray(one), want, rtol=1e-5)
    between = fp.fuse(lambda low, high, x: fp.linspace(low, high, 7) * x)
    for low, high in ((0.0, 1.0), (2.0, -1.5)):
        np.testing.assert_allclose(between(low, high, 2.0), 2 * np.linspace(low, high, 7), rtol=1e-6, atol=1e-7)
    fp.check_grads(lambda ends: fp.sum(fp.linspace(ends[0], ends[1], 4, endpoint=False) ** 2), np.float32([0.5, 2]))
    with pytest.raises(AttributeError, match="no attribute"):
        row.missing  # noqa: B018

"""Random numbers: the same at once, fused and lazily; distributed as they say, in streams that are not related."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import fusepy as fp

KEY = fp.random.key(2024)
COUNT = 20000


def uniformity(x: Any) -> float:
    """The distance of Kolmogorov and Smirnov from the uniform distribution, in units of its usual size."""
    x = np.sort(np.asarray(x, np.float64))
    steps = np.arange(len(x) + 1) / len(x)
    return float(max(np.max(steps[1:] - x), np.max(x - steps[:-1])) * math.sqrt(len(x)))


def normal_to_uniform(x: Any) -> Any:
    return np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)))(np.asarray(x, np.float64))


def test_philox_is_philox(device: Any) -> None:
    """The known answers of the authors' library for Philox-4x32-10."""
    m = fp.Module.load_from_source(
        device, "known", "import fusepy_random;\nuint4 run(uint4 counter, uint2 key) { return philox(counter, key); }"
    )
    ones = 0xFFFFFFFF
    for counter, key, wanted in (
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([ones] * 4, [ones] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ):
        assert m.run(np.uint32([counter]), np.uint32([key]), _result=np.zeros((1, 4), np.uint32)).tolist() == [wanted]


DRAWS = {
    "uniform": lambda k: fp.random.uniform(k, (3, 5)),
    "doubles": lambda k: fp.random.uniform(k, 4, "double"),
    "halfs": lambda k: fp.random.uniform(k, 4, "half"),
    "range": lambda k: fp.random.uniform(k, (2, 1, 2, 2), lo=-1.5, hi=4.0),
    "normal": lambda k: fp.random.normal(k, 7, mean=2.0, std=3.0),
    "integers": lambda k: fp.random.integers(k, -3, 12, (2, 2)),
    "wide": lambda k: fp.random.integers(k, 2**40, 2**40 + 2**32, 3, "int64_t"),
    "bits": lambda k: fp.random.bits(k, 3),
    "bernoulli": lambda k: fp.random.bernoulli(k, 0.3, 9),
    "permutation": lambda k: fp.random.permutation(k, 7),
    "many": lambda k: fp.random.permutation(k, 300),
    "one": lambda k: fp.random.uniform(k),
    "empty": lambda k: fp.random.uniform(k, (0, 2)),
    "per key": lambda k: fp.random.uniform(fp.random.fold_in(k, fp.arange(4))),
    "split": lambda k: fp.random.uniform(fp.random.split(k, 3)[2], 2),
}


def test_the_same_numbers_at_once_fused_and_lazily(device: Any) -> None:
    fused = fp.fuse(lambda k, t: [draw(k) for draw in DRAWS.values()] + [t])(KEY, fp.Tensor([0.0]))
    with fp.lazy():
        lazily = [draw(KEY) for draw in DRAWS.values()]
    for (name, draw), inside, later in zip(DRAWS.items(), fused[:-1], lazily, strict=True):
        at_once = draw(KEY)
        assert isinstance(at_once, fp.Tensor)
        same = np.testing.assert_array_equal if name not in ("normal", "range") else np.testing.assert_allclose
        for other in (inside, later):
            assert np.asarray(other).dtype == at_once.numpy().dtype, name
            same(np.asarray(other), at_once.numpy())


def test_keys_of_the_host_and_of_the_device_are_the_same(device: Any) -> None:
    here = [fp.random.split(KEY)[1], fp.random.fold_in(KEY, 7), fp.random.fold_in(KEY, -1)]
    there = fp.fuse(lambda k, n: [fp.random.split(k)[1], fp.random.fold_in(k, n), fp.random.fold_in(k, n - 8)])(
        np.uint32([[KEY.x, KEY.y]]), 7
    )
    for a, b in zip(here, there, strict=True):
        assert np.asarray(b).ravel().tolist() == [a.x, a.y]
    everywhere = {(k.x, k.y) for k in (*here, KEY, fp.random.key(0), *fp.random.split(KEY, 100)[2:])}
    assert len(everywhere) == 3 + 2 + 98


def test_they_need_no_memory_in_a_fused_function(device: Any) -> None:
    program = fp.fuse(lambda k, x: x * fp.random.bernoulli(k, 0.5, (64, 8)) + fp.random.normal(k, (64, 8)))
    x = np.ones((64, 8), np.float32)
    assert program.explain(KEY, x).kernels == 1
    a, b = program(KEY, x), program(fp.random.key(1), x)
    assert not np.array_equal(a, b)
    assert np.array_equal(a, program(KEY, x))


def test_moments_and_distributions(device: Any) -> None:
    for dtype in ("float", "double"):
        assert uniformity(fp.random.uniform(KEY, COUNT, dtype).numpy()) < 1.8
        z = fp.random.normal(KEY, COUNT, dtype).numpy().astype(np.float64)
        assert uniformity(normal_to_uniform(z)) < 1.8
        assert abs(z.mean()) < 0.03
        assert abs(z.std() - 1) < 0.02
        assert abs((z**4).mean() - 3) < 0.3
    u = fp.random.uniform(KEY, COUNT, lo=2.0, hi=2.5).numpy()
    assert u.min() >= 2
    assert u.max() < 2.5
    counts = np.bincount(fp.random.integers(KEY, 0, 10, COUNT).numpy(), minlength=10)
    assert ((counts - COUNT / 10) ** 2 / (COUNT / 10)).sum() < 28  # chi squared, 9 degrees of freedom
    assert abs(fp.random.bernoulli(KEY, 0.3, COUNT).numpy().mean() - 0.3) < 0.015


def test_streams_of_split_keys_are_uncorrelated(device: Any) -> None:
    streams = np.array([fp.random.normal(k, 4000).numpy() for k in (KEY, *fp.random.split(KEY, 3), fp.random.fold_in(KEY, 0))])
    apart = np.corrcoef(streams) - np.eye(len(streams))
    assert np.abs(apart).max() < 0.08
    first = fp.random.uniform(fp.random.fold_in(KEY, np.arange(COUNT, dtype=np.int32))).numpy()  # one number of each of many keys
    assert uniformity(first) < 1.8
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.03


def test_permutations(device: Any) -> None:
    for n in (0, 1, 2, 256, 257, 1000):
        assert sorted(fp.random.permutation(KEY, n).tolist()) == list(range(n))
    keys = fp.random.split(KEY, 6)
    assert len({tuple(fp.random.permutation(k, 1000).tolist()) for k in keys}) == 6


@pytest.mark.long
def test_orders_are_equally_likely_and_long_streams_uniform(device: Any) -> None:
    orders = [tuple(fp.random.permutation(k, 4).tolist()) for k in fp.random.split(KEY, 2400)]
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert len(counts) == 24
    assert ((counts - 100) ** 2 / 100).sum() < 50
    where = np.array([fp.random.permutation(k, 400).tolist().index(0) for k in fp.random.split(KEY, 1000)])
    assert uniformity((where + 0.5) / 400) < 1.8
    u = fp.random.uniform(KEY, 1_000_000, "double").numpy()
    assert uniformity(u) < 1.8
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.004


def test_gradients_go_through_the_parameters(device: Any) -> None:
    fp.check_grads(lambda mean, std: fp.sum(fp.random.normal(KEY, 5, mean=mean, std=std)), np.float32(0.5), np.float32(2.0))


@pytest.mark.parametrize(
    ("call", "error", "what"),
    [
        (lambda: fp.random.key(1 << 64), fp.RangeError, "64 bits"),
        (lambda: fp.random.split(KEY, -1), fp.ArgumentError, "no number of keys"),
        (lambda: fp.random.uniform(KEY, 2, int), fp.ArgumentError, "uniform\\(\\) of int"),
        (lambda: fp.random.integers(KEY, 0, 10, 2, "float"), fp.ArgumentError, "integers\\(\\) of float"),
        (lambda: fp.random.integers(KEY, 3, 3), fp.RangeError, "1 to 2"),
        (lambda: fp.random.integers(KEY, 0, 300, 2, "uint8_t"), fp.RangeError, "out of range"),
        (lambda: fp.random.integers(KEY, 0, 2.5), fp.ArgumentError, "the range is numbers"),
        (lambda: fp.random.permutation(KEY, 2.5), fp.ArgumentError, "n. is no number"),
        (lambda: fp.random.uniform(KEY, (1,) * 5), fp.ShapeError, "more than 4 axes"),
        (lambda: fp.fuse(lambda k: fp.random.uniform(k, 2, device=fp.default_device()))(KEY), fp.ArgumentError, "fused function"),
    ],
)
def test_what_cannot_be_drawn(device: Any, call: Any, error: Any, what: str) -> None:
    with pytest.raises(error, match=what) as raised:
        call()
    assert raised.value.hint

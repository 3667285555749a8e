"""Operations in NumPy's words that no kernel was tuned for, beside torch, torch.compile and JAX: where is fusepy behind?"""

from __future__ import annotations

from typing import Any

from benchmarks.bench_rows import ROWS, layer_norm
from benchmarks.side_by_side import WHO, Jobs, Work

CASE = "operations"
BLOCKS = 3
M = 1 << 20


def work(function: Any, *on: tuple[int, ...], passes: float = 2, kinds: str = "", **more: Any) -> Work:
    """A function of arrays of these shapes; elsewhere than on a GPU each axis has at most 60 elements."""
    off = tuple(tuple(min(n, 60) for n in shape) for shape in on)
    return Work(function, on, off, passes, kinds=tuple(kinds.split()), **more)


def laplace(n: Any, x: Any) -> Any:
    return x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]


def attention(n: Any, q: Any, k: Any, v: Any) -> Any:
    return n.matmul(ROWS(n, n.matmul(q, n.swapaxes(k, 1, 2)) * 0.125), v)


def tanh_loss(n: Any, x: Any, w: Any, y: Any) -> Any:
    return n.mean((n.tanh(n.matmul(x, w)) - y) ** 2)


WORK = {
    "add of halfs": work(lambda n, a, b: a + b, (128 * M,), (128 * M,), passes=3, kinds="f2 f2"),
    "integers": work(lambda n, a, b: (a * 3 + b) % 7 + a // 5, (64 * M,), (64 * M,), passes=3, kinds="i4 i4"),
    "doubles": work(lambda n, a, b: n.exp(a) * b + n.sqrt(n.abs(a)), (16 * M,), (16 * M,), passes=3, kinds="f8 f8"),
    "where": work(lambda n, c, a, b: n.where(c, a, b), (64 * M,), (64 * M,), (64 * M,), passes=13, kinds="? f4 f4"),
    "image + column": work(lambda n, a, b: a + b, (8192, 8192), (8192, 1)),
    "outer product": work(lambda n, a, b: a * b, (8192, 1), (8192,), passes=8192),
    "small chain": work(lambda n, a, b: n.exp(a) * b + a, (64, 64), (64, 64), passes=3),
    "sum of columns": work(lambda n, x: n.sum(x, 0), (8192, 8192), passes=1),
    "sum of two axes": work(lambda n, x: n.sum(x, (0, 1)), (256, 512, 512), passes=1),
    "count": work(lambda n, x: n.sum(n.where(x > 0, 1.0, 0.0)), (64 * M,), passes=1),
    "argmax": work(lambda n, x: n.argmax(x), (64 * M,), passes=1),
    "norms of rows of 3": work(lambda n, x: n.sqrt(n.sum(x * x, -1)), (16 * M, 3), passes=4 / 3),
    "distances": work(lambda n, a, b: n.sum((a - b) * (a - b), -1), (4096, 1, 3), (4096, 3), passes=4096 / 3),
    "to 0 and 1": work(lambda n, x: (x - n.min(x)) / (n.max(x) - n.min(x)), (32 * M,), passes=3),
    "softmax of halfs": work(ROWS, (65536, 1024), kinds="f2"),
    "layer norm of short rows": work(layer_norm, (300000, 100)),
    "running sum": work(lambda n, x: n.cumsum(x, 0), (4096, 4096)),
    "gather": work(lambda n, x, i: x[i], (16 * M,), (16 * M,), passes=3, kinds="f4 i"),
    "rows at indices": work(lambda n, x, i: x[i], (50000, 256), (65536,), kinds="f4 i"),
    "roll": work(lambda n, x: n.roll(x, 5, 1), (8192, 8192)),
    "concatenate": work(lambda n, a, b: n.concatenate([a, b]), (32 * M,), (32 * M,), passes=4),
    "axes in another order": work(lambda n, x: n.transpose(x, (0, 2, 1, 3)) * 1.0, (32, 1024, 16, 64)),
    "stencil of slices": work(laplace, (8192, 8192)),
    "matrix times vector": work(lambda n, a, b: n.matmul(a, b), (8192, 8192), (8192,), passes=1),
    "vector times matrix": work(lambda n, a, b: n.matmul(a, b), (8192,), (8192, 8192), passes=8192),
    "attention": work(attention, *[(64, 512, 64)] * 3, passes=4),
    "gradient of a layer norm": work(lambda n, x: n.sum(layer_norm(n, x) ** 3), (16384, 1024), wrt=0),
    "gradient by a bias": work(lambda n, x, b: n.mean(n.tanh(x + b) ** 2), (65536, 256), (256,), passes=1, wrt=1),
    "gradient by weights": work(tanh_loss, (65536, 64), (64, 64), (65536, 64), passes=2, wrt=1),
}
PEERS = [f"{who} {what}" for what in WORK for who in WHO]


def bench_operations(measure: Any, jobs: Jobs, block: int, peer: str) -> None:
    jobs.timed(measure, peer, block)

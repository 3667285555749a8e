"""Rows that are reduced and used again, running sums, and standardised columns, beside torch, torch.compile and JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.side_by_side import WHO, Jobs, Work

CASE = "rows"
BLOCKS = 5


def softmax_along(axis: int) -> Callable[[Any, Any], Any]:
    def softmax(n: Any, x: Any) -> Any:
        e = n.exp(x - n.max(x, axis, keepdims=True))
        return e / n.sum(e, axis, keepdims=True)

    return softmax


def layer_norm(n: Any, x: Any) -> Any:
    d = x - n.mean(x, -1, keepdims=True)
    return d / n.sqrt(n.mean(d * d, -1, keepdims=True) + 1e-5)


def logsumexp(n: Any, x: Any) -> Any:
    most = n.max(x, -1, keepdims=True)
    return n.log(n.sum(n.exp(x - most), -1, keepdims=True)) + most


def columns(n: Any, x: Any) -> Any:
    d = x - n.mean(x, 0, keepdims=True)
    return d / n.sqrt(n.mean(d * d, 0, keepdims=True))


def work(function: Any, on: tuple[int, ...], off: tuple[int, ...], torch: Any, passes: int = 2, rows: bool = True) -> Work:
    return Work(function, (on,), (off,), passes, torch, sample=slice(0, 64) if rows else None)


ROWS, MIDDLE, COLUMNS = softmax_along(-1), softmax_along(1), softmax_along(0)
OWN = {axis: lambda torch, axis=axis: lambda x: torch.softmax(x, axis) for axis in (-1, 0, 1)}
STANDARD = lambda torch: lambda x: (x - x.mean(0, keepdim=True)) / x.std(0, correction=0, keepdim=True)  # noqa: E731
LAYER = lambda torch: lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:])  # noqa: E731
WORK = {
    "softmax": work(ROWS, (8192, 8192), (1024, 2048), OWN[-1]),
    "long softmax": work(ROWS, (4096, 32000), (64, 32000), OWN[-1]),
    "short softmax": work(ROWS, (1 << 20, 33), (1 << 15, 33), OWN[-1]),
    "layer norm": work(layer_norm, (65536, 1024), (2048, 1024), LAYER),
    "logsumexp": work(logsumexp, (8192, 8192), (1024, 2048), lambda torch: lambda x: torch.logsumexp(x, -1, keepdim=True), 1),
    "softmax of columns": work(COLUMNS, (512, 512), (512, 512), OWN[0], rows=False),
    "long softmax of columns": work(COLUMNS, (2048, 4096), (1000, 512), OWN[0], rows=False),
    "softmax of the middle": work(MIDDLE, (16384, 16, 256), (512, 16, 256), OWN[1]),
    "columns": work(columns, (1 << 20, 64), (1 << 14, 64), STANDARD, rows=False),
    "running sums": work(lambda n, x: n.cumsum(x, -1), (8192, 8192), (1024, 2048), None),
    "scaled sums": work(lambda n, x: n.cumsum(x, -1) * 0.5 + x, (8192, 8192), (1024, 2048), None),
}
PEERS = [f"{who} {what}" for what in WORK for who in WHO]


def bench_rows(measure: Any, jobs: Jobs, block: int, peer: str) -> None:
    jobs.timed(measure, peer, block)

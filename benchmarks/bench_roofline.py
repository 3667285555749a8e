"""What a GPU's memory or arithmetic bounds, beside torch, torch.compile, JAX and kernels by hand: is anyone faster?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks import bench_operations, bench_rows, whole_programs
from benchmarks.side_by_side import WHO, Jobs, Work

CASE = "roofline"
BLOCKS = 5
M = 1 << 20


def gelu_loss(n: Any, x: Any, y: Any) -> Any:
    d = 0.5 * x * (1 + n.tanh(0.7978845608 * (x + 0.044715 * x * x * x))) - y
    return n.mean(d * d)


def three_streams(n: Any, a: Any, b: Any, c: Any) -> Any:
    return n.sin(a) * n.exp(-b * b) + n.sqrt(n.abs(c) + 1) * n.cos(a * b) + n.log(1 + c * c)


def dots(n: Any, a: Any, b: Any, c: Any) -> Any:
    return n.mean(a * b) + n.mean(b * c) + n.mean(c * a)


def powers(n: Any, x: Any) -> Any:
    return (x * x + 0.1) ** 2.2 * n.exp(-n.abs(x)) + (n.abs(x) + 0.5) ** 0.45


def stencil(n: Any, x: Any) -> Any:
    return 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) - x[1:-1, 1:-1]


def scaled_stencil(n: Any, x: Any) -> Any:
    r = stencil(n, x)
    return r / n.max(r)


def work(function: Any, *on: tuple[int, ...], passes: float, rows: bool = True, fast: bool = False) -> Work:
    """A function of which some rows are compared, or all of the result."""
    return bench_operations.work(function, *on, passes=passes, sample=slice(0, 64) if rows else None, fast=fast)


LINE = (64 * M,)
HALF = (32 * M,)
IMAGE = (8192, 8192)
WORK = {
    **{
        name: bench_rows.WORK[name]
        for name in ("softmax", "long softmax", "short softmax", "layer norm", "columns", "running sums")
    },
    "gelu loss": work(gelu_loss, LINE, LINE, passes=2, rows=False),
    "three streams": work(three_streams, HALF, HALF, HALF, passes=4, fast=True),
    "dot products": work(dots, HALF, HALF, HALF, passes=3, rows=False),
    "powers": work(powers, HALF, passes=2, fast=True),
    "add": work(lambda n, a, b: a + b, (128 * M,), (128 * M,), passes=3),
    "image + row": work(lambda n, a, b: a + b, IMAGE, (8192,), passes=2, rows=False),
    "image.T + image": work(lambda n, a: a.T + a, IMAGE, passes=3, rows=False),
    "stencil": work(stencil, IMAGE, passes=2, rows=False),
    "stencil over its maximum": work(scaled_stencil, IMAGE, passes=3, rows=False),
}
PROGRAMS = {f"{who} {what}": what for what, peers in whole_programs.PEERS.items() for who in peers}
PEERS = [f"{who} {what}" for what, work in WORK.items() for who in (*WHO, *["fusepy-fast"] * work.fast)] + [*PROGRAMS]


@pytest.fixture(scope="module")
def programs(kind: str, device: Any, calls: int, quick: bool) -> Callable[[str], Any]:
    """Returns the jobs of a program by the names of who runs it; they are made once."""
    made: dict[str, dict[str, Callable[[], Any]]] = {}

    def of(what: str) -> dict[str, Callable[[], Any]]:
        if what not in made:
            made[what] = whole_programs.MAKE[what](kind, device, calls, quick or calls == 1)
        return made[what]

    return of


def bench_roofline(measure: Any, jobs: Jobs, programs: Any, calls: int, block: int, peer: str) -> None:
    what = PROGRAMS.get(peer)
    if what is None:
        jobs.timed(measure, peer, block)
        return
    job = programs(what).get(peer.removesuffix(f" {what}"))
    if job is None:
        pytest.skip("not installed, or not on this device")
    measure(peer, block, job, rounds=3, calls=whole_programs.CALLS.get(what, calls))
    assert np.isfinite(measure.median)

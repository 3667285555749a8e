"""Rows that are reduced and used again, running sums, and standardised columns, beside torch, torch.compile and JAX."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import pytest

import fusepy as fp
from benchmarks import peers as p

CASE = "rows"
BLOCKS = 5


class Work(NamedTuple):
    """One function of rows, for an array of a size on a GPU and one elsewhere.

    Attributes:
        passes: how often the array is read or written at least.
    """

    on: tuple[int, ...]
    off: tuple[int, ...]
    passes: int


WORK = {
    "softmax": Work((8192, 8192), (1024, 2048), 2),
    "long softmax": Work((4096, 32000), (64, 32000), 2),
    "short softmax": Work((1 << 20, 33), (1 << 15, 33), 2),
    "layer norm": Work((65536, 1024), (2048, 1024), 2),
    "logsumexp": Work((8192, 8192), (1024, 2048), 1),
    "softmax of columns": Work((512, 512), (512, 512), 2),
    "long softmax of columns": Work((2048, 4096), (1000, 512), 2),
    "softmax of the middle": Work((16384, 16, 256), (512, 16, 256), 2),
    "columns": Work((1 << 20, 64), (1 << 14, 64), 2),
    "running sums": Work((8192, 8192), (1024, 2048), 2),
    "scaled sums": Work((8192, 8192), (1024, 2048), 2),
}
PEERS = [f"{who} {what}" for what in WORK for who in ("fusepy", "torch", "torch.compile", "jax")]


def softmax(x: Any, n: Any) -> Any:
    e = n.exp(x - n.max(x, -1, keepdims=True))
    return e / n.sum(e, -1, keepdims=True)


def softmax_0(x: Any, n: Any) -> Any:
    e = n.exp(x - n.max(x, 0, keepdims=True))
    return e / n.sum(e, 0, keepdims=True)


def softmax_1(x: Any, n: Any) -> Any:
    e = n.exp(x - n.max(x, 1, keepdims=True))
    return e / n.sum(e, 1, keepdims=True)


def layer_norm(x: Any, n: Any) -> Any:
    d = x - n.mean(x, -1, keepdims=True)
    return d / n.sqrt(n.mean(d * d, -1, keepdims=True) + 1e-5)


def logsumexp(x: Any, n: Any) -> Any:
    most = n.max(x, -1, keepdims=True)
    return n.log(n.sum(n.exp(x - most), -1, keepdims=True)) + most


def columns(x: Any, n: Any) -> Any:
    d = x - n.mean(x, 0, keepdims=True)
    return d / n.sqrt(n.mean(d * d, 0, keepdims=True))


def running_sums(x: Any, n: Any) -> Any:
    return n.cumsum(x, -1)


def scaled_sums(x: Any, n: Any) -> Any:
    return n.cumsum(x, -1) * 0.5 + x


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "softmax": softmax,
    "long softmax": softmax,
    "short softmax": softmax,
    "layer norm": layer_norm,
    "logsumexp": logsumexp,
    "softmax of columns": softmax_0,
    "long softmax of columns": softmax_0,
    "softmax of the middle": softmax_1,
    "columns": columns,
    "running sums": running_sums,
    "scaled sums": scaled_sums,
}


class Jobs:
    """The jobs of all functions, made when they are asked for."""

    def __init__(self, device: Any, calls: int, quick: bool):
        self.device, self.calls, self.quick = device, calls, quick
        self.made: dict[str, dict[str, Callable[[], Any]]] = {}

    def of(self, peer: str) -> tuple[Callable[[], Any] | None, int]:
        """Returns the job of a peer, if it is installed, and the bytes that it moves at least."""
        who, _, what = peer.partition(" ")
        work = WORK[what]
        shape = work.on if self.calls > 1 and not self.quick else work.off
        if what not in self.made:
            self.made[what] = self._jobs(what, np.random.default_rng(3).standard_normal(shape, np.float32))
        return self.made[what].get(who), work.passes * 4 * math.prod(shape)

    def _jobs(self, what: str, array: Any) -> dict[str, Callable[[], Any]]:
        function = FUNCTIONS[what]
        sample = slice(None) if what.endswith("columns") else slice(0, 64)
        want = function(array[sample].astype(np.float64), np)
        x, fused = fp.Tensor.from_numpy(self.device, array), fp.fuse(lambda x: function(x, fp))
        np.testing.assert_allclose(fused(x).to_numpy()[sample], want, rtol=1e-4, atol=1e-6)
        made = {"fusepy": self.repeated(lambda: fused(x), self.device.wait)}
        torch = p.optional("torch", CASE, f"torch {what}") if self.calls > 1 else None
        if torch is not None:
            t = torch.from_numpy(array).cuda()
            plain = TORCH[what](torch)
            made["torch"] = self.repeated(lambda: plain(t), torch.cuda.synchronize)
            compiled = torch.compile(plain)
            made["torch.compile"] = self.repeated(lambda: compiled(t), torch.cuda.synchronize)
        jax = p.optional("jax", CASE, f"jax {what}") if self.calls > 1 else None
        if jax is not None:
            j, jitted, last = jax.numpy.asarray(array), jax.jit(lambda x: function(x, jax.numpy)), []

            def run() -> None:
                last[:] = [jitted(j)]

            made["jax"] = self.repeated(run, lambda: last[0].block_until_ready())
        return made

    def repeated(self, job: Callable[[], Any], wait: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            for _ in repeat(None, self.calls):
                job()
            wait()

        run()
        return run


# torch's own functions, which are its fastest
TORCH: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    **dict.fromkeys(("softmax", "long softmax", "short softmax"), lambda torch: lambda x: torch.softmax(x, -1)),
    "layer norm": lambda torch: lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
    **dict.fromkeys(("softmax of columns", "long softmax of columns"), lambda torch: lambda x: torch.softmax(x, 0)),
    "softmax of the middle": lambda torch: lambda x: torch.softmax(x, 1),
    "logsumexp": lambda torch: lambda x: torch.logsumexp(x, -1, keepdim=True),
    "columns": lambda torch: lambda x: (x - x.mean(0, keepdim=True)) / x.std(0, correction=0, keepdim=True),
    "running sums": lambda torch: lambda x: torch.cumsum(x, -1),
    "scaled sums": lambda torch: lambda x: torch.cumsum(x, -1) * 0.5 + x,
}


@pytest.fixture(scope="module")
def jobs(device: Any, calls: int, quick: bool) -> Jobs:
    return Jobs(device, calls, quick)


def bench_rows(measure: Any, jobs: Jobs, calls: int, block: int, peer: str) -> None:
    job, moved = jobs.of(peer)
    if job is None:
        pytest.skip("not installed")
    measure(peer, block, job, rounds=3, calls=calls, bytes=moved)

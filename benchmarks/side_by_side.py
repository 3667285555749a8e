"""Functions in NumPy's words, run by fusepy, torch, torch.compile and JAX on arrays of the same numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import repeat
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import fusepy as fp
from benchmarks import peers as p

WHO = ("fusepy", "torch", "torch.compile", "jax")
Shapes = tuple[tuple[int, ...], ...]


class Work(NamedTuple):
    """One function, for arrays of some sizes on a GPU and of others elsewhere.

    Attributes:
        function: takes a module with NumPy's words, and the arrays; all of them are worked on alike.
        passes: how often the elements of the first array are read or written at least.
        torch: makes torch's own function, which is its fastest, where it has one.
        kinds: NumPy's types of the arrays; ``"i"`` stands for indices of rows of the first one.
        sample: what of the result is compared, on all arrays; ``None`` compares it whole.
        wrt: the argument of which the gradient is taken, if it is one.
        fast: measures fusepy with `fast_math` too, as ``fusepy-fast``: the peers' `exp`, `sqrt` and quotients are approximations.
    """

    function: Callable[..., Any]
    on: Shapes
    off: Shapes
    passes: float
    torch: Callable[[Any], Callable[..., Any]] | None = None
    kinds: tuple[str, ...] = ()
    sample: Any = None
    wrt: int | None = None
    fast: bool = False


def of_torch(torch: Any) -> Any:
    """Returns torch's functions under NumPy's names."""

    def folded(whole: Any, along: Any) -> Any:
        def fold(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
            return whole(x) if axis is None else along(x, axis, keepdims)

        return fold

    own = {
        "max": folded(torch.max, torch.amax),
        "min": folded(torch.min, torch.amin),
        "var": folded(lambda x: torch.var(x, correction=0), lambda x, axis, keep: torch.var(x, axis, correction=0, keepdim=keep)),
        "sum": folded(torch.sum, torch.sum),
        "mean": folded(torch.mean, torch.mean),
        "argmax": folded(torch.argmax, torch.argmax),
        "transpose": torch.permute,
        "concatenate": torch.cat,
        "maximum": torch.clamp_min,
    }
    words = ("exp", "log", "sqrt", "abs", "tanh", "sin", "cos", "where", "cumsum", "matmul", "swapaxes", "flip", "roll")
    return SimpleNamespace(**{word: getattr(torch, word) for word in words}, **own)


class Jobs:
    """The jobs of all functions, made when they are asked for."""

    def __init__(self, case: str, works: Mapping[str, Work], device: Any, calls: int, quick: bool):
        self.case, self.works, self.device, self.calls, self.quick = case, works, device, calls, quick
        self.made: dict[str, dict[str, Callable[[], Any]]] = {}

    def of(self, peer: str) -> tuple[Callable[[], Any] | None, float]:
        """Returns the job of a peer, if it is installed, and the bytes that it moves at least."""
        who, _, what = peer.partition(" ")
        work = self.works[what]
        shapes = work.on if self.calls > 1 and not self.quick else work.off
        if what not in self.made:
            self.made[what] = self._jobs(what, work, self._arrays(work, shapes))
        kind = np.dtype(work.kinds[0] if work.kinds else "f4")
        return self.made[what].get(who), work.passes * kind.itemsize * math.prod(shapes[0])

    def timed(self, measure: Any, peer: str, block: int) -> None:
        """Times the job of a peer that is installed; skips the others."""
        job, moved = self.of(peer)
        if job is None:
            pytest.skip("not installed")
        measure(peer, block, job, rounds=3, calls=self.calls, bytes=moved)

    def _arrays(self, work: Work, shapes: Shapes) -> list[Any]:
        rng, kinds = np.random.default_rng(3), work.kinds or ("f4",) * len(shapes)
        found: list[Any] = []
        for kind, shape in zip(kinds, shapes):
            if kind == "i":
                found.append(rng.integers(0, shapes[0][0], shape, np.int32))
            elif kind in ("f2", "f4", "f8"):
                found.append(rng.standard_normal(shape, np.float32).astype(kind))
            else:
                found.append(rng.integers(0, 2 if kind == "?" else 100, shape).astype(kind))
        return found

    def _jobs(self, what: str, work: Work, arrays: list[Any]) -> dict[str, Callable[[], Any]]:
        tensors = [fp.Tensor.from_numpy(self.device, a) for a in arrays]
        ours: Callable[..., Any] = lambda *x: work.function(fp, *x)  # noqa: E731
        fused = fp.fuse(ours if work.wrt is None else fp.grad(ours, argnums=work.wrt))
        self._check(work, arrays, fused(*tensors))
        made = {"fusepy": self.repeated(lambda: fused(*tensors), self.device.wait)}
        if work.fast:
            fast = fp.fuse(ours).options(fast_math=True)
            made["fusepy-fast"] = self.repeated(lambda: fast(*tensors), self.device.wait)
        torch = p.optional("torch", self.case, f"torch {what}") if self.calls > 1 else None
        if torch is not None:
            plain = work.torch(torch) if work.torch else lambda *x: work.function(of_torch(torch), *x)
            given = [torch.from_numpy(a.astype(np.int64) if a.dtype == np.int32 else a).cuda() for a in arrays]
            for who, function in (("torch", plain), ("torch.compile", torch.compile(plain))):
                made[who] = self.repeated(of_gradient(torch, function, given, work.wrt), torch.cuda.synchronize)
        jax = p.optional("jax", self.case, f"jax {what}") if self.calls > 1 else None
        if jax is not None:
            theirs: Callable[..., Any] = lambda *x: work.function(jax.numpy, *x)  # noqa: E731
            jitted, last = jax.jit(theirs if work.wrt is None else jax.grad(theirs, work.wrt)), []
            moved = [jax.numpy.asarray(a) for a in arrays]

            def run() -> None:
                last[:] = [jitted(*moved)]

            made["jax"] = self.repeated(run, lambda: last[0].block_until_ready())
        return made

    def _check(self, work: Work, arrays: list[Any], result: Any) -> None:
        if work.wrt is not None:  # the tests compare gradients
            return
        at = work.sample if work.sample is not None else ...
        given = arrays if work.sample is None else [a[at] for a in arrays]
        want = work.function(np, *[a.astype(np.float64) if a.dtype.kind == "f" else a for a in given])
        got = np.asarray(result)[at].astype(np.float64)
        rough = any(a.dtype == np.float16 for a in arrays)
        np.testing.assert_allclose(got, want, rtol=1e-2 if rough else 1e-4, atol=1e-2 if rough else 1e-4)

    def repeated(self, job: Callable[[], Any], wait: Callable[[], Any]) -> Callable[[], None]:
        return repeated(job, wait, self.calls)


def repeated(job: Callable[[], Any], wait: Callable[[], Any], calls: int) -> Callable[[], None]:
    """Returns a function that makes so many calls and waits for them; it has run once."""

    def run() -> None:
        for _ in repeat(None, calls):
            job()
        wait()

    run()
    return run


def of_gradient(torch: Any, function: Callable[..., Any], arrays: list[Any], wrt: int | None) -> Callable[[], Any]:
    """Returns a call of a function of torch, or of its gradient."""
    if wrt is None:
        return lambda: function(*arrays)
    given = [a.requires_grad_(i == wrt) for i, a in enumerate(arrays)]
    return lambda: torch.autograd.grad(function(*given), given[wrt])

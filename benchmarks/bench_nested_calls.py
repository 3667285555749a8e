"""What a call of ten arguments costs the host on 1,024 elements: flat, nested in dicts, nested in objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from benchmarks import peers as p
from benchmarks.calls import bench_call, bench_call_cpu
from benchmarks.programs import SOURCE

CASE = "nested_calls"
PEERS = [
    "flat declared",
    "flat",
    "flat allocating",
    "dict",
    "dict made anew",
    "object",
    "constants",
    "slangpy",
    "slangpy unvalidated",
    "slangpy allocating",
    "slangpy unvalidated allocating",
    "slangpy dict",
]
BLOCKS = 15
N = 1024
CALLS = 500


def dicts(t: Sequence[Any]) -> dict[str, Any]:
    """Ten leaves as three vectors and a number, each a dict of its components."""
    three = [dict(zip("xyz", t[i : i + 3])) for i in (0, 3, 6)]
    return {"a": three[0], "b": three[1], "c": three[2], "d": t[9]}


def objects(t: Sequence[Any]) -> SimpleNamespace:
    return SimpleNamespace(**{k: SimpleNamespace(**v) if isinstance(v, dict) else v for k, v in dicts(t).items()})


@pytest.fixture(scope="module")
def runners(kind: str) -> Iterator[dict[str, Callable[[], None]]]:
    leaves = np.random.default_rng(1).random((10, N), np.float32)
    wanted = sum(leaves[1:], leaves[0])
    made: dict[str, Callable[[], None]] = {}

    def add(name: str, call: Callable[[], Any], result: Any, wait: Callable[[], None], expected: Any = wanted) -> None:
        def loop() -> None:
            for _ in repeat(None, CALLS):
                call()
            wait()

        found = call()
        np.testing.assert_allclose((found if result is None else result).to_numpy(), expected, rtol=1e-5)
        made[name] = loop

    device = p.fusepy_device(kind)
    module = fp.Module.load_from_source(device, "bench", SOURCE)
    t, r = [fp.Tensor.from_numpy(device, leaf) for leaf in leaves], fp.Tensor.empty(device, N)
    flat, nested = module.sum10, module.sum_nested
    declared = flat.declare(*[fp.vmapping(0)] * 10)
    as_dicts, as_objects = dicts(t), objects(t)
    mixed = {"a": as_dicts["a"], "b": (0.5, 0.25, 0.125), "c": [1, 2, 3], "d": 0.5}
    add("flat declared", lambda: declared(*t, _result=r), r, device.wait)
    add("flat", lambda: flat(*t, _result=r), r, device.wait)
    add("flat allocating", lambda: flat(*t), None, device.wait)
    add("dict", lambda: nested(as_dicts, _result=r), r, device.wait)
    add("dict made anew", lambda: nested(dicts(t), _result=r), r, device.wait)
    add("object", lambda: nested(as_objects, _result=r), r, device.wait)
    add("constants", lambda: nested(mixed, _result=r), r, device.wait, leaves[:3].sum(0) + 0.875 + 6.5)

    for name, validation in (("slangpy", True), ("slangpy unvalidated", False)):
        other = p.slangpy_device(kind, validation=validation)
        theirs = p.spy.Module.load_from_source(other, "bench", SOURCE)
        *s, q = (p.slangpy_tensor(other, v, theirs.float) for v in (*leaves, leaves[0]))
        tree = dicts(s)
        add(name, lambda f=theirs.sum10, s=s, q=q: f(*s, _result=q), q, other.wait)
        add(f"{name} allocating", lambda f=theirs.sum10, s=s: f(*s), None, other.wait)
        if not validation:
            add("slangpy dict", lambda f=theirs.sum_nested, d=tree, q=q: f(d, _result=q), q, other.wait)
    yield made
    device.close()


__all__ = ["bench_call", "bench_call_cpu", "runners"]

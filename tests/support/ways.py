"""A function of arrays in every way that it can be computed: at once, fused, lazily, in a graph; of arrays, tensors and lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fusepy as fp


def ways(device: Any, make: Callable[..., Any], arrays: Sequence[Any]) -> dict[str, Any]:
    """Returns what `make` gives in each way; its results are arrays, or tuples of them."""
    fused = fp.fuse(lambda *given: make(*given)) if len(arrays) != 1 else fp.fuse(lambda x: make(x))
    tensors = [fp.Tensor.from_numpy(device, a) for a in arrays]
    names = [f"x{k}" for k in range(len(arrays))]
    graph = fp.Graph(inputs=names)
    node = fp.fuse(lambda x: make(x)) if len(arrays) == 1 else fp.fuse(lambda x, y: make(x, y))
    parts = make(*arrays)
    count = len(parts) if isinstance(parts, tuple) else 1
    made = node.node(outputs=count)(*graph.get_inputs()) if count > 1 else node.node()(*graph.get_inputs())
    graph.set_outputs(*(made if count > 1 else [made]))
    with fp.lazy():
        late = make(*(t + 0 for t in tensors))
    return {
        "at once": parts,
        "lists": make(*(a.tolist() for a in arrays)),
        "tensors": make(*tensors),
        "fused": fused(*arrays),
        "fused, of tensors": fused(*tensors),
        "lazy": late,
        "graph": graph(*tensors),
    }


def same_in_every_way(device: Any, make: Callable[..., Any], arrays: Sequence[Any], want: Any, rtol: float = 1e-5) -> None:
    """Fails unless `make` gives `want` in every way."""
    for way, got in ways(device, make, arrays).items():
        same(got, want, way, rtol)


def same(got: Any, want: Any, words: str = "", rtol: float = 1e-5) -> None:
    wanted = want if isinstance(want, tuple) else (want,)
    found = got if isinstance(want, tuple) else (got,)
    assert len(found) == len(wanted), words
    for one, expected in zip(found, wanted):
        assert np.shape(one) == np.shape(expected), words
        np.testing.assert_allclose(np.asarray(one), expected, rtol=rtol, atol=rtol, err_msg=words)

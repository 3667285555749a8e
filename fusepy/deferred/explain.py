"""`explain`: how deferred calls will run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fusepy.deferred.calls import LazyTensor
from fusepy.deferred.join import connected, joint, structure
from fusepy.errors import ArgumentError
from fusepy.inspect.cache_miss import nearest
from fusepy.inspect.explain import Explanation
from fusepy.inspect.explain import explain as explained
from fusepy.inspect.reasons import label
from fusepy.ir.graph import Graph


def explain(tensor: Any) -> Explanation:
    """Explains how the calls behind a tensor of `lazy` will run: their kernels, and why each node is in its kernel.

    It shows all calls that are connected to this one, as they would run now: only results that the program still holds are
    stored. Nothing is run or compiled.

    Args:
        tensor: a result of a recorded call, not computed yet.

    Raises:
        ArgumentError: for anything else.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_outlook", "float twice(float x) { return 2 * x; }")
        >>> with fp.lazy():
        ...     y = fp.sqrt(m.twice(m.twice(fp.Tensor([2.0, 8.0]))))
        >>> fp.explain(y).kernels
        1
    """
    output = tensor.waiting() if isinstance(tensor, LazyTensor) else None
    if output is None:
        raise ArgumentError(
            "explain() takes a tensor that is not computed yet",
            saw=type(tensor).__name__,
            expected="a result of a call inside of fp.lazy()",
            hint="for calls that run at once look at .explain(…) of the function",
        )
    if output[0].over:  # it cannot run
        output[0].run()
    device = output[0].program.device
    with device.lock:
        calls = connected(output[0])
        key, leaves, _ = structure(calls)
        program = joint(device, key, calls, leaves)
        known = [p.recording for k, p in device.joints.items() if k != key]
        classes = [type(leaf).__name__ for leaf in leaves]
        there = key in device.joints
        cache = "a program for such calls is there" if there else nearest(program.recording.graph, classes, known)
        found = explained(program, leaves, cache)
        return replace(found, reasons=(*found.reasons, _kept(program.recording.graph)))


def _kept(graph: Graph) -> str:
    """Lists the results that are stored."""
    makers = {value: node for node in graph.nodes for value in node.results}
    return f"kept, since somebody holds the result: {', '.join(label(makers[v]) for v in graph.outputs)}"

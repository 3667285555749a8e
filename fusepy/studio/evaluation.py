"""Evaluation: the outputs of a document, node by node, with errors at the nodes that cause them.

A node is a graph of its own, and its outputs are kept until its inputs change. So an edit compiles one small kernel at most,
however large the document is, and computes only what depends on it. `measured` looks at the fused program, as it is exported.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import fusepy as fp
from fusepy.errors import FusepyError, StudioError
from fusepy.inspect.anatomy import anatomy
from fusepy.inspect.measure import seconds_per_kernel
from fusepy.ir.graph import Node
from fusepy.studio.document import Document, Socket
from fusepy.studio.graphs import GraphBuilder, node_at
from fusepy.studio.node_library import Library
from fusepy.studio.pictures import Array, bad_numbers, thumbnail
from fusepy.studio.python_functions import checked_outputs


@dataclass(frozen=True)
class NodeResult:
    """The outputs of a node: tensors, what the page shows of them, and the key of the inputs that they were computed from."""

    key: object
    serial: int
    tensors: Mapping[str, fp.Tensor]
    shown: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class MeasuredKernel:
    """A kernel of the fused program: the nodes that it computes, the bytes that it moves, its time, and how it indexes."""

    nodes: tuple[str, ...]
    nbytes: int
    seconds: float | None
    text: str


class Evaluator:
    """The results of the nodes of one document, kept from one evaluation to the next.

    Attributes:
        results: by node; those with an error have none.
        errors: by node. A node that waits for another one has an error, too.
    """

    def __init__(self, builder: GraphBuilder):
        self.builder = builder
        self.results: dict[str, NodeResult] = {}
        self.errors: dict[str, FusepyError] = {}
        self._serials = itertools.count()

    def evaluate(self, document: Document, names: Collection[str] | None = None) -> None:
        """Computes the outputs whose inputs have changed.

        Args:
            names: only of these nodes, with all from which they are computed; the results of others are kept as they are.
        """
        wanted = document.nodes if names is None else document.upstream(names)
        before = self.results
        self.results = {n: r for n, r in before.items() if names is not None and n not in wanted}
        self.errors = {n: e for n, e in self.errors.items() if n in self.results}
        for name in document.order():
            if name not in wanted:
                continue
            feeds = feeding(document, name)
            cause = next((start for start, _ in feeds.values() if start not in self.results), None)
            if cause is not None:
                self.errors[name] = StudioError(f"not computed, since {cause} has an error", hint=f"see {cause}")
                continue
            try:
                self.results[name] = self._result(document, name, feeds, before.get(name))
            except FusepyError as error:
                self.errors[name] = error

    def fed(self, document: Document, name: str) -> dict[str, fp.Tensor]:
        """Returns the tensors that reach a node, as far as they are known."""
        found = {port: (self.results.get(start), end) for port, (start, end) in feeding(document, name).items()}
        return {port: r.tensors[end] for port, (r, end) in found.items() if r is not None and end in r.tensors}

    def _result(self, document: Document, name: str, feeds: Mapping[str, Socket], before: NodeResult | None) -> NodeResult:
        node = document.nodes[name]
        given = self.builder.given(document, name)
        recipe = self.builder.node_library.recipes[node.kind]
        fed = tuple((port, self.results[start].serial, end) for port, (start, end) in feeds.items())
        key = (recipe, tuple(node.values.items()), recipe.stamp(given), fed)
        if before is not None and before.key == key:
            return before
        built = self.builder.single(document, name, {**given, **self.fed(document, name)})
        made = checked_outputs(recipe, built.run())
        tensors = dict(zip([port.name for port in recipe.kind.outputs], made))
        shown_ = {port: shown(tensor.to_numpy(), str(tensor.dtype)) for port, tensor in tensors.items()}
        return NodeResult(key, next(self._serials), tensors, shown_)


def feeding(document: Document, name: str) -> dict[str, Socket]:
    """Returns the outputs that feed a node, by its inputs."""
    return {end[1]: start for end, start in document.edges.items() if end[0] == name}


def measured(builder: GraphBuilder, document: Document, names: Collection[str]) -> list[MeasuredKernel]:
    """Returns the kernels of the programs that compute the ends of a document, one for each of its parts.

    Args:
        names: the nodes without errors; others are left out.
    """
    whole = document.remove([name for name in document.nodes if name not in names])
    found: list[MeasuredKernel] = []
    for part in whole.parts():
        lowered = builder.whole(part, part.ends(builder.node_library.kinds)).lower()
        _, placed, named = lowered.compile()
        seconds, _ = seconds_per_kernel(lowered.function, lowered.setup, lowered.program, placed, named)
        views = anatomy(lowered.program, lowered.leaves, seconds).kernels
        regions = [piece.plan.region for piece in lowered.program.tape(lowered.leaves).pieces]
        kernels = [
            MeasuredKernel(_nodes_in(r, part, builder.node_library), v.nbytes, v.seconds, v.indexing)
            for r, v in zip(regions, views)
        ]
        found += [kernel for kernel in kernels if kernel.nodes]
    known = {name for kernel in found for name in kernel.nodes}
    same = merged(builder, whole)
    also = {name: [n for n in same if same[n] == same[name] and n not in known] for name in known}
    return [replace(k, nodes=tuple(dict.fromkeys(n for name in k.nodes for n in (name, *also[name])))) for k in found]


def merged(builder: GraphBuilder, document: Document) -> dict[str, str]:
    """Returns for each node the first one that computes the same: of one kind, on the same outputs, without values of its own.

    The compiler makes one computation of these, which has the line of one of them.
    """
    first: dict[object, str] = {}
    same: dict[str, str] = {}
    for name in document.order():
        feeds = sorted((port, same[start], end) for port, (start, end) in feeding(document, name).items())
        own = name if builder.given(document, name) else ""
        same[name] = first.setdefault((document.nodes[name].kind, own, *feeds), name)
    return same


def shown(array: Array, type: str) -> dict[str, Any]:
    """Returns an output as the page gets it: a thumbnail, and type and extents or value as text."""
    picture = thumbnail(array)
    shape = array.shape if picture is None else array.shape[1::-1]  # of a picture, as people say it: width, height
    extents = " × ".join(map(str, shape))
    if array.size <= 4 and array.dtype.names is None:
        extents = " ".join(f"{x:.4g}" for x in array.reshape(-1).tolist())
    size = list(array.shape[:2]) if picture is not None else None
    return {"png": picture, "text": f"{type} {extents}".rstrip(), "bad": bad_numbers(array), "size": size}


def _nodes_in(region: Node, document: Document, library: Library) -> tuple[str, ...]:
    """Returns the nodes of the document that a kernel computes, in order."""
    lines: dict[str, None] = {}
    waiting = [region]
    while waiting:
        node = waiting.pop(0)
        lines[node.loc or ""] = None
        waiting = [*(inner for body in node.bodies for inner in body.nodes), *waiting]
    found: dict[str, None] = {}
    for line in lines:
        name = node_at(line, document)
        inside = [n for n, placed in document.nodes.items() if line in library.recipes[placed.kind].calls]
        found |= dict.fromkeys(inside if name is None else [name])
    return tuple(found)

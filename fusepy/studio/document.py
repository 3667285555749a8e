"""`Document`: a graph built by hand. Frozen: each edit returns another document, so an undo step is a document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from fusepy.errors import StudioError, did_you_mean
from fusepy.studio.kinds import NodeKind, PortValue

Socket = tuple[str, str]  # the name of a node, and of its port
Kinds = Mapping[str, NodeKind]
MOST_NODES = 500
FARTHEST = 1e6  # coordinates on the page
NODE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True)
class PlacedNode:
    """A node of a document: its kind, its place on the page, and the values of inputs that have been set."""

    name: str
    kind: str
    at: tuple[float, float]
    values: Mapping[str, PortValue] = field(default_factory=dict[str, PortValue])


@dataclass(frozen=True)
class Document:
    """Nodes by name, and for each connected input the output that feeds it. Every edit checks itself before anything changes.

    Edits raise `StudioError` for names that do not exist, values that a port does not take, and cycles. Whether the types
    of two ports fit is the compiler's business, see `StudioEngine.check`.

    Example:
        >>> from fusepy.studio.kinds import Port
        >>> number = NodeKind("number", "number", "Sources", (Port("value", "float", 0.5),), (Port("value", "float"),))
        >>> kinds = {"number": number}
        >>> empty = Document()
        >>> document = empty.add(kinds, "number", (0, 0)).set(kinds, "number", "value", 2)
        >>> document.nodes["number"].values, len(empty.nodes)
        ({'value': 2.0}, 0)
    """

    nodes: Mapping[str, PlacedNode] = field(default_factory=dict[str, PlacedNode])
    edges: Mapping[Socket, Socket] = field(default_factory=dict[Socket, Socket])

    def add(self, kinds: Kinds, kind: str, at: Sequence[Any]) -> Document:
        """Returns a document with one more node, which is the last of its `nodes`."""
        made = kind_of(kinds, kind)
        if len(self.nodes) >= MOST_NODES:
            raise StudioError(f"a document has at most {MOST_NODES} nodes", hint="remove some, or make a function of a part")
        name = next(n for i in range(1, MOST_NODES + 2) if (n := made.label if i == 1 else f"{made.label}_{i}") not in self.nodes)
        return self._with(PlacedNode(name, kind, position(at, name)))

    def remove(self, names: Iterable[str]) -> Document:
        """Returns a document without these nodes and their edges."""
        gone = {self.node(name).name for name in names}
        nodes = {n: node for n, node in self.nodes.items() if n not in gone}
        return Document(nodes, {to: start for to, start in self.edges.items() if to[0] not in gone and start[0] not in gone})

    def move(self, positions: Mapping[str, Sequence[Any]]) -> Document:
        """Returns a document with nodes at other places of the page."""
        moved = {n: replace(self.node(n), at=position(at, n)) for n, at in positions.items()}
        return replace(self, nodes={**self.nodes, **moved})

    def connect(self, kinds: Kinds, start: Socket, to: Socket) -> Document:
        """Returns a document in which the output `start` feeds the input `to`, in place of what has fed it before."""
        source, target = (kind_of(kinds, self.node(name).kind) for name in (start[0], to[0]))
        output, port = source.output(start[1]), target.input(to[1])
        if output is None:
            known = [p.name for p in source.outputs]
            raise StudioError(f"{start[0]} has no output {start[1]!r}", hint=did_you_mean(start[1], known))
        if port is None:
            raise StudioError(f"{to[0]} has no input {to[1]!r}", hint=did_you_mean(to[1], [p.name for p in target.inputs]))
        if port.fixed:
            raise StudioError(f"the input {to[1]!r} of {to[0]} takes no connection", hint="set its value")
        around = self.upstream([start[0]])
        if to[0] in around:
            raise StudioError(
                f"connecting {start[0]} with {to[0]} makes a cycle",
                saw=f"{start[0]} is computed from {to[0]}" if start[0] != to[0] else f"{to[0]} with itself",
                hint="a loop on the device is a loop in Slang, or fusepy.fori_loop in a fused function",
            )
        return replace(self, edges={**self.edges, to: start})

    def disconnect(self, to: Socket) -> Document:
        """Returns a document without the edge into this input."""
        if to not in self.edges:
            raise StudioError(f"nothing is connected with {to[0]}.{to[1]}", hint="reload the page: it shows an old document")
        return replace(self, edges={end: start for end, start in self.edges.items() if end != to})

    def set(self, kinds: Kinds, name: str, port: str, value: Any) -> Document:
        """Returns a document with another value of an input."""
        node = self.node(name)
        kind = kind_of(kinds, node.kind)
        found = kind.input(port)
        if found is None:
            raise StudioError(f"{name} has no input {port!r}", hint=did_you_mean(port, [p.name for p in kind.inputs]))
        return self._with(replace(node, values={**node.values, port: found.checked(value, f"{name}.{port}")}))

    def node(self, name: str) -> PlacedNode:
        """Returns the node of this name."""
        if name not in self.nodes:
            raise StudioError(f"the document has no node {name!r}", hint=did_you_mean(name, self.nodes))
        return self.nodes[name]

    def upstream(self, names: Iterable[str]) -> set[str]:
        """Returns these nodes and all from which they are computed."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += [start for (end, _), (start, _) in self.edges.items() if end == name]
        return found

    def order(self) -> list[str]:
        """Returns the names of the nodes, each behind those that feed it.

        Raises:
            StudioError: if a node feeds itself.
        """
        feeds: dict[str, set[str]] = {name: set() for name in self.nodes}
        for (end, _), (start, _) in self.edges.items():
            feeds[end].add(start)
        order: list[str] = []
        while len(order) < len(self.nodes):
            ready = [n for n in self.nodes if n not in order and feeds[n] <= set(order)]
            if not ready:
                around = [n for n in self.nodes if n not in order]
                raise StudioError(f"the nodes {', '.join(around[:6])} make a cycle", hint="take one of their edges away")
            order += ready
        return order

    def parts(self) -> list[Document]:
        """Returns the parts between which there are no edges."""
        label = {name: name for name in self.nodes}
        for (end, _), (start, _) in self.edges.items():
            old, new = label[end], label[start]
            label = {name: new if of == old else of for name, of in label.items()}
        groups = [[name for name in self.nodes if label[name] == of] for of in dict.fromkeys(label.values())]
        return [self.remove(set(self.nodes) - set(group)) for group in groups]

    def ends(self, kinds: Kinds) -> list[Socket]:
        """Returns the outputs of the nodes that feed nothing: the results of the document."""
        used = {name for name, _ in self.edges.values()}
        last = [node for name, node in self.nodes.items() if name not in used and node.kind in kinds]
        return [(node.name, port.name) for node in last for port in kinds[node.kind].outputs]

    def _with(self, node: PlacedNode) -> Document:
        return replace(self, nodes={**self.nodes, node.name: node})


def kind_of(kinds: Kinds, name: str) -> NodeKind:
    """Returns the kind of this name.

    Raises:
        StudioError: if the palette has none.
    """
    if name not in kinds:
        raise StudioError(f"there is no kind of nodes {name!r}", hint=did_you_mean(name, kinds))
    return kinds[name]


def position(at: Any, name: str) -> tuple[float, float]:
    """Returns a place on the page.

    Raises:
        StudioError: for anything but two numbers of a sensible size.
    """
    parts = list(cast("Sequence[Any]", at)) if isinstance(at, (list, tuple)) else []
    if len(parts) != 2 or not all(type(x) in (int, float) and abs(x) <= FARTHEST for x in parts):
        hint = f"give two numbers between {-FARTHEST:.0f} and {FARTHEST:.0f}"
        raise StudioError(f"{name} is at no place of the page", saw=repr(cast("Any", at))[:60], expected="[x, y]", hint=hint)
    return float(parts[0]), float(parts[1])

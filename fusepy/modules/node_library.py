"""`NodeLibrary`: named nodes, to be used in many graphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fusepy.backend.sealed import Sealed
from fusepy.errors import GraphError, UnknownNameError, did_you_mean
from fusepy.functions.device_function import DeviceFunction
from fusepy.functions.nodes import Node
from fusepy.modules.loading import as_module


class NodeLibrary(Sealed, Mapping[str, Node]):
    """A mapping from names to nodes, filled by `add`. Nodes are attributes, too, unless a method has the same name.

    Example:
        >>> import fusepy as fp
        >>> source = "float twice(float x) { return 2 * x; } float half_of(float x) { return x / 2; }"
        >>> nodes = fp.NodeLibrary.from_module(fp.Module.load_from_source(fp.default_device(), "doc_library", source))
        >>> g = fp.Graph(inputs=["x"], name="there_and_back")
        >>> g.set_outputs(nodes.half_of(nodes.twice(*g.get_inputs())))
        >>> _ = nodes.add(g)
        >>> list(nodes)
        ['half_of', 'there_and_back', 'twice']
    """

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}

    @staticmethod
    def from_module(module: Any, names: Iterable[str] | None = None) -> NodeLibrary:
        """Makes a library of the functions of a module.

        Args:
            module: a `Module`, or one that slangpy has loaded.
            names: only these; specialised ones (``twice<float>``) work too, and keep that name.

        Raises:
            UnknownNameError: if the module has no function with one of the names.
        """
        made, module = NodeLibrary(), as_module(module)
        for name in module._symbols["functions"] if names is None else names:  # pyright: ignore[reportPrivateUsage]
            made.add(module.find_function(name), name)
        return made

    def add(self, node: Any, name: str | None = None) -> Node:
        """Adds a node, or a function or graph as a node, and returns the node.

        Args:
            name: its name in the library; by default its own name.

        Raises:
            GraphError: if the name is taken, or `node` is neither a node nor a function.
        """
        if not isinstance(node, (Node, DeviceFunction)):
            raise GraphError(
                "NodeLibrary.add() takes a node",
                saw=type(node).__name__,
                expected="a Slang function, a fused function, a graph, or what their node() returns",
                hint="put fusepy.fuse around a Python function",
            )
        found = node if isinstance(node, Node) else node.node()
        key = found.__name__ if name is None else name
        if key in self._nodes:
            raise GraphError(f"the library has a node {key!r} already", hint="give this one another name: add(node, name)")
        self._nodes[key] = found
        return found

    def __getitem__(self, name: str) -> Node:
        if name not in self._nodes:
            raise UnknownNameError(f"the library has no node {name!r}", hint=did_you_mean(name, self))
        return self._nodes[name]

    def __getattr__(self, name: str) -> Node:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __contains__(self, name: object) -> bool:
        return name in self._nodes

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._nodes))

    def __len__(self) -> int:
        return len(self._nodes)

    def __dir__(self) -> list[str]:
        return sorted([*self._nodes, *super().__dir__()])

    def __repr__(self) -> str:
        return f"<NodeLibrary of {', '.join(self)}>"

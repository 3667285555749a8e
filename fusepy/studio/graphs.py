"""Documents as graphs of fusepy: each node is called at a line of its own name, so that errors and kernels name it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import fusepy as fp
from fusepy.errors import StudioError
from fusepy.location import at_line
from fusepy.studio.document import Document, PlacedNode, Socket, kind_of
from fusepy.studio.kinds import Port
from fusepy.studio.node_library import Library
from fusepy.studio.python_functions import of_python
from fusepy.studio.recipes import NodeRecipe, Values
from fusepy.trace.standin import stand_in

Argument = tuple[str, str]  # the name of a node, and of an argument that its recipe gives
KEPT = 500  # graphs


@dataclass(frozen=True)
class BuiltGraph:
    """A graph of nodes of a document, with its arguments, and the Python files whose functions it may call."""

    graph: fp.Graph
    arguments: tuple[Any, ...]
    files: Collection[str] = ()

    def run(self) -> list[fp.Tensor]:
        """Computes its outputs."""
        with of_python(self.files):
            return self.graph(*self.arguments, _result=fp.Tensor)

    def lower(self) -> fp.Lowered:
        """Traces a call; the compiler's words about connections are the errors of this."""
        with of_python(self.files):
            return self.graph.lower(*self.arguments, _result=fp.Tensor)


class GraphBuilder:
    """Makes graphs of documents. Graphs of single nodes are kept: another value needs no other graph."""

    def __init__(self, library: Library):
        self.node_library = library
        self._kept: dict[object, fp.Graph] = {}

    def given(self, document: Document, name: str, missing: bool = False) -> dict[str, Any]:
        """Returns the arguments that a node gives to the graph: all that no edge feeds.

        Args:
            missing: put stand-ins, by which a call can be traced, for inputs that must be connected.

        Raises:
            StudioError: for an unknown kind, and an input that has neither edge nor value; and what sources raise.
        """
        node = document.nodes[name]
        recipe = self.node_library.recipes[kind_of(self.node_library.kinds, node.kind).name]
        stand_ins = {p.name: p.described for p in open_inputs(document, node, recipe)} if missing else {}
        if not missing or None in stand_ins.values():
            check_complete(document, node, recipe)
        found = recipe.arguments(values_of(document, node, recipe))
        return found | {port: stand_in(type) for port, type in stand_ins.items()}

    def single(self, document: Document, name: str, given: Mapping[str, Any]) -> BuiltGraph:
        """Returns the graph of one node, with all of its inputs as arguments."""
        recipe = self.node_library.recipes[document.nodes[name].kind]
        key = (name, recipe, tuple(given))
        found = self._kept.pop(key, None)
        if found is None:
            found = _wired(
                {name: recipe.by_itself()}, [(name, a) for a in given], {}, [(name, p.name) for p in recipe.kind.outputs]
            )
        self._kept[key] = found  # the last of them now
        while len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return BuiltGraph(found, tuple(given.values()), self.node_library.python_files)

    def whole(self, document: Document, ends: Sequence[Socket]) -> BuiltGraph:
        """Returns the graph of all nodes behind these outputs: one program, fused."""
        around = document.upstream([name for name, _ in ends])
        recipes = {
            n: self.node_library.recipes[kind_of(self.node_library.kinds, document.nodes[n].kind).name]
            for n in document.order()
            if n in around
        }
        given = {(name, a): value for name in recipes for a, value in self.given(document, name).items()}
        graph = _wired(recipes, list(given), document.edges, ends)
        return BuiltGraph(graph, tuple(given.values()), self.node_library.python_files)


def _wired(
    recipes: Mapping[str, NodeRecipe], given: Sequence[Argument], edges: Mapping[Socket, Socket], ends: Sequence[Socket]
) -> fp.Graph:
    """Returns a graph of nodes, each behind those that feed it.

    Args:
        given: what the inputs of the graph are, in their order.
        ends: its outputs, in their order.
    """
    graph = fp.Graph(inputs=input_names(given), name=list(recipes)[-1])
    values: dict[Socket, Any] = {}
    arguments = dict(zip(given, graph.get_inputs()))
    for name, recipe in recipes.items():
        feeds = {end[1]: values[start] for end, start in edges.items() if end[0] == name}
        feeds |= {argument: value for (node, argument), value in arguments.items() if node == name}
        with at_line(line_of(name)):
            values |= {(name, port): value for port, value in recipe.build(feeds).items()}
    with at_line(line_of(ends[-1][0])):
        graph.set_outputs([values[end] for end in ends])
    return graph


def values_of(document: Document, node: PlacedNode, recipe: NodeRecipe) -> Values:
    """Returns the values of the inputs that no edge feeds: those that are set, and defaults."""
    defaults = {p.name: p.default for p in recipe.kind.inputs if p.default is not None}
    known = {p.name for p in recipe.kind.inputs}
    values = {**defaults, **{n: v for n, v in node.values.items() if n in known}}
    return {name: value for name, value in values.items() if (node.name, name) not in document.edges}


def open_inputs(document: Document, node: PlacedNode, recipe: NodeRecipe) -> list[Port]:
    """Returns the inputs that have neither an edge nor a value."""
    known = {p for (name, p) in document.edges if name == node.name} | set(node.values)
    return [port for port in recipe.kind.inputs if port.default is None and port.name not in known]


def check_complete(document: Document, node: PlacedNode, recipe: NodeRecipe) -> None:
    """Raises `StudioError` if an input has neither an edge nor a value."""
    for port in open_inputs(document, node, recipe):
        raise StudioError(
            f"the input {port.name!r} of {node.name} is missing",
            expected=port.type,
            hint="set its value" if port.fixed else "connect an output with it",
        )


def input_names(given: Sequence[Argument]) -> list[str]:
    """Returns an identifier for each argument.

    Example:
        >>> input_names([("a", "b_c"), ("a_b", "c"), ("gain", "k")])
        ['a_b_c', 'a_b_c_2', 'gain_k']
    """
    names: list[str] = []
    for node, argument in given:
        name = f"{node}_{argument}"
        again = sum(n == name or (n.startswith(f"{name}_") and n[len(name) + 1 :].isdigit()) for n in names)
        names.append(f"{name}_{again + 1}" if again else name)
    return names


def line_of(name: str) -> str:
    """Returns the line of a node in messages."""
    return f"{name}:1"


def node_at(line: str | None, document: Document) -> str | None:
    """Returns the node of a line; ``None`` if it belongs to none."""
    name = (line or "").rpartition(":")[0]
    return name if name in document.nodes else None

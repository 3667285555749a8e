"""Printer from graph to text; `ir.parse` reads it back to an equal graph."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from fusepy.ir.arrivals import CONTAINERS, TENSOR
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.ops.region import RegionSpec, ResultSpec

_PLAIN = re.compile(r"[A-Za-z_]\w*\Z")
_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\Z")
# a user's type that the parser would take as a container or as the word `weak`
_MISLEADING = re.compile(rf"({'|'.join(CONTAINERS)})<.*\]\Z|weak\Z")


def print_graph(graph: Graph) -> str:
    """Returns the textual IR of a graph, deterministic and complete."""
    lines = [f"import @{symbol(alias)} = {json.dumps(key)}" for alias, key in graph.modules]
    lines += _Printer().graph(graph, "graph", "")
    return "\n".join(lines)


def print_node(graph: Graph, node: Node) -> str:
    """Returns one node of `graph` on one line, without its bodies; values that the graph does not define are ``%?``."""
    printer = _Printer()
    for value in graph.inputs:
        printer.names[value] = f"%{path(value.name or '?')}"
    for other in graph.nodes:
        if other is node:
            break
        printer.number(other)
    return printer.node(node, "")[0]


def value_type(value: Value) -> str:
    """Returns ``Tensor<float3>[?,?]`` for an array, ``float`` for a single element, ``weak float`` for a Python number."""
    name = json.dumps(value.type.name) if _MISLEADING.match(value.type.name) else value.type.name
    container = value.arrival.name or (TENSOR.name if value.rank else "")
    if container:
        dims = ",".join("?" if d is None else str(d) for d in value.dims)
        name = f"{container}<{value.type}>[{dims}]"
    # values in a list are always weak
    return f"weak {name}" if value.weak and not value.arrival.listed else name


class _Printer:
    def __init__(self) -> None:
        self.names: dict[Value, str] = {}
        self.count = 0

    def graph(self, graph: Graph, keyword: str, indent: str) -> list[str]:
        for value in graph.inputs:
            assert value.name is not None, "an input has a name"
            self.names[value] = f"%{path(value.name)}"
        header = ", ".join(f"{self.names[v]}: {value_type(v)}" for v in graph.inputs)
        results = ", ".join(value_type(v) for v in graph.outputs)
        lines = [f"{indent}{keyword} @{symbol(graph.name)}({header}) -> ({results}) {{"]
        for node in graph.nodes:
            lines += self.node(node, f"{indent}  ")
        lines.append(f"{indent}  return {', '.join(self.name(v) for v in graph.outputs)}".rstrip())
        lines.append(f"{indent}}}")
        return lines

    def number(self, node: Node) -> None:
        """Names the results of `node`."""
        for value in node.results:
            self.names[value] = f"%{self.count}"
            self.count += 1

    def name(self, value: Value) -> str:
        return self.names.get(value, "%?")

    def node(self, node: Node, indent: str) -> list[str]:
        shown = dict(node.attrs)
        spec = shown.pop("spec", None)
        spec = spec if isinstance(spec, RegionSpec) else RegionSpec(())
        near = {i: _call("near", (f"x{j}" for j in places)) for i, places in spec.near}
        operands = ", ".join(
            " ".join(filter(None, (self.name(v), str(m), near.get(i)))) for i, (v, m) in enumerate(zip(node.operands, node.maps))
        )
        self.number(node)
        text = f"{', '.join(self.names[v] for v in node.results)} = " if node.results else ""
        text += node.op.name
        if node.op.name == "slang.call":
            text += f" @{symbol(str(shown.pop('module', '?')))}.{symbol(str(shown.pop('function', '?')))}"
        text += f"({operands}){_folds(spec)}"
        if shown:
            text += " {" + ", ".join(f"{k} = {_attr(v)}" for k, v in shown.items()) + "}"
        if node.results:
            lying = [_lying(result) for result in spec.results] or [""] * len(node.results)
            text += " : " + ", ".join(value_type(v) + where for v, where in zip(node.results, lying))
        lines = [f"{indent}{text}  // {node.loc}" if node.loc else f"{indent}{text}"]
        for body in node.bodies:
            lines += _Printer().graph(body, "body", indent)
        return lines


def symbol(name: str) -> str:
    """Returns a name, quoted if it is not an identifier."""
    return name if _PLAIN.match(name) else json.dumps(name)


def _call(word: str, parts: Iterable[str], separator: str = ",") -> str:
    return f"{word}({separator.join(parts)})"


def _lying(result: ResultSpec) -> str:
    """Returns the grid dimensions of a region's result, and the texture that stores it."""
    along = " " + _call("vmap", (f"d{d}" for d in result.dims))
    if result.into is None:
        return along
    return f"{along} " + _call("into", (result.into.type.name, *(f"x{i}" for i in result.into.shared)), ", ")


def _folds(spec: RegionSpec) -> str:
    """Returns the folds of a region, ``fold(sum, max) over(d1)``, or its rows, ``rows(d1)``."""
    if spec.rows:
        return f" {_call('rows', (f'd{d}' for d in spec.rows))}"
    if not spec.folds:
        return ""
    folds: list[str] = []
    for f in spec.folds:
        call = f" @{symbol(f.module)}.{symbol(f.function)} from {_attr(f.identity)}" if f.identity is not None else ""
        folds.append(f"{f.kind}{call}{' exclusive' * f.exclusive}")
    return f" {_call('scan' if spec.scans else 'fold', folds, ', ')} {_call('over', (f'd{d}' for d in spec.over))}"


def _attr(value: Attr) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(json.dumps(v) for v in value) + "]"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, float):
        return repr(value) if value == value and abs(value) != float("inf") else f"float({str(value)!r})".replace("'", '"')
    return repr(value)


def path(name: str) -> str:
    """Returns the name of an input; for a part of a nested argument it is a path, ``ray.position``."""
    return name if _PATH.match(name) else json.dumps(name)


Graph.__str__ = lambda self: print_graph(self)

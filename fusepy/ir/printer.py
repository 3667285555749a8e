"""Graph to text; `ir.parse` reads it back to an equal graph."""

from __future__ import annotations

import json
import re

from fusepy.ir.graph import Attr, Graph, Node, Value

_PLAIN = re.compile(r"[A-Za-z_]\w*\Z")


def print_graph(graph: Graph) -> str:
    """The textual IR of a graph, deterministic and complete."""
    lines = [f"import @{alias} = {json.dumps(key)}" for alias, key in graph.modules]
    lines += _Printer().graph(graph, "graph", "")
    return "\n".join(lines)


def value_type(value: Value) -> str:
    """``Tensor<float3>[?,?]`` for an input in memory, ``float`` for a number, ``weak float`` where only that is known."""
    if value.container:
        return f"{value.container}<{value.type}>[{_dims(value)}]"
    if value.rank:
        return f"Tensor<{value.type}>[{_dims(value)}]"
    return str(value.type)


def _dims(value: Value) -> str:
    return ",".join("?" if d is None else str(d) for d in value.dims)


class _Printer:
    def __init__(self, indent: str = "  "):
        self.names: dict[Value, str] = {}
        self.count = 0
        self.step = indent

    def graph(self, graph: Graph, keyword: str, indent: str) -> list[str]:
        for value in graph.inputs:
            assert value.name is not None, "an input has a name"
            self.names[value] = f"%{value.name}"
        header = ", ".join(
            f"{self.names[v]}: {'weak ' * (v.weak and v.container != 'List')}{value_type(v)}" for v in graph.inputs
        )
        results = ", ".join(value_type(v) for v in graph.outputs)
        lines = [f"{indent}{keyword} @{symbol(graph.name)}({header}) -> ({results}) {{"]
        for node in graph.nodes:
            lines += self.node(node, indent + self.step)
        lines.append(f"{indent}{self.step}return {', '.join(self.names[v] for v in graph.outputs)}".rstrip())
        lines.append(f"{indent}}}")
        return lines

    def node(self, node: Node, indent: str) -> list[str]:
        for value in node.results:
            self.names[value] = f"%{self.count}"
            self.count += 1
        text = f"{', '.join(self.names[v] for v in node.results)} = " if node.results else ""
        text += node.op.name
        hidden: set[str] = set()
        if node.op.name == "slang.call":
            text += f" @{node.text('module')}.{symbol(node.text('function'))}"
            hidden = {"module", "function"}
        operands = ", ".join(f"{self.names[v]} {m}".rstrip() for v, m in zip(node.operands, node.maps))
        text += f"({operands})"
        shown = {k: v for k, v in node.attrs.items() if k not in hidden}
        if shown:
            text += " {" + ", ".join(f"{k} = {_attr(v)}" for k, v in shown.items()) + "}"
        if node.results:
            text += " : " + ", ".join(str(v.type) for v in node.results)
        if node.body is None:
            return [f"{indent}{text}{_loc(node)}"]
        inner = _Printer()
        body = inner.graph(node.body, "body", indent)
        return [f"{indent}{text}{_loc(node)}", *body]


def _loc(node: Node) -> str:
    return f"  // {node.loc}" if node.loc else ""


def symbol(name: str) -> str:
    """A name as it stands, quoted where it is more than an identifier."""
    return name if _PLAIN.match(name) else json.dumps(name)


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

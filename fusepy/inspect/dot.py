"""Charts in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.inspect.chart import Box, Chart

_SHAPES = {"argument": "ellipse", "result": "ellipse", "node": "box", "kernel": "box"}


def dot(chart: Chart) -> str:
    """Writes the chart in DOT; boxes of a kernel form a cluster. The same chart gives the same text.

    Example:
        >>> from fusepy.inspect.chart import Box, Chart
        >>> chart = Chart("look")
        >>> x = chart.add(Box("argument", ("x",)))
        >>> _ = chart.add(Box("node", ("sin",), "look.py:3"), [(x, "float")])
        >>> print(dot(chart))
        digraph "look" {
          node [fontname="sans-serif"];
          edge [fontname="sans-serif"];
          n0 [label="x", shape=ellipse];
          n1 [label="sin", shape=box, tooltip="look.py:3"];
          n0 -> n1 [label="float"];
        }
    """
    lines = [f"digraph {_quoted(chart.name)} {{", '  node [fontname="sans-serif"];', '  edge [fontname="sans-serif"];']
    groups = sorted({box.group for box in chart.boxes if box.group is not None})
    lines += [_box(i, box, "  ") for i, box in enumerate(chart.boxes) if box.group is None]
    for group in groups:
        lines += [f"  subgraph cluster_{group} {{", f'    label="kernel {group}";']
        lines += [_box(i, box, "    ") for i, box in enumerate(chart.boxes) if box.group == group]
        lines.append("  }")
    for source, target, said in chart.links:
        lines.append(f"  n{source} -> n{target}" + (f" [label={_quoted(said)}];" if said else ";"))
    return "\n".join([*lines, "}"])


def _box(number: int, box: Box, indent: str) -> str:
    place = f", tooltip={_quoted(box.loc)}" if box.loc else ""
    return f"{indent}n{number} [label={_lines(box.lines)}, shape={_SHAPES[box.kind]}{place}];"


def _lines(lines: Sequence[str]) -> str:
    return '"' + r"\n".join(_escaped(line) for line in lines) + '"'


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    """Escapes text for a quoted string."""
    return text.replace("\\", "\\\\").replace('"', r"\"").replace("\r", " ").replace("\n", r"\n")

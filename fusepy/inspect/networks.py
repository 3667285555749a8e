"""Charts as graphs of networkx."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusepy.inspect.chart import Chart

if TYPE_CHECKING:
    import networkx as nx


def network(chart: Chart) -> nx.DiGraph[str]:
    """Makes a graph with a node for each box of a chart, and an edge for each link.

    Nodes are named by their boxes: names in a kernel begin with its number, repeated names end in a count. Attributes of a node:
    ``kind`` (``"argument"``, ``"node"``, ``"kernel"`` or ``"result"``), ``label`` (all lines of the box), ``line`` (the user's
    ``file:line``, or ``None``), ``kernel`` (its number, or ``None``). Attribute of an edge: ``type``.

    Example:
        >>> from fusepy.inspect.chart import Box, Chart
        >>> chart = Chart("look")
        >>> x = chart.add(Box("argument", ("x",)))
        >>> once = chart.add(Box("node", ("sin", "float"), "look.py:3", group=0), [(x, "float")])
        >>> _ = chart.add(Box("node", ("sin", "float"), "look.py:4", group=0), [(once, "float")])
        >>> graph = network(chart)
        >>> list(graph)
        ['x', '0:sin', '0:sin#2']
        >>> graph.nodes["0:sin"]
        {'kind': 'node', 'label': 'sin\\nfloat', 'line': 'look.py:3', 'kernel': 0}
    """
    import networkx as nx  # here, since it takes as long to import as fusepy

    graph: nx.DiGraph[str] = nx.DiGraph(name=chart.name)
    names: list[str] = []
    for box in chart.boxes:
        plain = name = box.lines[0] if box.group is None or box.kind == "kernel" else f"{box.group}:{box.lines[0]}"
        count = 1
        while name in graph:
            count += 1
            name = f"{plain}#{count}"
        names.append(name)
        graph.add_node(name, kind=box.kind, label="\n".join(box.lines), line=box.loc, kernel=box.group)
    graph.add_edges_from((names[source], names[target], {"type": said}) for source, target, said in chart.links)
    return graph

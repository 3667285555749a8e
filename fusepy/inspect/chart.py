"""Charts: boxes and the values that flow between them, made of graphs and kernels; drawn by `to_dot` and `to_html`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fusepy.inspect.reasons import label
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.region import spec_of
from fusepy.ir.pipelines.draw import operands_of, own_inputs, values_of


@dataclass(frozen=True)
class Box:
    """A box of a chart.

    Attributes:
        kind: ``"argument"``, ``"node"``, ``"kernel"`` or ``"result"``.
        lines: the text in it, the most important line first.
        loc: the user's ``file:line``.
        group: the number of the kernel that it is part of, or leads to; ``None`` for others.
    """

    kind: str
    lines: tuple[str, ...]
    loc: str | None = None
    group: int | None = None


@dataclass
class Chart:
    """Boxes, and links between them: index of the source, index of the target, text. Sources come before targets."""

    name: str
    boxes: list[Box] = field(default_factory=list[Box])
    links: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])

    def add(self, box: Box, reads: Sequence[tuple[int, str]] = ()) -> int:
        """Adds a box that reads other boxes, and returns its index; equal links are drawn once."""
        self.boxes.append(box)
        at = len(self.boxes) - 1
        self.links += [(source, at, said) for source, said in dict.fromkeys(reads)]
        return at


def described(map: ArgMap) -> str:
    """Describes a mapping: ``vmap(d0,d1) vcast(float3)``, or "one for all" if every thread reads the same."""
    return str(map).replace("vmap()", "one for all")


def draw_region(chart: Chart, region: Node, group: int, sources: Sequence[tuple[int, str] | None]) -> list[tuple[int, str]]:
    """Draws the nodes of a kernel, and returns the box and type of each of its results.

    Args:
        sources: for each operand, the box that it comes from and its text there; ``None`` draws no link.
    """
    if region.op.standalone:
        return _draw_stages(chart, region, group, sources)
    first = len(region.bodies[0].inputs)

    def loaded(inputs: Sequence[Value], skipped: int) -> list[int]:
        operands = zip(inputs, region.maps[skipped:], sources[skipped:])
        boxes = [(Box("argument", (v.name or "", _loaded(v, m)), group=group), source) for v, m, source in operands]
        return [chart.add(box, [source] if source is not None else []) for box, source in boxes]

    at = loaded(region.bodies[0].inputs, 0)
    found = _draw_body(chart, region.bodies[0], at, group)
    folds = spec_of(region).folds
    plain = len(found) - len(folds)
    over = ", ".join(f"d{d}" for d in spec_of(region).over)
    for i, fold in enumerate(folds):
        what = fold.function or fold.kind
        lines = (f"scan {what}" if fold.scans else what, f"{'along' if fold.scans else 'over'} {over}")
        value = region.bodies[0].outputs[plain + i]
        box = chart.add(Box("node", lines, group=group), [found[plain + i]])
        found[plain + i] = (box, str(value.type) if fold.scans else str(fold.type(value.type)))
    if len(region.bodies) > 1:
        then = region.bodies[1]
        further = loaded(then.inputs[len(folds) :], first)
        found[plain:] = _draw_body(chart, then, [*(box for box, _ in found[plain:]), *further], group)
    return found


def _draw_stages(chart: Chart, draw: Node, group: int, sources: Sequence[tuple[int, str] | None]) -> list[tuple[int, str]]:
    """Draws the functions of a ``draw``: what the vertex function hands on goes into the fragment function."""
    handed: list[tuple[int, str]] = []
    for k, (body, operands) in enumerate(zip(draw.bodies, operands_of(draw))):
        own = own_inputs(draw, body, k)
        names, at = values_of(draw, k), list[int]()
        for name, value in zip(names, own):
            links = handed if name == "varyings" else [h for n, h in zip(draw.words("varyings"), handed) if n == name]
            at.append(chart.add(Box("argument", (name, str(value.type)), group=group), links))
        for value, i in zip(body.inputs[len(own) :], operands):
            box, source = Box("argument", (value.name or "", _loaded(value, draw.maps[i])), group=group), sources[i]
            at.append(chart.add(box, [source] if source is not None else []))
        handed = _draw_body(chart, body, at, group)
    marks = draw.words("outputs")
    found = [one for one, mark in zip(handed, marks) if mark != "SV_Depth"]
    if len(draw.results) > len(found):
        found.append((chart.add(Box("node", ("depth",), draw.loc, group), handed[:1]), draw.words("types")[-1]))
    return found


def _loaded(value: Value, map: ArgMap) -> str:
    return f"{value.type}  {described(ArgMap(map.dims))}".rstrip()


def _draw_body(chart: Chart, body: Graph, inputs: Sequence[int], group: int) -> list[tuple[int, str]]:
    at: dict[Value, int] = dict(zip(body.inputs, inputs))
    known: dict[Value, str] = {}
    for node in body.nodes:
        if node.op.name == "const":
            number = node.attrs["value"]
            known[node.results[0]] = f"{number:.6g}" if isinstance(number, float) else str(number)
            continue
        reads = [(at[v], str(v.type)) for v in node.operands if v in at]
        box = chart.add(Box("node", _node_lines(node, known), node.loc, group), reads)
        at.update(dict.fromkeys(node.results, box))
    for value in body.outputs:
        if value in known:  # the kernel stores a number
            at[value] = chart.add(Box("node", (known[value],), group=group))
    return [(at[v], str(v.type)) for v in body.outputs]


def _node_lines(node: Node, known: dict[Value, str]) -> tuple[str, ...]:
    name = title(node)
    if any(v in known for v in node.operands):
        name += f"({', '.join(known.get(v, '·') for v in node.operands)})"
    inside = sum(1 for body in node.bodies for _ in body.walk())
    types = ", ".join(str(v.type) for v in node.results)
    return (name, *([f"{inside} nodes inside"] if inside else []), *([types] if types else []))


def title(node: Node) -> str:
    """Returns the name of a node without its line."""
    if node.op.name == "member":
        return f".{node.text('name')}"
    return label(node).removesuffix(f" ({node.loc})")

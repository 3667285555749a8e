"""The anatomy of a call: its kernels with their loads, nodes and stores, the values between them, and the costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fusepy.backend.execute.traffic import bytes_moved
from fusepy.inspect.chart import Box, Chart, described, draw_region
from fusepy.inspect.explain import Explanation, explain, piece_source
from fusepy.inspect.reasons import label
from fusepy.ir.argmap import ArgMap
from fusepy.ir.ops.region import spec_of
from fusepy.program.program import Program

NAMED = 6  # nodes in the box of a kernel


@dataclass(frozen=True)
class KernelValue:
    """An array or number that a kernel loads or stores."""

    name: str
    what: str
    mapping: str


@dataclass(frozen=True)
class KernelView:
    """A kernel of the call.

    Attributes:
        nodes: the names of the nodes that it computes, in order.
        chart: the nodes as boxes.
        indexing: how it indexes, and why.
        nbytes: the bytes that it reads and writes.
        seconds: the measured time; ``None`` without a measurement.
    """

    number: int
    nodes: tuple[str, ...]
    chart: Chart
    loads: tuple[KernelValue, ...]
    stores: tuple[KernelValue, ...]
    indexing: str
    reasons: tuple[str, ...]
    source: str
    nbytes: int
    seconds: float | None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its nodes, with their counts: ``("scale ×3", "tone")``."""
        return tuple(name if count == 1 else f"{name} ×{count}" for name, count in Counter(self.nodes).items())


@dataclass(frozen=True)
class Anatomy:
    """A call with its kernels.

    Attributes:
        chart: all boxes; the boxes of a kernel form a group.
        overview: one box for each kernel.
        reasons: the reasons that belong to no single kernel.
        unmeasured: why there are no times; empty if there are.
    """

    name: str
    device: str
    chart: Chart
    overview: Chart
    kernels: tuple[KernelView, ...]
    explanation: Explanation
    reasons: tuple[str, ...]
    unmeasured: str


def anatomy(program: Program, args: Sequence[Any], seconds: Sequence[float] = (), unmeasured: str = "") -> Anatomy:
    """Makes the anatomy of a call.

    Args:
        seconds: the measured time of each kernel; without it, `unmeasured` is the reason.
    """
    explanation = explain(program, args)
    slots = _Slots(program, args)
    chart, overview = slots.chart(), slots.chart()
    views: list[KernelView] = []
    for i, piece in enumerate(slots.tape.pieces):
        plan, results = piece.plan, piece.results
        view = _view(slots, i, explanation, seconds[i] if seconds else None, piece_source(piece, program))
        views.append(view)
        sources = [slots.source(p) for p in plan.positions]
        for slot, (box, _) in zip(results, draw_region(chart, plan.region, i, sources)):
            slots.inside[slot] = box
        box = overview.add(Box("kernel", _summary(view), group=i), [slots.outside_source(p) for p in plan.positions])
        slots.outside.update(dict.fromkeys(results, box))
    for (slot, name), shape in zip(slots.outputs, slots.tape.out_shapes):
        lines = (name, slots.text(slot, shape))
        chart.add(Box("result", lines), [slots.source(slot)])
        overview.add(Box("result", lines), [slots.outside_source(slot)])
    taken = {reason for view in views for reason in view.reasons}
    left = [r for r in _whole(explanation.reasons) if r not in taken]
    left += [f"stored: {text}" for text in explanation.stored]
    if explanation.stored:
        left.append(f"memory: {explanation.peak_bytes:,} bytes at most, for results and values between kernels")
    device = program.device.name
    return Anatomy(program.graph.name, device, chart, overview, tuple(views), explanation, tuple(left), unmeasured)


def _view(slots: _Slots, number: int, explanation: Explanation, seconds: float | None, source: str) -> KernelView:
    piece = slots.tape.pieces[number]
    plan, results = piece.plan, piece.results
    region = plan.region
    chart = Chart(f"kernel {number}")
    drawn = draw_region(chart, region, number, [None] * len(plan.positions))
    names = {*(n for body in region.bodies for n in map(label, body.nodes))}
    nodes = tuple(box.lines[0] for box in chart.boxes if box.kind == "node")
    loads = [KernelValue(slots.name(p), slots.text(p), described(m)) for p, m in zip(plan.positions, region.maps)]
    stores: list[KernelValue] = []
    for j, (slot, (box, type)) in enumerate(zip(results, drawn)):
        dims = (0, 1) if region.op.standalone else spec_of(region).results[j].dims
        row = KernelValue(slots.name(slot), slots.text(slot), described(ArgMap(dims)))
        chart.add(Box("result", (row.name, row.what), group=number), [(box, type)])
        stores.append(row)
    reasons = [r for r in _whole(explanation.reasons) if any(name in r for name in names)]
    reasons += [str(pair) for pair in explanation.neighbours if pair.kernel == number]
    moved = bytes_moved(piece, slots.tape, slots.program.oracle)
    said = explanation.variants[number]
    return KernelView(
        number, nodes, chart, tuple(dict.fromkeys(loads)), tuple(stores), said, tuple(reasons), source, moved, seconds
    )


def _whole(reasons: Sequence[str]) -> list[str]:
    """Joins each reason with the indented lines below it, which describe the inside of a loop or branch."""
    found: list[str] = []
    for line in reasons:
        if line.startswith(" ") and found:
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found


def _summary(view: KernelView) -> tuple[str, ...]:
    """Returns the lines in the box of a kernel."""
    names = view.names
    more = len(names) - NAMED
    return (f"kernel {view.number}", *(names if more <= 1 else (*names[:NAMED], f"and {more} more")))


class _Slots:
    """The slots of a call, which kernels read and write: their names, types and boxes."""

    def __init__(self, program: Program, args: Sequence[Any]):
        self.program = program
        self.tape = program.tape(args)
        self.types: dict[int, str] = {}
        self.names: dict[int, str] = {}
        for value, position in zip(program.graph.inputs, program.inputs.positions):
            self.types[position], self.names[position] = str(value.type), value.name or ""
        self.arguments = list(self.names)
        found = [slot for slot, _ in program.executable.outputs]
        several = len(found) > 1
        self.outputs = [(slot, f"result {j}" if several else "result") for j, slot in enumerate(found)]
        for slot, name in self.outputs:
            self.names.setdefault(slot, name)
        for plan, results, _ in self.tape.pieces:
            self.types.update((slot, str(e.type)) for slot, e in zip(results, plan.elements))
            inputs = [v.name or "" for v in plan.region.bodies[0].inputs]
            named = [*zip(plan.positions, inputs)]
            if plan.region.op.standalone:
                named = [(plan.positions[o.position], o.label) for o in plan.operands]
            for position, name in named:  # a value between kernels has the name of its node
                self.names.setdefault(position, name)
        self.inside: dict[int, int] = {}
        self.outside: dict[int, int] = {}

    def chart(self) -> Chart:
        """Makes a chart with the arguments."""
        chart = Chart(self.program.graph.name)
        for slot in self.arguments:
            self.inside[slot] = self.outside[slot] = chart.add(Box("argument", (self.name(slot), self.text(slot))))
        return chart

    def name(self, slot: int) -> str:
        return self.names.get(slot, f"value {slot}")

    def text(self, slot: int, shape: tuple[int, ...] | None = None) -> str:
        """Returns the type and extents of a slot."""
        extents = self.tape.slots[slot].shape if shape is None else shape
        return f"{self.types[slot]}{list(extents)}" if extents else self.types[slot]

    def source(self, slot: int) -> tuple[int, str]:
        return self.inside[slot], self.text(slot)

    def outside_source(self, slot: int) -> tuple[int, str]:
        return self.outside[slot], self.text(slot)

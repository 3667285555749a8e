"""Code generation for draws: the functions of a ``draw`` as the entry points of one kernel text.

The vertex entry point loads the attributes of its vertex from memory, as compute kernels load elements, so arrays may have any
strides. The indices are the device's own: it runs the vertex function once for vertices that triangles share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fusepy.backend.emit.operand import BLOCK, Field, Operand
from fusepy.backend.emit.operands import identifiers, lying
from fusepy.backend.emit.spaces.space import extents
from fusepy.backend.emit.text import Emission, KernelSource, KernelText
from fusepy.backend.emit.tuning import Shape
from fusepy.backend.emit.variant import Variant
from fusepy.backend.raster.mesh import STAGES, mesh_parameter, written_by
from fusepy.backend.raster.state import FRAGMENT_VALUES, RasterStage, RasterState, entry_point
from fusepy.ir.graph import Graph, Node
from fusepy.ir.ops import OPS
from fusepy.ir.ops.control import block
from fusepy.ir.ops.region import RegionSpec
from fusepy.ir.pipelines.draw import (
    INSTANCE,
    VERTEX,
    first_operand,
    makes_meshes,
    operands_of,
    own_inputs,
    values_of,
)
from fusepy.ir.types import Type
from fusepy.ir.value import declare

DRAWN = Variant(False, 2)
_OWN = {"SV_VertexID": "fz_vertex", "SV_InstanceID": "fz_instance"}


def same(value: object) -> object:
    """Returns its argument: a pass reads the tensor or texture itself."""
    return value


def draw_operands(draw: Node, plain: bool = False) -> list[Operand]:
    """Returns the operands of the vertex function, then those of the fragment function."""
    found: list[Operand] = []
    labels = [v.name or "x" for k, body in enumerate(draw.bodies) for v in body.inputs[len(own_inputs(draw, body, k)) :]]
    indices = [i for own in operands_of(draw) for i in own]
    names = identifiers([f"x{i}" for i in indices] if plain else [f"{label}_{i}" for i, label in zip(indices, labels)])
    inner = [v for k, body in enumerate(draw.bodies) for v in body.inputs[len(own_inputs(draw, body, k)) :]]
    for i, name, label, read in zip(indices, names, labels, inner):
        value, dims = draw.operands[i], draw.maps[i].dims or ()
        arrival = value.arrival if value.name is not None else lying(read.type)
        context = (label, draw.bodies[0].name, None, 0, value.name is None)
        found.append(Operand(i, name, arrival, value.type, read.type, dims, value.rank, False, *context))
    return found


def emit_draw(draw: Node, variant: Variant, given: Emission) -> KernelSource:
    """Returns the kernel of a draw."""
    operands = draw_operands(draw, given.plain)
    calls = Graph("draw", [], [n for body in draw.bodies for n in body.nodes], [])
    shown = Node(OPS["region"], draw.operands, draw.maps, (), {"spec": RegionSpec(())}, None, draw.bodies)
    text = KernelText(shown, variant, given, operands, [], calls)
    return _Draw(draw, text, operands).source()


class _Draw:
    """The text of one draw."""

    def __init__(self, draw: Node, text: KernelText, operands: Sequence[Operand]):
        self.draw, self.text = draw, text
        first = first_operand(draw)
        self.operands = [operands[own.start - first : own.stop - first] for own in operands_of(draw)]
        self.varyings, self.mesh = draw.words("varyings"), makes_meshes(draw)
        vertex = draw.bodies[0]
        self.interface = "FzVertex"
        if self.mesh:
            self.interface = written_by(draw.bodies[-2])
        elif self.varyings == ("",):
            self.interface = str(vertex.outputs[0].type)
        self.position = str(draw.attrs["position"])  # the member of the interface

    def source(self) -> KernelSource:
        draw, text = self.draw, self.text
        stage = RasterStage(RasterState.of(draw.attrs), draw.words("formats"))
        listed = text.listed(text.operands)
        pointers = [f for f in listed if f.role == "pointer"]
        fields = [*pointers, *extents(text.variant), *(f for f in listed if f.role != "pointer")]
        objects = [Field("", f"image{j}", "image", j, read=same) for j in range(len(draw.results))]
        objects += [Field("", "indices", "indices", 1, read=same)] if draw.attrs["indexed"] else []
        names = tuple(f"{text.name}_{body.name}" for body in draw.bodies)
        result = "FzTargets" if draw.bodies[-1].outputs else "void"
        program = [
            f"// {stage.state}, {', '.join(stage.formats)}",  # it makes the text of each pipeline its own
            *self.structs(),
            *(line for k in range(len(names)) for line in self.function(k)),
            *(line for k, name in enumerate(names[:-1]) for line in self.entry(k, name)),
            f'#line 1 "{names[-1]}"',
            *entry_point("fragment", f"{result} {names[-1]}({', '.join(self.given())})", *block(self.fragment())),
        ]
        made = text.assembled(program, names, fields, Shape(1, 1, False), stage, objects)
        before = first_operand(draw)  # operands without a name: the size, the indices
        labels = (*[""] * before, *made.labels)
        return replace(made, name="/".join(draw.words("functions")), labels=labels)  # in messages

    def entry(self, k: int, name: str) -> list[str]:
        """Returns the entry point of a function before the fragment function."""
        line, draw = f'#line 1 "{name}"', self.draw
        if not self.mesh:
            own = "uint fz_vertex : SV_VertexID, uint fz_instance : SV_InstanceID"
            head = f"{self.interface} {name}({own}{', out float fz_clip[2] : SV_ClipDistance' * bool(self.position)})"
            return [line, *entry_point("vertex", head, *block(self.vertex())), ""]
        body, values = draw.bodies[k], values_of(draw, k)
        own = [f"s_{i}" for i in range(len(values))]
        given = [mesh_parameter(n, s, v.type) for n, s, v in zip(values, own, own_inputs(draw, body, k))]
        head = f"void {name}({', '.join(given)})"
        return [line, *entry_point(STAGES[body.name], draw.words("marks")[k], head, *block(self.called(k, own))), ""]

    def structs(self) -> list[str]:
        """Returns the structs that go from stage to stage, without those of the user."""
        vertex, fragment = self.draw.bodies[-2:]
        lines: list[str] = []
        if self.interface == "FzVertex":
            marks = ["SV_Position", *(f"FZ{j}" for j in range(1, len(self.varyings)))]
            integral = [v.type.scalar is not None and not v.type.is_float for v in vertex.outputs]
            members = zip(integral, vertex.outputs, marks)
            whole = [
                f"    {'nointerpolation ' * flat}{declare(v.type, f'o_{j}')} : {m};" for j, (flat, v, m) in enumerate(members)
            ]
            lines += ["struct FzVertex", "{", *whole, "};"]
        if fragment.outputs:
            marks = self.draw.words("outputs")
            lines += ["struct FzTargets", "{"]
            lines += [f"    {self.target(j)} r_{j} : {mark};" for j, mark in enumerate(marks)] + ["};"]
        return lines

    def target(self, j: int) -> Type:
        """Returns the type of fragment output `j` in its target."""
        if self.draw.words("outputs")[j] == "SV_Depth":
            return Type.parse("float")
        return Type.parse(self.draw.words("types")[j])

    def function(self, k: int) -> list[str]:
        """Returns body `k` as a function of its own values and its operands."""
        body = self.draw.bodies[k]
        own = [f"v_{i}" for i in range(len(values_of(self.draw, k)))]
        return [*self.text.program(f"fz_call_{body.name}", body, [*own, *(f"a_{o.name}" for o in self.operands[k])]), ""]

    def called(self, k: int, own: Sequence[str]) -> list[str]:
        """Returns the lines that load the operands of body `k` and call it; its outputs are ``r_0``, ``r_1``, …"""
        body, lines = self.draw.bodies[k], list[str]()
        passed = [*own]
        for o in self.operands[k]:
            if not o.is_resource:
                lines.append(f"{declare(o.want, f'a_{o.name}')} = {self.text.load(o)};")
            passed.append(o.resource if o.is_resource else f"a_{o.name}")
        lines += [f"{declare(v.type, f'r_{j}')};" for j, v in enumerate(body.outputs)]
        passed += [f"r_{j}" for j in range(len(body.outputs))]
        return [*lines, f"fz_call_{body.name}({', '.join(passed)});"]

    def vertex(self) -> list[str]:
        own = [_OWN[name] for name in values_of(self.draw, 0)]
        lines = [f"int d{VERTEX} = min(fz_vertex, uint({BLOCK}.extent{VERTEX} - 1));"]  # an index may point past the end
        lines += [f"int d{INSTANCE} = int(fz_instance);", *self.called(0, own)]
        lines.append(f"{self.interface} made{' = r_0' * (self.interface != 'FzVertex')};")
        if self.interface == "FzVertex":
            lines += [f"made.o_{j} = r_{j};" for j in range(len(self.varyings))]
        if self.position:  # slangpy's pipelines clamp depth, and do not clip by it
            at = f"made.{self.position}"
            lines += [f"fz_clip[0] = {at}.z;", f"fz_clip[1] = {at}.w - {at}.z;"]
        return [*lines, "return made;"]

    def given(self) -> list[str]:
        """Returns the parameters of the fragment entry point."""
        values = values_of(self.draw, -1)
        system = [f"{FRAGMENT_VALUES[v]} s_{v} : {v}" for v in values if v in FRAGMENT_VALUES]
        return [f"{self.interface} fz_varyings", *system]

    def fragment(self) -> list[str]:
        own: list[str] = []
        for name in values_of(self.draw, -1):
            place = f".o_{self.varyings.index(name)}" if name in self.varyings and self.interface == "FzVertex" else ""
            own.append(f"s_{name}" if name in FRAGMENT_VALUES else f"fz_varyings{place}")
        lines = self.called(-1, own)
        outputs = self.draw.bodies[-1].outputs
        if not outputs:
            return lines
        lines.append("FzTargets made;")
        for j, value in enumerate(outputs):
            want = self.target(j)
            opaque = ", 1" if value.type.shape == (3,) and want.shape == (4,) else ""
            lines.append(f"made.r_{j} = {f'r_{j}' if value.type is want else f'{want}(r_{j}{opaque})'};")
        return [*lines, "return made;"]

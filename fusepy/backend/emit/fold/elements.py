"""What a kernel that folds sees: its parameter block, the user's program on one element, accumulators in memory, and the end.

Everything here is about one element or one result; which thread has which is written in `kernel`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from fusepy.backend.device.target import Target
from fusepy.backend.emit.array_names import ArrayNames
from fusepy.backend.emit.coordinates import decoded, linear_index
from fusepy.backend.emit.fold.accumulators import NOWHERE, accumulator_text
from fusepy.backend.emit.fold.operands import accumulators_of, epilogue_operands, join_graph
from fusepy.backend.emit.fold.variant import FoldVariant
from fusepy.backend.emit.intrinsics import unhidden
from fusepy.backend.emit.operand import BLOCK, Access, Field, Operand, from_storage, is_split, join, parts, pointee, reach
from fusepy.backend.emit.options import Options
from fusepy.backend.emit.region import RegionKernel
from fusepy.backend.emit.tuning import Shape
from fusepy.ir.graph import Graph, Node, declare
from fusepy.ir.ops.control import block
from fusepy.ir.types import Kind


class FoldElements(RegionKernel):
    """What the kernels of all stages share; `emit_reduce.FoldKernel` adds the loops."""

    variant: FoldVariant

    def __init__(
        self,
        region: Node,
        variant: FoldVariant,
        target: Target,
        accesses: Mapping[str, Access],
        imports: Mapping[str, Sequence[str]],
        taken: Collection[str],
        options: Options,
        plain: bool = False,
    ):
        self.accumulators = accumulators_of(region)
        self.members = [m for a in self.accumulators for m in a.members()]
        self.joins = [join_graph(a) for a in self.accumulators if a.fold.kind == "call"]
        self.bodies = region.bodies
        super().__init__(
            region, variant, target, accesses, imports, Shape(variant.shape.threads, 1, False), taken, options, plain
        )
        assert region.body is not None
        self.around = unhidden(accumulator_text(self.accumulators), taken, self.shims)
        self.then = epilogue_operands(region, self.operands, self.cuda, plain)
        self.over = self.spec.over
        self.kept = [d for d in range(variant.rank) if d not in self.over]
        self.plain = len(self.body.outputs) - len(self.accumulators)  # results that are stored element by element
        self.element_wise = variant.reads == "elements"
        self.finishes = variant.writes in ("results", "either")
        self.counts = any(reach(accesses[o.container], o) == "index" for o in self.operands)
        self.software = target.kind == "software"
        whole = [o.want for o in (*self.operands, *self.then) if o.want.kind is Kind.WHOLE]
        self.arrays = ArrayNames(whole, self.shims, imports)
        # a run of elements is put together before it is added; accumulators are merged one by one
        self.run, self.start, gather = ("FzRun", "fz_start", "gather") if self.element_wise else ("FzAcc", "fz_none", "merge")
        self.gather = f"fz_{gather}({{}}, {{}}, {BLOCK}.zero);"

    def calls(self) -> Graph:
        nodes = [n for g in (*self.bodies, *(join for _, join in self.joins)) for n in g.nodes]
        values = [v for g in (*self.bodies, *(join for _, join in self.joins)) for v in g.inputs]
        return Graph("all", values, nodes, ())

    def all_operands(self) -> list[Operand]:
        return [*self.operands, *self.then]

    # ---- the parameter block ------------------------------------------------------------------------------------

    def listed(self) -> list[Field]:
        used = [*(self.operands if self.element_wise else ()), *(self.then if self.finishes else ())]
        return [f for o in used for f in self.accesses[o.container].fields(o, self.variant)]

    def stored(self) -> list[int]:
        """The results that this kernel writes."""
        first = 0 if self.element_wise and (self.finishes or not self.scanning()) else self.plain
        return list(range(first, len(self.types) if self.finishes else self.plain))

    def scanning(self) -> bool:
        """Whether the region scans: its elementwise results are then written by the last kernel, and not by the first."""
        return self.spec.scans

    def resources(self) -> tuple[Field, ...]:
        into = (sink.field(j) for j, sink in self.sinks.items() if j in self.stored())
        return (*(f for f in self.listed() if f.role == "resource"), *into)

    def fields(self) -> tuple[Field, ...]:
        index = self.variant.index
        listed = [f for f in self.listed() if f.role != "resource"]
        stored = [j for j in self.stored() if j not in self.sinks]
        fields = [f for f in listed if f.role == "pointer"] + self.out_fields(stored)
        for prefix, role in (("q", "from"), ("p", "into")):
            if self.reaches(role):
                fields += [Field(f"{pointee(t, self.cuda)}*", f"{prefix}_{n}", role, k) for k, (n, t) in enumerate(self.members)]
        fields += [Field(index, role, role) for role in ("outputs", "reduced", "chunks", "chunk", "total")]
        fields += [Field("uint", "lanes", "lanes")] if self.variant.shape.shared else []
        fields += [Field("uint", "totals", "totals")] if self.variant.scans and not self.element_wise else []
        if self.variant.shape.columns > 1:
            fields += [Field(index, role, role) for role in ("rows", "full_rows", "elements")]
        fields.append(Field("uint", "zero", "zero"))
        if self.placed_by_coordinates:
            fields += [Field(index, f"extent{d}", "extent", d) for d in range(self.variant.rank)]
        return (*fields, *(f for f in listed if f.role != "pointer"), *self.out_strides(stored))

    @property
    def placed_by_coordinates(self) -> bool:
        """Whether a kernel knows where in the grid its elements are."""
        return not self.variant.linear or self.variant.shape.rows

    def reaches(self, role: str) -> bool:
        """Whether this kernel reads partials ``"from"`` memory, or has those of its chunks there: ``"into"``."""
        v = self.variant
        if role == "from":
            return v.reads == "partials"
        return v.scans or v.writes != "results"

    @property
    def unroll(self) -> str:
        """What spells a loop out: lavapipe, since Slang takes ten times as long; other drivers would be free not to."""
        return "[unroll]" if self.software else "[ForceUnroll]"

    # ---- text ---------------------------------------------------------------------------------------------------

    def trampoline(self) -> list[str]:
        lines: list[str] = []
        for a, (name, combine) in zip((a for a in self.accumulators if a.fold.kind == "call"), self.joins):
            lines += [*self.program(name, combine, [f"a{a.j}", f"b{a.j}"]), ""]
        lines += self.around
        if self.variant.shape.group:
            lines += [*(f"groupshared {declare(t, f'fz_s_{n}')}[{self.variant.shape.threads}];" for n, t in self.members), ""]
        if self.element_wise:
            lines += super().trampoline()
        if self.finishes and len(self.bodies) > 1:
            folded = [f"f{a.j}" for a in self.accumulators]
            lines += ["", *self.program(f"fz_then_{self.name}", self.bodies[1], [*folded, *(f"a_{o.name}" for o in self.then)])]
        return lines

    # ---- one element --------------------------------------------------------------------------------------------

    def taken_at(self, e: str, out: str, run: str, ahead: str = "") -> list[str]:
        """Takes element `e` of a result, or one `ahead` of it, into a run."""
        if self.element_wise:
            given = "".join(f"r_{a.j}, " for a in self.accumulators)
            return ["{", *(f"    {line}" for line in self.computed_at(e, out, ahead)), f"    fz_take({run}, {given}int(e));", "}"]
        merge = f"fz_merge({run}, found, {BLOCK}.zero);"
        return ["{", *(f"    {line}" for line in (*self.partial_at(e, out, ahead), merge)), "}"]

    def computed_at(self, e: str, out: str, ahead: str = "") -> list[str]:
        """Loads and computes one element, and stores what is stored of each."""
        lines = self.located_at(e, out, ahead)
        lines += [f"{declare(o.want, f'a_{o.name}')} = {self.load(o)};" for o in self.loaded]
        lines += [f"{declare(v.type, f'r_{j}')};" for j, v in enumerate(self.body.outputs)]
        lines.append(self.call(lambda name: name))
        return lines + [self.store(j, f"r_{j}") for j in self.stored() if j < self.plain]

    def located_at(self, e: str, out: str, ahead: str = "") -> list[str]:
        """Which element one is, and where it lies."""
        index, last = self.variant.index, self.variant.rank - 1
        if self.variant.shape.rows:  # `e` is a place in the row
            lines = [f"{index} d{last} = {e};", f"{index} e = fz_row * {BLOCK}.extent{last} + d{last};"]
        else:
            lines = [self.numbered(e, ahead), *([] if self.variant.linear else self.decoded(self.over, "e"))]
        if self.variant.linear:
            lines.append(self.indexed(e, out, ahead))
        elif self.counts:
            lines.append(linear_index(self.variant))
        return lines

    def numbered(self, e: str, ahead: str) -> str:
        """Which element of its result one is."""
        index = self.variant.index
        return f"{index} e = {e} + {index}({ahead});" if ahead else f"{index} e = {e};"

    def indexed(self, e: str, out: str, ahead: str) -> str:
        """Where an element lies. On a CPU what Slang knows of it is added last, in 64 bits: the load takes it as an offset."""
        shape = self.variant.shape
        base, known = self.place(e, out, "reduced"), ahead
        if not shape.inner:
            base, known = self.place("e", "fz_out", "reduced"), f"w * {shape.threads}" if shape.columns > 1 else ""
        if not self.software or not known or self.counts:
            return f"{self.variant.index} i = {self.place('e', out, 'reduced')};"
        return f"int64_t i = int64_t({base}) + int64_t({known});"

    def place(self, e: str, out: str, count: str) -> str:
        """Where element `e` of a result lies among those of all."""
        return f"{out} * {BLOCK}.{count} + {e}" if self.variant.shape.inner else f"{e} * {BLOCK}.outputs + {out}"

    def decoded(self, dims: Sequence[int], number: str) -> list[str]:
        """Coordinates from a number in C order, where they are needed."""
        if not self.placed_by_coordinates or not (self.element_wise or self.finishes):
            return []
        return decoded(self.variant, number, dims)

    # ---- accumulators in memory ---------------------------------------------------------------------------------

    def partial_at(self, e: str, out: str, ahead: str = "") -> list[str]:
        return [*self.partial_place(e, out, ahead), *self.loaded_from("q", "at")]

    def partial_place(self, e: str, out: str, ahead: str = "") -> list[str]:
        return [self.numbered(e, ahead), f"{self.variant.index} at = {self.place('e', out, 'reduced')};"]

    def loaded_from(self, prefix: str, at: str, name: str = "found") -> list[str]:
        lines = [f"FzAcc {name};"]
        for member, type in self.members:
            pointer = f"{BLOCK}.{prefix}_{member}"
            if is_split(type, self.cuda) and type.scalar is not None:
                value = join(type, type.scalar, iter(parts(pointer, at, type)))
            else:
                value = from_storage(f"{pointer}[{at}]", type)
            lines.append(f"{name}.{member} = {value};")
        return lines

    def stored_into(self, prefix: str, at: str, name: str) -> list[str]:
        return [self.assign(f"{BLOCK}.{prefix}_{member}", at, f"{name}.{member}", type) for member, type in self.members]

    # ---- the end ------------------------------------------------------------------------------------------------

    def finish(self, acc: str, out: str) -> list[str]:
        """What becomes of a result's accumulator: it is kept for the next kernel, or goes through the epilogue."""
        if not self.finishes:
            return self.kept_as_partial(acc, out)
        if self.variant.writes == "results":
            return self.as_result(acc, out)
        several = f"{BLOCK}.chunks > 1" if self.variant.shape.columns == 1 else f"{BLOCK}.chunks > 1 || {BLOCK}.rows > 1"
        return [f"if ({several})", *block(self.kept_as_partial(acc, out)), "else", *block(self.as_result(acc, out))]

    def kept_as_partial(self, acc: str, out: str) -> list[str]:
        """Leaves a result's accumulator in memory. Where several rows are one, a place learns of which it is."""
        lines: list[str] = []
        if self.variant.shape.columns > 1:
            for name in (f"{acc}.{p.name}_at" for a in self.accumulators if a.places for p in a.pieces):
                row = f"int(uint{out} / uint({BLOCK}.outputs / {BLOCK}.rows))"
                lines.append(f"{name} = {name} == {NOWHERE} ? {NOWHERE} : {name} * int({BLOCK}.rows) + {row};")
        return [*lines, f"{self.variant.index} at = {self.place('fz_chunk', out, 'chunks')};", *self.stored_into("p", "at", acc)]

    def as_result(self, acc: str, out: str) -> list[str]:
        """Passes a result's accumulator through the epilogue, and stores what it gives."""
        index = self.variant.index
        lines = [f"{index} i = {out};"] if self.variant.linear else []
        for a in self.accumulators:
            lines.append(f"{declare(a.want, f'f{a.j}')} = {a.result(acc)};")
        small = range(self.plain, len(self.types))
        if len(self.bodies) == 1:
            return lines + [self.store(j, f"f{a.j}") for j, a in zip(small, self.accumulators)]
        lines += [f"{declare(o.want, f'a_{o.name}')} = {self.load(o)};" for o in self.then if not o.is_resource]
        lines += [f"{declare(self.types[j], f't_{j}')};" for j in small]
        names = [*(f"f{a.j}" for a in self.accumulators), *(o.resource if o.is_resource else f"a_{o.name}" for o in self.then)]
        lines.append(f"fz_then_{self.name}({', '.join([*names, *(f't_{j}' for j in small)])});")
        return lines + [self.store(j, f"t_{j}") for j in small]

    def repeated(self, j: int) -> list[int]:
        dims = self.spec.results[j].dims
        along = range(self.variant.rank) if j < self.plain or self.scanning() else self.kept
        return [d for d in along if d not in dims]

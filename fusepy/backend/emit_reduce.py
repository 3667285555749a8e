"""Regions that fold, to Slang: kernels that combine elements, of the body or accumulators that an earlier kernel left in memory.

The elements of a result are numbered in the order of the dimensions that are folded, and cut into chunks. Either the threads of a
group stride along one chunk and merge what they have in shared memory, or each thread has chunks of its own, where neighbouring
threads work on neighbouring results. There are no atomics, and the order of all additions follows from the sizes alone, so that
the same call gives the same bits every time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from fusepy.backend.arraynames import ArrayNames
from fusepy.backend.emit import KernelSource, RegionKernel, Target
from fusepy.backend.fold_operands import accumulators_of, epilogue_operands, join_graph
from fusepy.backend.fold_variant import REST, FoldVariant
from fusepy.backend.folds import accumulator_text
from fusepy.backend.marshals.base import BLOCK, Access, Field, from_storage, is_split, join, parts, pointee, reach
from fusepy.backend.options import NO_OPTIONS, Options
from fusepy.backend.rows import linear_index
from fusepy.backend.tuning import GROUPS_PER_ROW, Shape
from fusepy.ir.graph import Graph, Node
from fusepy.ir.ops.base import declare
from fusepy.ir.ops.region import over_dims, result_dims
from fusepy.ir.types import Kind


def emit_fold(
    region: Node,
    variant: FoldVariant,
    target: Target,
    accesses: Mapping[str, Access],
    imports: Mapping[str, Sequence[str]],
    taken: Collection[str] = (),
    options: Options = NO_OPTIONS,
) -> KernelSource:
    """The kernel of one stage of `region`; see `emit.emit` for the arguments."""
    return FoldKernel(region, variant, target, accesses, imports, taken, options).build()


class FoldKernel(RegionKernel):
    """The kernel of one stage."""

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
    ):
        self.accumulators = accumulators_of(region)
        self.members = [m for a in self.accumulators for m in a.members()]
        self.joins = [join_graph(a) for a in self.accumulators if a.fold.kind == "call"]
        self.bodies = region.bodies
        super().__init__(region, variant, target, accesses, imports, Shape(variant.shape.threads, 1, False), taken, options)
        assert region.body is not None
        self.then = epilogue_operands(region, self.operands, self.cuda)
        self.over = over_dims(region)
        self.kept = [d for d in range(variant.rank) if d not in self.over]
        self.plain = len(self.body.outputs) - len(self.accumulators)  # results that are stored element by element
        self.element_wise = variant.reads == "elements"
        self.finishes = variant.writes == "results"
        whole = [o.want for o in (*self.operands, *self.then) if o.want.kind is Kind.WHOLE]
        self.arrays = ArrayNames(whole, self.shims, imports)
        # a run of elements is put together before it is added; accumulators are merged one by one
        self.run, self.start, gather = ("FzRun", "fz_start", "gather") if self.element_wise else ("FzAcc", "fz_none", "merge")
        self.gather = f"fz_{gather}({{}}, {{}}, {BLOCK}.zero);"

    def calls(self) -> Graph:
        nodes = [n for g in (*self.bodies, *(join for _, join in self.joins)) for n in g.nodes]
        values = [v for g in (*self.bodies, *(join for _, join in self.joins)) for v in g.inputs]
        return Graph("all", values, nodes, ())

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
        return any(a.fold.scans for a in self.accumulators)

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
        fields.append(Field("uint", "zero", "zero"))
        if not self.variant.linear:
            fields += [Field(index, f"extent{d}", "extent", d) for d in range(self.variant.rank)]
        return (*fields, *(f for f in listed if f.role != "pointer"), *self.out_strides(stored))

    def reaches(self, role: str) -> bool:
        """Whether this kernel reads partials ``"from"`` memory, or has those of its chunks there: ``"into"``."""
        v = self.variant
        return v.reads == "partials" if role == "from" else v.carried or (v.writes == "partials" and not v.scans)

    # ---- text ---------------------------------------------------------------------------------------------------

    def trampoline(self) -> list[str]:
        lines: list[str] = []
        for a, (name, combine) in zip((a for a in self.accumulators if a.fold.kind == "call"), self.joins):
            lines += [*self.program(name, combine, [f"a{a.j}", f"b{a.j}"]), ""]
        lines += accumulator_text(self.accumulators)
        if self.variant.shape.group:
            lines += [*(f"groupshared {declare(t, f'fz_s_{n}')}[{self.variant.shape.threads}];" for n, t in self.members), ""]
        if self.element_wise:
            lines += super().trampoline()
        if self.finishes and len(self.bodies) > 1:
            folded = [f"f{a.j}" for a in self.accumulators]
            lines += ["", *self.program(f"fz_{self.name}_then", self.bodies[1], [*folded, *(f"a_{o.name}" for o in self.then)])]
        return lines

    def kernel(self, entry: str) -> list[str]:
        shape = self.variant.shape
        head = [
            f'#line 1 "{self.name}_kernel"',
            '[shader("compute")]',
            f"[numthreads({shape.threads}, 1, 1)]",
            f"void {entry}(uint3 fz_group : SV_GroupID, uint fz_lane : SV_GroupIndex{self.block()})",
            "{",
            *(self.whole_arrays() if self.element_wise else ()),
            f"    uint fz_at = fz_group.y * {GROUPS_PER_ROW} + fz_group.x;",
        ]
        body = self.scan() if self.variant.scans else self.by_group() if shape.group else self.by_thread()
        return [*head, *(f"    {line}" for line in body), "}"]

    def by_group(self) -> list[str]:
        """The threads of a group stride along one chunk, and merge what they have in a tree."""
        index, shape = self.variant.index, self.variant.shape
        step = shape.unroll * shape.run * shape.threads
        runs = shape.unroll
        lines = [
            f"{index} fz_out = {index}(fz_at / uint({BLOCK}.chunks));",
            f"{index} fz_chunk = {index}(fz_at % uint({BLOCK}.chunks));",
            f"if (fz_out >= {BLOCK}.outputs)",
            "    return;",
            *self.decoded(self.kept, "fz_out"),
            *self.bounds("fz_chunk"),
            "FzAcc fz_acc = fz_none();",
            f"for (; fz_e + {step} <= fz_last; fz_e += {step})",
            *self.runs(
                runs,
                self.taken_at(f"fz_e + {index}((b * {runs} + u) * {shape.threads} + fz_lane)", "fz_out", "run[u]"),
                self.gather.format("fz_acc", "run[k]"),
            ),
            f"fz_e += {index}(fz_lane);",
            *self.rest(self.taken_at("fz_e", "fz_out", "run"), shape.threads),
        ]
        for name, _ in self.members:
            lines.append(f"fz_s_{name}[fz_lane] = fz_acc.{name};")
        lines += [
            "GroupMemoryBarrierWithGroupSync();",
            f"for (uint n = {shape.threads // 2}; n > 0; n >>= 1)",
            "{",
            "    if (fz_lane < n)",
            "    {",
            "        FzAcc other;",
            *(f"        other.{name} = fz_s_{name}[fz_lane + n];" for name, _ in self.members),
            f"        fz_merge(fz_acc, other, {BLOCK}.zero);",
            *(f"        fz_s_{name}[fz_lane] = fz_acc.{name};" for name, _ in self.members),
            "    }",
            "    GroupMemoryBarrierWithGroupSync();",
            "}",
            "if (fz_lane != 0)",
            "    return;",
        ]
        return [*lines, *self.finish("fz_acc", "fz_out")]

    def by_thread(self) -> list[str]:
        """Each thread has chunks of its own, of several results side by side."""
        shape = self.variant.shape
        columns, runs = shape.columns, shape.unroll * shape.columns
        step = shape.unroll * shape.run
        lines = self.placed()
        out = f"(fz_out + {self.variant.index}(w * {shape.threads}))" if columns > 1 else "fz_out"
        lines += [
            f"FzAcc fz_acc[{columns}];",
            f"[ForceUnroll] for (uint w = 0; w < {columns}; ++w)",
            "    fz_acc[w] = fz_none();",
        ]
        element = self.taken_at(f"fz_e + {self.variant.index}(b * {shape.unroll} + u)", out, f"run[w * {shape.unroll} + u]")
        lines += [f"for (; fz_e + {step} <= fz_last; fz_e += {step})"]
        lines += self.runs(runs, self.columns(element), self.gather.format(f"fz_acc[k / {shape.unroll}]", "run[k]"))
        lines += ["while (fz_e < fz_last)", "{", f"    {self.run} run[{columns}];"]
        lines += [f"    [ForceUnroll] for (uint w = 0; w < {columns}; ++w)", f"        run[w] = {self.start}();"]
        lines += [f"    for (uint b = 0; b < {REST} && fz_e < fz_last; ++b, ++fz_e)", "    {"]
        lines += [f"        {line}" for line in self.columns(self.taken_at("fz_e", out, "run[w]"))]
        lines += ["    }", f"    [ForceUnroll] for (uint w = 0; w < {columns}; ++w)"]
        lines += [f"        {self.gather.format('fz_acc[w]', 'run[w]')}", "}"]
        return lines + self.columns(self.finish("fz_acc[w]", out))

    def scan(self) -> list[str]:
        """Each thread goes along one chunk, from what the chunks before it come to."""
        start = ["FzAcc fz_acc = fz_none();"]
        if self.variant.carried:
            at = f"{self.variant.index} fz_from = {self.place('fz_chunk', 'fz_out', 'chunks')};"
            start = [at, *self.loaded_from("p", "fz_from", "fz_acc")]
        loop = ["for (; fz_e < fz_last; ++fz_e)", "{"]
        if self.element_wise:
            given = "".join(f"r_{a.j}, " for a in self.accumulators)
            before = [f"{a.want} x_{a.j} = {a.result('fz_acc')};" for a in self.accumulators if a.fold.exclusive]
            after = [f"{a.want} x_{a.j} = {a.result('fz_acc')};" for a in self.accumulators if not a.fold.exclusive]
            one = ["FzRun one = fz_start();", f"fz_take(one, {given}int(e));", f"fz_gather(fz_acc, one, {BLOCK}.zero);"]
            stores = [self.store(a.j, f"x_{a.j}") for a in self.accumulators]
            body = [*self.computed_at("fz_e", "fz_out"), *before, *one, *after, *stores]
        else:
            stored = self.stored_into("q", "at", "fz_acc")
            body = [*self.partial_at("fz_e", "fz_out"), *stored, f"fz_merge(fz_acc, found, {BLOCK}.zero);"]
        return [*self.placed(), *start, *loop, *(f"    {line}" for line in body), "}"]

    def placed(self) -> list[str]:
        """Which result and which chunk a thread has; neighbours in a group are neighbours in memory."""
        index, shape = self.variant.index, self.variant.shape
        if shape.inner:
            lines = [
                f"{index} fz_chunk = {index}((fz_at * {shape.threads} + fz_lane) % uint({BLOCK}.chunks));",
                f"{index} fz_out = {index}((fz_at * {shape.threads} + fz_lane) / uint({BLOCK}.chunks));",
                f"if (fz_out >= {BLOCK}.outputs)",
                "    return;",
            ]
        else:
            across = shape.threads * shape.columns
            lines = [
                f"uint fz_across = (uint({BLOCK}.outputs) + {across - 1}) / {across};",
                f"{index} fz_chunk = {index}(fz_at / fz_across);",
                f"{index} fz_out = {index}((fz_at % fz_across) * {across} + fz_lane);",
                f"if (fz_chunk >= {BLOCK}.chunks{'' if shape.columns > 1 else f' || fz_out >= {BLOCK}.outputs'})",
                "    return;",
            ]
        return [*lines, *self.decoded(self.kept, "fz_out"), *self.bounds("fz_chunk")]

    def columns(self, lines: Sequence[str]) -> list[str]:
        """Lines for each result that a thread works on, ``w``."""
        shape = self.variant.shape
        if shape.columns == 1:
            return ["{", "    const uint w = 0;", *(f"    {line}" for line in lines), "}"]
        return [
            f"[ForceUnroll] for (uint w = 0; w < {shape.columns}; ++w)",
            f"    if (fz_out + {self.variant.index}(w * {shape.threads}) < {BLOCK}.outputs)",
            "    {",
            *(f"        {line}" for line in lines),
            "    }",
        ]

    def bounds(self, chunk: str) -> list[str]:
        """The elements of a chunk."""
        index = self.variant.index
        return [
            f"{index} fz_e = {chunk} * {BLOCK}.chunk;",
            f"{index} fz_last = {BLOCK}.reduced - fz_e < {BLOCK}.chunk ? {BLOCK}.reduced : fz_e + {BLOCK}.chunk;",
        ]

    def runs(self, count: int, inner: Sequence[str], gather: str) -> list[str]:
        """Elements in several runs at a time, which then go to the accumulator."""
        shape = self.variant.shape
        return [
            "{",
            f"    {self.run} run[{count}];",
            f"    [ForceUnroll] for (uint k = 0; k < {count}; ++k)",
            f"        run[k] = {self.start}();",
            f"    for (uint b = 0; b < {shape.run}; ++b)",
            f"        [ForceUnroll] for (uint u = 0; u < {shape.unroll}; ++u)",
            *(f"        {line}" for line in inner),
            f"    [ForceUnroll] for (uint k = 0; k < {count}; ++k)",
            f"        {gather}",
            "}",
        ]

    def rest(self, inner: Sequence[str], step: int) -> list[str]:
        """What is left of a chunk, in short runs."""
        return [
            "while (fz_e < fz_last)",
            "{",
            f"    {self.run} run = {self.start}();",
            f"    for (uint b = 0; b < {REST} && fz_e < fz_last; ++b, fz_e += {step})",
            *(f"    {line}" for line in inner),
            f"    {self.gather.format('fz_acc', 'run')}",
            "}",
        ]

    # ---- one element --------------------------------------------------------------------------------------------

    def taken_at(self, e: str, out: str, run: str) -> list[str]:
        """Takes element `e` of a result into a run."""
        if self.element_wise:
            given = "".join(f"r_{a.j}, " for a in self.accumulators)
            return ["{", *(f"    {line}" for line in self.computed_at(e, out)), f"    fz_take({run}, {given}int(e));", "}"]
        merge = f"fz_merge({run}, found, {BLOCK}.zero);"
        return ["{", *(f"    {line}" for line in (*self.partial_at(e, out), merge)), "}"]

    def computed_at(self, e: str, out: str) -> list[str]:
        """Loads and computes one element, and stores what is stored of each."""
        index = self.variant.index
        lines = [f"{index} e = {e};"]
        if self.variant.linear:
            lines.append(f"{index} i = {self.place('e', out, 'reduced')};")
        else:
            lines += self.decoded(self.over, "e")
            if any(reach(self.accesses[o.container], o) == "index" for o in self.operands):
                lines.append(linear_index(self.variant))
        lines += [f"{declare(o.want, f'a_{o.name}')} = {self.load(o)};" for o in self.loaded]
        lines += [f"{declare(v.type, f'r_{j}')};" for j, v in enumerate(self.body.outputs)]
        lines.append(self.call(lambda name: name))
        return lines + [self.store(j, f"r_{j}") for j in self.stored() if j < self.plain]

    def place(self, e: str, out: str, count: str) -> str:
        """Where element `e` of a result lies among those of all."""
        return f"{out} * {BLOCK}.{count} + {e}" if self.variant.shape.inner else f"{e} * {BLOCK}.outputs + {out}"

    def decoded(self, dims: Sequence[int], number: str) -> list[str]:
        """Coordinates from a number in C order, where they are needed."""
        if self.variant.linear or not dims or not (self.element_wise or self.finishes):
            return []
        index, rest, lines = self.variant.index, number, list[str]()
        for d in reversed(dims[1:]):
            lines += [f"{index} d{d} = {rest} % {BLOCK}.extent{d};", f"{index} rest{d} = {rest} / {BLOCK}.extent{d};"]
            rest = f"rest{d}"
        return [*lines, f"{index} d{dims[0]} = {rest};"]

    # ---- accumulators in memory ---------------------------------------------------------------------------------

    def partial_at(self, e: str, out: str) -> list[str]:
        index = self.variant.index
        at = self.place("e", out, "reduced")
        return [f"{index} e = {e};", f"{index} at = {at};", *self.loaded_from("q", "at")]

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
        index = self.variant.index
        if not self.finishes:
            at = self.place("fz_chunk", out, "chunks")
            return [f"{index} at = {at};", *self.stored_into("p", "at", acc)]
        lines = [f"{index} i = {out};"] if self.variant.linear else []
        for a in self.accumulators:
            lines.append(f"{declare(a.want, f'f{a.j}')} = {a.result(acc)};")
        small = range(self.plain, len(self.types))
        if len(self.bodies) == 1:
            return lines + [self.store(j, f"f{a.j}") for j, a in zip(small, self.accumulators)]
        lines += [f"{declare(o.want, f'a_{o.name}')} = {self.load(o)};" for o in self.then if not o.is_resource]
        lines += [f"{declare(self.types[j], f't_{j}')};" for j in small]
        names = [*(f"f{a.j}" for a in self.accumulators), *(o.resource if o.is_resource else f"a_{o.name}" for o in self.then)]
        lines.append(f"fz_{self.name}_then({', '.join([*names, *(f't_{j}' for j in small)])});")
        return lines + [self.store(j, f"t_{j}") for j in small]

    def repeated(self, j: int) -> list[int]:
        dims = result_dims(self.region, j)
        along = range(self.variant.rank) if j < self.plain or self.scanning() else self.kept
        return [d for d in along if d not in dims]

"""Regions to Slang: one readable, deterministic kernel text per region and variant.

A kernel loads one element of every operand, calls one trampoline with the user's program in it, one line per node, and
stores the results.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from fusepy.backend.device.target import Target
from fusepy.backend.emit.array_names import ArrayNames
from fusepy.backend.emit.coordinates import decoded, linear_index
from fusepy.backend.emit.math64 import with_own_modules
from fusepy.backend.emit.matrices import is_narrow
from fusepy.backend.emit.operand import BLOCK, Access, Field, Operand, Variant, is_split, parts, pointee, reach, to_storage
from fusepy.backend.emit.options import NO_OPTIONS, Options
from fusepy.backend.emit.rows import row_kernel, walk_fields
from fusepy.backend.emit.shims import called_names, make_shims
from fusepy.backend.emit.sinks import Sink, declare_resource, texel_of
from fusepy.backend.emit.squares import square_kernel
from fusepy.backend.emit.statements import Statements
from fusepy.backend.emit.tiles import tiled_kernel
from fusepy.backend.emit.tuning import GROUPS_PER_ROW, Shape, choose, is_light
from fusepy.errors import ArgumentError
from fusepy.ir.graph import Graph, Node, Value, declare
from fusepy.ir.ops.control import block
from fusepy.ir.ops.region import result_types, spec_of
from fusepy.ir.printer import value_type
from fusepy.ir.resources import channels
from fusepy.ir.types import Kind, Type

EMITTER_VERSION = 28  # part of every cache key; raise it with any change to emitted text or to what an entry holds


@dataclass(frozen=True)
class KernelSource:
    """A generated kernel: its text, entry point, parameter block, thread shape, and the shim modules that it imports.

    `conformances` are linked in; `name` is what the user calls the function, `resources` what is bound by name, `labels` what the
    operands are called, `calls` the user's functions and structs that it names.
    """

    text: str
    entry_point: str
    fields: tuple[Field, ...]
    shape: Shape
    shims: tuple[tuple[str, str], ...] = ()
    conformances: tuple[tuple[str, str, int], ...] = ()
    name: str = ""
    resources: tuple[Field, ...] = ()
    labels: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


def region_operands(region: Node, cuda: bool = False, plain: bool = False) -> list[Operand]:
    """The operands of a region as kernels see them; `plain` ones are numbered, whatever the user calls them."""
    assert region.body is not None
    names = identifiers([f"x{i}" if plain else v.name or f"x{i}" for i, v in enumerate(region.body.inputs)])
    spec = spec_of(region)
    found: list[Operand] = []
    for i, (value, map, inner) in enumerate(zip(region.operands, region.maps, region.body.inputs)):
        label, dims = inner.name or f"x{i}", map.dims or ()
        shared = next((j for j, into in spec.textures.items() if i in into.shared), None)
        count = 0 if shared is None else channels(texel_of(spec.textures[shared]))
        said = (label, region.body.name, shared, count)
        container = value.container if value.name is not None else _lying(inner.type)
        said = (*said, value.name is None, spec.near_of(i))
        found.append(Operand(i, names[i], container, value.type, inner.type, dims, value.rank, cuda, *said))
    return found


def _lying(type: Type) -> str:
    """How what another region has stored arrives."""
    return type.head if type.kind is Kind.RESOURCE and type.head.startswith("Texture") else "Tensor"


def identifiers(labels: Sequence[str]) -> list[str]:
    """An identifier for each label, each its own: ``ray.x`` becomes ``ray_x``, or ``ray_x_2`` beside another ``ray_x``."""
    taken = {label for label in labels if "." not in label}
    names: list[str] = []
    for label in labels:
        name = plain = label.replace(".", "_")
        count = 1
        while "." in label and name in taken:
            count += 1
            name = f"{plain}_{count}"
        taken.add(name)
        names.append(name)
    return names


def emit(
    region: Node,
    variant: Variant,
    target: Target,
    accesses: Mapping[str, Access],
    imports: Mapping[str, Sequence[str]],
    element_bytes: int,
    taken: Collection[str] = (),
    options: Options = NO_OPTIONS,
    moved_bytes: int = 0,
    plain: bool = False,
) -> KernelSource:
    """The kernel of `region` in one indexing variant.

    Args:
        imports: the names to import for each module, by the aliases of the graph.
        element_bytes: size of the largest element that a thread touches, for the thread shape.
        taken: names of functions in the imported modules, which hide Slang's own.
        options: thread groups and link-time constants that the user asks for.
        moved_bytes: size of all that it touches for one element of the grid; by default twice the largest.
        plain: whether to leave away the user's names and lines, so that regions that do the same have one text.
    """
    shape = options.shape(variant.tile) or choose(target.kind, element_bytes, variant.linear, moved_bytes)
    return RegionKernel(region, variant, target, accesses, imports, shape, taken, options, plain).build()


class RegionKernel:
    """The text of an elementwise kernel; `emit_reduce.FoldKernel` builds on its parts."""

    def __init__(
        self,
        region: Node,
        variant: Variant,
        target: Target,
        accesses: Mapping[str, Access],
        imports: Mapping[str, Sequence[str]],
        shape: Shape,
        taken: Collection[str],
        options: Options = NO_OPTIONS,
        plain: bool = False,
    ):
        assert region.body is not None
        self.region = region
        self.body: Graph = region.body
        self.variant = variant
        self.target = target
        self.accesses = accesses
        self.imports = imports
        self.spec = spec_of(region)
        self.types = result_types(region)
        self.shims = make_shims(self.calls(), imports, taken)
        self.taken = taken
        self.shape = shape
        self.options = options
        self.cuda = target.kind == "cuda"
        self.plain_names = plain
        self.operands = region_operands(region, self.cuda, plain)
        self.whole = [o for o in self.operands if o.want.kind is Kind.WHOLE]  # the same for all threads and steps
        self.loaded = [o for o in self.operands if o.want.kind not in (Kind.WHOLE, Kind.RESOURCE)]
        self.arrays = ArrayNames([o.want for o in self.whole], self.shims, imports)
        self.name = "fz" if plain else "".join(c if c.isalnum() else "_" for c in self.body.name).strip("_") or "f"
        self.sinks = {j: Sink(into) for j, into in self.spec.textures.items()}
        self.computed = bool(self.sinks) or any(reach(accesses[o.container], o) == "computed" for o in self.operands)

    def calls(self) -> Graph:
        """All nodes that the kernel spells out."""
        return self.body

    # ---- the parameter block ------------------------------------------------------------------------------------

    def listed(self) -> list[Field]:
        """What the operands need."""
        return [f for o in self.operands for f in self.accesses[o.container].fields(o, self.variant)]

    def resources(self) -> tuple[Field, ...]:
        """What is bound by name: operands, then results."""
        return (*(f for f in self.listed() if f.role == "resource"), *(sink.field(j) for j, sink in self.sinks.items()))

    def fields(self) -> tuple[Field, ...]:
        """Pointers first, then the count, then the rest: most calls change only the front."""
        listed = [f for f in self.listed() if f.role != "resource"]
        stored = [j for j in range(len(self.types)) if j not in self.sinks]
        outs = self.out_fields(stored)
        count = Field("uint64_t" if self.variant.wide else "uint", "count", "count")
        extents: list[Field] = []
        if not self.variant.linear or self.computed:
            extents = [Field(self.variant.index, f"extent{d}", "extent", d) for d in range(self.variant.rank)]
        if self.variant.rows and self.target.kind == "software":
            extents += walk_fields(self.variant)
        strides = self.out_strides(stored)
        pointers = [f for f in listed if f.role == "pointer"]
        others = [f for f in listed if f.role != "pointer"]
        return (*pointers, *outs, count, *extents, *others, *strides)

    def out_fields(self, stored: Sequence[int]) -> list[Field]:
        """Where results lie."""
        return [Field(f"{pointee(self.types[j], self.cuda)}*", f"r_{j}", "out", j) for j in stored]

    def out_strides(self, stored: Sequence[int]) -> list[Field]:
        """How results lie, where that matters."""
        fields: list[Field] = []
        for j in stored if not self.variant.linear else ():
            fields.append(Field(self.variant.index, f"r_{j}_b", "out_base", j))
            rank = len(self.spec.results[j].dims)
            fields += [Field(self.variant.index, f"r_{j}_s{axis}", "out_stride", j, axis) for axis in range(rank)]
        return fields

    # ---- text ---------------------------------------------------------------------------------------------------

    def build(self) -> KernelSource:
        fields = self.fields()
        entry = f"{self.name}_kernel"  # never "main": on CUDA that name is rewritten and not found again
        by_group = self.tiled if self.variant.tile else self.rows if self.variant.rows else self.kernel
        program = [*self.trampoline(), "", *by_group(entry)]
        sources = with_own_modules(program, self.shims.sources)
        lines = [] if self.plain_names else [f"// {self.signature()}, {self.variant}"]
        wanted = self.imports if self.shims.imported is None else self.shims.imported
        imported = [name for alias, names in self.imports.items() if alias in wanted for name in names]
        lines += [f"import {name};" for name in dict.fromkeys((*imported, *self.arrays.imports, *sources))]
        lines += self.options.exports()
        lines += ["", "struct FzArguments", "{", *(f"    {f.declared} {f.name};" for f in fields), "};"]
        if not self.target.entry_point_block:
            lines.append(f"uniform FzArguments {BLOCK};")
            lines += [f"{declare_resource(f)};" for f in self.resources()]
        preludes = dict.fromkeys(self.accesses[o.container].prelude for o in self.operands if not o.is_resource)
        lines += [line for text in preludes if text for line in ("", text.rstrip())]
        lines += ["", *program]
        text = self.arrays.spell("\n".join(lines) + "\n")
        shims, linked = tuple(sources.items()), self.options.conformances
        labels = tuple(o.label for o in self.all_operands())
        calls = called_names(self.region)
        return KernelSource(text, entry, fields, self.shape, shims, linked, self.body.name, self.resources(), labels, calls)

    def all_operands(self) -> list[Operand]:
        """What the kernels of the region read."""
        return self.operands

    def signature(self) -> str:
        given = ", ".join(f"{i.name}: {value_type(v)}" for i, v in zip(self.body.inputs, self.region.operands))
        return f"{' '.join(self.body.name.split())}({given}) -> {', '.join(map(str, self.types)) or 'void'}"

    def trampoline(self) -> list[str]:
        """The user's program on single elements."""
        return self.program(f"fz_call_{self.name}", self.body, [f"a_{o.name}" for o in self.operands])

    def program(self, name: str, body: Graph, inputs: Sequence[str]) -> list[str]:
        """A function that computes the outputs of a graph of single elements."""
        names: dict[Value, str] = dict(zip(body.inputs, inputs))
        params = [declare(v.type, names[v]) for v in body.inputs]
        params += [f"out {declare(v.type, f'r_{j}')}" for j, v in enumerate(body.outputs)]
        write = Statements(names, self.shims, self.plain_names)
        lines = write.nodes(body)
        lines += [f"r_{j} = {names[v]};" for j, v in enumerate(body.outputs)]
        values = [*body.inputs, *(v for n in body.nodes for v in n.results)]
        inlined = "[ForceInline] " * any(is_narrow(v.type) for v in values)
        return [f"{inlined}void {name}({', '.join(params)})", *block(lines)]

    def block(self) -> str:
        """The entry point's parameters where those are not at module scope."""
        if not self.target.entry_point_block:
            return ""
        resources = [declare_resource(f, self.cuda) for f in self.resources()]
        return "".join(f", uniform {text}" for text in (f"FzArguments {BLOCK}", *resources))

    def rows(self, entry: str) -> list[str]:
        """A kernel whose groups know where in the grid they are."""
        placed = any(reach(self.accesses[o.container], o) == "index" for o in self.operands)
        element = [linear_index(self.variant)] * placed + self.element("")
        head = (entry, self.block(), self.name, self.variant)
        if self.target.kind != "software":
            return square_kernel(*head, [*self.whole_arrays(), *element])
        return row_kernel(*head, self.whole_arrays(), is_light(self.region), element)

    def tiled(self, entry: str) -> list[str]:
        """A kernel whose groups are tiles of the grid: neighbours in a group are neighbours in the last dimensions.

        Raises:
            ArgumentError: for a call group of more dimensions than the grid.
        """
        asked, rank = self.options.group_rank, self.variant.rank
        if asked > rank:
            raise ArgumentError(
                f"{self.body.name}: call_group_shape has {asked} dimensions, and the grid has {rank}",
                saw="x".join(map(str, reversed(self.options.numthreads))),
                hint="give the group as many dimensions as the call has, or fewer",
            )
        return tiled_kernel(entry, self.block(), self.name, self.variant, [*self.whole_arrays(), *self.element("    ")])

    def whole_arrays(self) -> list[str]:
        """Arrays that user code sees whole: the same for all threads and steps, so they are made once."""
        return [f"    {declare(o.want, f'a_{o.name}')} = {self.load(o)};" for o in self.whole]

    def kernel(self, entry: str) -> list[str]:
        threads, steps = self.shape.threads, self.shape.per_thread
        index = "uint64_t" if self.variant.wide else "uint"
        lines = [
            f'#line 1 "{self.name}_kernel"',
            '[shader("compute")]',
            f"[numthreads({threads}, 1, 1)]",
            f"void {entry}(uint3 fz_group : SV_GroupID, uint fz_lane : SV_GroupIndex{self.block()})",
            "{",
            *self.whole_arrays(),
            f"    {index} first = {index}(fz_group.y * {GROUPS_PER_ROW} + fz_group.x) * {self.shape.per_group} + fz_lane;",
        ]
        if steps == 1:
            lines += [f"    {index} i = first;", f"    if (i >= {BLOCK}.count)", "        return;", *self.element("    ")]
        elif self.shape.batched and not self.holds_arrays():
            lines += self.batched(index)
        else:
            unroll = "[ForceUnroll]" if steps <= 4 else self.loop()
            lines += [f"    {unroll}", f"    for (uint k = 0; k < {steps}; ++k)", "    {"]
            lines += [f"        {index} i = first + k * {threads};", f"        if (i >= {BLOCK}.count)", "            return;"]
            lines += [*self.element("        "), "    }"]
        return [*lines, "}"]

    def loop(self) -> str:
        """How a thread's elements follow each other. Lavapipe masks what a loop changes: spelled out they are 1.25x as fast."""
        return "[unroll]" if self.target.kind == "software" and is_light(self.region) else "[loop]"

    def holds_arrays(self) -> bool:
        """Whether a local is an array already, and cannot be declared as an array of them C style."""
        return any(t.kind is Kind.ARRAY for t in (*(o.want for o in self.operands), *(v.type for v in self.body.outputs)))

    def element(self, indent: str) -> list[str]:
        """Load, compute and store one element."""
        lines = self.coordinates()
        lines += [f"{declare(o.want, f'a_{o.name}')} = {self.load(o)};" for o in self.loaded]
        lines += [f"{declare(v.type, f'r_{j}')};" for j, v in enumerate(self.body.outputs)]
        lines.append(self.call(lambda name: name))
        lines += [self.store(j, f"r_{j}") for j in range(len(self.body.outputs))]
        return [indent + line for line in lines]

    def batched(self, index: str) -> list[str]:
        """All loads of a thread before its first store, so that they are in flight together: raw pointers may alias."""
        threads, steps = self.shape.threads, self.shape.per_thread
        loop = f"    [ForceUnroll] for (uint k = 0; k < {steps}; ++k)"
        lines = [f"    {declare(o.want, f'a_{o.name}')}[{steps}];" for o in self.loaded]
        lines += [f"    {declare(v.type, f'r_{j}')}[{steps}];" for j, v in enumerate(self.body.outputs)]
        # past the end the last element is loaded again: user code never sees a value that is not in the data
        at, last = f"first + k * {threads}", f"{BLOCK}.count - 1"
        nearest = f"{at} < {last} ? {at} : {last}" if "min" in self.taken else f"min({at}, {last})"
        lines += [loop, "    {", f"        {index} i = {nearest};"]
        lines += [f"        {line}" for line in self.coordinates()]
        lines += [f"        a_{o.name}[k] = {self.load(o)};" for o in self.loaded]
        # and it is not called again for it: it may write through a pointer
        lines += ["    }", loop, f"        if (first + k * {threads} < {BLOCK}.count)"]
        lines.append(f"            {self.call(lambda name: f'{name}[k]')}")
        lines += [loop, "    {", f"        {index} i = first + k * {threads};", f"        if (i < {BLOCK}.count)", "        {"]
        lines += [f"            {self.store(j, f'r_{j}[k]')}" for j in range(len(self.body.outputs))]
        return [*lines, "        }", "    }"]

    def call(self, spell: Callable[[str], str]) -> str:
        names = [f"a_{o.name}" if o.want.kind is Kind.WHOLE else spell(f"a_{o.name}") for o in self.operands]
        names = [o.resource if o.is_resource else name for o, name in zip(self.operands, names)]
        names += [spell(f"r_{j}") for j in range(len(self.body.outputs))]
        return f"fz_call_{self.name}({', '.join(names)});"

    def coordinates(self) -> list[str]:
        """``d0, d1, …`` from the linear index, slowest first, where anything needs them."""
        if self.variant.tile or self.variant.rows or (self.variant.linear and not self.computed):
            return []
        return decoded(self.variant, f"{self.variant.index}(i)", range(self.variant.rank))

    def load(self, operand: Operand) -> str:
        return self.accesses[operand.container].load(operand, self.variant)

    def store(self, j: int, name: str) -> str:
        """Stores result `j`. Along a dimension that it does not vary over, only the first thread writes."""
        type = self.types[j]
        pointer = f"{BLOCK}.r_{j}"
        dims = self.spec.results[j].dims
        sink = self.sinks.get(j)
        if sink is not None:
            repeated = [f"d{d} == 0" for d in self.repeated(j)]
            guard = f"if ({' && '.join(repeated)}) " if repeated else ""
            return guard + sink.store(j, dims, name, type)
        if self.variant.linear:
            return self.assign(pointer, "i" if dims else "0", name, type)
        offset = " + ".join([f"{pointer}_b", *(f"d{d} * {pointer}_s{axis}" for axis, d in enumerate(dims))])
        first = [f"d{d} == 0" for d in self.repeated(j)]
        first += [f"(d{d} == 0 || {pointer}_s{axis} != 0)" for axis, d in enumerate(dims)]
        guard = f"if ({' && '.join(first)}) " if first else ""
        return f"{guard}{self.assign(pointer, offset, name, type)}"

    def repeated(self, j: int) -> list[int]:
        """The dimensions over which result `j` is the same, and so computed more than once."""
        dims = self.spec.results[j].dims
        return [d for d in range(self.variant.rank) if d not in dims]

    def assign(self, pointer: str, index: str, name: str, type: Type) -> str:
        """Writes one element."""
        scalar = type.scalar
        if scalar is None or not is_split(type, self.cuda):
            return f"{pointer}[{index}] = {to_storage(name, type)};"
        places = itertools.product(*(range(n) for n in type.shape))
        values = ["".join(f"[{c}]" for c in place) for place in places]
        return (
            "{ "
            + " ".join(f"{p} = {to_storage(f'{name}{v}', scalar)};" for p, v in zip(parts(pointer, index, type), values))
            + " }"
        )

"""The text of a kernel: the parts that all kernels of a region consist of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fusepy.backend.emit.array_names import ArrayNames
from fusepy.backend.emit.intrinsics import unhidden_types
from fusepy.backend.emit.math64 import with_own_modules
from fusepy.backend.emit.matrices import is_narrow
from fusepy.backend.emit.operand import BLOCK, Field, Operand, addressing
from fusepy.backend.emit.options import CallShape, Emission
from fusepy.backend.emit.shims import called_names, make_shims
from fusepy.backend.emit.statements import Statements
from fusepy.backend.emit.store import Store, StoredResult
from fusepy.backend.emit.stores import declare_resource, store_of
from fusepy.backend.emit.tuning import Shape
from fusepy.backend.emit.variant import Variant
from fusepy.backend.slang.stage import COMPUTE, EntryPoints, PipelineStage
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.control import block
from fusepy.ir.ops.region import result_types, spec_of
from fusepy.ir.ops.vjp import exported
from fusepy.ir.printer import value_type
from fusepy.ir.resources import GRADED
from fusepy.ir.types import Kind
from fusepy.ir.value import declare


@dataclass(frozen=True)
class KernelSource:
    """A generated kernel: its text, entry point, parameter block, thread shape, and the shim modules that it imports.

    `conformances` are linked in. `name` is the user's name of the function, `resources` are the bindings by name, `labels` the
    names of the operands, `calls` the user's functions and structs that it uses. `objects` are read by the pass, not by the code.
    With `fast_math`, floats may be rounded otherwise than IEEE 754 says.
    """

    text: str
    entry_point: EntryPoints
    fields: tuple[Field, ...]
    shape: Shape
    shims: tuple[tuple[str, str], ...] = ()
    conformances: tuple[tuple[str, str, int], ...] = ()
    name: str = ""
    resources: tuple[Field, ...] = ()
    labels: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    stage: PipelineStage = COMPUTE
    objects: tuple[Field, ...] = ()
    fast_math: bool = False


class KernelText:
    """The parts of a kernel's text that do not depend on its index space.

    Args:
        operands: the operands of the body; `then` are those of an epilogue.
        calls: a graph of all nodes that the kernel contains.

    Attributes:
        loaded: operands that are loaded for each element; `whole` ones are the same for all threads and elements.
        stores: the stores of the region's results.
    """

    def __init__(
        self, region: Node, variant: Variant, given: Emission, operands: list[Operand], then: list[Operand], calls: Graph
    ):
        assert region.body is not None
        self.region, self.body, self.spec = region, region.body, spec_of(region)
        self.variant, self.given, self.operands, self.then = variant, given, operands, then
        self.cuda = given.cuda
        self.software = given.target.kind == "software"
        self.unroll = "[ForceUnroll]" if self.software else "[unroll]"  # by the GPU's compiler, decision 042
        self.types = result_types(region)
        self.calls = calls
        self.shims = make_shims(calls, given.imports, given.taken)
        self.whole = [o for o in operands if o.want.kind is Kind.WHOLE]
        self.loaded = [o for o in operands if o.want.kind not in (Kind.WHOLE, Kind.RESOURCE)]
        self.arrays = ArrayNames([o.want for o in (*operands, *then) if o.want.kind is Kind.WHOLE], self.shims, given.imports)
        self.name = "fz" if given.plain else "".join([c if c.isalnum() else "_" for c in self.body.name]).strip("_") or "f"
        self.plain = len(self.body.outputs) - len(self.spec.folds)  # results that are stored element by element
        self.kept = tuple(d for d in range(variant.rank) if d not in self.spec.over)
        self.place = CallShape(variant.rank, given.options.group) if given.placed else None
        self.stores: list[Store] = []
        for j, (type, result) in enumerate(zip(self.types, self.spec.results)):
            along = tuple(range(variant.rank)) if j < self.plain or self.spec.scans else self.kept
            self.stores.append(store_of(StoredResult(j, type, result, along, variant, self.cuda)))

    def any_addressed(self, way: str) -> bool:
        """True if the `backend.emit.operand.addressing` of an operand is `way`, of the body or, of a scan, of what follows."""
        operands = [*self.operands, *self.then] if self.spec.scans else self.operands
        return any(addressing(self.given.accesses, o) == way for o in operands)

    def is_uniform(self, operand: Operand) -> bool:
        """True if an operand lies in the parameter block, so that it is the same for all elements."""
        return addressing(self.given.accesses, operand) == "uniform"

    # ---- parameters ---------------------------------------------------------------------------------------------

    def listed(self, operands: Iterable[Operand]) -> list[Field]:
        """Returns the operands' members of the parameter block, and their bindings by name (role ``"resource"``)."""
        return [f for o in operands for f in self.given.accesses[o.arrival].fields(o, self.variant)]

    def stored(self, results: Iterable[int]) -> list[Field]:
        """Returns the pointers or bindings of results."""
        return [f for j in results for f in self.stores[j].fields()]

    def strides(self, results: Iterable[int]) -> list[Field]:
        """Returns the base offsets and strides of results."""
        return [f for j in results for f in self.stores[j].strides()]

    # ---- one element --------------------------------------------------------------------------------------------

    def load(self, operand: Operand) -> str:
        return self.given.accesses[operand.arrival].load(operand, self.variant)

    def before(self) -> list[str]:
        """Returns the declarations of arrays that are passed to user code whole. A thread creates them once."""
        return [f"{declare(o.want, f'a_{o.name}')} = {self.load(o)};" for o in self.whole]

    def call(self, spell: Callable[[str], str]) -> str:
        """Returns the call of the user's program; `spell` maps the names of locals."""
        names = [f"a_{o.name}" if o.want.kind is Kind.WHOLE else spell(f"a_{o.name}") for o in self.operands]
        names = [o.resource if o.is_resource else name for o, name in zip(self.operands, names)]
        names += [spell(f"r_{j}") for j in range(len(self.body.outputs))]
        return f"fz_call_{self.name}({', '.join(names)});"

    def element(self, stored: Iterable[int], held: Mapping[str, str] | None = None) -> list[str]:
        """Returns lines that load and compute one element, and store the results `stored`.

        Args:
            held: expressions for operands that are loaded already, by name.
        """
        lines = [f"{declare(o.want, f'a_{o.name}')} = {(held or {}).get(o.name) or self.load(o)};" for o in self.loaded]
        lines += [f"{declare(v.type, f'r_{j}')};" for j, v in enumerate(self.body.outputs)]
        lines += self.place.lines(BLOCK) if self.place is not None else []
        lines.append(self.call(str))
        return lines + [self.stores[j].write(f"r_{j}") for j in stored]

    def trampoline(self) -> list[str]:
        """Returns the function that runs the user's program on one element."""
        return self.program(f"fz_call_{self.name}", self.body, [f"a_{o.name}" for o in self.operands])

    def program(self, name: str, body: Graph, inputs: Sequence[str]) -> list[str]:
        """Returns a function that computes the outputs of a graph for one element."""
        names: dict[Value, str] = dict(zip(body.inputs, inputs))
        params = [declare(v.type, names[v]) for v in body.inputs]
        params += [f"out {declare(v.type, f'r_{j}')}" for j, v in enumerate(body.outputs)]
        write = Statements(names, self.shims, self.given.plain, name, self.given.rounded())
        lines = write.nodes(body)
        lines += [f"r_{j} = {names[v]};" for j, v in enumerate(body.outputs)]
        values = [*body.inputs, *[v for n in body.nodes for v in n.results]]
        inlined = "[ForceInline] " * bool([v for v in values if is_narrow(v.type)])
        return [*write.functions, f"{inlined}void {name}({', '.join(params)})", *block(lines)]

    def source(
        self,
        functions: Sequence[str],
        lines: Sequence[str],
        threads: Sequence[int],
        lane: str,
        fields: Sequence[Field],
        shape: Shape,
        resident: int = 0,
    ) -> KernelSource:
        """Returns the kernel: its imports, parameters `fields`, `functions`, and entry point; for `resident` see its stage."""
        target = self.given.target
        bound = self._bound(fields) if target.entry_point_block else ()
        entry = f"{self.name}_kernel"  # never "main": on CUDA that name is rewritten and not found again
        parameters = [f"FzArguments {BLOCK}", *(declare_resource(f, self.cuda) for f in bound)]
        uniforms = "".join(f", uniform {text}" for text in parameters) if target.entry_point_block else ""
        first = COMPUTE.first("\n".join([*functions, *lines]), threads, target.spirv, self.cuda, resident)
        head = [f'#line 1 "{entry}"', *COMPUTE.attributes(threads), COMPUTE.head(entry, lane, uniforms)]
        program = [*functions, "", *head, *block([*first, *lines])]
        return self.assembled(program, entry, fields, shape)

    def assembled(
        self,
        program: Sequence[str],
        entry: EntryPoints,
        fields: Sequence[Field],
        shape: Shape,
        stage: PipelineStage = COMPUTE,
        objects: Sequence[Field] = (),
    ) -> KernelSource:
        """Returns the kernel of a `program`, which ends in its entry points: with its imports and its parameters `fields`."""
        target, imports, bound = self.given.target, self.given.imports, self._bound(fields)
        inside = tuple(f for f in fields if not f.is_bound)
        sources = with_own_modules(program, self.shims.sources)
        visible = imports if self.shims.imported is None else self.shims.imported
        imported = [name for alias, names in imports.items() if alias in visible for name in names]
        attributes = {name for node in self.calls.walk() for name in node.attrs}
        imported += ["fusepy", GRADED] * ("graded" in attributes) + ["fusepy"] * ("sums" in attributes)
        text = [] if self.given.plain else [f"// {self._signature()}, {self.variant}"]
        text += [f"import {name};" for name in dict.fromkeys((*imported, *self.arrays.imports, *sources))]
        text += [*(self.place.exports() if self.place else ()), *self.given.options.exports(), *exported(self.calls.walk())]
        text += ["", "struct FzArguments", "{", *[f"    {f.declared} {f.name};" for f in inside], "};"]
        if not target.entry_point_block:
            text += [f"uniform FzArguments {BLOCK};", *(f"{declare_resource(f)};" for f in bound)]
        preludes = dict.fromkeys(self.given.accesses[o.arrival].prelude for o in self.operands if not o.is_resource)
        text += [line for prelude in preludes if prelude for line in ("", prelude.rstrip())]
        spelled = self.arrays.spell("\n".join([*text, "", *program]) + "\n")
        for node in self.calls.nodes:
            for value in (*node.operands, *node.results):
                if value.type.kind is Kind.NAMED:
                    spelled = unhidden_types(spelled, [value.type])
        labels = tuple(o.label for o in (*self.operands, *self.then))
        shims, linked, calls = tuple(sources.items()), self.given.options.conformances, called_names(self.region)
        own = (self.body.name, bound, labels, calls, stage, tuple(objects), self.given.options.fast_math and self.given.cuda)
        return KernelSource(spelled, entry, inside, shape, shims, linked, *own)

    def _bound(self, fields: Sequence[Field]) -> tuple[Field, ...]:
        """Returns the fields that are bound by name, in the order of their declarations."""
        return tuple(f for role in ("resource", "texels") for f in fields if f.role == role)

    def _signature(self) -> str:
        given = ", ".join(f"{i.name}: {value_type(v)}" for i, v in zip(self.body.inputs, self.region.operands))
        return f"{' '.join(self.body.name.split())}({given}) -> {', '.join(map(str, self.types)) or 'void'}"

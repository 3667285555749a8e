"""Code generation for regions that go along rows: a row stays with the threads that share it, from its first stage to its last.

A row is any set of adjacent dimensions. Where it is a column, the last of the other dimensions counts the threads, so that
neighbouring threads load neighbouring elements.

Threads beyond the last row do the work of the first row and store nothing, so that all threads reach all barriers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fusepy.backend.emit.fold.accumulators import Accumulator
from fusepy.backend.emit.fold.structs import fold_functions
from fusepy.backend.emit.intrinsics import unhidden
from fusepy.backend.emit.operand import BLOCK, Field, Operand
from fusepy.backend.emit.operands import region_operands
from fusepy.backend.emit.row.reduction import WARP, StageFolds
from fusepy.backend.emit.row.variant import RowVariant
from fusepy.backend.emit.row.walk import StageWalk
from fusepy.backend.emit.spaces.space import decoded, extents
from fusepy.backend.emit.spaces.words import count_of, in_words
from fusepy.backend.emit.text import Emission, KernelSource, KernelText
from fusepy.backend.emit.tuning import GROUPS_PER_ROW, Shape
from fusepy.backend.slang.stage import THREAD_INDEX
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.control import block
from fusepy.ir.ops.folds import Fold
from fusepy.ir.rows.body import RowBody
from fusepy.ir.types import HALF
from fusepy.ir.value import declare

# Threads of a multiprocessor for which CUDA's compiler has registers: half of what there are at most, so that each thread has all
# loads of its elements in flight, if it holds so few of them. Rows of 129 take 0.9 of the time. Fewer if an element is 3 numbers
# between two stages, or more: with 64 registers the gradient of a product of two softmaxes keeps some numbers in memory.
ROW_THREADS, HELD = (1024, 1024, 1024, 768, 640), 32


def emit_rows(region: Node, variant: RowVariant, given: Emission) -> KernelSource:
    """Returns the kernel of `region`."""
    assert region.body is not None
    folds = [n for n in region.body.nodes if n.op.name == "row_fold"]
    accumulators = [Accumulator(j, Fold.of_node(n), n.operands[0].type) for j, n in enumerate(folds)]
    joins = {a.j: a.joined for a in accumulators if a.fold.kind == "call"}
    calls = [n for n in region.body.nodes if n not in folds] + [n for join in joins.values() for n in join.nodes]
    together = Graph("all", region.body.inputs, calls, ())
    text = KernelText(region, variant, given, region_operands(region, given.cuda, given.plain), [], together)
    return _RowKernel(text, variant, joins).source()


class _RowKernel:
    """The kernel of one region; lines read the element's coordinates ``d0, d1, …``."""

    def __init__(self, text: KernelText, variant: RowVariant, joins: Mapping[int, Graph]):
        self.text, self.variant, self.shape, self.index = text, variant, variant.shape, variant.index
        self.rows, self.joins = text.spec.rows, joins
        self.body = RowBody(text.region)
        self.stages = self.body.stages(held=self.shape.held > 0)
        number = {n: j for j, n in enumerate(self.body.folds)}
        self.folds = [StageFolds(k, stage, number, self.shape, text.cuda) for k, stage in enumerate(self.stages)]
        self.operand: dict[Value, Operand] = dict(zip(text.body.inputs, text.operands))
        self.names: dict[Value, str] = {}  # of values that are the same along the row, and of values in registers
        for value, o in self.operand.items():
            self.names[value] = o.resource if o.is_resource else f"a_{o.name}"
        self.functions: list[str] = []

    def source(self) -> KernelSource:
        """Returns the kernel."""
        text, shape = self.text, self.shape
        lines = [*self.place(), *self.called(self.body.row(-1), "fz_row")]
        for k in range(len(self.stages)):
            lines += self.stage(k)
        lines += self.row_results()
        if shape.turns:
            lines = ["uint fz_turn = 0;", "do", *block(lines), f"while (++fz_turn < {BLOCK}.turns);"]
        lines = [*text.before(), *(_read_once(lines) if text.software else lines)]
        accumulators = [a for f in self.folds for a in f.accumulators]
        around = [line for j, g in self.joins.items() for line in text.program(f"fz_join_{j}", g, [f"a{j}", f"b{j}"])]
        own = [*fold_functions(accumulators), *(line for f in self.folds if f.accumulators for line in f.functions())]
        own = unhidden(own, text.given.taken, text.shims)
        lines = unhidden(lines, text.given.taken, text.shims)
        shown = Shape(shape.threads, 1, False)
        narrow = any(o.want.scalar is HALF for o in text.operands)  # with more registers the compiler keeps halfs in memory
        told = ROW_THREADS[min(self.body.words(), len(ROW_THREADS) - 1)] // shape.threads
        resident = told if text.cuda and shape.held <= HELD and not narrow else 0
        given = (lines, (shape.threads, 1, 1), THREAD_INDEX, self.fields(), shown, resident)
        return text.source([*around, *own, *self.functions], *given)

    def fields(self) -> list[Field]:
        """Returns the parameters: pointers first."""
        text, index, results = self.text, self.index, range(len(self.text.stores))
        listed = text.listed(text.operands)
        sizes = [*(Field(index, role, role) for role in ("outputs", "reduced", "total")), Field("uint", "lanes", "lanes")]
        pointers = [f for f in listed if f.role == "pointer"]
        sizes += [Field("uint", "turns", "turns")] if self.shape.turns else []
        others = [*sizes, Field("uint", "zero", "zero"), *extents(self.variant), *(f for f in listed if f.role != "pointer")]
        return [*pointers, *text.stored(results), *others, *text.strides(results)]

    # ---- the row ------------------------------------------------------------------------------------------------

    def place(self) -> list[str]:
        """Returns lines that set the row of a thread, its place among the threads of the row, and load what the row shares."""
        outer = [d for d in range(self.variant.rank) if d not in self.rows]
        group = f"fz_group.y * {GROUPS_PER_ROW} + fz_group.x"
        lines = [
            f"uint fz_at = {f'({group}) * {BLOCK}.turns + fz_turn' if self.shape.turns else group};",
            *self.sharing(),
            f"bool fz_own = fz_row < {BLOCK}.outputs;",
            "if (!fz_own) fz_row = 0;",
            *decoded(self.variant, "fz_row", outer),
        ]
        if self.shape.held and not self.shape.exact:  # the elements, or words, of the thread
            reduced = in_words(f"uint({BLOCK}.reduced)", count_of(self.variant.space))
            count = f"({reduced} + fz_lanes - 1 - fz_in) >> fz_bits"
            if self.shape.reach == "thread" and self.text.software:
                # From a count that is the same for all threads, folds of constants are so too. Before each loop that starts from
                # such a value, lavapipe walks all paths to the parameter block, of which each selection doubles the number.
                count = f"({count}) + fz_lane * {BLOCK}.zero"
            lines.append(f"uint fz_count = {count};")
        shared = [o for v, o in self.operand.items() if v in self.body.whole and o in self.text.loaded]
        return [*lines, *(f"{declare(o.want, f'a_{o.name}')} = {self.text.load(o)};" for o in shared)]

    def sharing(self) -> list[str]:
        """Returns lines that set the row of a thread, the number of threads that share it, and the thread's place among these."""
        index, shape = self.index, self.shape
        alone = shape.reach == "thread"
        known = 1 if alone else shape.lanes  # a power of two: no division
        lanes = [f"uint fz_lanes = {known or f'{BLOCK}.lanes'};"]
        lanes.append(f"uint fz_bits = {known.bit_length() - 1 if known else 'firstbithigh(fz_lanes)'};")
        if shape.columns and shape.reach == "group":
            return [
                *lanes,
                f"uint fz_side = {shape.threads} >> fz_bits;",
                f"uint fz_in = fz_lane >> ({shape.threads.bit_length() - 1} - fz_bits);",
                f"{index} fz_row = {index}(fz_at) * {index}(fz_side) + {index}(fz_lane & (fz_side - 1));",
            ]
        near = "fz_lanes < WaveGetLaneCount() ? fz_lanes : WaveGetLaneCount()"
        if known and self.text.cuda:  # whose compiler takes the width of a wave for a number that it does not know
            near = str(min(known, WARP))
        return [
            *lanes,
            *([] if alone else [f"uint fz_near = {near};"]),
            "uint fz_in = fz_lane & (fz_lanes - 1);",
            f"{index} fz_row = {index}(fz_at) * {index}({shape.threads} >> fz_bits) + {index}(fz_lane >> fz_bits);",
        ]

    def row_results(self) -> list[str]:
        """Returns lines with which the first thread of a row stores the results that are the same along the row."""
        stores = [self.text.stores[j].write(self.names[self.text.body.outputs[j]]) for j in self.body.of_row]
        if not stores:
            return []
        zero = [f"{self.index} d{d} = 0;" for d in self.rows]
        return ["if (fz_own && fz_in == 0)", *block([*zero, *stores])]

    def called(self, graph: Graph, name: str) -> list[str]:
        """Returns lines that declare the outputs of a graph and compute them by a function, which it adds."""
        if not graph.outputs:
            return []
        names = {v: f"{name}_{i}" for i, v in enumerate(graph.outputs)}
        lines = [f"{declare(v.type, names[v])};" for v in graph.outputs]
        lines.append(f"{self.function(graph, name)}({', '.join([*(self.names[v] for v in graph.inputs), *names.values()])});")
        self.names.update(names)
        return lines

    def function(self, graph: Graph, name: str) -> str:
        """Adds the function that computes a graph, and returns its name."""
        called = f"{name}_of_{self.text.name}"
        inputs = [f"a_{self.operand[v].name}" if v in self.operand else f"i{i}" for i, v in enumerate(graph.inputs)]
        self.functions += ["", *self.text.program(called, graph, inputs)]
        return called

    # ---- a stage ------------------------------------------------------------------------------------------------

    def stage(self, k: int) -> list[str]:
        """Returns the lines of a stage: the walk along the row, the folds across its threads, and what follows for the row."""
        stage, folds = self.stages[k], self.folds[k]
        keeps = {v: f"h{k}_{i}" for i, v in enumerate(stage.kept)}
        if stage.elements.nodes:
            self.function(stage.elements, f"fz_stage{k}")
        lines = [f"{v.type} {name}[{self.shape.held}];" for v, name in keeps.items()]
        lines += folds.start() if folds.accumulators else []
        lines += block(StageWalk(self.text, self.variant, self.operand, self.names, k, stage, folds, keeps).lines())
        self.names.update((v, f"{name}{{}}") for v, name in keeps.items())
        if not folds.accumulators:
            return lines
        lines += folds.across()
        for a, node in zip(folds.accumulators, stage.folds):
            name = self.names[node.results[0]] = f"f{a.j}"
            lines.append(f"{declare(a.want, name)} = {a.result(f'fz_acc{k}')};")
        return [*lines, *self.called(stage.row, f"fz_row{k}")]


def _read_once(lines: Sequence[str]) -> list[str]:
    """Returns lines that read each parameter once, before the rest.

    As far as LLVM knows, the stores of a loop may change the block, so it would read a parameter in each round.
    """
    names = dict.fromkeys(re.findall(rf"{BLOCK}\.(\w+)", "\n".join(lines)))
    read = [f"let fz_p_{name} = {BLOCK}.{name};" for name in names]
    return [*read, *(re.sub(rf"{BLOCK}\.(\w+)", r"fz_p_\1", line) for line in lines)]

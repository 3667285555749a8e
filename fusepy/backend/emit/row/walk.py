"""The walk along the row in one stage: which elements a thread has, and the work on each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fusepy.backend.emit.operand import BLOCK, Operand
from fusepy.backend.emit.row.reduction import StageFolds
from fusepy.backend.emit.row.variant import RUN, RowShape, RowVariant
from fusepy.backend.emit.spaces.space import decoded, linear_index
from fusepy.backend.emit.text import KernelText
from fusepy.backend.emit.tuning import ANGLE_WEIGHT, weight_of
from fusepy.ir.graph import Value
from fusepy.ir.ops.control import block
from fusepy.ir.rows.body import RowStage
from fusepy.ir.value import declare


@dataclass(frozen=True)
class StageWalk:
    """The loops of one stage; lines read the element's coordinates ``d0, d1, …``.

    Attributes:
        operand: the operands by the inputs of the body.
        names: of values that are the same along the row, and of those in registers, with the place of an index.
        number: that of the stage.
        keeps: the arrays that hold what the stage keeps.
    """

    text: KernelText
    variant: RowVariant
    operand: Mapping[Value, Operand]
    names: Mapping[Value, str]
    number: int
    stage: RowStage
    folds: StageFolds
    keeps: Mapping[Value, str]

    @property
    def shape(self) -> RowShape:
        return self.variant.shape

    @property
    def index(self) -> str:
        return self.variant.index

    def lines(self) -> list[str]:
        """Returns the loops over the elements of a thread."""
        shape, index = self.shape, self.index
        run = RUN if self.folds.accumulators else shape.ahead
        if shape.held:
            runs = -(-shape.held // run)
            run = shape.held // runs
            inner = self.run(run, f"fz_r * {run}" if runs > 1 else "", "")
            return [f"{self.text.unroll} for (uint fz_r = 0; fz_r < {runs}; ++fz_r)", *block(inner)] if runs > 1 else inner
        step, reduced = f"{index}(fz_lanes)", f"{BLOCK}.reduced"
        inner = self.run(run, "", "fz_e")
        if not shape.exact:
            return [f"for ({index} fz_e = 0; fz_e < {reduced}; fz_e += {run} * {step})", *block(inner)]
        if weight_of(self.text.body.nodes) >= ANGLE_WEIGHT and self.text.software:
            return [f"{index} fz_e = 0;", *self.one_by_one(run, step, reduced)]
        full = f"for (; fz_e + {run} * {step} <= {reduced}; fz_e += {run} * {step})"
        rest = [f"for (; fz_e + {index}(fz_in) < {reduced}; fz_e += {step})", *block(self.elements(1, "", "fz_e"))]
        return [f"{index} fz_e = 0;", full, *block(inner), *self.folds.running(rest)]

    def one_by_one(self, run: int, step: str, reduced: str) -> list[str]:
        """Returns the loop of a body that compiles for a second, such as a sine of doubles: it stands in the loop once."""
        one = block(self.elements(1, "", "fz_e"))
        if run == 1:
            return [f"for (; fz_e + {self.index}(fz_in) < {reduced}; fz_e += {step})", *one]
        stop = f"{self.index} fz_stop = {reduced} - fz_e < {run} * {step} ? {reduced} : fz_e + {run} * {step};"
        loop = [f"for (; fz_e + {self.index}(fz_in) < fz_stop; fz_e += {step})", *one]
        return [f"while (fz_e < {reduced})", *block([stop, *self.folds.running(loop), "fz_e = fz_stop;"])]

    def run(self, run: int, first: str, start: str) -> list[str]:
        """Returns the lines of one run of elements, in pieces whose loads are in flight together.

        Args:
            first: the number of the first element among those of the thread, if it is not 0.
            start: the place in the row of the first element of all threads, if it is not 0.
        """
        ahead = min(self.shape.ahead, run)
        pieces = run // ahead
        if pieces == 1:
            return self.folds.running(self.elements(ahead, first, start))
        inner = self.elements(ahead, _sum(first, f"fz_c * {ahead}"), start)
        repeat = "[loop]" if self.text.software and not self.shape.held else self.unroll  # a lane has few registers
        return self.folds.running([f"{repeat} for (uint fz_c = 0; fz_c < {pieces}; ++fz_c)", *block(inner)])

    @property
    def unroll(self) -> str:
        """The attribute of loops whose rounds are spelled out: by Slang if they index registers."""
        return "[unroll]" if self.text.software and not self.shape.held else self.text.unroll

    def elements(self, count: int, first: str, start: str) -> list[str]:
        """Returns lines that load `count` elements of a thread, then compute each."""
        number, at = (_sum(first, "fz_u"), "[fz_u]") if count > 1 else (first or "0", "")
        fresh = {v: f"l_{self.operand[v].name}" for v in self.stage.loads}
        operands = [self.operand[v] for v in fresh]
        arrays = [f"{declare(o.want, name)}{f'[{count}]' * (count > 1)};" for o, name in zip(operands, fresh.values())]
        place, near = self.located(number, start), self.located(number, start, loading=True)
        load = [f"{name}{at} = {self.text.load(o)};" for o, name in zip(operands, fresh.values())]
        one = self.computed({v: f"{name}{at}" for v, name in fresh.items()}, number)
        if count == 1:
            return [*arrays, *block([*near, *load]), *place, *one]
        loop = f"{self.unroll} for (uint fz_u = 0; fz_u < {count}; ++fz_u)"
        return [*arrays, *([loop, *block([*near, *load])] if fresh else ()), loop, *block([*place, *one])]

    def located(self, number: str, start: str, *, loading: bool = False) -> list[str]:
        """Returns lines that set the place ``e`` of an element in its row and its coordinates, and whether it is in the row.

        A load beyond the end takes the last element, so that no load waits for a branch. What is beyond the end follows from a
        count of the thread: compilers would keep the answers, or the places, of all elements in registers.
        """
        index, shape = self.index, self.shape
        offset = f"{index}(fz_in)" if number == "0" else f"{index}(({number}) * fz_lanes + fz_in)"
        lines = [f"{index} e = {_sum(start, offset)};"]
        sure = f"{number} < {shape.sure} || " if shape.sure else ""  # known where loops are unrolled
        if not shape.exact and loading:
            lines.append(
                f"e = {f'{number} < {shape.sure} ? e : ' if sure else ''}select(e < {BLOCK}.reduced, e, {BLOCK}.reduced - 1);"
            )
        elif not shape.exact:
            lines.append(f"bool fz_inside = {f'{sure}uint({number}) < fz_count' if shape.held else f'e < {BLOCK}.reduced'};")
        lines += decoded(self.variant, "e", self.text.spec.rows)
        numbered = self.text.any_addressed("index") or (self.variant.dense and not loading)
        return [*lines, *([linear_index(self.variant)] * numbered)]

    def computed(self, loaded: Mapping[Value, str], number: str) -> list[str]:
        """Returns lines that compute one element, add it to the folds, keep what later stages need, and store results."""
        graph, folds = self.stage.elements, self.folds
        spelled = {v: name.format(f"[{number}]") for v, name in {**self.names, **loaded}.items()}
        lines: list[str] = []
        if graph.nodes:
            outputs = {v: f"v_{i}" for i, v in enumerate(graph.outputs)}
            lines += [f"{declare(v.type, name)};" for v, name in outputs.items()]
            arguments = [*(spelled[v] for v in graph.inputs), *outputs.values()]
            lines.append(f"fz_stage{self.number}_of_{self.text.name}({', '.join(arguments)});")
            spelled |= outputs
        lines += [f"{name}[{number}] = {spelled[v]};" for v, name in self.keeps.items()]
        taken = [folds.take([spelled[n.operands[0]] for n in self.stage.folds], "e")] if folds.accumulators else []
        stores = [self.text.stores[j].write(spelled[self.text.body.outputs[j]]) for j in self.stage.results]
        inside = [*taken, *(["if (fz_own)", *block(stores)] if stores else ())]
        return [*lines, *(inside if self.shape.exact or not inside else ["if (fz_inside)", *block(inside)])]


def _sum(a: str, b: str) -> str:
    return f"{a} + {b}" if a else b

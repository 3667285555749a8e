"""The walk along the row in one stage: which elements a thread has, and the work on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fusepy.backend.emit.operand import BLOCK, Operand
from fusepy.backend.emit.row.reduction import StageFolds
from fusepy.backend.emit.row.variant import RUN, RowShape, RowVariant
from fusepy.backend.emit.spaces.space import decoded, linear_index
from fusepy.backend.emit.spaces.words import count_of, in_words, load_word, of_word, store_words, word_type
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

    @property
    def together(self) -> int:
        """The elements of a word. Lines and numbers below are of words where there are several."""
        return count_of(self.variant.space)

    def lines(self) -> list[str]:
        """Returns the loops over the elements of a thread."""
        shape, index = self.shape, self.index
        held, run = shape.held // self.together, (RUN if self.folds.accumulators else shape.ahead) // self.together or 1
        if held:
            runs = -(-held // run)
            run = held // runs
            inner = self.run(run, f"fz_r * {run}" if runs > 1 else "", "")
            return [f"{self.text.unroll} for (uint fz_r = 0; fz_r < {runs}; ++fz_r)", *block(inner)] if runs > 1 else inner
        step, reduced = f"{index}(fz_lanes)", in_words(f"{BLOCK}.reduced", self.together)
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
        ahead = min(self.shape.ahead // self.together or 1, run)
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
        arrays = [f"{self.declared(o, name)}{f'[{count}]' * (count > 1)};" for o, name in zip(operands, fresh.values())]
        place, near = self.located(number, start), self.located(number, start, loading=True)
        load = [f"{name}{at} = {self.load(o)};" for o, name in zip(operands, fresh.values())]
        given = {v: self.value(o, f"{name}{at}") for o, (v, name) in zip(operands, fresh.items())}
        one = self.computed(given, number) if self.together == 1 else self.computed_word(given, number)
        if count == 1:
            return [*arrays, *block([*near, *load]), *place, *one]
        loop = f"{self.unroll} for (uint fz_u = 0; fz_u < {count}; ++fz_u)"
        return [*arrays, *([loop, *block([*near, *load])] if fresh else ()), loop, *block([*place, *one])]

    def has_words(self, operand: Operand) -> bool:
        """True if an operand is loaded in words: its elements are neighbours. What is the same along the row is loaded once."""
        return self.together > 1 and self.text.spec.rows[-1] in operand.dims and operand.position not in self.variant.flat

    def declared(self, operand: Operand, name: str) -> str:
        """Returns the declaration of the variable of one load."""
        return f"{word_type(operand.have, self.together)} {name}" if self.has_words(operand) else declare(operand.want, name)

    def load(self, operand: Operand) -> str:
        """Returns an expression for one load."""
        if not self.has_words(operand):
            return self.text.load(operand)
        pointer = f"{BLOCK}.a_{operand.name}"
        place = self.variant.offset(pointer, operand.dims, operand.position)
        return load_word(f"{pointer} + ({place})", operand.have, self.together)

    def value(self, operand: Operand, loaded: str) -> str:
        """Returns the value of an element in the variable of one load."""
        return of_word(f"{loaded}[fz_c]", operand, self.together) if self.has_words(operand) else loaded

    def located(self, number: str, start: str, *, loading: bool = False) -> list[str]:
        """Returns lines that set the place ``e`` of an element in its row and its coordinates, and whether it is in the row.

        A load beyond the end takes the last element, so that no load waits for a branch. What is beyond the end follows from a
        count of the thread: compilers would keep the answers, or the places, of all elements in registers.
        """
        index, shape, size = self.index, self.shape, self.together
        offset = f"{index}(fz_in)" if number == "0" else f"{index}(({number}) * fz_lanes + fz_in)"
        lines = [f"{index} e = {f'({_sum(start, offset)}) * {size}' if size > 1 else _sum(start, offset)};"]
        sure = shape.sure // size  # known where loops are unrolled
        if not shape.exact and loading:
            nearest = f"select(e < {BLOCK}.reduced, e, {BLOCK}.reduced - {size})"
            lines.append(f"e = {f'{number} < {sure} ? e : ' if sure else ''}{nearest};")
        elif not shape.exact:
            inside = f"uint({number}) < fz_count" if shape.held else f"e < {BLOCK}.reduced"
            lines.append(f"bool fz_inside = {f'{number} < {sure} || ' if sure and shape.held else ''}{inside};")
        lines += decoded(self.variant, "e", self.text.spec.rows)
        numbered = self.text.any_addressed("index") or (self.variant.dense and not loading)
        return [*lines, *([linear_index(self.variant)] * numbered)]

    def computed(self, loaded: Mapping[Value, str], number: str) -> list[str]:
        """Returns lines that compute one element, add it to the folds, keep what later stages need, and store results."""
        lines, taken, results = self.used(loaded, number, "e")
        stores = [self.text.stores[j].write(value) for j, value in results.items()]
        return [*lines, *self.if_inside([*taken, *(["if (fz_own)", *block(stores)] if stores else ())])]

    def computed_word(self, loaded: Mapping[Value, str], number: str) -> list[str]:
        """Returns the same lines for the elements of a word, of which each result is stored at once."""
        size, types = self.together, self.text.types
        lines, taken, results = self.used(loaded, f"({number}) * {size} + fz_c", f"e + {self.index}(fz_c)")
        lines += [*self.if_inside(taken), *(f"fz_r_{j}[fz_c] = {value};" for j, value in results.items())]
        stores = [store_words(self.text.stores[j], [f"fz_r_{j}[{c}]" for c in range(size)]) for j in results]
        return [
            *(f"{declare(types[j], f'fz_r_{j}')}[{size}];" for j in results),
            *(f"{self.text.unroll} for (uint fz_c = 0; fz_c < {size}; ++fz_c)", *block(lines)),
            *self.if_inside(["if (fz_own)", *block(stores)] if stores else ()),
        ]

    def if_inside(self, lines: Sequence[str]) -> list[str]:
        """Returns `lines` for elements that lie in the row."""
        return [*lines] if self.shape.exact or not lines else ["if (fz_inside)", *block(lines)]

    def used(self, loaded: Mapping[Value, str], number: str, place: str) -> tuple[list[str], list[str], dict[int, str]]:
        """Returns lines that compute one element and keep what later stages need, those that add it to the folds, and results.

        Args:
            loaded: expressions for the operands.
            number: the number of the element among those of the thread; `place` is the one in the row.
        """
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
        taken = [folds.take([spelled[n.operands[0]] for n in self.stage.folds], place)] if folds.accumulators else []
        return lines, taken, {j: spelled[self.text.body.outputs[j]] for j in self.stage.results}


def _sum(a: str, b: str) -> str:
    return f"{a} + {b}" if a else b

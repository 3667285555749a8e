"""``loop_vjp``: the gradient of a loop. The loop runs once more and keeps its carries; then its steps are taken back."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fusepy.errors import VerifyError
from fusepy.ir.graph import Node, Op, Value
from fusepy.ir.ops.base import computed
from fusepy.ir.ops.control import Control, Run, Writer, block, grid_rank, loaded
from fusepy.ir.ops.vjp import numbers
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Type
from fusepy.ir.value import Array, declare


class LoopVjp(Control):
    """The gradients of the initial carries and of values from outside of a loop, whose results have the gradients given.

    Bodies: ``body`` is one step, from index, carries and outside values to the next carries; ``test`` holds while the loop goes
    on; ``back`` takes one step back: from the inputs of ``body`` and the gradients of the next carries to the gradients of the
    carries, and then what the step adds to those of the values from outside.

    Operands: for a loop over integers the two bounds; the initial carries, the outside values, the gradients of the results, and
    the arrays to which steps add the gradients of what they read whole, and the settings of samplers and textures.

    Attributes of the node: ``steps`` is the largest number of steps; ``counts`` are the numbers of bounds, of carries, and of
    results that are gradients of carries; ``wrt`` are the operands that the results are gradients of, ``of`` their types.
    """

    name = "loop_vjp"
    bodies = ("test", "body", "back")
    needs = {"steps": (int,), "counts": (tuple,), "wrt": (tuple,), "of": (tuple,)}

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        rank = grid_rank(node)
        return [computed(node, v.type, rank=rank) for v in node.bodies[-1].outputs]

    def verify(self, node: Node) -> str | None:
        wrong = Op.verify(self, node)
        if wrong is not None:
            return wrong
        if [body.name for body in node.bodies] != list(self.bodies):
            return "loop_vjp has the bodies test, body and back"
        bounds, carries, _ = numbers(node, "counts")
        _, body, back = node.bodies
        types = loaded(node)[bounds:]
        given = [v.type for v in back.inputs[1:]]
        if types != given:
            return "the inputs of body @back are not what is loaded for it"
        if [v.type for v in body.outputs] != types[:carries]:
            return "body @body gives back other carries"
        return None if len(back.outputs) == len(node.words("of")) else "of has one type for each result"

    def label(self, node: Node, j: int) -> str:
        return "d"

    def statements(self, node: Node, args: Sequence[str], results: Sequence[str], write: Writer) -> list[str]:
        return _Backwards(node, args, results, write).lines()

    def meaning(self, node: Node, args: Sequence[Array], grid: tuple[int, ...], run: Run) -> list[Array]:
        raise VerifyError("a loop_vjp has no meaning in NumPy", hint="compare with differences of the loop")


class _Backwards:
    """A writer of the statements of a ``loop_vjp``.

    The carries of each step are kept in an array. For many steps there are several such arrays, see `levels`: the first run keeps
    the carries at the start of each segment. Then segment by segment, from the last one, the steps run again from there, and keep
    the carries of shorter segments, down to those of each step.
    """

    def __init__(self, node: Node, args: Sequence[str], results: Sequence[str], write: Writer):
        self.node, self.write, self.results = node, write, results
        self.test, self.body, self.back = node.bodies
        bounds, carries, self.through = numbers(node, "counts")
        self.steps, self.sizes = node_steps(node), levels(node_steps(node))
        self.strides = [math.prod(self.sizes[:level]) for level in range(len(self.sizes))]
        self.kept = self.body.inputs[1 : 1 + carries]
        self.first, self.last = args[:bounds] if bounds else ("0", "")
        end = bounds + len(self.body.inputs) - 1
        self.starts, self.outside = args[bounds : bounds + carries], args[bounds + carries : end]
        self.given, self.arrays = args[end : end + self.through], args[end + self.through :]
        self.index, self.i = self.body.inputs[0].type, write.fresh("i")
        self.now = [write.fresh(v.name or "c") for v in self.kept]
        used = {v for n in self.back.nodes for v in n.operands} | set(self.back.outputs)
        needed = [j for j in range(carries) if self.back.inputs[1 + j] in used]
        wanted = [needed, *[range(carries)] * (len(self.sizes) - 1)]  # to run on from a segment takes all carries
        self.tapes = [{j: write.fresh(f"kept_{self.kept[j].name}") for j in found} for found in wanted]

    def lines(self) -> list[str]:
        """Returns all statements; they declare the results."""
        count, k, of = self.write.fresh("count"), self.write.fresh("k"), self.node.words("of")
        lines = [f"{declare(v.type, name)} = {start};" for v, name, start in zip(self.kept, self.now, self.starts)]
        for size, tape in zip(self.sizes, self.tapes):
            lines += [f"{declare(Type.array(self.kept[j].type, size), name)};" for j, name in tape.items()]
        lines += [f"int {count} = 0;", f"for (int {k} = 0; {k} < {self.steps}; ++{k})"]
        lines += block([*self.ahead(k, "0", len(self.sizes) - 1, stops=True), f"{count} = {k} + 1;"])
        made = list(zip(self.node.results, self.results, of))
        lines += [f"{declare(v.type, r)} = {g};" for (v, r, _), g in zip(made, self.given)]
        lines += [f"{declare(v.type, r)} = {_zero(v.type, t)};" for v, r, t in made[self.through :]]
        return [*lines, *self.level(len(self.sizes) - 1, "0", count)]

    def ahead(self, k: str, start: str, level: int, stops: bool) -> list[str]:
        """Returns step `k`, which keeps its carries at a level of segments that begin at `start`."""
        at = k if start == "0" else f"{k} - {start}"
        step = [f"{self.index} {self.i} = {self.index}({self.first}) + {self.index}({k});"]
        if stops and self.last:
            step += [f"if (!({self.i} < {self.last}))", "    break;"]
        elif stops:
            tested, (holds,) = self.write.body(self.test, [self.i, *self.now, *self.outside])
            step += [*tested, f"if (!{holds})", "    break;"]
        stride = self.strides[level]
        if stride == 1:
            step += [f"{name}[{at}] = {self.now[j]};" for j, name in self.tapes[level].items()]
        else:
            step.append(f"if (({at}) % {stride} == 0)")
            step += block([f"{name}[({at}) / {stride}] = {self.now[j]};" for j, name in self.tapes[level].items()])
        inner, nexts = self.write.body(self.body, [self.i, *self.now, *self.outside])
        moved = [self.write.fresh("next") for _ in nexts]
        step += [*inner, *(f"{declare(v.type, m)} = {n};" for v, m, n in zip(self.kept, moved, nexts))]
        return [*step, *(f"{c} = {m};" for c, m in zip(self.now, moved))]

    def level(self, level: int, start: str, end: str) -> list[str]:
        """Returns the way back through the steps from `start` up to `end`, whose carries are kept at a level."""
        k = self.write.fresh("k")
        if not level:
            return [f"for (int {k} = {end} - 1; {k} >= {start}; --{k})", *block(self.undone(k, start))]
        stride, segment, low, high = self.strides[level], *map(self.write.fresh, ("segment", "low", "high"))
        inner = [f"{self.now[j]} = {name}[{segment}];" for j, name in self.tapes[level].items()]
        inner += [f"int {low} = {start} + {segment} * {stride};", f"int {high} = min({end}, {low} + {stride});"]
        inner += [f"for (int {k} = {low}; {k} < {high}; ++{k})", *block(self.ahead(k, low, level - 1, stops=False))]
        first = f"({end} - {start} + {stride - 1}) / {stride} - 1"
        return [
            f"for (int {segment} = {first}; {segment} >= 0; --{segment})",
            *block([*inner, *self.level(level - 1, low, high)]),
        ]

    def undone(self, k: str, start: str) -> list[str]:
        """Returns step `k` back."""
        at, results, of = k if start == "0" else f"{k} - {start}", self.results, self.node.words("of")
        tape, through = self.tapes[0], self.through
        held = [f"{tape[j]}[{at}]" if j in tape else now for j, now in enumerate(self.now)]
        undo, gradients = self.write.body(self.back, [self.i, *held, *self.outside, *results[:through], *self.arrays])
        before = [self.write.fresh("d") for _ in gradients]
        lines = [f"{self.index} {self.i} = {self.index}({self.first}) + {self.index}({k});", *undo]
        made = list(zip(self.node.results, results, before, of))
        lines += [f"{declare(v.type, b)} = {g};" for (v, _, b, _), g in zip(made, gradients)]
        lines += [f"{r} = {b};" for _, r, b, _ in made[:through]]
        return lines + [f"{r} = {_sum(v.type, t, r, b)};" for v, r, b, t in made[through:]]


LONGEST = 64  # steps whose carries are kept in one array; compilers take long for long arrays of a thread
SEGMENTS = 128  # segments of one level


def levels(steps: int) -> list[int]:
    """Returns the number of states that each level keeps: of each step of a segment, then of the segments below, and so on.

    Example:
        >>> levels(50), levels(10_000), levels(1_000_000)
        ([50], [100, 100], [100, 100, 100])
    """
    if steps <= LONGEST:
        return [max(steps, 1)]
    count = 2
    while SEGMENTS**count < steps:
        count += 1
    size = next(n for n in range(2, SEGMENTS + 1) if n**count >= steps)
    return [size] * count


def kept_states(node: Node) -> str:
    """Describes the states that a thread keeps, and those that it computes again."""
    steps, (each, *more) = node_steps(node), levels(node_steps(node))
    if not more:
        return f"keeps what its {steps} steps begin with"
    segments = " of ".join(f"{n} segments" for n in reversed(more))
    times = "once" if len(more) == 1 else f"{len(more)} times"
    return f"keeps what {segments} begin with, and of one of them its {each} steps; {steps:,} steps are computed again {times}"


def node_steps(node: Node) -> int:
    """Returns the largest number of steps."""
    steps = node.attrs["steps"]
    assert isinstance(steps, int)
    return steps


def _zero(type: Type, of: str) -> str:
    return f"{type}(0)" if type.is_numeric else f"{of}.dzero()"


def _sum(type: Type, of: str, a: str, b: str) -> str:
    return f"{a} + {b}" if type.is_numeric else f"{of}.dadd({a}, {b})"


LOOP_VJP = LoopVjp()

"""``loop_vjp``: the gradient of a loop. The loop runs once more and keeps its carries; then its steps are taken back."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.errors import VerifyError
from fusepy.ir.graph import Node, Op, Value, declare
from fusepy.ir.ops.base import computed
from fusepy.ir.ops.control import Control, Run, Writer, block, grid_rank, loaded
from fusepy.ir.ops.vjp import numbers, words
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Type
from fusepy.ir.value import Array


class LoopVjp(Control):
    """The gradients of the initial carries and of values from outside of a loop, whose results have the gradients given.

    Bodies: ``body`` is one step, from index, carries and outside values to the next carries; ``test`` holds while the loop goes
    on; ``back`` takes one step back: from the inputs of ``body`` and the gradients of the next carries to the gradients of the
    carries, and then what the step adds to those of the values from outside.

    Operands: for a loop over integers the two bounds; the initial carries, the outside values, the gradients of the results, and
    the arrays to which steps add the gradients of whole arrays.

    Attributes of the node: ``steps`` is the largest number of steps; ``counts`` are the numbers of bounds, of carries, and of
    results that are gradients of carries; ``of`` are the types of the values that the results are gradients of.
    """

    name = "loop_vjp"
    bodies = ("test", "body", "back")
    needs = {"steps": (int,), "counts": (tuple,), "of": (tuple,)}

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
        return None if len(back.outputs) == len(words(node, "of")) else "of has one type for each result"

    def label(self, node: Node, j: int) -> str:
        return "d"

    def statements(self, node: Node, args: Sequence[str], results: Sequence[str], write: Writer) -> list[str]:
        test, body, back = node.bodies
        bounds, carries, through = numbers(node, "counts")
        index, kept = body.inputs[0].type, body.inputs[1 : 1 + carries]
        first, last = args[:bounds] if bounds else ("0", "")
        starts, outside = args[bounds : bounds + carries], args[bounds + carries : bounds + len(body.inputs) - 1]
        given = args[bounds + len(body.inputs) - 1 :]
        given, arrays = given[:through], given[through:]
        count, k, i = write.fresh("count"), write.fresh("k"), write.fresh("i")
        now = [write.fresh(v.name or "c") for v in kept]
        used = {v for n in back.nodes for v in n.operands} | set(back.outputs)
        tape = {j: write.fresh(f"kept_{kept[j].name}") for j in range(carries) if back.inputs[1 + j] in used}
        lines = [f"{declare(v.type, name)} = {start};" for v, name, start in zip(kept, now, starts)]
        lines += [f"{declare(Type.array(kept[j].type, max(node_steps(node), 1)), name)};" for j, name in tape.items()]
        lines += [f"int {count} = 0;", f"for (int {k} = 0; {k} < {node_steps(node)}; ++{k})"]
        step = [f"{index} {i} = {index}({first}) + {index}({k});"]
        if bounds:
            step += [f"if (!({i} < {last}))", "    break;"]
        else:
            tested, (holds,) = write.body(test, [i, *now, *outside])
            step += [*tested, f"if (!{holds})", "    break;"]
        step += [f"{name}[{k}] = {now[j]};" for j, name in tape.items()]
        inner, nexts = write.body(body, [i, *now, *outside])
        moved = [write.fresh("next") for _ in nexts]
        step += [*inner, *(f"{declare(v.type, m)} = {n};" for v, m, n in zip(kept, moved, nexts))]
        step += [*(f"{c} = {m};" for c, m in zip(now, moved)), f"{count} = {k} + 1;"]
        lines += block(step)
        of = words(node, "of")
        lines += [f"{declare(v.type, r)} = {g};" for v, r, g in zip(node.results, results, given)]
        lines += [f"{declare(v.type, r)} = {_zero(v.type, t)};" for v, r, t in list(zip(node.results, results, of))[through:]]
        lines.append(f"for (int {k} = {count} - 1; {k} >= 0; --{k})")
        held = [f"{tape[j]}[{k}]" if j in tape else now[j] for j in range(carries)]
        undo, gradients = write.body(back, [i, *held, *outside, *results[:through], *arrays])
        before = [write.fresh("d") for _ in gradients]
        undone = [f"{index} {i} = {index}({first}) + {index}({k});", *undo]
        undone += [f"{declare(v.type, b)} = {g};" for v, b, g in zip(node.results, before, gradients)]
        undone += [f"{r} = {b};" for r, b in list(zip(results, before))[:through]]
        undone += [f"{r} = {_sum(v.type, t, r, b)};" for v, r, b, t in list(zip(node.results, results, before, of))[through:]]
        return [*lines, *block(undone)]

    def meaning(self, node: Node, args: Sequence[Array], grid: tuple[int, ...], run: Run) -> list[Array]:
        raise VerifyError("a loop_vjp has no meaning in NumPy", hint="compare with differences of the loop")


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

"""What steps mean: `run_step` gives the values that a step makes of its operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.fuzz.calls import FUNCTIONS, accumulate, call, choose, field, image, next_row, outer, placed
from tests.fuzz.chance import chance
from tests.fuzz.components import cast, construct, cross, dot, index, matmul, member, normalize, reflect, root
from tests.fuzz.control import MEANINGS
from tests.fuzz.elementwise import OPERATORS, SEVERAL, UNARY
from tests.fuzz.movement import move
from tests.fuzz.numbers import numbers
from tests.fuzz.program import Program, Step
from tests.fuzz.reductions import fold_call, reduce, scan
from tests.fuzz.uploads import channels
from tests.fuzz.values import Refused, Val, written
from tests.fuzz.vocabulary import vocabulary
from tests.fuzz.words import word


def evaluate(program: Program, inputs: Sequence[Val]) -> list[Val]:
    """All values of a program: its arguments, and what its steps make."""
    values = list(inputs)
    for step in program.steps:
        values += run_step(step, values)
    return values


def run_step(step: Step, values: Sequence[Val]) -> list[Val]:
    """What a step gives.

    Raises:
        Refused: where it means nothing on these operands.
    """
    return [replace(x, arrives="") if x.arrives else x for x in _run_step(step, values)]


def _run_step(step: Step, values: Sequence[Val]) -> list[Val]:
    operands = [written(*p) if isinstance(p, list) else values[p] for p in step.operands]
    op, attrs = step.op, step.attrs
    if op not in ("field", "choose", "call", "accumulate", "move") and any(x.scalar == "Ray" for x in operands):
        raise Refused("a struct")
    if op in OPERATORS:
        return [OPERATORS[op][1](*operands)]
    if op in UNARY:
        return [UNARY[op](*operands)]
    if op in SEVERAL:
        return [SEVERAL[op][1](*operands)]
    return (MEANINGS.get(op) or KNOWN[op])(attrs, *operands)


KNOWN: dict[str, Callable[..., list[Val]]] = {
    "member": member,
    "index": index,
    "construct": construct,
    "cast": cast,
    "channels": channels,
    "dot": lambda attrs, a, b: [dot(a, b)],
    "cross": lambda attrs, a, b: [cross(a, b)],
    "length": lambda attrs, a: [root(dot(a, a))],
    "normalize": lambda attrs, a: [normalize(a)],
    "reflect": lambda attrs, a, b: [reflect(a, b)],
    "matmul": lambda attrs, a, b: [matmul(a, b)],
    "reduce": reduce,
    "scan": scan,
    "fold": fold_call,
    "move": move,
    "word": word,
    "vocabulary": vocabulary,
    "chance": chance,
    "numbers": numbers,
    "call": call,
    "image": image,
    "accumulate": accumulate,
    "next": lambda attrs, t: [next_row(t)],
    "outer": outer,
    "placed": placed,
    "field": field,
    "choose": choose,
}
__all__ = ["FUNCTIONS", "evaluate", "run_step"]

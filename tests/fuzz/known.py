"""Faults that are known and being mended: programs that would meet them are not drawn. Empty when all is mended."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.elementwise import DOUBTFUL
from tests.fuzz.program import Step
from tests.fuzz.values import Val, is_float

LIMITS = {"narrow matrix"}  # what Slang itself cannot compile, and fusepy refuses
KNOWN: set[str] = set(LIMITS)


NARROW = {"int8_t", "uint8_t", "int16_t", "uint16_t", "int64_t", "uint64_t"}


def known(step: Step, operands: Sequence[Val], results: Sequence[Val]) -> str | None:
    """The fault that a step would meet."""
    return next((name for name in _met(step, operands, results) if name in KNOWN), None)


def _met(step: Step, operands: Sequence[Val], results: Sequence[Val]) -> list[str]:
    found = []
    op = step.op
    if op in DOUBTFUL | {"pow", "power"} and any(r.scalar == "double" for r in results):
        found.append("double math")
    if op in ("pow", "power"):
        found.append("pow")
    if step.attrs.get("keepdims"):
        found.append("kept axis")
    matrix = any(len(x.comp) == 2 for x in [*operands, *results])
    if matrix and (any(x.scalar == "bool" for x in [*operands, *results]) or op in ("round", "where")):
        found.append("bool matrix")
    if matrix and op in ("mod", "floordiv", "abs", "any", "all") and not is_float(results[0].scalar):
        found.append("bool matrix")
    if matrix and any(len(x.comp) == 2 and x.scalar in NARROW for x in [*operands, *results]):
        found.append("narrow matrix")
    if op in ("div", "floordiv", "mod") and len(step.operands) == 2 and step.operands[0] == step.operands[1]:
        found.append("a/a")
    tested = operands[0].scalar == "double" and (op == "where" or (op == "cast" and results[0].scalar == "bool"))
    made = op == "construct" and results[0].scalar == "bool" and any(x.scalar == "double" for x in operands)
    if tested or made or (operands[0].scalar == "double" and step.attrs.get("kind") in ("any", "all")):
        found.append("double to bool")
    return found

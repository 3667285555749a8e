"""The rule of each operation: the gradients of its operands, from those of its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fusepy.derivatives.calls import vjp
from fusepy.derivatives.control import branch, loop
from fusepy.derivatives.elementwise import FLAT, FORMULAS, gradients, power
from fusepy.derivatives.folds import reduce_rule, scan_rule
from fusepy.derivatives.parts import RULES
from fusepy.derivatives.refused import no_gradient, read_whole
from fusepy.derivatives.scans import running
from fusepy.derivatives.second.calls import of_vjp
from fusepy.derivatives.second.loops import of_loop_vjp
from fusepy.derivatives.terms import Term
from fusepy.derivatives.visit import Visit
from fusepy.ir.resources import reads_graded
from fusepy.ir.types import AS_ONE
from fusepy.ir.whole import gathers

RULES_OF_BODIES: dict[str, Callable[[Visit], Sequence[Term | None]]] = {
    "slang.call": vjp,
    "jvp": vjp,
    "vjp": of_vjp,
    "cond": branch,
    "fori_loop": loop,
    "while_loop": loop,
    "loop_vjp": of_loop_vjp,
}


def gradients_of(v: Visit) -> Sequence[Term | None]:
    """Returns the gradient of each operand over the grid of the node, in the type of the result or of the operand.

    Raises:
        GradientError: if the operation has none.
    """
    name = v.node.op.name
    if name == "slang.call" or v.node.bodies:
        for type in (v.operands[i].type for i in v.wanted):
            if type.kind in AS_ONE and not gathers(type) and not reads_graded(type):
                raise read_whole(v.node, type)
        if name in RULES_OF_BODIES:
            return RULES_OF_BODIES[name](v)
    found = _of_operation(v, name, [v.terms.loaded(x) for x in v.operands])
    if found is not None:
        return found
    if name == "draw":
        instead = "write fp.interpolate(colours, fp.rasterize(positions, triangles, size), triangles), which has a gradient"
        raise no_gradient(v.node, "a draw has no derivative", hint=instead)
    raise no_gradient(v.node, f"the operation {name} has none")


def _of_operation(v: Visit, name: str, x: Sequence[Term]) -> Sequence[Term | None] | None:
    """Returns the gradients of the operands of an operation without bodies; ``None`` if it has no rule."""
    t, y, g = v.terms, v.results[0], v.gradients[0]
    assert g is not None
    if name in FLAT or (name in FORMULAS and not y.type.is_float):
        return [None] * len(x)
    if name in FORMULAS:
        return gradients(t, name, g, y, x)
    if name == "power":
        return [power(t, v.node, g, x[0])]
    if name in RULES:
        return RULES[name](t, v.node, g, y, x)
    if name == "reduce" and v.node.text("kind") == "call":
        return [running.gradient_of_reduction(v, g, x[0])]
    if name == "reduce":
        return [reduce_rule(t, v.node, g, y, x[0], v.count)]
    if name == "scan" and v.node.text("kind") not in ("sum", "prod"):
        return [running.gradient(v, g, y, x[0])]
    if name == "scan":
        return [scan_rule(t, v.node, g, y, x[0])]
    if name == "contract":  # each times the other operand
        return [g, g]
    return [g, None][: len(x)] if name in ("expand", "along") else None

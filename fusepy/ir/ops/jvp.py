"""``jvp``: the tangents of the outputs of a body by Slang's forward mode."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.ir.graph import Node
from fusepy.ir.ops.control import Writer
from fusepy.ir.ops.vjp import Product, numbers
from fusepy.ir.types import Kind
from fusepy.ir.value import declare


class Jvp(Product):
    """The Jacobian-vector product of the body ``primal``: the tangents of its outputs ``of``.

    The operands are the inputs of the body, then one tangent for each input in ``wrt``. The results have the types in ``types``.
    In a kernel the node is a call of Slang's ``fwd_diff``. The inputs ``flat`` have the tangent zero: Slang (2026.12) leaves the
    tangent of a variable undefined that begins with a constant or a ``no_diff`` parameter and is passed as ``inout``.
    """

    name = "jvp"
    needs = {"wrt": (tuple,), "flat": (tuple,), "of": (tuple,), "types": (tuple,)}

    def verify_places(self, node: Node) -> str | None:
        body, count, wrt, of = node.bodies[0], len(node.operands), numbers(node, "wrt"), numbers(node, "of")
        if count != len(body.inputs) + len(wrt):
            return f"{count} operands for {len(body.inputs)} inputs and {len(wrt)} tangents"
        if not wrt or max(wrt) >= len(body.inputs) or not of or max(of) >= len(body.outputs):
            return "wrt names inputs of the body, and of its outputs; at least one of each"
        return None if len(node.words("types")) == len(of) else "types has one type for each output in of"

    def label(self, node: Node, j: int) -> str:
        return "d"

    def statements(self, node: Node, args: Sequence[str], results: Sequence[str], write: Writer) -> list[str]:
        body, wrt, flat, of = node.bodies[0], numbers(node, "wrt"), numbers(node, "flat"), numbers(node, "of")
        function = write.differentiable(body, [*wrt, *flat], of)
        lines: list[str] = []
        passed = list(args[: len(body.inputs)])
        moved = dict(zip(wrt, args[len(body.inputs) :]))
        for i in [*wrt, *flat]:
            pair = write.fresh("pair")
            both = f"{passed[i]}, {moved[i]}" if i in moved else passed[i]
            lines.append(f"DifferentialPair<{body.inputs[i].type}> {pair} = diffPair({both});")
            passed[i] = pair
        pairs = [write.fresh("pair") for _ in of]
        types = [f"DifferentialPair<{body.outputs[j].type}>" for j in of]
        if len(of) == 1 and body.outputs[of[0]].type.kind is not Kind.ARRAY:
            lines.append(f"{types[0]} {pairs[0]} = fwd_diff({function})({', '.join(passed)});")
        else:
            lines += [f"{type} {pair};" for type, pair in zip(types, pairs)]
            lines.append(f"fwd_diff({function})({', '.join([*passed, *pairs])});")
        return [*lines, *(f"{declare(v.type, name)} = {pair}.d;" for v, name, pair in zip(node.results, results, pairs))]


JVP = Jvp()

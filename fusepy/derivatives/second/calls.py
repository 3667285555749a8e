"""Derivatives of a ``vjp``: of the gradient of a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fusepy.derivatives.calls import check
from fusepy.derivatives.control import new_names
from fusepy.derivatives.differential import differential
from fusepy.derivatives.refused import read_twice, written
from fusepy.derivatives.tangents import summed
from fusepy.derivatives.terms import Term, Terms
from fusepy.derivatives.visit import Visit
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.vjp import arrays, numbers, optional
from fusepy.ir.oracle import Oracle


def of_vjp(v: Visit) -> list[Term | None]:
    """Records the gradient of a ``vjp`` and returns those of its operands.

    Raises:
        GradientError: if Slang cannot differentiate the function twice.
    """
    body, seeds = _primal(v.node), numbers(v.node, "seeds")
    read_twice(v.node, [v.operands[i].type for i in v.wanted])
    count = len(body.inputs)
    weights = {i: v.terms.exact(g, body.inputs[i].type) for i, g in zip(numbers(v.node, "wrt"), v.gradients) if g is not None}
    pushed = _Pushed(v.terms, v.node, v.operands[:count], weights, seeds, v.oracle)
    found: dict[int, Term] = {}
    if any(i >= count for i in v.wanted):
        found.update((count + k, term) for k, term in enumerate(pushed.tangents()))
    of = [i for i in v.wanted if i < count and differential(body.inputs[i].type, v.oracle) is not None]
    found.update(zip(of, pushed.gradients(of, v.operands[count:])))
    return [found.get(i) for i in range(len(v.operands))]


def tangent_of_vjp(t: Terms, node: Node, x: Sequence[Term], dx: Sequence[Term | None], oracle: Oracle) -> list[Term]:
    """Records the tangents of a ``vjp`` and returns those of its results.

    Raises:
        GradientError: if Slang cannot differentiate the function twice.
    """
    body, wrt, seeds = _primal(node), numbers(node, "wrt"), numbers(node, "seeds")
    count = len(body.inputs)
    moved = {i: d for i, d in enumerate(dx[:count]) if d is not None}
    given = [(j, d) for j, d in zip(seeds, dx[count:]) if d is not None]
    parts: list[list[Term]] = []
    if given:
        attrs: dict[str, Attr] = {**node.attrs, "seeds": tuple(str(j) for j, _ in given)}
        parts.append(t.node("vjp", [*x[:count], *(d for _, d in given)], attrs, node.bodies))
    if moved:
        parts.append(_Pushed(t, node, x[:count], moved, seeds, oracle).gradients(wrt, x[count:]))
    return [summed(t, body.inputs[i].type.name, both) for i, both in zip(wrt, zip(*parts))]


def _primal(node: Node) -> Graph:
    """Returns the body of a ``vjp``.

    Raises:
        GradientError: if the node adds to arrays.
    """
    if arrays(node) or optional(node, "graded"):
        raise written(node, node.operands[-1])
    return node.bodies[0]


def _lifted(t: Terms, body: Graph) -> tuple[Graph, list[Term]]:
    """Returns a body with constant floats as further inputs, and these numbers. Slang crashes where some input is constant."""
    found = [n for n in body.nodes if n.op.name == "const" and n.results[0].type.is_float]
    if not found:
        return body, []
    names = new_names(body.inputs, len(found))
    inputs = {n.results[0]: Value(n.results[0].type, (), name=name) for n, name in zip(found, names)}
    nodes = [n for n in body.nodes if n not in found]
    for k, n in enumerate(nodes):
        nodes[k] = Node(n.op, [inputs.get(v, v) for v in n.operands], n.maps, n.results, n.attrs, n.loc, n.bodies)
    made = [t.builder.add(n.op, [], attrs=n.attrs, loc=n.loc)[0] for n in found]
    return Graph(body.name, [*body.inputs, *inputs.values()], nodes, body.outputs), [Term(t, v, ()) for v in made]


class _Pushed:
    """The tangents of the outputs of a ``vjp``'s body if its inputs move.

    Args:
        moved: for inputs of the body, the tangents.
        seeds: the outputs.
    """

    def __init__(self, t: Terms, node: Node, x: Sequence[Term], moved: Mapping[int, Term], seeds: Sequence[int], oracle: Oracle):
        self.t, self.oracle = t, oracle
        body, numbers = _lifted(t, node.bodies[0])
        self.operands = [*x, *numbers, *moved.values()]
        derived = [differential(body.outputs[j].type, oracle) for j in seeds]
        self.types = [type for type in derived if type is not None]
        self.attrs: dict[str, Attr] = {
            "wrt": tuple(map(str, moved)),
            "flat": tuple(
                str(i) for i, v in enumerate(body.inputs) if i not in moved and differential(v.type, oracle) is not None
            ),
            "of": tuple(map(str, seeds)),
            "types": tuple(map(str, self.types)),
        }
        names = new_names(body.inputs, len(moved))
        inputs = [Value(v.type, (), name=v.name) for v in body.inputs]
        inputs += [Value(d.type, (), name=name) for d, name in zip(moved.values(), names)]
        results = [Value(type, ()) for type in self.types]
        self.node = Node(OPS["jvp"], inputs, [ArgMap(())] * len(inputs), results, self.attrs, node.loc, [body])
        self.body = Graph("primal", inputs, [self.node], results)

    def tangents(self) -> list[Term]:
        """Records the tangents."""
        return self.t.node("jvp", self.operands, self.attrs, self.node.bodies)

    def gradients(self, of: Sequence[int], given: Sequence[Term]) -> list[Term]:
        """Records the gradients of inputs, for those given of the tangents."""
        if not of:
            return []
        check(self.node, self.node.attrs, self.operands, of, self.oracle)
        derived = {i: type for i, v in enumerate(self.body.inputs) if (type := differential(v.type, self.oracle)) is not None}
        attrs: dict[str, Attr] = {  # all, since Slang crashes where some are constants
            "wrt": tuple(map(str, derived)),
            "seeds": tuple(map(str, range(len(self.types)))),
            "types": tuple(map(str, derived.values())),
        }
        made = dict(zip(derived, self.t.node("vjp", [*self.operands, *given], attrs, [self.body])))
        return [made[i] for i in of]

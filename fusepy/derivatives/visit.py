"""`Visit`: one node on the way back, as its rule sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fusepy.derivatives.terms import Term, Terms, spread
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Type

# makes the gradient of a body. Takes: the body, its name, the inputs that have gradients, which outputs have one, and the types
# of the arrays that collect gradients of whole reads. Inputs of the gradient: those of the body, the gradients of these outputs,
# these arrays, and the settings of some samplers and textures. Outputs: the gradients of the other inputs. Also returns the
# places of these samplers and textures among the inputs of the body
Adjoined = tuple[Graph, list[int]]
Adjoint = Callable[[Graph, str, Sequence[Value], Sequence[int], Sequence[Type]], Adjoined]
# a body with the tangents of some inputs as further inputs, and of some outputs as outputs; see `forward.Forward.body`
Pushed = Callable[[Graph, Sequence[int], Sequence[int], "int | None"], Graph]


@dataclass(frozen=True)
class Visit:
    """One node on the way back, with everything as terms over its grid.

    Attributes:
        attrs: of the node, with those that resolution adds.
        gradients: of the results; ``None`` is 0.
        wanted: the operands whose gradients are wanted.
        count: the number of points of the grid along some dimensions.
        constants: the nodes of Python numbers.
        arrays: the arrays to which the node adds the gradients of an operand that it reads whole: one, for a texture one for
            each mip level.
        setting: the settings of a sampler, as a number.
        adjoint: the gradient of a body.
        pushed: the tangents of a body.
    """

    terms: Terms
    node: Node
    attrs: Mapping[str, Attr]
    operands: Sequence[Term]
    results: Sequence[Term]
    gradients: Sequence[Term | None]
    wanted: Sequence[int]
    count: Callable[[Sequence[int]], Term]
    constants: Mapping[Value, Node]
    arrays: Callable[[int], Sequence[Term]]
    setting: Callable[[int], Term]
    adjoint: Adjoint
    pushed: Pushed
    oracle: Oracle


def operands_of(t: Terms, node: Node, maps: Sequence[ArgMap], constants: Mapping[Value, Node]) -> list[Term]:
    """Returns the operands of a node as terms over its grid; numbers of the program, in `constants`, with their value."""
    found = [spread(t, v, m) for v, m in zip(node.operands, maps)]
    for term in found:
        known = constants.get(term.value)
        term.constant = None if known is None else known.attrs["value"]
    return found

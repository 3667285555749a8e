"""Errors about operations that have no gradient."""

from __future__ import annotations

from fusepy.errors import GradientError
from fusepy.ir.graph import Node
from fusepy.ir.types import Kind, Type

_PART = "take the gradient of a part of the program without it, or pass its result as an argument"


def no_gradient(node: Node, why: str, type: Type | None = None, expected: str | None = None, hint: str = _PART) -> GradientError:
    """Returns the error about an operation without gradient, because of an operand of a `type`."""
    return GradientError(f"{node.op.name} has no gradient here: {why}", place=node.loc, saw=type, expected=expected, hint=hint)


def read_in_body(node: Node, type: Type) -> GradientError:
    """Returns the error about a texture, buffer or pointer that is read in the body of a loop or branch."""
    return no_gradient(
        node,
        f"{type} is read in a loop or branch of a fused function",
        type,
        expected="a call outside of it, or a Tensor of fusepy",
        hint="write the loop or branch in Slang; or take Tensor<T, N> there, which is differentiated in loops too",
    )


def read_whole(node: Node, type: Type) -> GradientError:
    """Returns the error about an operand that Slang reads in a way that has no derivative."""
    if type.kind is Kind.WHOLE:
        return no_gradient(
            node,
            f"reads of {type} have no derivative",
            type,
            expected="fusepy's Tensor of floats, or of structs with IDifferentiable",
            hint="take it as a Tensor<T, N> of Slang's module fusepy",
        )
    return no_gradient(
        node,
        f"{type} is read whole, and Slang's reads of it have no derivative",
        type,
        expected="a Tensor of fusepy",
        hint="import fusepy in the module, and take Tensor<T, N> there: what is read of it has a gradient",
    )

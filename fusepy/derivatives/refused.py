"""Errors about operations that have no gradient."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.errors import GradientError
from fusepy.ir.graph import Node, Value
from fusepy.ir.types import AS_ONE, Kind, Type

_PART = "take the gradient of a part of the program without it, or pass its result as an argument"
_READ_APART = "read in a call of its own, and pass the value: f(read(array, i), x) in place of f(array, i, x)"
_UNROLLED = "write a loop of Python, for i in range(n): its reads array[i] have a second order"
_READ_BEFORE = "read by array[i] or fp.take, and pass the elements: f(array[i], x) in place of f(array, i, x)"


def no_gradient(node: Node, why: str, type: Type | None = None, expected: str | None = None, hint: str = _PART) -> GradientError:
    """Returns the error about an operation without gradient, because of an operand of a `type`."""
    return GradientError(f"{called(node)} has no gradient here: {why}", place=node.loc, saw=type, expected=expected, hint=hint)


def read_in_body(node: Node, type: Type) -> GradientError:
    """Returns the error about a gradient that is taken in the body of a loop or branch, of a sample."""
    return no_gradient(
        node,
        f"it takes a {type}, whose settings are not known in the body of a loop or branch",
        type,
        expected="a gradient of the whole loop or branch",
        hint="take the gradient outside of the loop or branch: fp.grad goes through samples in it",
    )


def levels_in_body(node: Node, type: Type, count: int) -> GradientError:
    """Returns the error about a texture with several mip levels that is read in the body of a loop or branch."""
    return no_gradient(
        node,
        f"{type} has {count} mip levels, and is read in a loop or branch of a fused function",
        type,
        expected="one level, as of texture.create_view(mip=0, mip_count=1)",
        hint="write the loop or branch in Slang: levels have gradients there",
    )


def from_outside(value: Value, what: str, place: str | None) -> GradientError:
    """Returns the error about a gradient that is taken in the body of a loop or branch, by a value from outside of it."""
    return GradientError(
        f"{what}() in the body of a loop or branch, by a value from outside of it",
        place=place,
        saw=f"{value.name!r}" if value.name else value.type,
        expected="a value that the body computes, or a carry",
        hint=f"pass its fields in a dict; or take {what}() of the whole loop",
    )


def backwards_only(node: Node, array: Type | None) -> GradientError:
    """Returns the error about forward mode through a function that reads an array whole, or samples a texture."""
    what = f"{called(node)} has no tangent: it reads {array or 'a texture'} whole"
    hint = "go backwards, by fp.grad or fp.vjp: what functions read of arrays and textures has gradients"
    if array is not None and array.kind is Kind.WHOLE:
        hint += "; or read the elements outside of the function: m.f(x[i]) in place of m.f(x, i)"
    return GradientError(what, place=node.loc, hint=hint)


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


def written(node: Node, value: Value) -> GradientError:
    """Returns the error about a result that depends on what a node writes to an array."""
    if node.op.name.endswith("vjp"):
        hint = _UNROLLED if node.op.name == "loop_vjp" else _READ_BEFORE
        return no_gradient(node, "it adds to the gradient of an array that is read whole, which has no second order", hint=hint)
    what = f"{value.name!r}, on which" if value.name is not None else "an array on which"
    return GradientError(
        f"{called(node)} writes {what} the result depends, and such a write has no gradient",
        place=node.loc,
        hint="return what it writes, and pass that on: y = f(x), then g(y) in place of g(array)",
    )


def rewritten(reader: Node, writer: Node, value: Value | None = None) -> GradientError:
    """Returns the error about memory that a node reads and a later one, or the same, writes, where there can be no copy."""
    what, read, other = "global memory" if value is None else repr(value.name), called(reader), called(writer)
    if reader is writer:
        why = f"{read} writes {what}, and its derivative would run it again, with what it has written"
        return GradientError(why, place=reader.loc, hint="write in a call of its own, behind the loop or branch")
    return GradientError(
        f"{read} reads {what}, and {other} writes it before the derivative of {read} reads it again",
        place=reader.loc,
        saw=f"{other} at {writer.loc}" if writer.loc else other,
        hint="write into another array; or read it as Tensor<T, N>, of which the derivative keeps a copy",
    )


def called(node: Node) -> str:
    """Returns the name of what a node calls, or is the derivative of."""
    if node.op.name in ("vjp", "jvp"):
        return f"the derivative of {called(node.bodies[0].nodes[-1])}"
    return f"{node.text('function')}()" if "function" in node.attrs else node.op.name


def read_twice(node: Node, types: Sequence[Type]) -> None:
    """Raises `GradientError` if one of the operands whose gradients are wanted is read whole, in a gradient of second order."""
    for type in types:
        if type.kind in AS_ONE:
            raise no_gradient(
                node,
                f"second derivatives of reads of a {type} are not computed",
                type,
                hint=_UNROLLED if node.op.name == "loop_vjp" else _READ_BEFORE if type.kind is Kind.WHOLE else _READ_APART,
            )


def struct_without(type: Type, place: str | None) -> GradientError:
    """Returns the error about a struct that has no derivative, on the way from an argument to the result."""
    return GradientError(
        f"struct {type} has no derivative, and what depends on an argument is passed in it",
        place=place,
        saw=type,
        expected="IDifferentiable",
        hint=f"declare struct {type} : IDifferentiable",
    )

"""The values that a vertex or mesh function hands on to the fragment function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fusepy.drawing.mapped import parameters
from fusepy.drawing.stages import DrawStage
from fusepy.errors import ArgumentError, UnsupportedArgumentError
from fusepy.functions.function import Function
from fusepy.ir.types import Kind, Type
from fusepy.trace.traced import Traced

_POSITION = Type.parse("float4")


def handed_on(fragment: DrawStage, handed: Sequence[tuple[str, Type]]) -> Mapping[str, Any]:
    """Returns the values that the vertex function passes to the fragment function, by name."""
    if handed[0][0]:
        return {name: fragment.own(name, type) for name, type in handed}
    type = handed[0][1]
    whole = fragment.own("varyings", type)
    fields = {p.name: getattr(whole, p.name) for p in fragment.inner.oracle.fields(type) or ()}
    return {**fields, **dict.fromkeys(_whole_in(fragment, type), whole)}


def _whole_in(fragment: DrawStage, type: Type) -> list[str]:
    """Returns the names of the parameters that take the whole struct of the vertex function."""
    function = fragment.function
    if isinstance(function, Function):
        return [p.name for s in function.tracer.declared() for p in s.params if p.type is type]
    fields = {p.name for p in fragment.inner.oracle.fields(type) or ()}
    return [name for name in list(parameters(function))[:1] if name not in fields]


def check_interface(what: str, interface: Sequence[tuple[str, Traced]], loc: str | None) -> None:
    """Checks that the vertex function `what` returns a position, and only numbers.

    Raises:
        ArgumentError: if its first result is no position.
        UnsupportedArgumentError: for a result that cannot be interpolated.
    """
    (name, first), *others = interface
    if not name:
        return
    if name != "position" or first.type is not _POSITION:
        raise ArgumentError(
            f"{what} returns no position of the vertex first",
            place=loc,
            saw=f"{name}, a {first.type}",
            expected="a float4 in clip space",
            hint="return a dict whose first entry is called position, a float4",
        )
    wrong = [(n, v.type) for n, v in others if v.type.kind not in (Kind.SCALAR, Kind.VECTOR)]
    if wrong:
        raise UnsupportedArgumentError(
            f"{what} hands on {wrong[0][0]!r}, a {wrong[0][1]}",
            place=loc,
            expected="numbers and vectors",
            hint="hand on its rows or members",
        )

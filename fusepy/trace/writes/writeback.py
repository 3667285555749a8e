"""The `out` and `inout` arguments of eager calls: the argument that each result is written to, leaf by leaf for nested ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fusepy.arguments.mapped import Mapped
from fusepy.arguments.nested import Tree
from fusepy.backend.marshals.registry import kind_of_value
from fusepy.backend.marshals.result_kinds import is_writable
from fusepy.errors import ArgumentError, UnsupportedArgumentError, did_you_mean
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.oracle import OUT, Param, parts
from fusepy.ir.types import Kind, Type, pair_of
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced


@dataclass(frozen=True)
class WrittenArgument:
    """An argument with its parameter, the mapping of `declare`, its leaves with their paths, and the index of the first leaf."""

    param: Param
    value: Any
    said: ArgMap | None
    leaves: Sequence[tuple[str, Any]]
    start: int


@dataclass(frozen=True)
class Output:
    """A result of the program, and the index of the argument that it is written to; ``None`` returns it.

    `grad`: it is written to the gradient of that argument. `said`: the mapping and type of the argument.
    """

    value: Traced
    target: int | None = None
    grad: bool = False
    said: ArgMap = UNSAID


def written_back(trace: Trace, function: str, slot: WrittenArgument, result: Traced) -> list[Output]:
    """Returns the outputs for the result of one `out` or `inout` parameter.

    Raises:
        UnsupportedArgumentError: if an `out` argument cannot be written to.
    """
    tree = Tree.of(slot.value, slot.param.name)
    if tree is not None:
        _check_fields(trace, function, tree, result.type, slot.param.name)
    outputs: list[Output] = []
    declared = slot.said or UNSAID
    declared = declared if tree is None else ArgMap(declared.dims)  # a type of `declare` is the type of the whole
    for k, (path, leaf) in enumerate(slot.leaves):
        inner, said = (leaf.value, leaf.map) if isinstance(leaf, Mapped) else (leaf, declared)
        if is_writable(inner):
            part = result if tree is None else part_of(trace, result, path)
            if pair_of(part.type) is not None and kind_of_value(inner).describe(inner).arrival.paired:
                dims = ArgMap(said.dims)
                outputs.append(Output(trace.record("member", [part], {"name": "p"}), slot.start + k, said=dims))
                outputs.append(Output(trace.record("member", [part], {"name": "d"}), slot.start + k, grad=True, said=dims))
            else:
                outputs.append(Output(part, slot.start + k, said=said))
        elif slot.param.direction == OUT:
            raise UnsupportedArgumentError(
                f"{function}: out argument {path!r} cannot be written to a {type(inner).__name__}",
                saw=repr(inner)[:60],
                expected="a Tensor, a NumPy array or a Texture",
                hint="leave the argument out to have it returned",
            )
    return outputs or [Output(result)]  # an inout argument that cannot be written to is returned


def _check_fields(trace: Trace, function: str, tree: Tree, type: Type, path: str) -> None:
    """Raises `ArgumentError` for a field that the written type does not have. Fields may be missing: they are not written."""
    members = {p.name: p.type for p in parts(trace.oracle, type) or ()}
    if tree.listed and type.kind is Kind.VECTOR:
        members = {str(i): t for i, t in enumerate(members.values())}
    unknown = [name for name in tree.fields if name not in members]
    if unknown or tree.type not in (None, type.name):
        raise ArgumentError(
            f"{function}: {path} has no member {unknown[0]!r}" if unknown else f"{function}: {path} is a {type}",
            saw=", ".join(tree.fields) if unknown else tree.type,
            expected=f"{type} {{ {', '.join(members)} }}" if members else f"a Tensor or array of {type}",
            hint=did_you_mean(unknown[0], members) if unknown else f"remove '_type', or write {type.name!r}",
        )
    for name, value in tree.fields.items():
        inner, member = Tree.of(value, f"{path}.{name}"), members[name]
        if inner is not None and member is not None and trace.oracle.conforming(member) is None:
            _check_fields(trace, function, inner, member, f"{path}.{name}")


def part_of(trace: Trace, result: Traced, path: str) -> Traced:
    """Records the leaf of a struct at a path: ``ray.position.z`` is ``.position.z`` of the result."""
    for name in path.split(".")[1:]:
        if trace.oracle.conforming(result.type) is not None:
            raise UnsupportedArgumentError(
                f"{path} cannot be written back: it lies in a member of the interface type {result.type}",
                expected="arrays in members of known types",
                hint="pass what is only read as a broadcast number, or return from Slang what has changed",
            )
        result = trace.part(result, int(name)) if name.isdigit() else trace.record("member", [result], {"name": name})
    return result

"""``struct``: one value of a Slang struct, vector, matrix or array, made from its members; for nested arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from fusepy.errors import VerifyError
from fusepy.ir.graph import Node, Op, Value
from fusepy.ir.ops.promotion import of_numbers
from fusepy.ir.oracle import Oracle
from fusepy.ir.resolve.resolve import Resolution, resolve_members
from fusepy.ir.types import Kind, Type, pair_of
from fusepy.ir.value import Array, declare

T = TypeVar("T")


class MakeStruct(Op):
    """A value with one operand for each member in the attribute ``fields``: names, or numbers of array elements and matrix rows.

    ``type`` is the type of the value; ``path`` is the user's name for it (``ray.position``), for messages. Operands are bound to
    members as arguments to parameters: a tensor of scalars fills a vector, a Python number gets the member's type.
    """

    name = "struct"
    needs = {"type": (str,), "fields": (tuple,), "path": (str,)}

    def resolution(self, node: Node, oracle: Oracle | None) -> Resolution:
        if oracle is None:
            raise VerifyError("a struct needs an oracle", place=node.loc, hint="build the graph with Builder(name, oracle)")
        type = Type.parse(node.text("type"))
        strict = bool(node.attrs.get("strict"))
        return resolve_members(oracle, type, members(node), node.operands, node.maps, node.text("path"), node.loc, strict)

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        answer = self.resolution(node, oracle)
        weak = of_numbers(node.operands)
        return [Value(type, (None,) * answer.grid_rank, weak=weak) for _, type in answer.results]

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        type = node.results[0].type
        shapes = [m.type.shape if m.type else v.type.shape for v, m in zip(node.operands, node.maps)]
        grid = np.broadcast_shapes(*(a.shape[: a.ndim - len(s)] for a, s in zip(args, shapes)))
        if type.kind in (Kind.VECTOR, Kind.MATRIX, Kind.ARRAY):
            whole = [np.broadcast_to(a, grid + type.shape[1:]) for a in _components(node, args)]
            made = np.stack(whole, axis=len(grid))
            return [made if type.dtype is None else made.astype(type.dtype)]
        dtype = np.dtype([(name, a.dtype, s) for name, a, s in zip(members(node), args, shapes)])
        made = np.empty(grid, dtype)
        for name, a in zip(members(node), args):
            made[name] = a
        return [made]

    def emit(self, node: Node, args: Sequence[str], results: Sequence[str]) -> list[str]:
        type = node.results[0].type
        if type.kind is Kind.ARRAY:
            return [f"{declare(type, results[0])};", *(f"{results[0]}[{m}] = {a};" for m, a in zip(members(node), args))]
        if type.dtype is not None:
            return [f"{type} {results[0]} = {type}({', '.join(_components(node, args))});"]
        if pair_of(type) is not None:
            halves = dict(zip(members(node), args))
            return [f"{type} {results[0]} = diffPair({halves['p']}, {halves['d']});"]
        # members one by one: an initialiser list would call a constructor where the user has written one
        return [f"{declare(type, results[0])};", *(f"{results[0]}.{m} = {a};" for m, a in zip(members(node), args))]

    def verify(self, node: Node) -> str | None:
        wrong = super().verify(node)
        if wrong is None and len(members(node)) != len(node.operands):
            return f"{len(node.operands)} operands for {len(members(node))} fields"
        return wrong


def _components(node: Node, args: Sequence[T]) -> list[T]:
    """Returns the operands of a vector, matrix or array in the order of its components."""
    named = dict(zip(members(node), args))
    if node.results[0].type.kind in (Kind.MATRIX, Kind.ARRAY):
        return [named[str(i)] for i in range(len(args))]
    return [named[name] for name in "xyzw"[: len(args)]]


def members(node: Node) -> tuple[str, ...]:
    """Returns the names of the members that a ``struct`` fills, in the order of its operands."""
    return node.words("fields")

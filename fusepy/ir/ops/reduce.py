"""``reduce`` and ``scan``: many elements combined into one; ``expand``: new axes of extent 1, such as those of ``keepdims``;
``contract``: sums of products of two arrays, such as products of matrices.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fusepy.errors import NoMatchError, ShapeError, VerifyError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.fold_meanings import folded, scanned
from fusepy.ir.graph import Node, Op, Value, grid_rank
from fusepy.ir.ops.folds import Fold, Functions, axes_of
from fusepy.ir.ops.promotion import of_numbers, promote
from fusepy.ir.oracle import IN, Oracle
from fusepy.ir.resolve.hints import components_hint, is_scalar_array
from fusepy.ir.resolve.offers import describe
from fusepy.ir.resolve.resolve import resolve_call
from fusepy.ir.types import BOOL, HALF, INT, Kind, Type
from fusepy.ir.value import Array


class _Folding(Op):
    """The base of ``reduce`` and ``scan``: one operand over its own grid, a kind, and for ``"call"`` the Slang function.

    Attributes of the node beside the axes: ``kind``; with ``"call"`` also ``module``, ``function`` and ``identity``, a number or
    one number per component, as strings.
    """

    arity = 1
    spreads = False
    needs = {"kind": (str,)}
    scans = False

    def element(self, node: Node, oracle: Oracle | None) -> Type:
        """Returns the type in which elements are reduced: the operand's, or the parameter type of the Slang function.

        Raises:
            NoMatchError: if the function does not return the type that it takes.
        """
        value, fold = node.operands[0], Fold.of_node(node, self.scans)
        have = node.maps[0].type or value.type
        if fold.kind != "call" or fold.wrong() is not None:
            return have
        fold.type(have, node.loc)  # only numbers have an identity that is a number
        if oracle is None:
            raise VerifyError("a fold by a call needs an oracle", place=node.loc, hint="build the graph with an oracle")
        pair = [Value(have, (), weak=value.weak)] * 2
        try:
            answer = resolve_call(oracle, fold.module, fold.function, pair, [ArgMap(())] * 2, node.loc)
        except NoMatchError as error:
            if is_scalar_array(value):
                error.hint = components_hint(value)
            raise
        results = [t for _, t in answer.results]
        params = [m.type or have for m in answer.maps]
        if len(results) != 1 or params != results * 2 or any(p.direction != IN for p in answer.params):
            raise NoMatchError(
                f"{fold.function} does not combine two elements into one of their type",
                place=node.loc,
                saw=f"({', '.join(map(str, params))}) -> {', '.join(map(str, results)) or 'void'}",
                expected=f"({have}, {have}) -> {have}",
                hint="write a function T f(T a, T b)",
            )
        fold.start(results[0])
        return results[0]

    def settled(self, node: Node, oracle: Oracle | None) -> list[ArgMap]:
        want = self.element(node, oracle)
        (map,) = super().settled(node, oracle)
        return [ArgMap(map.dims, want if want is not node.operands[0].type else None)]

    def wanted(self, node: Node, i: int) -> Type | None:
        return node.operands[0].type.scalar

    def meaning(self, node: Node, array: Array, functions: Functions) -> Array:
        """Computes the result with NumPy implementations of Slang functions."""
        raise NotImplementedError

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        return [self.meaning(node, args[0], {})]

    def verify(self, node: Node) -> str | None:
        wrong = super().verify(node) or Fold.of_node(node, self.scans).wrong()
        return wrong or wrong_axes(node, "axis" if self.scans else "axes", grid_rank(node))


class Reduce(_Folding):
    """A reduction along the dimensions ``axes`` of its grid; the others are left, in order."""

    name = "reduce"

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        value, fold = node.operands[0], Fold.of_node(node)
        type = fold.type(self.element(node, oracle), node.loc)
        rank = grid_rank(node) - len(axes_of(node, "axes"))
        return [Value(type, (None,) * rank, weak=of_numbers([value]))]

    def meaning(self, node: Node, array: Array, functions: Functions) -> Array:
        return folded(Fold.of_node(node), array, axes_of(node, "axes"), node.maps[0].type or node.operands[0].type, functions)


class Scan(_Folding):
    """A scan along one dimension: each result combines the elements up to its own, or before it if ``exclusive``."""

    name = "scan"
    needs = {"kind": (str,), "axis": (str,), "exclusive": (bool,)}
    scans = True

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        value, fold = node.operands[0], Fold.of_node(node, scans=True)
        type = fold.type(self.element(node, oracle), node.loc)
        return [Value(type, (None,) * grid_rank(node), weak=of_numbers([value]))]

    def meaning(self, node: Node, array: Array, functions: Functions) -> Array:
        have = node.maps[0].type or node.operands[0].type
        return scanned(Fold.of_node(node, scans=True), array, axes_of(node, "axis")[0], have, functions)


class Expand(Op):
    """A view of the operand with axes of extent 1 at the positions ``axes`` of the result; nothing is computed."""

    name = "expand"
    arity = 1
    views = True

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        value = node.operands[0]
        return [Value(value.type, (None,) * (value.rank + len(axes_of(node, "axes"))), weak=of_numbers([value]))]

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        return list(args)

    def verify(self, node: Node) -> str | None:
        rank = node.operands[0].rank + len(axes_of(node, "axes")) if node.operands else 0
        wrong = super().verify(node) or wrong_axes(node, "axes", rank)
        if wrong is None and (node.maps[0].dims is None or set(node.maps[0].dims) & set(axes_of(node, "axes"))):
            return "the operand does not say along which dimensions it runs, or runs along one that is new"
        return wrong


class Contract(Op):
    """The sum along the dimensions ``axes`` of its grid of the products of two operands; the others are left, in order.

    The maps say along which dimensions each operand runs; both run along those of ``axes``, where their extents are equal: an
    extent of 1 is not stretched. Integers wrap; sums of halfs are computed as floats.
    """

    name = "contract"
    arity = 2
    spreads = False

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        scalar = promote([(v.type, v.weak) for v in node.operands], node.operands)
        if scalar is None or any(v.type.kind is not Kind.SCALAR for v in node.operands):
            raise VerifyError("contract takes arrays of numbers", place=node.loc, saw=", ".join(map(describe, node.operands)))
        scalar = INT if scalar is BOOL else scalar  # as for + and *
        left = grid_rank(node) - len(axes_of(node, "axes"))
        return [Value(scalar, (None,) * left, weak=of_numbers(node.operands))]

    def wanted(self, node: Node, i: int) -> Type | None:
        return node.results[0].type

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        type, axes = node.results[0].type, axes_of(node, "axes")
        a, b = args
        wrong = [(a.shape[d], b.shape[d]) for d in axes if a.shape[d] != b.shape[d]]
        if wrong:
            raise ShapeError(f"extents {wrong[0]} along a summed axis", place=node.loc, hint="check the shapes")
        one = np.dtype(np.float32) if type is HALF else type.dtype
        assert one is not None
        with np.errstate(all="ignore"):
            products = a.astype(one) * b.astype(one)
            wide = products.astype(np.float64 if type.is_float else one)
            return [np.asarray(np.sum(wide, axis=axes)).astype(one).astype(type.dtype)]

    def verify(self, node: Node) -> str | None:
        wrong = super().verify(node) or wrong_axes(node, "axes", grid_rank(node))
        if wrong is not None:
            return wrong
        missing = [i for i, m in enumerate(node.maps) if m.dims is None or not set(axes_of(node, "axes")) <= set(m.dims)]
        return f"operand {missing[0]} does not run along all dimensions that are summed" if missing else None


def wrong_axes(node: Node, key: str, rank: int) -> str | None:
    """Returns an error in the dimensions of a grid of `rank`, or ``None``: at least one, in order, each once."""
    try:
        axes = axes_of(node, key)
    except VerifyError as error:
        return error.what
    if not axes or list(axes) != sorted(set(axes)) or axes[-1] >= rank:
        return f"{key} names no dimensions of a grid of {rank}, or not in order"
    return None


def folded_axes(node: Node) -> tuple[int, ...]:
    """Returns the dimensions of the grid of a ``reduce`` or ``contract`` that its result lacks; empty for every other node."""
    return axes_of(node, "axes") if node.op.name in ("reduce", "contract") else ()


REDUCE_OPS: list[Op] = [Reduce(), Scan(), Expand(), Contract()]

"""``gradient_array`` and ``round_sums``: gradients to which threads add, as numbers or as exact sums (``fusepy_sums.slang``)."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.ir.graph import Node, Op, Value
from fusepy.ir.ops.base import computed
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import DOUBLE, UINT, Kind, Type
from fusepy.ir.value import declare

# the kinds of words of a gradient, as `_add_words` of the Slang module reads them: a float, one half, two halfs, the first word
# of a double, its second word or a gap
A_FLOAT, A_HALF, HALFS, A_DOUBLE, GAP = range(5)
SIZES = {A_FLOAT: 11, A_HALF: 11, HALFS: 22, A_DOUBLE: 68, GAP: 0}  # words of its sums


def size(words: Sequence[str]) -> int:
    """Returns the number of words of the sums of an element, whose gradient has these words."""
    return sum(SIZES[int(word)] for word in words)


def sums_in(array: Type) -> int:
    """Returns the number of words of the sums of an element of an array of gradients; 0 if its elements are no exact sums."""
    element = array.element
    return element.shape[0] if element is not None and element.kind is Kind.ARRAY and element.scalar is UINT else 0


def first_size(array: Type, kinds: str) -> int:
    """Returns the words of the first sum of an element of a whole array; `kinds` are as in `derivatives.scatter.packed`."""
    element = array.element
    double = element is not None and element.is_numeric and element.scalar is DOUBLE
    return SIZES[A_DOUBLE if double or int(kinds.partition(",")[0]) & 15 == A_DOUBLE else A_FLOAT]


class GradientArray(Op):
    """An array of zeros, the gradients of elements of type ``of``, with the extents of the operand, to which calls add.

    With ``sums`` an element is the exact sums of a gradient with these words, see `ops.exact`.
    """

    name = "gradient_array"
    arity = 1
    merges = False
    needs = {"type": (str,), "of": (str,)}

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        return [computed(node, Type.parse(node.text("type")))]

    def wanted(self, node: Node, i: int) -> Type | None:
        return node.results[0].type.scalar  # only the extents of the operand count

    def emit(self, node: Node, args: Sequence[str], results: Sequence[str]) -> list[str]:
        type = node.results[0].type
        if "sums" in node.attrs:
            return [f"{declare(type, results[0])} = _empty_sums<{type.shape[0]}>();"]
        zero = f"{type}(0)" if type.is_numeric else "{}" if type.kind is Kind.ARRAY else f"{node.text('of')}.dzero()"
        return [f"{declare(type, results[0])} = {zero};"]


class RoundSums(Op):
    """The exact sums of an element, rounded once: a gradient of type ``type``, whose words are ``sums``."""

    name = "round_sums"
    arity = 1
    needs = {"type": (str,), "sums": (tuple,)}

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        return [computed(node, Type.parse(node.text("type")))]

    def emit(self, node: Node, args: Sequence[str], results: Sequence[str]) -> list[str]:
        type, sums = node.results[0].type, node.words("sums")
        kinds, places = [int(word) for word in sums], [size(sums[:i]) for i in range(len(sums))]
        made, of = declare(type, results[0]), args[0]
        if type.is_numeric:
            parts = [f"_rounded_{'double' if k == A_DOUBLE else 'float'}({of}, {at})" for k, at in zip(kinds, places)]
            return [f"{made} = {type}({', '.join(parts)});"]
        if set(kinds) == {A_FLOAT}:
            return [f"{made} = _rounded_floats<{type}, {size(sums)}>({of});"]
        words = f"{results[0]}_words"
        lines = [f"uint {words}[{len(kinds) + 1}] = {{}};"]
        for i, (kind, at) in enumerate(zip(kinds, places)):
            low = f"_rounded_float({of}, {at})"
            if kind == A_FLOAT:
                lines.append(f"{words}[{i}] = asuint({low});")
            elif kind == A_DOUBLE:
                lines.append(f"asuint(_rounded_double({of}, {at}), {words}[{i}], {words}[{i + 1}]);")
            elif kind != GAP:
                high = f"_rounded_float({of}, {at + SIZES[A_HALF]})" if kind == HALFS else "0"
                lines.append(f"{words}[{i}] = _halfs({low}, {high});")
        return [*lines, f"{made} = _of_words<{type}, {len(kinds) + 1}>({words});"]


SCATTER_OPS: list[Op] = [GradientArray(), RoundSums()]

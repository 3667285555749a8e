"""Operations that a GPU's compiler would round otherwise than they are written, and that call ``fusepy_rounded.slang`` for this.

Divisions: CUDA's compiler calls a function for each of them. NVIDIA's Vulkan driver multiplies with the reciprocal. That is off
by up to 2 units in the last place, and 0 for a divisor above 2^126, so that 1e38 / 2e38 is 0.

Sums, and products of sums, for Vulkan: the same driver (580) makes ``x * k + 3 * k`` of ``(x + 3) * k``, which is not 0 for -3,
and ``b`` of ``(a + b) - a``. It does not if the last of the two operations carries ``NoContraction``.

Negative integers, for CUDA: its assembler loses the sign of one of three whose minimum or maximum is taken.
"""

from __future__ import annotations

from fusepy.backend.device.target import Target
from fusepy.ir.graph import Node, Value
from fusepy.ir.ops.arithmetic import DIVISIONS, ROUNDED
from fusepy.ir.ops.base import with_attrs
from fusepy.ir.types import Type

_SUMS = ("add", "sub")
_ROUNDED = frozenset((*_SUMS, "mul", "neg", *DIVISIONS))


class Rounded:
    """Marks the operations of one function that must call ``fusepy_rounded.slang``.

    Args:
        target: the device.
        fast_math: the user asks for fast arithmetic, so that there are none.
    """

    def __init__(self, target: Target, fast_math: bool):
        self._divisions = target.kind != "software" and not fast_math  # LLVM changes nothing, and divides exactly
        self._joined = self._divisions and target.spirv
        self._loses_signs = target.loses_signs
        self._constants: dict[Value, object] = {}
        self._sums: dict[Value, Node] = {}

    def __call__(self, node: Node) -> Node:
        """Returns `node`, marked if it must. Nodes come in the order in which they are computed."""
        name = node.op.name
        if name == "const":
            self._constants[node.results[0]] = node.attrs["value"]
        if name not in _ROUNDED or ROUNDED in node.attrs:
            return node
        scalar = node.results[0].type.scalar
        if self._loses_signs and scalar is not None and (negated := self._negated(node, scalar)) is not None:
            return with_attrs(node, **{ROUNDED: str(negated)})
        if not self._divisions or scalar is None or not scalar.is_float or name == "neg":
            return node
        must = name in DIVISIONS or (self._joined and self._joins(node))
        if name in _SUMS:
            self._sums[node.results[0]] = node
        return with_attrs(node, **{ROUNDED: True}) if must else node

    def _negated(self, node: Node, scalar: Type) -> int | None:
        """Returns the operand of which a node of integers gives the negative; ``None`` for other nodes."""
        if scalar.dtype is None or scalar.dtype.kind not in "iu":
            return None
        known = [self._constants.get(value) for value in node.operands]
        if node.op.name == "sub":
            return 1 if known[0] == 0 else None
        if node.op.name == "mul":
            return 1 - known.index(-1) if -1 in known else None
        return 0 if node.op.name == "neg" or (node.op.name == "floordiv" and known[1] == -1) else None

    def _joins(self, node: Node) -> bool:
        """True if `node` is computed of a sum that it may be joined with: both have a constant, or they share a term."""
        for value, other in (node.operands, node.operands[::-1]):
            terms = self._sums[value].operands if value in self._sums else ()
            if other in self._constants:
                if any(term in self._constants for term in terms):
                    return True
            elif node.op.name != "mul" and other in terms:
                return True
        return False

"""Restrictions on matrices of 8, 16 and 64-bit integers ("narrow matrices").

Drivers refuse the SPIR-V that Slang emits if a function returns such a matrix, a loop or a branch carries it, it is stored
whole, or a computed number indexes it. Kernels therefore access them by components, compute by rows, and inline all of this.
"""

from __future__ import annotations

from fusepy.errors import CompileError
from fusepy.ir.graph import Node
from fusepy.ir.ops.base import Componentwise
from fusepy.ir.ops.region import spec_of
from fusepy.ir.types import Kind, Type
from fusepy.location import user_line

_TAKEN = ("cast", "construct", "matmul", "along", "expand", "slang.call")  # some user functions work; the driver decides


def is_narrow(type: Type) -> bool:
    """True if a type is a narrow matrix.

    Example:
        >>> is_narrow(Type.parse("matrix<int16_t,2,2>")), is_narrow(Type.parse("int2x2")), is_narrow(Type.parse("int64_t2"))
        (True, False, False)
    """
    return type.kind is Kind.MATRIX and type.dtype is not None and type.dtype.kind in "iu" and type.dtype.itemsize != 4


def check_matrices(region: Node) -> None:
    """Checks the operations of a region on narrow matrices.

    Raises:
        CompileError: with the line of an operation that cannot be compiled.
    """
    assert region.body is not None
    folds, outputs = spec_of(region).folds, region.body.outputs
    for fold, value in zip(folds, outputs[len(outputs) - len(folds) :]):
        if is_narrow(value.type):
            raise _refused(f"{fold.kind}() of {value.type} values", region.loc or user_line())
    for body in region.bodies:
        constants = {n.results[0] for n in body.nodes if n.op.name == "const"}
        for node in body.nodes:
            types = [*(m.type or v.type for v, m in zip(node.operands, node.maps)), *(v.type for v in node.results)]
            narrow = next(filter(is_narrow, types), None)
            if narrow is None or isinstance(node.op, Componentwise) or node.op.name in _TAKEN:
                continue
            if node.op.name != "index" or node.operands[1] not in constants:
                raise _refused(f"{'a computed index' if node.op.name == 'index' else node.op.name} of {narrow} values", node.loc)


def _refused(what: str, place: str | None) -> CompileError:
    return CompileError(
        f"{what}, of which Slang makes code that the driver refuses",
        place=place,
        expected="operators, functions of components and constant indices of such matrices",
        hint="take its rows m[0], m[1] by themselves; or convert with vcast to a matrix of int or float",
    )

"""Derivatives of operations that take values apart and put them together: members, constructors, selections, products."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fusepy.derivatives.differential import differential
from fusepy.derivatives.terms import Term, Terms
from fusepy.ir.graph import Node
from fusepy.ir.ops.struct import members
from fusepy.ir.ops.structure import swizzle
from fusepy.ir.types import Kind, Type

Parts = Sequence["Term | None"]
Rule = Callable[[Terms, Node, Term, Term, Sequence[Term]], Parts]  # the gradient of the result, the result, the operands


def _select(t: Terms, node: Node, g: Term, y: Term, x: Sequence[Term]) -> Parts:
    if not y.type.is_numeric:
        return None, _kept(t, x[0], g, y.type, True), _kept(t, x[0], g, y.type, False)
    return None, t.where(x[0], g, 0.0), t.where(x[0], 0.0, g)


def _kept(t: Terms, test: Term, g: Term, type: Type, holds: bool) -> Term:
    zero = t.zero(type, g.type)
    return t.where(test, g, zero) if holds else t.where(test, zero, g)


def _construct(t: Terms, node: Node, g: Term, y: Term, x: Sequence[Term]) -> Parts:
    flat = _scalars(t, g)
    found: list[Term | None] = []
    for operand in x:
        count = operand.type.shape[0] if len(operand.type.shape) == 1 else 1
        for extent in operand.type.shape[1:]:
            count *= extent
        mine, flat = flat[:count], flat[count:]
        found.append(mine[0] if not operand.type.shape else t.construct(operand.type.with_scalar(g.type.scalar or g.type), mine))
    return found


def _scalars(t: Terms, g: Term) -> list[Term]:
    """Returns the components of a scalar, vector or matrix."""
    if g.type.kind is Kind.MATRIX:
        return [c for k in range(g.type.shape[0]) for c in _scalars(t, g.item(k))]
    return [g.member(c) for c in "xyzw"[: g.type.shape[0]]] if g.type.shape else [g]


def _member(t: Terms, node: Node, g: Term, y: Term, x: Sequence[Term]) -> Parts:
    name, have = node.text("name"), x[0].type
    indices = swizzle(have, name)
    if indices is None:
        derived = differential(have, t.builder.oracle)
        assert derived is not None, have
        return (t.op("field_gradient", g, of=have.name, type=derived.name, name=name),)
    parts = _scalars(t, g)
    if not have.shape:
        return (t.total(parts),)
    sums = [[p for p, i in zip(parts, indices) if i == k] for k in range(have.shape[0])]
    return (t.construct(have, [t.total(s) if s else 0.0 for s in sums]),)


def _index(t: Terms, node: Node, g: Term, y: Term, x: Sequence[Term]) -> Parts:
    have, index = x[0].type, x[1]
    parts: list[Term | float] = []
    for k in range(have.shape[0]):
        test = index.equals(k)
        parts.append(t.where(test, g, 0.0) if g.type.is_numeric else _kept(t, test, g, y.type, True))
    if have.kind is Kind.VECTOR:
        return t.construct(have, parts), None
    return t.struct(have, {str(k): p for k, p in enumerate(parts)}), None


def _struct(t: Terms, node: Node, g: Term, y: Term, x: Sequence[Term]) -> Parts:
    names = members(node)
    if y.type.kind is Kind.MATRIX:
        return [g.item(int(name)) for name in names]
    found = {n: g.member(n) for n in names} if y.type.is_numeric else t.parts_of(g)
    return [found.get(name) for name in names]  # a member such as an integer has no gradient


def _cross(t: Terms, node: Node, g: Term, y: Term, x: Sequence[Term]) -> Parts:
    a, b = x
    return t.op("cross", b, g), t.op("cross", g, a)


def _normalize(t: Terms, node: Node, g: Term, y: Term, x: Sequence[Term]) -> Parts:
    return ((g - y * t.op("dot", y, g)) / t.op("length", x[0]),)


def _reflect(t: Terms, node: Node, g: Term, y: Term, x: Sequence[Term]) -> Parts:
    i, n = x
    along = t.op("dot", n, g)
    return g - 2 * along * n, -2 * (i * along + g * t.op("dot", n, i))


def _matmul(t: Terms, node: Node, g: Term, y: Term, x: Sequence[Term]) -> Parts:
    a, b = x
    if a.type.kind is Kind.VECTOR:
        return t.op("matmul", b, g), _outer(t, a, g, b.type)
    if b.type.kind is Kind.VECTOR:
        return _outer(t, g, b, a.type), t.op("matmul", g, a)
    return t.op("matmul", g, _transposed(t, b)), t.op("matmul", _transposed(t, a), g)


def _outer(t: Terms, a: Term, b: Term, type: Type) -> Term:
    return t.struct(type, {str(k): a.member("xyzw"[k]) * b for k in range(type.shape[0])})


def _transposed(t: Terms, a: Term) -> Term:
    rows, columns = a.type.shape
    scalar = a.type.scalar or a.type
    parts = [a.item(k).member("xyzw"[j]) for j in range(columns) for k in range(rows)]
    return t.construct(Type.matrix(scalar, columns, rows), parts)


RULES: dict[str, Rule] = {
    "cast": lambda t, node, g, y, x: (g,),
    "construct": _construct,
    "member": _member,
    "index": _index,
    "select": _select,
    "struct": _struct,
    "dot": lambda t, node, g, y, x: (g * x[1], g * x[0]),
    "cross": _cross,
    "length": lambda t, node, g, y, x: (g * (x[0] / y),),
    "normalize": _normalize,
    "reflect": _reflect,
    "matmul": _matmul,
    "add_gradients": lambda t, node, g, y, x: (g, g),
    "field_gradient": lambda t, node, g, y, x: (g.member(node.text("name")),),
}

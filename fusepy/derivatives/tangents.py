"""The tangent of the result of each operation, from those of its operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from fusepy.derivatives.elementwise import FLAT, FORMULAS, gradients, power
from fusepy.derivatives.folds import along, contracted, counted, reduce_rule, reduced, scanned, without_zero
from fusepy.derivatives.scans import running
from fusepy.derivatives.terms import Term, Terms
from fusepy.errors import GradientError
from fusepy.ir.graph import Node
from fusepy.ir.ops.folds import axes_of
from fusepy.ir.ops.struct import members
from fusepy.ir.oracle import member_types
from fusepy.ir.types import Kind, Type

Tangents = Sequence["Term | None"]
# of the terms, the node, the result, the type of its tangent, the operands, their tangents
Rule = Callable[[Terms, Node, Term, Type, Sequence[Term], Tangents], Term]


def tangent_of(t: Terms, node: Node, y: Term, want: Type, x: Sequence[Term], dx: Tangents) -> Term | None:
    """Returns the tangent of a result, over the grid of the node; ``None`` for zero.

    The formulas of gradients are products with the slope of each operand, so the tangent is the sum of the same formulas.

    Raises:
        GradientError: if the operation has none.
    """
    name = node.op.name
    if name in FLAT:
        return None
    if name in FORMULAS:
        terms = [gradients(t, name, d, y, x)[i] for i, d in enumerate(dx) if d is not None]
        moving = [term for term in terms if term is not None]
        return t.total(moving) if moving else None
    if name == "power":
        assert dx[0] is not None
        return power(t, node, dx[0], x[0])
    if name in RULES:
        return RULES[name](t, node, y, want, x, dx)
    raise GradientError(
        f"{name} has no tangent",
        place=node.loc,
        hint="take the gradient of a part of the program without it, or pass its result as an argument",
    )


def _construct(t: Terms, node: Node, y: Term, want: Type, x: Sequence[Term], dx: Tangents) -> Term:
    scalar = want.scalar or want
    parts = [d or t.zero(a.type, a.type.with_scalar(scalar) if a.type.shape else scalar) for a, d in zip(x, dx)]
    return t.construct(want, parts)


def _select(t: Terms, node: Node, y: Term, want: Type, x: Sequence[Term], dx: Tangents) -> Term:
    yes, no = (d or t.zero(y.type, want) for d in dx[1:])
    return t.where(x[0], yes, no)


def _struct(t: Terms, node: Node, y: Term, want: Type, x: Sequence[Term], dx: Tangents) -> Term:
    found = dict(zip(members(node), zip(x, dx)))
    known: Mapping[str, Type | None] = member_types(t.builder.oracle, want) or {}
    if want.kind is Kind.MATRIX:
        known = {name: Type.vector(want.scalar or want, want.shape[1]) for name in found}
    elif want.element is not None:
        known = dict.fromkeys(found, want.element)
    parts = {name: found[name][1] or t.zero(found[name][0].type, kind) for name, kind in known.items() if kind is not None}
    return t.struct(want, parts)


def _product(name: str) -> Rule:
    """Returns the rule of an operation that is linear in each of two operands."""

    def rule(t: Terms, node: Node, y: Term, want: Type, x: Sequence[Term], dx: Tangents) -> Term:
        (a, b), (da, db) = x, dx
        parts = [t.op(name, da, b)] if da is not None else []
        return t.total(parts if db is None else [*parts, t.op(name, a, db)])

    return rule


def _contract(t: Terms, node: Node, y: Term, want: Type, x: Sequence[Term], dx: Tangents) -> Term:
    axes, pairs = axes_of(node, "axes"), ((dx[0], x[1]), (x[0], dx[1]))
    return t.total([contracted(t, a, b, axes) for a, b in pairs if a is not None and b is not None])


def _normalize(t: Terms, node: Node, y: Term, want: Type, x: Sequence[Term], dx: Tangents) -> Term:
    d = some(dx)
    return (d - y * t.op("dot", y, d)) / t.op("length", x[0])


def _reflect(t: Terms, node: Node, y: Term, want: Type, x: Sequence[Term], dx: Tangents) -> Term:
    (i, n), (di, dn) = x, dx
    parts: list[Term] = []
    if di is not None:
        parts.append(t.op("reflect", di, n))
    if dn is not None:
        parts.append(-2 * (t.op("dot", dn, i) * n + t.op("dot", n, i) * dn))
    return t.total(parts)


def _reduce(t: Terms, node: Node, y: Term, want: Type, x: Sequence[Term], dx: Tangents) -> Term:
    kind, axes, d = node.text("kind"), axes_of(node, "axes"), along(t, t.cast(some(dx), want), x[0])
    if kind == "call":
        return running.tangent_of_reduction(t, node, x[0], d)
    if kind in ("sum", "mean"):
        return reduced(t, kind, d, axes)
    part = reduce_rule(t, node, d, y, x[0], lambda dims: t.number(1.0))
    assert part is not None, "a reduction to a float has a slope"
    return reduced(t, "sum", part, axes)


def _scan(t: Terms, node: Node, y: Term, want: Type, x: Sequence[Term], dx: Tangents) -> Term:
    (dim,) = axes_of(node, "axis")
    exclusive, d, a = bool(node.attrs["exclusive"]), along(t, t.cast(some(dx), want), x[0]), x[0]
    if node.text("kind") == "sum":
        return scanned(t, "sum", d, dim, exclusive)
    if node.text("kind") != "prod":
        return running.tangent(t, node, y, a, d)
    zero, _, first, others = without_zero(t, a, y, dim, exclusive)
    zeros = counted(t, zero, y.type, dim, exclusive)
    alone = others * scanned(t, "sum", t.where(first, d, 0.0), dim, exclusive)
    slope = y * scanned(t, "sum", d / t.where(zero, 1.0, a), dim, exclusive)
    return t.where(zeros.equals(0), slope, t.where(zeros.equals(1.0), alone, 0.0))


def summed(t: Terms, of: str, terms: Sequence[Term]) -> Term:
    """Returns the sum of gradients of a value of type `of`, such as a struct."""
    if terms[0].type.is_numeric:
        return t.total(terms)
    return reduce(lambda a, b: t.op("add_gradients", a, b, of=of), terms)


def some(dx: Tangents) -> Term:
    """Returns the only tangent of an operation of one operand."""
    return next(d for d in dx if d is not None)


RULES: dict[str, Rule] = {
    "cast": lambda t, node, y, want, x, dx: some(dx),
    "expand": lambda t, node, y, want, x, dx: some(dx),
    "along": lambda t, node, y, want, x, dx: along(t, some(dx[:1]), x[1]) if dx[0] is not None else t.zero(y.type, want),
    "construct": _construct,
    "member": lambda t, node, y, want, x, dx: some(dx).member(node.text("name")),
    "index": lambda t, node, y, want, x, dx: t.op("index", some(dx[:1]), x[1]),
    "select": _select,
    "struct": _struct,
    "dot": _product("dot"),
    "cross": _product("cross"),
    "matmul": _product("matmul"),
    "contract": _contract,
    "length": lambda t, node, y, want, x, dx: t.op("dot", x[0] / y, some(dx)),
    "normalize": _normalize,
    "reflect": _reflect,
    "add_gradients": lambda t, node, y, want, x, dx: summed(t, node.text("of"), [d for d in dx if d is not None]),
    "field_gradient": lambda t, node, y, want, x, dx: t.op("field_gradient", some(dx), **node.attrs),
    "round_sums": lambda t, node, y, want, x, dx: t.op("round_sums", some(dx), **node.attrs),
    "reduce": _reduce,
    "scan": _scan,
}

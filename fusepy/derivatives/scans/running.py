"""Derivatives of running extremes and of scans by a Slang function.

Each result is one of the element and of the result before it, ``y[i] = f(y[i - 1], x[i])``. So is its tangent, with the slopes of
`f`; gradients go the same way back. `Shapes.recurrence` computes both, as a scan by pairs of a slope and an offset.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fusepy.derivatives.calls import jvp, vjp
from fusepy.derivatives.folds import along, no_scan, reduced
from fusepy.derivatives.terms import Term, Terms
from fusepy.derivatives.visit import Visit
from fusepy.ir.graph import Attr, Node
from fusepy.ir.ops.folds import axes_of
from fusepy.ir.resolve.settle import settle
from fusepy.ir.types import Kind, Type

FOLLOWED = "__followed"  # the function of fusepy_scans that joins two steps; names with two underscores are not a user's


def gradient(v: Visit, g: Term, y: Term, x: Term) -> Term:
    """Returns the gradient of the operand of a ``scan``, over its grid.

    Raises:
        GradientError: for a function of vectors, and one that Slang cannot differentiate.
    """
    t, node = v.terms, v.node
    if node.attrs.get("function") == FOLLOWED:
        return _of_steps(t, node, g.member("y"), x)
    if x.type.shape:
        return _by_components(t, node, x.type, lambda name: gradient(v, g.member(name), y.member(name), x.member(name)))
    exclusive, (dim,) = bool(node.attrs["exclusive"]), axes_of(node, "axis")
    g = t.wide(g if t.runs_along(g, dim) else along(t, g, x))
    before = y if exclusive else _before(t, node, x)
    if node.text("kind") == "call":
        z, call, attrs = _called(t, node, before, x)
        one = t.cast(t.number(1.0), z.type)
        found = vjp(replace(v, node=call, attrs=attrs, operands=[before, x], results=[z], gradients=[one], wanted=[0, 1]))
        by_before, by_x = (t.wide(s) if s is not None else t.zero(g.type, g.type) for s in found)
    else:
        taken = _taken(node, before, x)
        by_before, by_x = t.where(taken, t.zero(g.type, g.type), 1.0), t.where(taken, t.cast(t.number(1.0), g.type), 0.0)
    return t.cast(by_x * _later(t, node, by_before, g), x.type)


def _later(t: Terms, node: Node, slope: Term, g: Term) -> Term:
    """Returns the gradient of the result of each step, with what later steps give back, from that of the results of a scan."""
    exclusive, (dim,) = bool(node.attrs["exclusive"]), axes_of(node, "axis")
    later = _followed(t, slope, g if exclusive else slope * g, dim, back=True, exclusive=True)
    return later if exclusive else g + later


def _of_steps(t: Terms, node: Node, g: Term, x: Term) -> Term:
    """Returns the gradient of the slopes and offsets of a linear recurrence."""
    found = _later(t, node, x.member("x"), g)
    return t.construct(x.type, [_before(t, node, x).member("y") * found, found])


def tangent(t: Terms, node: Node, y: Term, x: Term, dx: Term) -> Term:
    """Returns the tangent of the result of a ``scan``.

    Raises:
        GradientError: see `gradient`.
    """
    if node.attrs.get("function") == FOLLOWED:
        (dim,), offset = axes_of(node, "axis"), _before(t, node, x).member("y") * dx.member("x") + dx.member("y")
        made = _followed(t, x.member("x"), offset, dim, back=False, exclusive=bool(node.attrs["exclusive"]))
        return t.construct(x.type, [0.0, made])
    if x.type.shape:
        return _by_components(t, node, x.type, lambda name: tangent(t, node, y.member(name), x.member(name), dx.member(name)))
    exclusive, (dim,) = bool(node.attrs["exclusive"]), axes_of(node, "axis")
    before = y if exclusive else _before(t, node, x)
    if node.text("kind") == "call":
        z, call, attrs = _called(t, node, before, x)
        one = t.cast(t.number(1.0), z.type)
        found = [jvp(t, call, attrs, [before, x], moved, t.builder.oracle)[0] for moved in ([one, None], [None, dx])]
        slope, offset = (t.wide(part) if part is not None else t.zero(dx.type, dx.type) for part in found)
    else:
        taken, dx = _taken(node, before, x), t.wide(dx)
        slope, offset = t.where(taken, t.zero(dx.type, dx.type), 1.0), t.where(taken, dx, 0.0)
    return t.cast(_followed(t, slope, offset, dim, back=False, exclusive=exclusive), y.type)


def gradient_of_reduction(v: Visit, g: Term, x: Term) -> Term:
    """Returns the gradient of the operand of a ``reduce`` by a Slang function: the last result of a scan, axis by axis."""
    t, dims = v.terms, axes_of(v.node, "axes")
    stages = [x]
    for dim in dims[:0:-1]:
        stages.append(_recorded(t, v.node, stages[-1], dim, "reduce"))
    for dim, x in zip(dims, reversed(stages)):
        own = _Axes(x)
        scan, y, last = _scan_of(t, v.node, own.of(x), own.places[dim])
        g = own.back(gradient(replace(v, node=scan), t.where(last, own.of(g), 0.0), y, own.of(x)))
    return g


def tangent_of_reduction(t: Terms, node: Node, x: Term, dx: Term) -> Term:
    """Returns the tangent of the result of a ``reduce`` by a Slang function."""
    for dim in reversed(axes_of(node, "axes")):
        own = _Axes(x)
        scan, y, last = _scan_of(t, node, own.of(x), own.places[dim])
        moved = t.where(last, tangent(t, scan, y, own.of(x), own.of(dx)), 0.0)
        x, dx = _recorded(t, node, x, dim, "reduce"), reduced(t, "sum", own.back(moved), [dim])
    return dx


class _Axes:
    """The axes of the frame that a term runs along, as those of a frame of its own."""

    def __init__(self, term: Term):
        self.frame = sorted(term.dims)
        self.places = {d: i for i, d in enumerate(self.frame)}

    def of(self, term: Term) -> Term:
        return Term(term.terms, term.value, tuple(self.places[d] for d in term.dims), term.wants)

    def back(self, term: Term) -> Term:
        return Term(term.terms, term.value, tuple(self.frame[i] for i in term.dims), term.wants)


def _scan_of(t: Terms, node: Node, x: Term, dim: int) -> tuple[Node, Term, Term]:
    """Returns the scan that ends in a reduction, its result, and where its last element is."""
    y = _recorded(t, node, x, dim, "scan")
    scan, zero = t.builder.nodes[-1], t.wide(x) * 0.0
    return scan, y, _followed(t, zero, zero + 1.0, dim, back=True, exclusive=True).equals(0.0)


def _recorded(t: Terms, node: Node, x: Term, dim: int, name: str) -> Term:
    """Records a reduction or a scan along one dimension, with the function of a node."""
    frame = sorted(x.dims)
    attrs: dict[str, Attr] = {key: node.attrs[key] for key in ("kind", "module", "function", "identity")}
    axis = f"d{frame.index(dim)}"
    attrs |= {"axes": (axis,)} if name == "reduce" else {"axis": axis, "exclusive": False}
    return Term(t, t.node(name, [x], attrs)[0].value, tuple(d for d in frame if name == "scan" or d != dim))


def _by_components(t: Terms, node: Node, type: Type, of: Callable[[str], Term]) -> Term:
    """Returns a running extreme of vectors, of whose components each goes its own way."""
    if type.kind is not Kind.VECTOR or node.text("kind") == "call":
        raise no_scan(node)
    return t.construct(type, [of(name) for name in "xyzw"[: type.shape[0]]])


def _before(t: Terms, node: Node, x: Term) -> Term:
    """Returns the result before each element."""
    frame = sorted(x.dims)
    (dim,) = axes_of(node, "axis")
    attrs: dict[str, Attr] = {**node.attrs, "axis": f"d{frame.index(dim)}", "exclusive": True}
    return Term(t, t.node("scan", [x], attrs)[0].value, tuple(frame))


def _called(t: Terms, node: Node, before: Term, x: Term) -> tuple[Term, Node, dict[str, Attr]]:
    """Returns the result of the function of a scan, its call and the attributes of that."""
    (z,) = t.node("slang.call", [before, x], {"module": node.attrs["module"], "function": node.attrs["function"]})
    call = t.builder.nodes[-1]
    assert t.builder.oracle is not None, "a trace has one"
    return z, call, {**call.attrs, **settle(call, t.builder.oracle)[1]}


def _taken(node: Node, before: Term, x: Term) -> Term:
    """Returns where an element is the extreme from there on; of equal ones it is the last, as in other frameworks."""
    return x >= before if node.text("kind") == "max" else x <= before


def _followed(t: Terms, slope: Term, offset: Term, dim: int, back: bool, exclusive: bool) -> Term:
    """Returns ``s`` with ``s[i] = slope[i] * s[i - 1] + offset[i]`` along a dimension, from its other end if `back`."""
    scalar = slope.type.scalar
    assert scalar is not None
    pairs = t.construct(Type.vector(scalar, 2), [slope, offset])
    axis, extents, oracle = pairs.dims.index(dim), t.extents, t.builder.oracle
    assert oracle is not None, "a trace has one"
    made = extents.recorded(t.builder, oracle, lambda: extents.shapes.recurrence(pairs.value, axis, back, exclusive))
    return Term(t, made, pairs.dims).member("y")

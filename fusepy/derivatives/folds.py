"""Derivatives of reductions and scans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from fusepy.derivatives.terms import Term, Terms
from fusepy.errors import GradientError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Attr, Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.folds import axes_of
from fusepy.ir.oracle import member_types
from fusepy.ir.types import Kind, Type

Count = Callable[[Sequence[int]], Term]  # the product of the extents of these dimensions of a grid
NUMBERS = 64  # a kernel that sums gradients has accumulators for so many numbers; a group's shared memory holds no more


def reduced(t: Terms, kind: str, term: Term, dims: Sequence[int]) -> Term:
    """Returns a reduction of a term along those of the dimensions that it runs along."""
    frame = sorted(term.dims)
    axes = tuple(f"d{i}" for i, d in enumerate(frame) if d in dims)
    if not axes:
        return term
    if not term.type.is_numeric:  # structs and arrays are reduced member by member
        count = numbers_in(t, term.type)
        if count > NUMBERS:
            raise GradientError(
                f"the gradient of one value of {count} numbers, which all points share, is too large for one thread",
                place=t.loc,
                saw=term.type,
                expected=f"at most {NUMBERS} numbers",
                hint="pass its members in a dict, or its numbers as a Tensor that Slang reads",
            )
        parts = {name: reduced(t, kind, part, dims) for name, part in t.parts_of(term).items()}
        return t.struct(term.type, parts)
    return _folding(t, "reduce", term, frame, {"kind": kind, "axes": axes}, [d for d in frame if d not in dims])


def contracted(t: Terms, a: Term, b: Term, dims: Sequence[int], order: Sequence[int] = ()) -> Term:
    """Returns the product of two terms, summed along dimensions that both run along.

    Args:
        order: dimensions in the order in which the axes of the result should run along them.
    """
    if not dims:
        return a * b
    places = {d: i for i, d in enumerate(order)}
    left = sorted({*a.dims, *b.dims} - {*dims}, key=lambda d: places.get(d, len(places) + d))
    frame = [*left, *dims]
    own = {d: i for i, d in enumerate(frame)}
    placed = [Term(t, x.value, tuple(own[d] for d in x.dims)) for x in (t.loaded(a), t.loaded(b))]
    made = t.node("contract", placed, {"axes": tuple(f"d{own[d]}" for d in dims)})[0]
    return Term(t, made.value, tuple(left))


def numbers_in(t: Terms, type: Type | None) -> int:
    """Returns the number of scalars in a value."""
    if type is None or type.scalar is not None:
        return 0 if type is None else prod(type.shape)
    if type.kind is Kind.ARRAY:
        return type.shape[0] * numbers_in(t, type.element)
    return sum(numbers_in(t, part) for part in (member_types(t.builder.oracle, type) or {}).values())


def scanned(t: Terms, kind: str, term: Term, dim: int, exclusive: bool) -> Term:
    """Returns a scan of a term along a dimension that it runs along."""
    frame = sorted(term.dims)
    attrs: dict[str, Attr] = {"kind": kind, "axis": f"d{frame.index(dim)}", "exclusive": exclusive}
    return _folding(t, "scan", term, frame, attrs, frame)


def _folding(t: Terms, name: str, term: Term, frame: Sequence[int], attrs: dict[str, Attr], left: Sequence[int]) -> Term:
    term = t.loaded(term)
    if list(term.dims) != list(frame):
        term = transposed(t, term, frame)
    made = t.node(name, [term], attrs)[0]
    if name == "reduce":
        t.folded.add(made.value)
    return Term(t, made.value, tuple(left))


def transposed(t: Terms, term: Term, order: Sequence[int]) -> Term:
    """Returns a term whose value has its axes in the order in which they run along the frame `order`."""
    own = {d: i for i, d in enumerate(order)}
    map_of = Term(t, term.value, tuple(own[d] for d in term.dims), term.wants)
    made = t.node("cast", [map_of], {"type": term.type.name})[0]
    return Term(t, made.value, tuple(order))


def expanded(t: Terms, term: Term, axes: Sequence[int]) -> Value:
    """Returns the value of a term with new axes of extent 1."""
    attrs: dict[str, Attr] = {"axes": tuple(f"d{d}" for d in axes)}
    (made,) = t.builder.add(OPS["expand"], [term.value], [ArgMap(term.dims)], attrs, t.loc)
    t.extents.add(t.builder.nodes[-1], [ArgMap(term.dims)])
    return made


def reduce_rule(t: Terms, node: Node, g: Term, y: Term, x: Term, count: Count) -> Term | None:
    """Returns the gradient of the operand of a ``reduce``, over its grid; `scans/running.py` has that of one by a function."""
    kind, axes = node.text("kind"), axes_of(node, "axes")
    if kind == "sum":
        return g
    if kind == "mean":
        return t.cast(t.wide(g) / count(axes), g.type)
    if kind in ("max", "min"):  # the elements that are equal to the extreme share the gradient
        mine = x.equals(y)
        ties = reduced(t, "sum", t.where(mine, t.cast(t.number(1.0), y.type), 0.0), axes)
        return t.where(mine, g, 0.0) / ties  # if all are NaN, there is no extreme, and 0 / 0 gives NaN
    if kind == "prod":
        zero = x.equals(0)
        one = t.cast(t.number(1.0), y.type)
        zeros = reduced(t, "sum", t.where(zero, one, 0.0), axes)
        others = reduced(t, "prod", t.where(zero, one, x), axes)  # the product of all elements that are not zero
        alone = t.op("bitand", zero, zeros.equals(1.0))
        return g * t.where(alone, others, t.where(zeros.equals(0), others / t.where(zero, 1.0, x), 0.0))
    assert kind in ("any", "all", "argmax", "argmin"), kind
    return None


def scan_rule(t: Terms, node: Node, g: Term, y: Term, x: Term) -> Term:
    """Returns the gradient of the operand of a ``scan`` that is a sum or product; `scans/running.py` has the others."""
    (dim,) = axes_of(node, "axis")
    exclusive = bool(node.attrs["exclusive"])
    if not t.runs_along(g, dim):
        g = along(t, g, x)

    def later(term: Term) -> Term:
        """Returns, for each element, the sum over the results that depend on it: from its own on, or those behind it."""
        return reduced(t, "sum", term, [dim]) - scanned(t, "sum", term, dim, not exclusive)

    if node.text("kind") == "sum":
        return later(g)
    # behind the first zero all products are zero, and only the slope of that zero itself is not
    zero, zeros, first, others = without_zero(t, x, y, dim, exclusive)
    return t.where(zeros.equals(0), later(g * y) / t.where(zero, 1.0, x), t.where(first, later(g * others), 0.0))


def counted(t: Terms, test: Term, type: Type, dim: int, exclusive: bool) -> Term:
    """Returns the number of elements up to each one along a dimension for which `test` holds, as a float `type`."""
    return scanned(t, "sum", t.where(test, t.cast(t.number(1.0), type), 0.0), dim, exclusive)


def without_zero(t: Terms, x: Term, y: Term, dim: int, exclusive: bool) -> tuple[Term, Term, Term, Term]:
    """Returns, for a scan by products: the mask of zeros, their count up to each element, the mask of the first zero, and the
    scan without that zero.
    """
    zero = x.equals(0)
    zeros = counted(t, zero, y.type, dim, False)
    first = t.op("bitand", zero, zeros.equals(1.0))
    return zero, zeros, first, scanned(t, "prod", t.where(first, 1.0, x), dim, exclusive)


def no_scan(node: Node) -> GradientError:
    """Returns the error for a scan without derivative: by a function of vectors."""
    return GradientError(
        f"what {node.attrs.get('function', node.text('kind'))} combines has no gradient: the elements are vectors or matrices",
        place=node.loc,
        hint="combine numbers, each component by itself; or write a loop, e.g. with fp.fori_loop",
    )


def along(t: Terms, g: Term, x: Term) -> Term:
    """Returns `g` spread over all axes of `x`."""
    return t.op("along", g, x)

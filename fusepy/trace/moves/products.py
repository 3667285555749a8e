"""Sums of products over labelled axes: those of ``einsum``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fusepy.derivatives.extents import Axis
from fusepy.derivatives.folds import contracted, reduced, transposed
from fusepy.derivatives.terms import Term, Terms
from fusepy.errors import ShapeError, TraceError
from fusepy.ir.argmap import UNSAID
from fusepy.ir.graph import Value
from fusepy.ir.ops.promotion import promote
from fusepy.ir.types import Kind
from fusepy.trace.components.numbers import wide_if_alone, word
from fusepy.trace.moves.extents import TraceShapes
from fusepy.trace.moves.plans import Coordinates, Remap, Strided
from fusepy.trace.moves.push import terms_of
from fusepy.trace.moves.record import check_movable, moved, replanned
from fusepy.trace.moves.shapes import known_shapes
from fusepy.trace.moves.steps import ALL, Indexed, Shape
from fusepy.trace.open_trace import OpenTrace

Labels = tuple[str, ...]


def summed_products(trace: OpenTrace, values: Sequence[Value], inputs: Sequence[Labels], output: Labels) -> Value:
    """Returns the products of arrays, summed along the axes whose labels the result lacks.

    Each label stands for one axis; twice in an operand, for its diagonal. Operands are multiplied from left to right.

    Raises:
        ShapeError: if axes of one label differ.
        TraceError: for arrays that do not hold numbers.
    """
    for value in values:
        check_movable(trace, value, numbers=True)
        if value.type.kind is not Kind.SCALAR:
            raise TraceError(f"einsum() of {value.type}", expected="arrays of numbers", hint="take members of vectors first")
    values = wide_if_alone(trace, values, [UNSAID] * len(values), None)
    found = [_diagonal(trace, value, labels) for value, labels in zip(values, inputs)]
    found = [_stretched(trace, k, found) for k in range(len(found))]
    terms = terms_of(trace, known_shapes(trace))
    order = {label: d for d, label in enumerate([*output, *{b: 0 for _, labels in found for b in labels if b not in output}])}
    parts = [Term(terms, value, tuple(order[label] for label in labels)) for value, labels in found]
    common = promote([(value.type, value.weak) for value, _ in found])
    if common is not None:  # as in NumPy, nothing is rounded to a smaller type in between
        parts = [part if part.value.weak else terms.cast(part, common) for part in parts]
    kept = range(len(output))
    total = _multiplied(terms, parts, kept, known_shapes(trace).shapes)
    result = total.value if list(total.dims) == list(kept) else transposed(terms, total, kept).value
    word(result, values)
    return result


def _multiplied(terms: Terms, parts: Sequence[Term], kept: Sequence[int], shapes: TraceShapes) -> Term:
    """Returns the product of terms, summed along all dimensions but `kept`.

    A dimension that no later term has is summed before the next product. If it is empty, so is the whole sum: it is 0, where the
    product of that 0 with an infinity is NaN.
    """
    total, before = parts[0], dict[Axis, None]()

    def note(term: Term, dims: Sequence[int]) -> None:
        found = zip(term.dims, terms.extents.of(term.value))
        before.update((axis, None) for d, axis in found if d in dims and axis is not None and not shapes.is_filled(axis))

    def without(term: Term, others: set[int]) -> Term:
        dims = [d for d in term.dims if d not in others]
        note(term, dims)
        return reduced(terms, "sum", term, dims)

    for k, part in enumerate(parts[1:], 1):
        later = {*kept, *(d for p in parts[k + 1 :] for d in p.dims)}
        total = without(total, {*later, *part.dims})
        part = without(part, {*later, *total.dims})
        shared = sorted({*total.dims} & {*part.dims} - later)
        if k + 1 < len(parts):
            note(total, shared)
        total = contracted(terms, total, part, shared, kept)
    total = reduced(terms, "sum", total, [d for d in total.dims if d not in kept])
    if not before or not total.type.is_float:
        return total
    count = Term(terms, shapes.count([*before]), ())
    return terms.where(count.equals(0.0), 0.0, total)


def _diagonal(trace: OpenTrace, value: Value, labels: Labels) -> tuple[Value, Labels]:
    """Returns an operand with each label once."""
    once = tuple(dict.fromkeys(labels))
    if once == labels:
        return value, labels

    def planned(shape: Shape, at: Callable[[Shape], Coordinates]) -> Remap:
        extents = tuple(shape[labels.index(label)] for label in once)
        wrong = next((k for k, label in enumerate(labels) if shape[k] != extents[once.index(label)]), None)
        if wrong is not None:
            raise _differ(labels[wrong], extents[once.index(labels[wrong])], shape[wrong])
        found = at(extents)
        first = [labels.index(label) == k for k, label in enumerate(labels)]
        return Remap(
            extents, tuple(Strided(once.index(b)) if new else found.along(once.index(b)) for b, new in zip(labels, first)), shape
        )

    return replanned(trace, value, planned), once


def _stretched(trace: OpenTrace, k: int, operands: Sequence[tuple[Value, Labels]]) -> tuple[Value, Labels]:
    """Returns an operand without its axes of extent 1 that are longer in another one.

    Raises:
        ShapeError: if axes of one label differ otherwise.
    """
    known = known_shapes(trace)
    value, labels = operands[k]
    dropped: list[int] = []
    for axis, label in enumerate(labels):
        others = [(v, b.index(label)) for j, (v, b) in enumerate(operands) if j != k and label in b]
        if not others:
            continue
        if known.is_unit(value, axis):
            if not all(known.is_unit(v, a) for v, a in others):
                dropped.append(axis)
            continue
        mine = known.of(value)[axis]
        for v, a in others:
            if not known.is_unit(v, a) and known.of(v)[a] != mine:
                raise _differ(label, mine, known.of(v)[a])
    if not dropped:
        return value, labels
    step = Indexed(len(labels), tuple(0 if axis in dropped else ALL for axis in range(len(labels))))
    return moved(trace, value, step), tuple(b for axis, b in enumerate(labels) if axis not in dropped)


def _differ(label: str, first: int, second: int) -> ShapeError:
    return ShapeError(f"einsum(): axes {label!r} of extents {first} and {second}", hint="axes of one label are equally long")

"""Extents of products of matrices: the axis that is summed is as long in both factors, and is not stretched."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fusepy.backend.emit.operand import Operand
from fusepy.errors import ShapeError

Shapes = Sequence[tuple[int, ...]]


def check_product(
    name: str,
    operands: Sequence[Operand],
    factors: tuple[Collection[int], Collection[int]],
    over: Collection[int],
    shapes: Shapes,
    strict: bool,
) -> None:
    """Raises `ShapeError` if the factors of a product have other extents along an axis that is summed.

    Args:
        factors: the operands that each factor is computed from.
        over: the dimensions of the grid that are summed.
        strict: true if no other axis may be stretched either.
    """
    a, b = (_extents([o for o in operands if o.position in own and not o.spread], shapes) for own in factors)
    for d in sorted(a.keys() & b.keys()):
        if a[d] != b[d] and d in over:
            raise _mismatch(name, a, b, d)
        if a[d] != b[d] and strict:
            raise ShapeError(
                f"{name}: {_matrix(a, d)} and {_matrix(b, d)}: axes before the last two differ",
                saw=f"{a[d]} and {b[d]}",
                expected="identical extents (strict broadcasting)",
                hint="call the function without strict broadcasting, or give both as many matrices",
            )


def _extents(operands: Sequence[Operand], shapes: Shapes) -> dict[int, int]:
    """Returns the extent of a factor along each dimension that it runs along."""
    found: dict[int, int] = {}
    for o in operands:
        for d, extent in zip(o.dims, shapes[o.position]):
            if found.get(d, 1) == 1:
                found[d] = extent
    return found


def _matrix(factor: dict[int, int], d: int) -> tuple[int, ...]:
    return tuple(factor[e] for e in sorted(factor, key=lambda e: (e == d, e)))


def _mismatch(name: str, a: dict[int, int], b: dict[int, int], d: int) -> ShapeError:
    """Returns the error for factors whose summed axes differ; it shows their shapes as the user wrote them."""
    columns = [e for e in b if e not in a]
    rest = [e for e in sorted(b) if e not in columns and e != d]
    first, second = _matrix(a, d), tuple(b[e] for e in (*rest, d, *columns))
    hint = "the left array needs as many columns as the right one has rows"
    if len(second) == 2 and first[-1] == second[-1]:
        hint = "multiply by the transposed matrix, fp.vmap(b, (1, 0)); or read rows as vectors by fp.vcast"
    elif len(first) == 2 and first[0] == b[d]:
        hint = "multiply the transposed matrix, fp.vmap(a, (1, 0)), by it"
    return ShapeError(
        f"{name}: {first} and {second}: the last axis of the left array and axis {len(rest)} of the right one differ",
        saw=f"{a[d]} and {b[d]}",
        expected="equal extents",
        hint=hint,
    )

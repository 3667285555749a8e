"""Products of matrices: whether the factors fit, and the stages of a product.

The axis that is summed is as long in both factors, and is not stretched. Products of floats on lavapipe have kernels of their
own, which choose among a few tiles; other devices and types, and small products, fold over the grid of all products.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from fusepy.backend.device.target import Target
from fusepy.backend.emit.fold.tile import ProductTile
from fusepy.backend.emit.fold.tuning import GROUPS
from fusepy.backend.emit.fold.variant import FoldShape, FoldVariant
from fusepy.backend.emit.operand import Operand, Variant, addressing
from fusepy.backend.emit.tuning import LANES
from fusepy.backend.execute.fold_stages import Stage, sizes_of
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.errors import ShapeError
from fusepy.ir.graph import Node
from fusepy.ir.ops.region import spec_of
from fusepy.ir.types import FLOAT

Shapes = Sequence[tuple[int, ...]]
SMALL = 1 << 15  # products below which a fold is as fast, and compiles sooner
DEEPEST = 64  # the longest sum whose elements of the right matrix are kept
CHUNK = 1 << 15  # the longest sum of one group


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


# ---- kernels ----------------------------------------------------------------------------------------------------------


def sides_of(region: Node, operands: Sequence[Operand], target: Target) -> tuple[int, int] | None:
    """Returns the dimensions of rows and of columns if a region is a product of two matrices of floats in memory.

    ``None`` if it has no kernel of its own.
    """
    body, spec = region.body, spec_of(region)
    assert body is not None
    if target.lanes != LANES or [n.op.name for n in body.nodes] != ["mul"] or len(body.inputs) != 2 or len(spec.over) != 1:
        return None
    pair = operands[:2]
    if any(o.want is not FLOAT or o.consumed or addressing(ACCESSES[o.arrival], o) != "memory" for o in pair):
        return None
    a, b = (set(o.dims) for o in pair)
    if not a & b >= {*spec.over} or len(a - b) != 1 or len(b - a) != 1:
        return None
    row, column = sorted(a ^ b)
    return row, column


@dataclass(frozen=True)
class Lying:
    """How the arrays of a product lie in memory: those that hold floats, with the steps of each along the grid.

    Attributes:
        sides: the matrix that runs along the first, and the one along the second dimension of the sides.
        then: the operands of the epilogue, by position.
    """

    sides: tuple[Mapping[int, int], Mapping[int, int]]
    then: Mapping[int, Mapping[int, int]]


def lying(sides: tuple[int, int], operands: Sequence[Operand], strides: Sequence[tuple[int, ...]]) -> Lying:
    """Returns how the operands of a product lie, whose rows and columns are the dimensions `sides`."""
    steps = {o.position: dict(zip(o.dims, strides[o.position])) for o in operands if _is_floats(o)}
    a, b = operands[:2]
    if sides[0] not in a.dims:
        a, b = b, a
    return Lying((steps.get(a.position, {}), steps.get(b.position, {})), {k: v for k, v in steps.items() if k > 1})


def _is_floats(o: Operand) -> bool:
    return o.have is FLOAT and o.want is FLOAT and addressing(ACCESSES[o.arrival], o) == "memory" and not o.spread


def product_stages(
    sides: tuple[int, int], over: int, grid: Sequence[int], variant: Variant, kind: str, dense: bool, lying: Lying
) -> list[Stage]:
    """Returns the stages of a product: one kernel, or two if the sum is cut into chunks. Empty if a fold does as well.

    Args:
        dense: for contiguous results.
    """
    left, right = lying.sides
    if grid[sides[1]] < 4:
        sides, left, right = sides[::-1], right, left
    row, column = sides
    rows, columns, reduced = grid[row], grid[column], grid[over]
    batches = math.prod(n for d, n in enumerate(grid) if d not in (row, column, over))
    outputs = rows * columns * batches
    if outputs * reduced < SMALL or columns < 4 or not reduced:
        return []
    wide = min(8, _power(-(-columns // LANES)))
    across = -(-columns // (LANES * wide))
    even = wide > 1 and columns % 2 == 0
    short = reduced <= DEEPEST and rows >= 32
    tile = _short(rows, reduced, wide) if short else _long(rows, reduced, wide)
    by_row = left.get(row) == 1 and rows % 2 == 0
    by_term = left.get(over) == 1 and tile.whole and (not short or tile.depth % 16 == 0)
    by_column, below = right.get(column) == 1 and even, right.get(over) == 1 and tile.whole
    tile = replace(tile, row=row, column=column, left=row if by_row else over if by_term else -1)
    tile = replace(tile, right=column if by_column else over if below else -1)
    if short:
        tile = replace(tile, terms=16 if tile.left == over else 8, rows=tile.rows + tile.rows % 2 if by_row else tile.rows)
        own = min(max(32, -(-rows * across * batches // GROUPS[kind])), rows)
        chunks = 1
    else:
        own = tile.rows
        groups = across * -(-rows // own) * batches
        chunks = max(1, min(-(-reduced // 512), -(-GROUPS[kind] // groups)), -(-reduced // CHUNK))
    own = -(-own // tile.rows) * tile.rows
    sizes = sizes_of(outputs, reduced, chunks, reduced, LANES)
    sizes.update(rows_of_group=own, across=across, down=-(-rows // own), batches=batches)
    chunks = sizes["chunks"]
    if chunks == 1 and dense and even and column == max(d for d in range(len(grid)) if d != over):
        beside = tuple(sorted(k for k, steps in lying.then.items() if row in steps and steps.get(column) == 1))
        tile = replace(tile, ends=True, beside=beside)
    shape = FoldShape(False, False, LANES, tile=tile)
    writes = "results" if chunks == 1 else "partials"
    stage = Stage(FoldVariant(False, variant.rank, variant.wide, shape=shape, writes=writes, dense=dense and chunks == 1), sizes)
    if chunks == 1:
        return [stage]
    shape = FoldShape(False, False, LANES, 4, 16)  # no group shares a result: barriers take longer than its few additions
    second = FoldVariant(False, variant.rank, variant.wide, shape=shape, reads="partials")
    return [replace(stage, writes=0, partials=outputs * chunks), Stage(second, sizes_of(outputs, chunks, 1, reduced), reads=0)]


def _short(rows: int, reduced: int, wide: int) -> ProductTile:
    """Returns the tile of a short sum; more rows would not leave their sums in registers."""
    depth = _power(max(LANES, reduced)) if reduced <= 16 else -(-reduced // 16) * 16
    return ProductTile(0, 0, {8: 3 if depth > 32 else 2, 4: 4, 2: 8, 1: 16}[wide], wide, 8, depth, whole=reduced == depth)


def _long(rows: int, reduced: int, wide: int) -> ProductTile:
    """Returns the tile of a long sum; more terms at a time would not leave the loop in the cache for instructions."""
    terms = 4 if wide == 8 else 8
    most = 64 if wide <= 2 else 32
    return ProductTile(0, 0, min(most, max(8, _power(rows))), wide, terms, whole=reduced % LANES == 0)


def _power(number: int) -> int:
    """Returns the power of two at or above `number`."""
    return 1 << max(number - 1, 0).bit_length()

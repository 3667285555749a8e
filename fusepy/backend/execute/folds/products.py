"""Products of matrices: whether the factors fit, and the stages of a product.

The axis that is summed is as long in both factors, and is not stretched. Products of floats, on GPUs of halfs too, have kernels
of their own, which choose among a few tiles; other types, and small products, fold over the grid of all products.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from fusepy.backend.device.target import Target
from fusepy.backend.emit.fold.groups import tiles
from fusepy.backend.emit.fold.groups.tiles import group_tile
from fusepy.backend.emit.fold.product_tiles import DEEPEST, Lying, Sides, division_of, tile_of
from fusepy.backend.emit.fold.tuning import fold_shape, lanes_for
from fusepy.backend.emit.fold.variant import FoldShape, FoldVariant
from fusepy.backend.emit.operand import Operand, addressing
from fusepy.backend.emit.tuning import LANES
from fusepy.backend.emit.variant import Variant
from fusepy.backend.execute.folds.stages import Stage, sizes_of
from fusepy.backend.execute.recipe import LINEAR_LIMIT
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.errors import ShapeError
from fusepy.ir.graph import Node
from fusepy.ir.ops.region import spec_of
from fusepy.ir.types import FLOAT, HALF

Shapes = Sequence[tuple[int, ...]]
SMALL = 1 << 15  # products below which a fold is as fast, and compiles sooner
MARGIN = 1 << 24  # how far past the last element the arithmetic of a kernel may go


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
    if (
        (target.kind == "software" and target.lanes != LANES)
        or [n.op.name for n in body.nodes] != ["mul"]
        or len(body.inputs) != 2
        or len(spec.over) != 1
    ):
        return None
    pair = operands[:2]
    if any(o.want is not FLOAT or o.consumed or addressing(ACCESSES, o) != "memory" for o in pair):
        return None
    a, b = (set(o.dims) for o in pair)
    if not a & b >= {*spec.over} or len(a - b) != 1 or len(b - a) != 1:
        return None
    row, column = sorted(a ^ b)
    return row, column


def lying(sides: tuple[int, int], operands: Sequence[Operand], strides: Sequence[tuple[int, ...]], target: Target) -> Lying:
    """Returns the memory layout of a product's operands. The left matrix runs along the first of the `sides`.

    Matrices of halfs have one on GPUs alone.
    """
    halfs = target.kind != "software"
    own = [o for o in operands if _is_floats(o) or (halfs and o.position < 2 and o.have is HALF and not o.spread)]
    steps = {o.position: dict(zip(o.dims, strides[o.position])) for o in own}
    a, b = operands[:2] if sides[0] in operands[0].dims else operands[1::-1]
    cores = target.cores and all(o.have is HALF and o.position in steps for o in (a, b))
    return Lying(steps.get(a.position, {}), steps.get(b.position, {}), {k: v for k, v in steps.items() if k > 1}, cores)


def _is_floats(o: Operand) -> bool:
    return o.have is FLOAT and o.want is FLOAT and addressing(ACCESSES, o) == "memory" and not o.spread


def product_stages(
    sides: tuple[int, int], over: int, grid: Sequence[int], variant: Variant, kind: str, dense: bool, lies: Lying
) -> list[Stage]:
    """Returns the stages of a product: one kernel, or two if the sum is cut into chunks. Empty if a fold does as well.

    Args:
        dense: for contiguous results.
    """
    if kind != "software":
        small = math.prod(grid) < SMALL or min(grid[d] for d in sides) < 4  # a row or few are read once, as folds do
        return [] if small else group_stages(Sides(*sides, over), grid, variant, kind, dense, lies)
    if grid[sides[1]] < 4 or (grid[sides[1]] <= LANES < grid[sides[0]] and grid[over] > DEEPEST):
        sides, lies = (sides[1], sides[0]), lies.swapped()  # an element of the left matrix is for several columns of a lane
    row, column = sides[0], sides[1]
    rows, columns, reduced = grid[row], grid[column], grid[over]
    batches = math.prod(n for d, n in enumerate(grid) if d not in (row, column, over))
    outputs = rows * columns * batches
    if outputs * reduced < SMALL or columns < 4 or not reduced:
        return []
    tile = tile_of(Sides(row, column, over), grid, lies)
    across = -(-columns // (LANES * tile.columns))
    own, chunks = division_of(tile, (rows, columns, reduced), across, batches)
    sizes = sizes_of(outputs, reduced, chunks, reduced, tile.depth)
    sizes.update(rows_of_group=own, across=across, down=-(-rows // own), batches=batches)
    chunks = sizes["chunks"]
    dense = dense and chunks == 1
    if dense and (columns % 2 == 0 or tile.columns == 1):
        tile = tile.with_ends(lies.then)
    shape = FoldShape(False, False, LANES, tile=tile)
    writes = "results" if chunks == 1 else "partials"
    stage = Stage(FoldVariant(False, variant.rank, variant.wide, shape=shape, writes=writes, dense=dense), sizes)
    if chunks == 1:  # between panels the sums take the place of errors, too
        return [replace(stage, writes=0, partials=-(-outputs // 2)) if tile.panels else stage]
    shape = FoldShape(False, False, LANES, 4, 16)  # no group shares a result: barriers take longer than its few additions
    second = FoldVariant(False, variant.rank, variant.wide, shape=shape, reads="partials")
    return [replace(stage, writes=0, partials=outputs * chunks), Stage(second, sizes_of(outputs, chunks, 1, reduced), reads=0)]


# ---- kernels of a GPU ------------------------------------------------------------------------------------------------


def is_far(operands: Sequence[Operand], strides: Sequence[tuple[int, ...]], grid: Sequence[int]) -> bool:
    """True if a place in some matrix needs 64 bits. The number of products does not count, since no kernel numbers them."""
    ends = (sum(abs(s) * (grid[d] - 1) for d, s in zip(o.dims, strides[o.position])) for o in operands)
    return max(ends, default=0) + MARGIN >= LINEAR_LIMIT


def group_stages(sides: Sides, grid: Sequence[int], variant: Variant, kind: str, dense: bool, lies: Lying) -> list[Stage]:
    """Returns the stages of a product.

    Args:
        dense: for contiguous results, and for matrices in memory that is aligned to 16 bytes.
    """
    row, column, over = sides
    batches = math.prod(n for d, n in enumerate(grid) if d not in sides)
    outputs, reduced = grid[row] * grid[column] * batches, grid[over]
    choice = tiles.sizes_for(grid[row], grid[column], reduced, lies)
    size, chunks = tiles.size_of(grid[row], grid[column], reduced, batches, choice)
    sizes = sizes_of(outputs, reduced, chunks, reduced, size.terms)
    chunks = sizes["chunks"]
    variant = replace(variant, wide=variant.wide or outputs * chunks + MARGIN >= LINEAR_LIMIT)
    kept = [d for d in range(variant.rank) if d != over]
    tile = group_tile(sides, grid, lies, size, sizes["chunk"], kept[-1])
    if not dense:
        tile = tiles.one_by_one(tile)
    sizes.update(across=-(-grid[column] // size.columns), down=-(-grid[row] // size.rows), batches=batches)
    shape = FoldShape(False, False, tile.threads, tile=tile, resident=0 if 1 in tile.cores else size.resident)
    writes = "results" if chunks == 1 else "partials"
    stage = Stage(FoldVariant(False, variant.rank, variant.wide, shape=shape, writes=writes, dense=dense and chunks == 1), sizes)
    if chunks == 1:
        return [stage]
    merge, _ = fold_shape(kind, outputs, max(chunks, 128), False)
    second = sizes_of(outputs, chunks, 1, reduced)
    second.update(lanes=lanes_for(outputs, chunks, False, merge.threads, partials=True))
    last = FoldVariant(False, variant.rank, variant.wide, shape=merge, reads="partials", dense=dense)
    return [replace(stage, writes=0, partials=outputs * chunks), Stage(last, second, reads=0)]

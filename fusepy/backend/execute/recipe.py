"""Extents and strides of a call over its broadcast grid, by NumPy's rule: extent 1 stretches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from fusepy.backend.emit.operand import Operand
from fusepy.backend.execute.layouts import Layout
from fusepy.errors import ShapeError
from fusepy.ir.strides import contiguous_strides
from fusepy.ir.types import Kind, Type

LINEAR_LIMIT = 1 << 31  # beyond it 32-bit arithmetic on indices may wrap


@dataclass(frozen=True)
class Recipe:
    """The grid of a strided call: its extents, the strides of operands in elements (0 if stretched), the shapes of results.

    Attributes:
        error: the reductions of the plan have no common grid. Nothing else is set then.
        refused: why a call runs without the region, which joins others; empty if it does not.
    """

    grid: tuple[int, ...]
    count: int
    strides: tuple[tuple[int, ...], ...]
    out_shapes: tuple[tuple[int, ...], ...]
    wide: bool
    error: ShapeError | None = field(default=None, kw_only=True)
    refused: str = field(default="", kw_only=True)

    @staticmethod
    def without_grid(error: ShapeError) -> Recipe:
        """Returns the answer of a plan whose reductions have no common grid."""
        return Recipe((), 0, (), (), False, error=error)

    def filled(self, out_dims: Sequence[tuple[int, ...]]) -> bool:
        """True if each result has an element for each place along its dimensions; what is of single values alone has one."""
        return all(shape == tuple(self.grid[d] for d in dims) for dims, shape in zip(out_dims, self.out_shapes))

    def reaching(self, slots: Sequence[Layout], results: Sequence[int]) -> Recipe:
        """Returns the recipe for results in these slots: a view may need indices of 64 bits where arguments do not."""
        for slot in results:
            one = slots[slot]
            if not one.linear and not self.wide and _reach(one.shape, one.strides) >= LINEAR_LIMIT:
                return self.widened()
        return self

    def widened(self) -> Recipe:
        """Returns the same with indices of 64 bits."""
        return replace(self, wide=True)


def make_recipe(
    operands: Sequence[Operand],
    shapes: Sequence[tuple[int, ...]],
    strides: Sequence[tuple[int, ...]],
    out_dims: Sequence[tuple[int, ...]],
    feeds: Sequence[frozenset[int]],
    rank: int,
    name: str,
    strict: bool,
) -> Recipe:
    """Returns the recipe of a call: broadcasts the batch axes of the operands over the grid.

    Raises:
        ShapeError: naming both arguments, both shapes and the axis.
    """
    grid = [1] * rank
    owner: list[Operand | None] = [None] * rank
    first: Operand | None = None
    for o in operands:
        if o.spread:
            continue
        if strict and o.dims:
            first = first or o
            cut = len(o.dims)
            if shapes[o.position][:cut] != shapes[first.position][: len(first.dims)]:
                raise _mismatch(first, o, shapes, rank, name, strict)
        for axis, d in enumerate(o.dims):
            extent = shapes[o.position][axis]
            if extent == grid[d] or extent == 1:
                continue
            before = owner[d]
            if before is not None:
                raise _mismatch(before, o, shapes, rank, name, strict)
            grid[d] = extent
            owner[d] = o
    steps = tuple(
        tuple(0 if axis < len(o.dims) and shapes[o.position][axis] == 1 else s for axis, s in enumerate(strides[o.position]))
        if o.near is None
        else _followed(o, operands, shapes)
        for o in operands
    )
    out_shapes = tuple(tuple(_extent(d, operands, shapes, feeds[j], grid) for d in dims) for j, dims in enumerate(out_dims))
    count = 1
    for extent in grid:
        count *= extent
    reach = max((_reach(*one) for one in zip(shapes, strides)), default=0)
    return Recipe(tuple(grid), count, steps, out_shapes, max(count, reach) >= LINEAR_LIMIT)


def _reach(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Returns the elements between the first and the last one of an array in memory."""
    return sum(abs(step) * (n - 1) for step, n in zip(strides, shape) if n)


def _extent(
    d: int, operands: Sequence[Operand], shapes: Sequence[tuple[int, ...]], feeding: frozenset[int], grid: Sequence[int]
) -> int:
    """Returns the extent of a result along grid dimension `d`: that of the operands it is computed from.

    A generator has no extents: a result of generators alone is spread over the grid of the other operands.
    """
    along = [o for o in operands if o.position in feeding and d in o.dims]
    extents = [
        _near(o, d, operands, shapes) if o.near is not None else shapes[o.position][o.dims.index(d)]
        for o in along
        if not o.spread or o.near is not None
    ]
    if along and not extents:
        return grid[d]
    return next((n for n in extents if n != 1), 1)


def _followed(o: Operand, operands: Sequence[Operand], shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Returns the steps of a generator's index along its dimensions, in C order over the extents that it follows."""
    extents = tuple(_near(o, d, operands, shapes) for d in o.dims)
    return tuple(0 if n == 1 else s for n, s in zip(extents, contiguous_strides(extents)))


def _near(o: Operand, d: int, operands: Sequence[Operand], shapes: Sequence[tuple[int, ...]]) -> int:
    """Returns the extent along a dimension of the operands that a generator follows."""
    near = [operands[i] for i in o.near or () if d in operands[i].dims]
    return next((n for n in (shapes[x.position][x.dims.index(d)] for x in near) if n != 1), 1)


def _mismatch(a: Operand, b: Operand, shapes: Sequence[tuple[int, ...]], rank: int, name: str, strict: bool) -> ShapeError:
    """Returns the error for two arguments; it names the axis on which they differ, if there is one."""
    first, second = _seen(a, shapes[a.position], rank), _seen(b, shapes[b.position], rank)
    again = a.made and b.made and b.label.startswith(f"{a.label}_")
    second_name = f"another {a.label}()" if again else _called(b)
    (vector, x), (scalar, y) = sorted([(a, first), (b, second)], key=lambda pair: not pair[0].want.shape)
    twice = not a.made and not b.made and vector.want.shape and not scalar.want.shape and scalar.have is vector.have and x == y
    if twice:  # one array, or two alike, read as vectors in one place and as numbers in another
        array = min(vector.label, scalar.label, key=len)
        return ShapeError(
            f"{name}: {array!r} is taken as vectors and as single numbers, which do not broadcast",
            saw=f"{vector.want} over {x[: len(vector.dims)]}, and {scalar.want} over {y[: len(scalar.dims)]}",
            expected="one of them in both places",
            hint=f'take the array as vectors in operators too: fp.vcast({array}, "{vector.want}")',
        )
    saw = f"{_called(a)} {first} and {second_name} {second}"
    for d in sorted(set(a.dims) & set(b.dims), reverse=True):
        m, n = shapes[a.position][a.dims.index(d)], shapes[b.position][b.dims.index(d)]
        if m != n and (strict or 1 not in (m, n)):
            saw += f": {m} on axis {_axis(a, d)} against {n} on axis {_axis(b, d)}"
            break
    made = a.made or b.made
    stretches = strict and made and "against" not in saw
    both = f"{_called(a)} and {second_name}" if made else f"arguments {a.label!r} and {b.label!r}"
    return ShapeError(
        f"{name}: {both} do not broadcast: Shape mismatch",
        saw=saw,
        expected="identical shapes: Strict broadcasting is enabled" if strict else "equal extents, or 1",
        hint="strict broadcasting stretches nothing, not even what a reduction leaves: call the function without it"
        if stretches
        else _reshaped([(vector, x), (scalar, y)]),
    )


def _reshaped(pair: Sequence[tuple[Operand, tuple[int, ...]]]) -> str:
    """Returns the hint for operands that do not broadcast: rows of numbers may be meant as the vectors that others are."""
    for (_, x), (rows, y) in (pair, pair[::-1]):
        if not y or rows.made or rows.want.kind is not Kind.SCALAR:
            continue
        wanted = next((o.want for o, _ in pair if o.want.shape == y[-1:]), None)
        if wanted is None and x == y[:-1] and y[-1] in (2, 3, 4):
            wanted = Type.vector(rows.want, y[-1])
        if wanted is not None:
            return f'take {rows.label!r} as vectors: fp.vcast({rows.label}, "{wanted}"); or reshape it'
    return "reshape one of them, or map its axes elsewhere with vmap"


def _called(operand: Operand) -> str:
    """Returns the name of an operand for the user: an argument, or the call that computes it."""
    return f"{operand.label}()" if operand.made else operand.label


def _seen(operand: Operand, shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Returns the shape of an operand for the user: axes that were kept with extent 1 do not exist in memory."""
    if not operand.made or not operand.dims:
        return shape
    first, count = min(operand.dims), len(operand.dims)
    extents = dict(zip(operand.dims, shape))
    return (*(extents.get(d, 1) for d in range(first, rank)), *shape[count:])


def _axis(operand: Operand, d: int) -> int:
    """Returns the axis, as the user counts, that runs along grid dimension `d`."""
    return d - min(operand.dims) if operand.made else operand.dims.index(d)


def check_taken(name: str, recipe: Recipe, shapes: Sequence[tuple[int, ...]]) -> Recipe:
    """Returns the recipe of a region that reads elements at indices of arrays of these shapes.

    Raises:
        ShapeError: if it reads of an array that has none.
    """
    if recipe.count and any(0 in shape for shape in shapes):
        raise ShapeError(
            f"{name}: elements at indices are read of an array that has none",
            saw=", ".join(f"shape {shape}" for shape in shapes),
            hint="check x.size before the call: NumPy raises IndexError here; no indices at all are fine",
        )
    return recipe

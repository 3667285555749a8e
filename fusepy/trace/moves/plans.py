"""Plans: for each element of a result, which element of an array it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fusepy.derivatives.terms import Term, Terms
from fusepy.errors import ShapeError
from fusepy.ir.strides import contiguous_strides
from fusepy.ir.types import INT
from fusepy.trace.moves.extents import TraceShapes
from fusepy.trace.moves.steps import Broadcast, Indexed, Permuted, Reshaped, Run, Shape, ViewStep

LARGEST = 1 << 31  # elements whose places are counted in 32 bits


@dataclass(frozen=True)
class Strided:
    """The index ``start + step * c`` of an axis, for the coordinate ``c`` along dimension `dim` of the result.

    Attributes:
        dim: ``None`` if the index is `start` everywhere.
    """

    dim: int | None
    start: int = 0
    step: int = 1


@dataclass(frozen=True)
class Remap:
    """Elements of an array over the grid of a result.

    Attributes:
        extents: those of the result.
        indices: for each axis of the array its index, as a term over the dimensions of the result.
        step: the step that has this effect on an array of `shape`, if there is one.
        shape: the extents of the array.
    """

    extents: Shape
    indices: tuple[Strided | Term, ...]
    shape: Shape
    step: ViewStep | None = None

    @property
    def strided(self) -> bool:
        """True if strides can express it for arrays that lack some of the axes, too."""
        return all(isinstance(index, Strided) for index in self.indices)


class Coordinates:
    """Coordinates and indices over the grid of a result, as terms."""

    def __init__(self, terms: Terms, shapes: TraceShapes, extents: Callable[[int], int]):
        self.terms = terms
        self.shapes = shapes
        self.extents = extents

    def along(self, dim: int) -> Term:
        """Returns the coordinate along a dimension of the result."""
        return Term(self.terms, self.shapes.numbers(self.extents(dim)), (dim,))

    def number(self, value: int) -> Term:
        """Returns an integer on which no kernel depends."""
        if value in (0, 1, -1):
            return self.terms.number(value)
        return Term(self.terms, self.shapes.integer(value), ())

    def index(self, at: Strided | Term) -> Term:
        """Returns the index of an axis as an ``int``."""
        if isinstance(at, Term):
            return at if at.type is INT else self.terms.cast(at, INT)
        if at.dim is None:
            return self.number(at.start)
        found = self.along(at.dim)
        found = found if at.step == 1 else found * self.number(at.step)
        return found if at.start == 0 else found + self.number(at.start)

    def flat(self, dims: Sequence[int]) -> Term:
        """Returns the place along some dimensions in C order."""
        strides = contiguous_strides(tuple(map(self.extents, dims)))
        parts = [self.index(Strided(d, 0, s)) for d, s in zip(dims, strides) if self.extents(d) != 1 or len(dims) == 1]
        return self.terms.total(parts or [self.number(0)])

    def split(self, place: Term, shape: Shape) -> list[Term]:
        """Returns the indices of an array of this shape at a place in C order."""
        found: list[Term] = []
        for axis, (extent, stride) in enumerate(zip(shape, contiguous_strides(shape))):
            if extent == 1:
                found.append(self.number(0))
                continue
            part = place if stride == 1 else self.terms.op("floordiv", place, self.number(stride))
            found.append(part if axis == 0 else self.terms.op("mod", part, self.number(extent)))
        return found


def plan_of(step: ViewStep, shape: Shape, coordinates: Callable[[Shape], Coordinates]) -> Remap:
    """Returns the plan of a step for an array of this shape.

    Raises:
        ShapeError: if the step does not fit the shape.
    """
    extents = step.shape(shape)
    if isinstance(step, Indexed):
        return Remap(extents, tuple(_indexed(step, shape)), shape, step)
    if isinstance(step, Permuted):
        return Remap(extents, tuple(Strided(step.axes.index(a)) for a in range(len(shape))), shape, step)
    if isinstance(step, Broadcast):
        lead = len(extents) - len(shape)
        stretched = [n == 1 != extents[lead + a] for a, n in enumerate(shape)]
        return Remap(extents, tuple(Strided(None if s else lead + a) for a, s in enumerate(stretched)), shape, step)
    assert isinstance(step, Reshaped), step
    return Remap(extents, _reshaped(shape, extents, coordinates(extents)), shape, step)


def _indexed(step: Indexed, shape: Shape) -> list[Strided]:
    found: list[Strided] = []
    dim = 0
    for item in step.items:
        if item is None:
            dim += 1
        elif isinstance(item, Run):
            taken = item.range(shape[len(found)])
            found.append(Strided(dim, taken.start, taken.step))
            dim += 1
        else:
            found.append(Strided(None, item % shape[len(found)]))
    return found


def _reshaped(shape: Shape, extents: Shape, at: Coordinates) -> tuple[Strided | Term, ...]:
    found: list[Strided | Term] = []
    for have, want in groups(shape, extents):
        long = [d for d in want if extents[d] != 1]
        own = [a for a in have if shape[a] != 1]
        if not own:
            found += [Strided(None)] * len(have)
        elif len(own) == 1 and len(long) == 1:
            found += [Strided(long[0]) if a in own else Strided(None) for a in have]
        else:
            _check_countable(tuple(shape[a] for a in have))
            found += at.split(at.flat(want), tuple(shape[a] for a in have))
    return tuple(found)


def _check_countable(shape: Shape) -> None:
    size = 1
    for extent in shape:
        size *= extent
    if size >= LARGEST:
        raise ShapeError(
            f"a reshape of {size} elements that are computed",
            expected=f"fewer than {LARGEST}",
            hint="reshape the array before the call",
        )


def groups(have: Shape, want: Shape) -> list[tuple[list[int], list[int]]]:
    """Returns the axes of two shapes of as many elements in groups, such that both groups of a pair have equal products.

    Example:
        >>> groups((2, 3, 4), (6, 4))
        [([0, 1], [0]), ([2], [1])]
    """
    if 0 in have:
        return [(list(range(len(have))), list(range(len(want))))]
    found: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(have) or j < len(want):
        a, b = [i] if i < len(have) else [], [j] if j < len(want) else []
        i, j = i + len(a), j + len(b)
        while math.prod(have[k] for k in a) != math.prod(want[k] for k in b):
            if math.prod(have[k] for k in a) < math.prod(want[k] for k in b):
                a.append(i)
                i += 1
            else:
                b.append(j)
                j += 1
        found.append((a, b))
    return found

"""The stages of a fold whose elements are loaded in words: `reduced` and `chunk` count words there, and `total` elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fusepy.backend.emit.fold.variant import FoldVariant
from fusepy.backend.emit.spaces.words import count_of
from fusepy.backend.execute.folds.stages import Stage


def stages_in_words(stages: Sequence[Stage], space: str) -> Sequence[Stage]:
    """Returns the same stages with words; those that are given if a result has no whole number of words, or too few elements."""
    count, first = count_of(space), stages[0]
    if not has_words(first.variant, space) or first.sizes["reduced"] % count:
        return stages
    found = [replace(stage, variant=with_words(stage.variant, space)) for stage in stages]
    sizes = {name: first.sizes[name] // count for name in ("reduced", "chunk")}
    return [replace(found[0], sizes=first.sizes | sizes), *found[1:]]


def has_words(variant: FoldVariant, space: str) -> bool:
    """True for the kernel of a GPU whose threads share the elements of a result, which are neighbours."""
    shape = variant.shape
    return bool(space) and variant.linear and variant.of_elements and shape.inner and shape.shared


def with_words(variant: FoldVariant, space: str) -> FoldVariant:
    """Returns the kernel with words: with as many elements in a run, and twice as many whose loads are in flight together."""
    count, shape = count_of(space), variant.shape
    run = shape.run // count
    return replace(variant, space=space, shape=replace(shape, unroll=min(max(2 * shape.unroll // count, 1), run), run=run))

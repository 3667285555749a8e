"""The words in which a kernel loads and stores narrow elements, and which arrays begin where a word does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from fusepy.backend.emit.operand import Operand
from fusepy.backend.emit.spaces.space import is_single
from fusepy.backend.emit.spaces.words import word_mask, words_for
from fusepy.backend.emit.tuning import is_light
from fusepy.backend.emit.variant import Variant
from fusepy.backend.execute.layouts import Layout
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.ir.graph import Node
from fusepy.ir.types import Kind, Type


class WordMasks(NamedTuple):
    """The words of a region, and the bits of addresses that say where words begin.

    Attributes:
        space: the index space; empty if each element is loaded by itself.
        operands: the bits that must be zero in the address of each operand in memory; `results` are those of results.
    """

    space: str = ""
    operands: tuple[int, ...] = ()
    results: tuple[int, ...] = ()

    def fit(self, layouts: Sequence[Layout]) -> bool:
        """True if operands, and results after them, begin where words do."""
        return not any(layout.low & mask for layout, mask in zip(layouts, (*self.operands, *self.results)))


NO_WORDS = WordMasks()


def words_of(
    region: Node,
    operands: Sequence[Operand],
    memory: Sequence[Operand],
    along: Collection[Operand],
    results: Sequence[Type | None],
    costs: Callable[[Node], tuple[int, int, float]],
    count: int = 0,
) -> WordMasks:
    """Returns the words of a region on a GPU.

    Args:
        operands: those that its kernels load; `memory` are those in memory, and `along` of these the ones with words.
        results: the types of results; None for those without words.
        costs: see `PlanContext`.
        count: see `words_for`.
    """
    types = [*(o.have if o.want.kind is Kind.SCALAR else o.want for o in along), *(t for t in results if t is not None)]
    if not words_for(types, count=count) or any(is_single(o.want) for o in operands):
        return NO_WORDS
    if any(len(ACCESSES[o.arrival].fields(o, Variant(True, 1))) > 1 for o in along):  # pairs of values and gradients
        return NO_WORDS
    space = words_for(types, costs(region)[2], not count and is_light(region), count)
    masks = [word_mask(space, o.have) if o in along else 0 for o in memory]
    own = [word_mask(space, type) if type is not None else 0 for type in results]
    return WordMasks(space, tuple(masks), tuple(own)) if space else NO_WORDS

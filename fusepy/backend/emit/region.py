"""Code generation for regions: one readable, deterministic kernel text per region and variant.

A kernel loads one element of every operand, calls one trampoline with the user's program in it, one line per node, and
stores the results. It consists of an index space, stores and a stage, see docs/extending.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fusepy.backend.emit.operand import Field
from fusepy.backend.emit.operands import region_operands
from fusepy.backend.emit.options import Options
from fusepy.backend.emit.spaces.blocks import BLOCKS, Blocks, block_shape
from fusepy.backend.emit.spaces.linear import Counted
from fusepy.backend.emit.spaces.rows import Rows
from fusepy.backend.emit.spaces.space import ElementWork, IndexSpace
from fusepy.backend.emit.spaces.tiles import Tiles
from fusepy.backend.emit.spaces.words import WORDS, WordSpace, words_shape
from fusepy.backend.emit.text import Emission, KernelSource, KernelText
from fusepy.backend.emit.tuning import Shape, choose, is_light, run_of
from fusepy.backend.emit.variant import Variant
from fusepy.errors import ArgumentError
from fusepy.ir.graph import Node

EMITTER_VERSION = 105  # part of every cache key; raise it with any change to emitted text or to the content of an entry

SPACES: dict[str, Callable[[Variant, Shape, str], IndexSpace]] = {  # by `Variant.space`; the last argument is the device kind
    "": Counted,
    "rows": lambda variant, shape, kind: Rows(variant, shape),
    "tiles": lambda variant, shape, kind: Tiles(variant),
    **dict.fromkeys(BLOCKS, lambda variant, shape, kind: Blocks(variant, *BLOCKS[variant.space])),
    **dict.fromkeys(WORDS, lambda variant, shape, kind: WordSpace(variant, shape, kind, count=WORDS[variant.space][0])),
}


def emit(
    region: Node, variant: Variant, given: Emission, element_bytes: int, moved_bytes: int = 0, price: float = 0.0
) -> KernelSource:
    """Returns the kernel of `region` in one indexing variant.

    Args:
        element_bytes: size of the largest element that a thread loads or stores, for the thread shape.
        price: the price of user code for one element.
        moved_bytes: bytes that it loads and stores for one element of the grid; by default twice `element_bytes`.

    Raises:
        ArgumentError: for a call group of more dimensions than the grid.
    """
    assert region.body is not None
    kind = given.target.kind
    needs_division = not variant.linear and (variant.rank > 1 or kind == "software")
    shape = (
        block_shape(variant.space)
        or words_shape(variant.space)
        or given.options.shape(variant.tile, variant.linear)
        or choose(kind, element_bytes, not needs_division, moved_bytes, price, kind != "software" and is_light(region))
    )
    if kind == "software":
        shape = replace(shape, run=run_of(region, price))
    if variant.tile:
        _check_tile(region.body.name, given.options, variant)
    operands = region_operands(region, given.cuda, given.plain)
    text = KernelText(region, variant, given, operands, [], region.body)
    space, work = SPACES["tiles" if variant.tile else variant.space](variant, shape, kind), ElementWork(text)
    return text.source(
        [*work.squares.declared(), *text.trampoline()],
        space.lines(work),
        space.threads,
        space.lane,
        fields_of(text, space, work),
        shape,
    )


def fields_of(text: KernelText, space: IndexSpace, work: ElementWork) -> list[Field]:
    """Returns the parameters: pointers first, then the count, then the rest. Most calls change only the first ones."""
    listed, results = text.listed(text.operands), range(len(text.stores))
    pointers = [f for f in listed if f.role == "pointer"]
    others = [f for f in listed if f.role != "pointer"]
    count = Field("uint64_t" if text.variant.wide else "uint", "count", "count")
    return [*pointers, *text.stored(results), count, *space.fields(work), *others, *text.strides(results)]


def _check_tile(name: str, options: Options, variant: Variant) -> None:
    if options.group_rank > variant.rank:
        raise ArgumentError(
            f"{name}: call_group_shape has {options.group_rank} dimensions, and the grid has {variant.rank}",
            saw=f"call_group_shape dimensionality ({options.group_rank}), call_shape dimensionality ({variant.rank}); "
            "call_group_shape cannot have more dimensions than call_shape",
            hint="give the group as many dimensions as the call has, or fewer",
        )

"""The loops of products of matrices and of other folds of pairs, by their tiles."""

from __future__ import annotations

from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.fold.groups.cores import CoreLoops
from fusepy.backend.emit.fold.groups.pairs import PairLoops
from fusepy.backend.emit.fold.groups.products import GroupLoops
from fusepy.backend.emit.fold.products import ProductLoops
from fusepy.backend.emit.fold.tile import GroupTile


def tiles_of(elements: FoldElements) -> ProductLoops | GroupLoops | CoreLoops | PairLoops:
    """Returns the loops of a product of matrices, or of another fold of pairs."""
    tile = elements.variant.shape.tile
    if not isinstance(tile, GroupTile):
        return ProductLoops(elements)
    return (CoreLoops if tile.cores else PairLoops if tile.pair else GroupLoops)(elements)

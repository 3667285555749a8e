"""`RayPlan`: the compiled form of a region that generates rays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fusepy.backend.emit.variant import Variant
from fusepy.backend.execute.layouts import Layout
from fusepy.backend.execute.plan import Plan, Way
from fusepy.backend.execute.recipe import Recipe
from fusepy.backend.rays.text import rays_of


class RayPlan(Plan):
    """A plan whose kernels have one ray for each element of the grid."""

    __slots__ = ()

    def __init__(self, *given: Any):
        super().__init__(*given)
        self.linear = False  # rays have coordinates

    def _way(self, recipe: Recipe, slots: Sequence[Layout], results: Sequence[int]) -> Way:
        return Variant(False, self.rank, recipe.wide, space="rays"), rays_of(recipe.grid, self.name), {}

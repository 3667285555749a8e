"""`Step`: one region of an executable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fusepy.backend.execute.plan import Plan
from fusepy.backend.execute.texture_results import TextureTarget


@dataclass(frozen=True)
class Step:
    """One region of a program, with its slots.

    Attributes:
        plan: the plan of the region; its ``positions`` are slots.
        results: the slots of its results.
        acts: true if it writes memory beside its results.
        textures: the results that are stored into textures, which the program keeps from call to call.
        views: slots that are views of other slots with axes of extent 1: the slot, the other slot, the axes.
    """

    plan: Plan
    results: tuple[int, ...]
    acts: bool = False
    textures: Mapping[int, TextureTarget] = field(default_factory=dict[int, "TextureTarget"])
    views: tuple[tuple[int, int, tuple[int, ...]], ...] = ()

"""`Pass`: one rewrite of graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fusepy.ir.graph import Graph
from fusepy.ir.oracle import Oracle


@dataclass(frozen=True)
class Pass:
    """A pure function from graph to graph; what can be set about it are its fields.

    A pass that changes nothing returns the graph that it was given.

    Attributes:
        name: the name by which ``f.ir(after=…)`` asks for it.
        requires: the stage of `ir.rules` that its argument is in.
        ensures: the stage that its result is in.
    """

    name: ClassVar[str]
    requires: ClassVar[str] = "resolved"
    ensures: ClassVar[str] = "resolved"

    def __call__(self, graph: Graph, oracle: Oracle) -> Graph:
        raise NotImplementedError

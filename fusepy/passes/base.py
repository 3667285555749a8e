"""`Pass`: one rewrite of graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fusepy.ir.graph import Graph
from fusepy.ir.oracle import Oracle


@dataclass(frozen=True)
class Pass:
    """A pure function from graph to graph; its fields are its options.

    A pass that changes nothing returns its argument.

    Attributes:
        name: the name for ``f.ir(after=…)``.
        requires: the stage of its argument; see `ir.rules`.
        ensures: the stage of its result.
    """

    name: ClassVar[str]
    requires: ClassVar[str] = "resolved"
    ensures: ClassVar[str] = "resolved"

    def __call__(self, graph: Graph, oracle: Oracle) -> Graph:
        raise NotImplementedError

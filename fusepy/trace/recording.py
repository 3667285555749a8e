"""`Recording`: what tracing a call gives, from which `fusepy.program.program` makes a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph
from fusepy.pytree import Structure
from fusepy.trace.trace import Trace

NOTHING_SAID: Mapping[int, ArgMap] = MappingProxyType({})


@dataclass
class Recording:
    """What tracing a call gives: the graph, what its inputs are, and how results go back to Python.

    Attributes:
        arguments: what the caller passed, in order, nested arguments as their leaves.
        nested: whether there are any of these.
        inputs: for each input of the graph the argument behind it; captured values follow.
        structure: what the caller gets, with the results as its leaves.
        outs: for each result the argument that it is written to, or ``None``; eager calls with ``out`` and ``inout`` arguments.
        keep: for each result whether it is returned.
        names: what the arguments are called, for messages about those that are written to.
        said: for results that are written to arguments what was said about the mapping and type of these.
        grads: the results that are written to the gradient of their argument.
        classes: the Python classes of the arguments, kept when these are gone.
    """

    graph: Graph
    trace: Trace
    arguments: Sequence[Any]
    inputs: Sequence[int]
    structure: Structure
    outs: Sequence[int | None] = ()
    keep: Sequence[bool] = ()
    names: Sequence[str] = ()
    nested: bool = False
    said: Mapping[int, ArgMap] = field(default_factory=lambda: NOTHING_SAID)
    grads: Sequence[int] = ()
    classes: Sequence[str] = ()

"""`Recording`: the result of tracing a call, from which `fusepy.program.program` makes a program."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from fusepy.errors import TraceRecursionError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph
from fusepy.pytree import Structure
from fusepy.trace.prints.log import Request
from fusepy.trace.trace import Trace

_tracing: ContextVar[tuple[Any, ...]] = ContextVar("fusepy_tracing", default=())  # the functions that are being traced
NOTHING_SAID: Mapping[int, ArgMap] = MappingProxyType({})


@dataclass(frozen=True)
class Recording:
    """A traced call: its graph, its arguments, and how results go back to Python.

    Attributes:
        arguments: the caller's arguments in order, nested ones as their leaves.
        nested: True if an argument is nested.
        inputs: for each input of the graph the index of its argument; captured values follow.
        structure: the structure of the results that the caller gets.
        outs: for each result the argument that it is written to, or ``None``; for ``out`` and ``inout`` arguments of eager calls.
        keep: for each result, True if it is returned.
        names: the names of the arguments, for messages.
        said: the mapping and type of the results that are written to arguments.
        grads: the results that are written to the gradient of their argument.
        classes: the Python classes of the arguments, for use after the arguments are gone.
        prints: what `fusepy.debug.print` prints of the last results of the graph, which nobody gets; `printed` is their number.
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
    prints: Sequence[Request] = ()
    printed: int = 0

    def kept(self) -> Sequence[bool]:
        """Returns for each result, True if it is returned; without those that are printed."""
        return self.keep or [True] * (len(self.graph.outputs) - self.printed)

    def paths(self) -> list[str]:
        """Returns for each result its path in ``_result=``, for messages."""
        found = iter(self.structure.paths("_result"))
        paths = [next(found, "_result") if kept else "_result" for kept in self.kept()]
        return paths + ["_result"] * self.printed


@contextmanager
def entered(function: Any, name: str) -> Generator[None, None, None]:
    """Marks a fused function as being traced, so that it cannot trace itself.

    Raises:
        TraceRecursionError: shows the cycle.
    """
    stack = _tracing.get()
    if function in stack:
        cycle = " -> ".join([*(f.__name__ for f in stack[stack.index(function) :]), name])
        raise TraceRecursionError(
            f"{name} calls itself while it is traced", saw=cycle, hint="write the recursion in Slang, or as a loop"
        )
    token = _tracing.set((*stack, function))
    try:
        yield
    finally:
        _tracing.reset(token)

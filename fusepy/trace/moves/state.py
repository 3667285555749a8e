"""`Moves`: views and extents that a trace has recorded."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from fusepy.ir.graph import Value

Steps = tuple[Any, ...]
REPEATS = 16  # operations, see "Views" in docs/fusion.md


@dataclass
class Begun:
    """A function that is being differentiated.

    Attributes:
        start: the number of nodes before it.
        count: how many functions of the trace have begun, with this one.
        by: the values by which it is differentiated; see `fusepy.trace.components.outside`.
        constants: these values where the function takes them from outside.
    """

    start: int
    count: int
    by: set[Value] = field(default_factory=set[Value])
    constants: dict[Value, Value] = field(default_factory=dict[Value, Value])


@dataclass
class Moves:
    """Views and extents in one trace.

    Attributes:
        integers: numbers that are parameters of the program, so that no kernel depends on them.
        numbers: inputs that are integers which each call computes, by how.
        bits: for integers with 64 bits that kernels compute of Python's numbers, the bits that they may have.
        tensors: true if the program makes tensors of numbers, so that it returns tensors where all arguments are numbers.
        views: inputs that are views of arrays among the inputs, by array and steps.
        of: the same the other way round.
        shapes: see `fusepy.trace.moves.shapes`.
        again: nodes that were recorded for other elements, by what they compute.
        origins: for these nodes the value of which they compute other elements, before all moves.
        begun: the functions that are being differentiated. What was computed before is a constant for them: elements of it are
            read, and not computed again.
        count: how many functions have begun.
        compares: broadcasting is strict: no axis of extent 1 is stretched.
        copies: moved elements that are computed again, see `fusepy.trace.moves.stored`.
    """

    integers: dict[int, Value] = field(default_factory=dict[int, Value])
    numbers: dict[Any, Value] = field(default_factory=dict[Any, Value])
    tensors: bool = False
    bits: dict[Value, int] = field(default_factory=dict[Value, int])
    views: dict[tuple[Value, Steps, int], Value] = field(default_factory=dict[tuple[Value, Steps, int], Value])
    of: dict[Value, tuple[Value, Steps, int]] = field(default_factory=dict[Value, tuple[Value, Steps, int]])
    shapes: Any = None
    again: dict[Any, tuple[Value, ...]] = field(default_factory=dict[Any, tuple[Value, ...]])
    origins: dict[Value, Value] = field(default_factory=dict[Value, Value])
    begun: list[Begun] = field(default_factory=list[Begun])
    count: int = 0
    compares: bool = False
    copies: list[Any] = field(default_factory=list[Any])

    @property
    def since(self) -> int:
        """The number of nodes before the innermost function that is being differentiated; 0 outside of one."""
        return self.begun[-1].start if self.begun else 0

    @property
    def innermost(self) -> int:
        """The number of functions that have begun, with the innermost that is being differentiated; 0 outside of one."""
        return self.begun[-1].count if self.begun else 0

    def repeat(self, made: Sequence[Value], values: Sequence[Value]) -> None:
        """Notes that a node computes other elements of some values."""
        self.origins.update((new, self.origins.get(old, old)) for new, old in zip(made, values))

    def repeats(self, values: AbstractSet[Value]) -> bool:
        """True if so many of some values compute others again, for earlier moves, that what is computed of them is stored."""
        return len(values) - len({self.origins.get(v, v) for v in values}) > REPEATS

    def begin(self, nodes: Sized) -> int:
        """Notes that a function is called to be differentiated, and returns the number of nodes before it."""
        self.count += 1
        self.begun.append(Begun(len(nodes), self.count))
        return len(nodes)

    def end(self) -> Begun:
        """Notes that the nodes of the function are there."""
        return self.begun.pop()

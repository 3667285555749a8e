"""`OpenTrace`: the part of `Trace` that its values and helpers use while it is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from fusepy.arguments.held import Held
from fusepy.backend.device.device import Device
from fusepy.backend.slang.oracle import SlangOracle
from fusepy.backend.sources.source import ModuleSource
from fusepy.derivatives.extents import ExtentFacts
from fusepy.ir.argmap import ArgMap
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Attr, Node, Value
from fusepy.ir.types import Type
from fusepy.ir.value import Dims
from fusepy.trace.moves.state import Moves
from fusepy.trace.prints.log import Request


class StepLoop(NamedTuple):
    """A loop whose steps are recorded one after the other: its line, the number of steps, and the nodes of all but the first."""

    loc: str | None
    steps: int
    again: frozenset[Node]


class CallScope(NamedTuple):
    """A call of a fused function inside of another one.

    Attributes:
        dims: the dimensions that its arguments are mapped to; a use of an argument has these very tuples.
        results: what is computed of these arguments, with their dimensions.
    """

    dims: list[tuple[int, ...]]
    results: set[Value]


class Groups(Protocol):
    """The arrays of numbers of a trace as arrays of vectors; see `trace.components.grouping.Grouping`."""

    extents: Any  # `components.extents.SmallExtents`
    lifted: dict[Value, Value]

    def holds(self, value: Value, shape: tuple[int, ...]) -> bool: ...

    def tail(self, value: Value) -> Dims: ...

    def of(self, value: Value, type: Type, loc: str | None) -> Value: ...

    def listed(self, value: Value, type: Type, loc: str | None) -> Value | None: ...


class OpenTrace(Protocol):
    """The protocol of `Trace` for the files that it imports; see there."""

    body: str
    alone: bool
    strict: bool
    active: bool
    sources: dict[str, ModuleSource]
    maps: dict[Value, ArgMap]
    inherited: set[Value]
    calls: list[CallScope]
    named: dict[int, tuple[Any, Type]]
    hosted: set[Value]
    told: set[Value]
    loose: dict[Value, tuple[str, int]]
    given: dict[Value, tuple[int, Any]]
    struct_inputs: dict[tuple[Value, Type], Value]
    buffers: dict[Value, Any]
    captures: list[Any]
    held: list[tuple[Held, Any]]
    grouped: dict[Value, Value]
    integers: dict[Value, Value]
    extents: ExtentFacts
    moves: Moves
    plain: Any  # `components.plain.PlainVectors`
    prints: list[Request] | None

    @property
    def flags(self) -> list[Value] | None: ...

    @property
    def grouping(self) -> Groups: ...

    @property
    def builder(self) -> Builder: ...

    @property
    def chain(self) -> Sequence[OpenTrace]: ...

    @property
    def device(self) -> Device: ...

    @property
    def oracle(self) -> SlangOracle: ...

    def innermost(self) -> OpenTrace: ...

    def behind(self, value: Value) -> tuple[OpenTrace, Value] | None: ...

    def refuse_part(self, value: Value, what: str) -> None: ...

    def standing_in(self, value: Value) -> Value: ...

    def lift(self, value: Any, name: str = "captured") -> Value: ...

    def add_origin(self, name: str, type: Type, origin: ModuleSource) -> None: ...

    def capture(self, value: Any, name: str) -> Value: ...

    def record(self, op: str, operands: Sequence[Any], attrs: Mapping[str, Attr] | None = None) -> Any: ...

    def operand(self, given: Any, name: str, loc: str | None) -> tuple[Value, ArgMap]: ...

    def cast(self, value: Value, type: Type, said: ArgMap, loc: str | None) -> Value: ...

    def recast(self, value: Value, type: Type, loc: str | None) -> Value: ...

    def as_structs(self, value: Value, type: Type, spec: Any = None) -> Value | None: ...

    def has_member(self, value: Any, name: str) -> bool: ...

    def method(self, value: Any, name: str) -> Any: ...

    def array_member(self, of: Any, name: str) -> Any: ...

    def part(self, of: Any, index: Any) -> Any: ...

    def indexed(self, value: Value, index: Any) -> Value: ...

    def module(self, source: ModuleSource, device: Device) -> str: ...

    def call(self, alias: str, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any: ...

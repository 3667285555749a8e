"""The parts of a function: a tracer, a configuration, a table of programs, and its globals and hooks (`Setup`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import FunctionType, NoneType
from typing import Any, Protocol, TypeVar

from fusepy.arguments.mapping import cast_numbers
from fusepy.backend.device.device import Device
from fusepy.backend.emit.options import NO_OPTIONS, Options
from fusepy.backend.kernels.raw import RawKernel
from fusepy.functions.nodes import Use
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.oracle import Param
from fusepy.program.fast.paths import FastPaths
from fusepy.program.program import Program
from fusepy.pytree import Structure
from fusepy.trace.recording import Recording
from fusepy.trace.setup import Setup
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced


@dataclass(frozen=True)
class Config:
    """The configuration of a function; each configuration has programs of its own.

    Globals and hooks are no part of it: functions that differ only in these share their programs (`Setup`).

    Attributes:
        returns: the container of results; ``None`` for the container of the arguments.
        strict_broadcasting: accept only identical shapes, and values without batch axes.
        strict: refuse NumPy arrays of ``float64`` and ``int64`` where Slang takes smaller types only.
        options: thread groups, link-time constants, type conformances.
        specs: the specs of `declare`, by position.
        named_specs: the same by name.
        structs: the module's structs among the specs, by position or name: arrays of numbers are read as these.
    """

    returns: str | None = None
    strict_broadcasting: bool = False
    strict: bool = False
    options: Options = NO_OPTIONS
    specs: tuple[ArgMap | None, ...] = ()
    named_specs: Mapping[str, ArgMap | None] = field(default_factory=dict[str, "ArgMap | None"])
    structs: Mapping[int | str, Any] = field(default_factory=dict["int | str", Any])

    @cached_property
    def of_tensors(self) -> Config:
        """The same configuration with Tensors as results."""
        return replace(self, returns="tensor")

    def spec(self, position: int, name: str) -> ArgMap | None:
        """Returns the spec that `declare` has for an argument."""
        if name in self.named_specs:
            return self.named_specs[name]
        return self.specs[position] if position < len(self.specs) else UNSAID

    def as_structs(
        self, names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
        """Casts arrays of numbers to arrays of the structs that they are declared as.

        Args:
            names: of the parameters.
        """
        structs = self.structs

        def cast(value: Any, place: int | str) -> Any:
            name = names[place] if isinstance(place, int) and place < len(names) else place
            found = structs.get(place, structs.get(name))
            if found is None and isinstance(place, str) and place in names:
                found = structs.get(names.index(place))
            return value if found is None else cast_numbers(value, found)

        return tuple(cast(a, i) for i, a in enumerate(args)), {k: cast(v, k) for k, v in kwargs.items()}


DEFAULT = Config()


class ProgramTable(dict[Hashable, Program]):
    """The programs of a function under one configuration, by the keys of their arguments.

    Attributes:
        variants: tables of the same function for values of its static arguments, or for Tensors as results.
        raw: the kernel for raw dispatch, by the closure of its source.
        pullbacks: the functions that go back through calls of torch's autograd.
        copies: those that copy members of results into destinations, by the paths of these.
        fast: the fast paths of calls that come again.
        draws: draws that come again, by the size of the image.
        requests: the gradients that calls of ``bwds`` have asked for.
    """

    __slots__ = ("copies", "draws", "fast", "pullbacks", "raw", "requests", "variants")

    def __init__(self) -> None:
        super().__init__()
        self.variants: dict[Hashable, ProgramTable] = {}
        self.raw: dict[str, RawKernel] = {}
        self.pullbacks, self.copies = dict[Hashable, AnyFunction](), dict[Hashable, AnyFunction]()
        self.fast, self.draws, self.requests = FastPaths(), dict[Any, Any](), dict[Hashable, Any]()

    def __delitem__(self, key: Hashable) -> None:
        self.pop(key).state.held = False
        self.fast.clear()

    def variant(self, key: Hashable) -> ProgramTable:
        """Returns the table of a variant."""
        return self.variants.get(key) or self.variants.setdefault(key, ProgramTable())

    def hold(self, key: Hashable, program: Program) -> None:
        """Adds a program, and tells it where it is, so that a reload can remove it."""
        self[key] = program
        program.state.home, program.state.held = (self, key), True
        program.device.programs.add(program)


class Tracer(Protocol):
    """A maker of graphs: `SlangTracer` for a Slang function, `PythonTracer` for a fused one.

    Attributes:
        device: where the function runs; ``None`` if its arguments decide.
        positional: the number of arguments, all by position, of a call that needs no `bind`: -1 for none, ``None`` for any call.
    """

    __name__: str

    @property
    def device(self) -> Device | None: ...

    @property
    def positional(self) -> int | None: ...
    @property
    def variadic(self) -> bool: ...

    # returns the tracer with values for its static arguments, their key, the other arguments, and the destination of the result
    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any = None
    ) -> tuple[Tracer, Hashable, tuple[Any, ...], Mapping[str, Any], Any]: ...

    # traces a call by itself
    def record(self, args: Sequence[Any], kwargs: Mapping[str, Any], config: Config) -> Recording: ...

    # records a call inside another function
    def call(self, trace: Trace, args: Sequence[Any], kwargs: Mapping[str, Any], config: Config) -> Any: ...

    # returns the parameters of the arguments of a call, after `bind`, with their positions for `Config.spec`
    def parameters(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[tuple[int, Param]]: ...

    # true if a call may have this many arguments by position
    def takes(self, count: int) -> bool: ...

    # records a call with traced arguments by their places; returns its results, with the places of the arguments they belong to
    def results(
        self, trace: Trace, params: Sequence[Param], passed: Mapping[int, Any], positional: int, config: Config
    ) -> list[tuple[Traced, int | None]]: ...

    # returns a tracer of the same function that accumulates results, by name
    def accumulating(self, kinds: Mapping[str, Any]) -> Tracer: ...

    # handles what a call returned, and returns what it returns; ``None`` for nothing to do
    @property
    def deliver(self) -> Callable[[Any], Any] | None: ...

    # false for a Slang function that Slang cannot differentiate
    def differentiable(self) -> bool: ...

    # returns the structure of the results of a call as a node
    def node_results(self, use: Use, outputs: int | None) -> Structure: ...

    def parameter_names(self) -> list[str]: ...

    # globals, and link-time constants with their types; ``None`` if unknown before the first call
    def global_names(self) -> Sequence[str] | None: ...

    def constant_types(self) -> Mapping[str, str] | None: ...


C = TypeVar("C", bound="AnyFunction")


STATIC: set[type] = {str, NoneType, type, FunctionType}  # arguments of these classes are static


def needs_bind(tracer: Tracer, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """True for a call whose arguments `Tracer.bind` sorts first."""
    count = tracer.positional
    return count is not None and (len(args) != count or bool(kwargs) or not STATIC.isdisjoint(map(type, args)))


class AnyFunction(Protocol):
    """A function as the code of its calls sees it."""

    __name__: str
    tracer: Tracer
    config: Config
    setup: Setup | None
    programs: ProgramTable

    def variant(
        self: C,
        setup: Setup | None,
        config: Config | None = None,
        tracer: Tracer | None = None,
        programs: ProgramTable | None = None,
    ) -> C:
        """Returns the function with other parts; a new configuration begins without programs."""
        ...

    def _traced(self, function: Callable[..., Any]) -> AnyFunction:
        """Returns a Python function as a fused function."""
        ...

    def _run(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> Any: ...

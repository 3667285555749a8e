"""`Tracer`: how a function becomes a graph; and `Callee`, a function as its calls see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from fusepy.functions.config import Config
from fusepy.functions.programs import ProgramTable

if TYPE_CHECKING:
    from fusepy.backend.device.device import Device
    from fusepy.functions.nodes import Use
    from fusepy.pytree import Structure
    from fusepy.trace.recording import Recording
    from fusepy.trace.setup import Setup
    from fusepy.trace.trace import Trace


class Tracer(Protocol):
    """What makes graphs of a function: `SlangTracer` of a Slang function, `PythonTracer` of a fused one."""

    __name__: str

    @property
    def device(self) -> Device | None:
        """Where the function runs; ``None`` where its arguments decide."""
        ...

    @property
    def positional(self) -> int | None:
        """How many arguments, all by position, a call has that needs no `bind`: -1 for none, ``None`` for any call."""
        ...

    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], tuple[Any, ...], Mapping[str, Any]]:
        """The static arguments by name, and the others as they are recorded."""
        ...

    def with_static(self, static: Mapping[str, Any]) -> Tracer:
        """The tracer with values for its static arguments."""
        ...

    def record(self, args: Sequence[Any], kwargs: Mapping[str, Any], config: Config) -> Recording:
        """Traces the function for arguments like these."""
        ...

    def call(self, trace: Trace, args: Sequence[Any], kwargs: Mapping[str, Any], config: Config) -> Any:
        """Records a call inside of another function."""
        ...

    def node_results(self, use: Use, outputs: int | None) -> Structure:
        """The structure of what a call as a node returns."""
        ...

    def parameter_names(self) -> list[str]: ...

    def global_names(self) -> Sequence[str] | None:
        """The globals that may be set, where they are known before the first call."""
        ...

    def constant_types(self) -> Mapping[str, str] | None:
        """Names and types of the link-time constants, where they are known before the first call."""
        ...


C = TypeVar("C", bound="Callee")


class Callee(Protocol):
    """A function as its calls see it."""

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
        """The function with other parts; another configuration begins without programs."""
        ...

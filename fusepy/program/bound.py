"""Calls with the settings of their functions: globals, hooks, and the encoder to record into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fusepy.arguments.nested import flat
from fusepy.backend.device.device import Device
from fusepy.backend.device.recorder import Written, recording_into
from fusepy.backend.device.sink import Sink
from fusepy.program.program import Program
from fusepy.trace.setup import CallContext, GlobalValues, Setup, joined, no_global


def run(setup: Setup, caller: Any, program: Program, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> Any:
    """Runs a program, or records it, with the settings of its function, after the hooks."""
    bindings: GlobalValues = setup
    device = program.device
    if setup.hooks or setup.encoder is not None:
        bindings = after_hooks(setup, caller, device, args[: len(args) - len(kwargs)], kwargs)
    leaves = flat(args) if program.nested else args
    if program.state.names != bindings.names:
        check_names(bindings, program)
    if setup.encoder is None:
        return program(leaves, result, None, bindings)
    with device.lock, recording_into(device, setup.encoder, caller.__name__) as sink:
        sink.keep(Written(bindings.values.values()))  # user code may write to it
        return program(leaves, result, sink, bindings)


def check_names(bindings: GlobalValues, program: Program) -> None:
    """Checks the names of globals that are set, and remembers them.

    Raises:
        UnknownNameError: for a name that no module of the program declares.
    """
    if program.state.names != bindings.names:
        for name in bindings.names:
            if name not in program.global_names:
                raise no_global(name, program.global_names, program.graph.name)
        program.state.names = bindings.names


def after_hooks(setup: Setup, caller: Any, device: Device, args: Sequence[Any], kwargs: Mapping[str, Any]) -> GlobalValues:
    """Runs the hooks of a call, and returns the globals that are set for it."""
    bindings = GlobalValues(setup.values)  # kernels keep the last bindings, and must keep no other part of the function alive
    for hook in setup.hooks:
        context = CallContext(caller, args, kwargs, device, bindings)
        hook(context)
        bindings = context._bindings  # pyright: ignore[reportPrivateUsage]
    return bindings


@dataclass(frozen=True, eq=False, kw_only=True)
class SetUpProgram(Program):
    """A program that calls functions with globals or hooks of their own; hooks get the `caller`."""

    caller: Any

    def __call__(self, args: Sequence[Any], result: Any = None, sink: Sink | None = None, bindings: Any = None) -> Any:
        return super().__call__(args, result, sink, self.joined(args, bindings))

    def joined(self, args: Sequence[Any], bindings: GlobalValues | None) -> GlobalValues:
        """Returns the globals of the call and those of its functions, after their hooks."""
        setup = self.recording.trace.setup
        assert setup is not None
        own = after_hooks(setup, self.caller, self.device, args, {})
        if bindings is not None:
            own = joined(bindings, own, self.graph.name)
        check_names(own, self)
        return own

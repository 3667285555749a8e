"""Running programs with what their functions have set: globals, hooks, and where to record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fusepy.arguments.nested import flat
from fusepy.backend.device.recorder import Written, recording_into
from fusepy.backend.device.sink import Sink
from fusepy.program.program import Program
from fusepy.trace.setup import Bindings, CallContext, Setup, joined, no_global

if TYPE_CHECKING:
    from fusepy.backend.device.device import Device


def run(setup: Setup, caller: Any, program: Program, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> Any:
    """Runs a program, or records it, with what its function has set, after the hooks."""
    bindings: Bindings = setup
    device = program.device
    if setup.hooks or setup.encoder is not None:
        bindings = after_hooks(setup, caller, device, args[: len(args) - len(kwargs)], kwargs)
    leaves = flat(args) if program.nested else args
    if program.may_set != bindings.names:
        check_names(bindings, program)
    if setup.encoder is None:
        return program(leaves, result, None, bindings)
    with device.lock, recording_into(device, setup.encoder, caller.__name__) as sink:
        sink.keep(Written(bindings.values.values()))  # user code may write what it is given
        return program(leaves, result, sink, bindings)


def check_names(bindings: Bindings, program: Program) -> None:
    """Remembers that these names may be set.

    Raises:
        UnknownNameError: for a name that no module of the program declares.
    """
    if program.may_set != bindings.names:
        for name in bindings.names:
            if name not in program.global_names:
                raise no_global(name, program.global_names, program.graph.name)
        program.may_set = bindings.names


def after_hooks(setup: Setup, caller: Any, device: Device, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Bindings:
    """What is set for one call once its hooks have run."""
    bindings = Bindings(setup.values)  # kernels remember what was set last, and must keep nothing else of the function
    for hook in setup.hooks:
        context = CallContext(caller, args, kwargs, device, bindings)
        hook(context)
        bindings = context._bindings  # pyright: ignore[reportPrivateUsage]
    return bindings


class SetUpProgram(Program):
    """A program in which functions are called that have set globals or hooks of their own."""

    caller: Any

    def __call__(self, args: Sequence[Any], result: Any = None, sink: Sink | None = None, bindings: Any = None) -> Any:
        return super().__call__(args, result, sink, self.joined(args, bindings))

    def joined(self, args: Sequence[Any], bindings: Bindings | None) -> Bindings:
        """What its functions have set, beside what was set for the call, after their hooks."""
        setup = self.recording.trace.setup
        assert setup is not None
        own = after_hooks(setup, self.caller, self.device, args, {})
        if bindings is not None:
            own = joined(bindings, own, self.graph.name)
        check_names(own, self)
        return own

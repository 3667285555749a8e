"""Running programs with what their functions have set: globals, hooks, and where to record."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fusepy.arguments.nested import flat
from fusepy.backend.device.recorder import Written, recording_into
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
    with device.lock:
        before = device.bindings
        alone = before is None and program.may_set == bindings.names  # as `entered` would find out
        device.bindings = bindings if alone else entered(bindings, before, program)
        try:
            if setup.encoder is None:
                return program(leaves, result)
            with recording_into(device, setup.encoder, caller.__name__) as keep:
                keep.append(Written(bindings.values.values()))  # user code may write what it is given
                return program.record(leaves, result, keep)
        finally:
            device.bindings = before


def entered(bindings: Bindings, before: Bindings | None, program: Program) -> Bindings:
    """What a program sees: its own values, beside those that were set around it.

    Raises:
        UnknownNameError: for a name that no module of the program declares.
    """
    if before is not None:  # a program whose functions have set globals of their own, in a call that sets some, too
        bindings = joined(before, bindings, program.graph.name)
    if program.may_set != bindings.names:
        for name in bindings.names:
            if name not in program.global_names:
                raise no_global(name, program.global_names, program.graph.name)
        program.may_set = bindings.names
    return bindings


def after_hooks(setup: Setup, caller: Any, device: Device, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Bindings:
    """What is set for one call once its hooks have run."""
    bindings = Bindings(setup.values)  # kernels remember what was set last, and must keep nothing else of the function
    for hook in setup.hooks:
        context = CallContext(caller, args, kwargs, device, bindings)
        hook(context)
        bindings = context._bindings  # pyright: ignore[reportPrivateUsage]
    return bindings


@contextmanager
def bound(device: Device, bindings: Bindings, program: Program | None) -> Generator[None, None, None]:
    """Within, what is launched on `device` by this thread sees these globals; other threads wait."""
    with device.lock:
        before = device.bindings
        device.bindings = bindings if program is None else entered(bindings, before, program)
        try:
            yield
        finally:
            device.bindings = before


class SetUpProgram(Program):
    """A program in which functions are called that have set globals or hooks of their own."""

    caller: Any

    def __call__(self, args: Sequence[Any], result: Any = None) -> Any:
        return self._set_up(args, lambda: super(SetUpProgram, self).__call__(args, result))

    def record(self, args: Sequence[Any], result: Any, keep: list[Any]) -> Any:
        return self._set_up(args, lambda: super(SetUpProgram, self).record(args, result, keep))

    def _set_up(self, args: Sequence[Any], call: Callable[[], Any]) -> Any:
        setup = self.recording.trace.setup
        assert setup is not None
        with bound(self.device, after_hooks(setup, self.caller, self.device, args, {}), self):
            return call()

"""Raw dispatch: runs a compute entry point as it is written, or a plain function once per thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np

from fusepy.backend.device.device import Device
from fusepy.backend.device.recorder import Written, check_encoder, recording_into
from fusepy.backend.device.sink import Sink, sink_on
from fusepy.backend.kernels.raw import RawKernel
from fusepy.backend.kernels.values import freeze, shown
from fusepy.backend.memory.pending import PENDING, before_effects
from fusepy.errors import ArgumentError, FusepyError
from fusepy.functions.options import integers
from fusepy.functions.parts import Config, ProgramTable
from fusepy.functions.slang_tracer import SlangTracer
from fusepy.inspect.lowered import Inspectable, Lowered
from fusepy.program.bound import after_hooks
from fusepy.trace.setup import NO_SETUP, Setup, no_global
from fusepy.trace.trace import current_trace


class Dispatched(Protocol):
    """The parts of a Slang function that raw dispatch needs."""

    __name__: str
    tracer: SlangTracer
    config: Config
    setup: Setup | None
    programs: ProgramTable


class Dispatch(Inspectable):
    """An entry point with its number of threads, made by ``Function.threads``; called and configured like a function."""

    def __init__(self, function: Dispatched, threads: Sequence[int]):
        self.function = function
        self._threads = tuple(threads)

    def __call__(self, *args: Any, vars: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        """Runs the dispatch; see ``Function.dispatch``."""
        dispatch(self.function, self._threads, args, kwargs, vars)

    call = __call__

    def append_to(self, encoder: Any, *args: Any, vars: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        """Records the dispatch into your command encoder; see ``Function.append_to``."""
        check_encoder(encoder, self.function.__name__)
        dispatch(self.function, self._threads, args, kwargs, vars, encoder)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Raises `ArgumentError`: an entry point runs as it is written, so nothing is lowered."""
        raise ArgumentError(
            f"{self!r}: a raw dispatch runs Slang as it is written, and nothing is made from it",
            hint=f"read it in the module; a call of a plain function shows what it runs: {self.function.__name__}.source(…)",
        )

    def __getattr__(self, name: str) -> Any:
        if name not in ("set", "hook", "options", "constants", "type_conformances", "typeconformance"):
            raise AttributeError(f"{self!r} has no attribute {name!r}")
        configure: Callable[..., Dispatched] = getattr(self.function, name)

        def configured(*args: Any, **kwargs: Any) -> Dispatch:
            return Dispatch(configure(*args, **kwargs), self._threads)

        return configured

    def __repr__(self) -> str:
        return f"{self.function!r} on {'x'.join(map(str, self._threads))} threads"


def thread_count(counts: Sequence[Any], what: str) -> tuple[int, int, int]:
    """Checks one to three extents, and returns three.

    Raises:
        ArgumentError: for anything else.
    """
    given: Any = counts[0] if len(counts) == 1 else counts
    listed = integers(given)
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and 0 <= n < 1 << 32 for n in listed)
    if not 1 <= len(listed) <= 3 or not whole:
        raise ArgumentError(
            f"{what}: a number of threads is one to three integers", saw=shown(given), hint="write threads(width, height)"
        )
    x, y, z = (*map(int, listed), 1, 1)[:3]
    return x, y, z


def _kernel(function: Dispatched) -> RawKernel:
    """Returns the pipeline of an entry point, or of a plain function called once per thread."""
    device, source, options = function.tracer.device, function.tracer.loaded.source, function.config.options
    kernels = function.programs.raw
    found = kernels.get(source.closure)
    if found is None:
        group = device.oracle({"module": source}).entry_points("module").get(function.__name__)
        if group is not None and options.numthreads:
            raise ArgumentError(
                f"{function.__name__} has its own [numthreads]", saw=group, hint="change it in Slang, or make it a plain function"
            )
        kernels.clear()
        found = kernels[source.closure] = RawKernel(device, source, function.__name__, group, options)
    return found


def _sink(device: Device, encoder: Any, name: str) -> AbstractContextManager[Sink]:
    """Returns the sink of a dispatch: the user's encoder, or that of the device."""
    return nullcontext(sink_on(device, name)) if encoder is None else recording_into(device, encoder, name)


def dispatch(
    function: Dispatched,
    threads: Sequence[int],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    vars: Mapping[str, Any] | None,
    encoder: Any = None,
) -> None:
    """Runs one raw dispatch, or records it into an encoder.

    Raises:
        FusepyError: names the parameter that is missing, unknown or does not fit.
    """
    name = function.__name__
    if current_trace() is not None:
        raise ArgumentError(f"{name}: a raw dispatch cannot be fused", hint="call it outside of the fused function")
    if PENDING:
        before_effects()
    try:
        kernel = _kernel(function)
        if len(args) > len(kernel.parameters):
            raise ArgumentError(
                f"{name} takes {len(kernel.parameters)} arguments",
                saw=len(args),
                expected=", ".join(kernel.parameters),
                hint="pass one value per parameter",
            )
        asked = dict(zip(kernel.parameters, args))
        doubled = [k for k in kwargs if k in asked]
        if doubled:
            raise ArgumentError(f"{name} got {doubled[0]!r} twice", hint="pass it by position or by name")
        known = function.tracer.global_names()
        named = {k: v for k, v in kwargs.items() if k in kernel.parameters or k not in known}
        globals = {**{k: v for k, v in kwargs.items() if k not in named}, **(vars or {})}
        for key in globals:
            if key not in known:
                raise no_global(key, known, name)
        own = {k: freeze(v, f"{name}: {k}") for k, v in {**asked, **named}.items()}
        setup = function.setup or NO_SETUP
        bindings = after_hooks(setup, function, kernel.device, args, kwargs)
        if globals:
            bindings = bindings.updated({k: freeze(v, f"{name}: {k}") for k, v in globals.items()})
        with kernel.device.lock, _sink(kernel.device, encoder, name) as sink:
            kernel.dispatch(threads, own, sink, bindings)
            sink.keep(Written(own.values()), bindings)  # user code may write to every argument
    except FusepyError as error:
        raise error.here() from None

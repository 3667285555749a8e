"""The path of a call: make the key of its arguments, find or compile the program for that key, run it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, cast

from fusepy.arguments.field_tensor import without_top
from fusepy.arguments.key import KEYS, signature
from fusepy.arguments.mapped import Mapped
from fusepy.arguments.nested import flat, too_deep
from fusepy.backend.device.choice.chosen import CHOSEN, default_on
from fusepy.backend.device.device import Device
from fusepy.backend.device.recorder import is_encoder, misplaced
from fusepy.backend.execute.destinations import Spreadable
from fusepy.backend.execute.texture_results import Into
from fusepy.backend.kernels.references import ClosedArgumentError
from fusepy.backend.memory.pending import PENDING, RECORDER
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import CompileError, FusepyError
from fusepy.functions.autograd import Tracked, any_tracked, has_autograd
from fusepy.functions.parts import AnyFunction
from fusepy.functions.python_tracer import PythonTracer
from fusepy.ir.oracle import IN
from fusepy.program.bound import SetUpProgram
from fusepy.program.bound import run as run_program
from fusepy.program.compile import compile_program
from fusepy.program.destinations import NESTED, destinations
from fusepy.program.extents import ByExtents, depends_on_extents
from fusepy.program.program import Program
from fusepy.program.sized import SizedByResult, follows
from fusepy.program.slangpy_calls import into_parts, spread, with_opened, with_settings
from fusepy.program.stacked import REFUSED, Stacked, for_each
from fusepy.trace.arity import with_declared
from fusepy.trace.recording import Recording

_SETTINGS = frozenset(("_append_to", "_thread_count"))
_MEMORY = (Tensor, Tensor.of_field)


def run(callee: AnyFunction, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> Any:
    """Runs a call now. The program checks sizes; everything else is in the key."""
    if callee.config.structs:
        args, kwargs = callee.config.as_structs(callee.tracer.parameter_names(), args, kwargs)
    given, asked, returns, keys = args, result, None, KEYS
    try:
        key: Hashable = tuple([a.key if a.__class__ is Tensor else keys[a.__class__](a) for a in args])
    except (KeyError, FusepyError, RecursionError):  # the first argument of its class, or an argument without a key
        if (plain := without_top(args)) is not None:
            return run(callee, plain, kwargs, result)
        if not _SETTINGS.isdisjoint(kwargs):
            return with_settings(run, callee, args, dict(kwargs), result)
        try:
            key = tuple([_key(callee, a, i) for i, a in enumerate(args)])
        except ClosedArgumentError:
            return with_opened(run, callee, args, kwargs, result)
    if kwargs:
        if not _SETTINGS.isdisjoint(kwargs):
            return with_settings(run, callee, args, dict(kwargs), result)
        try:
            key = (key, tuple([(k, v.key if v.__class__ is Tensor else _key(callee, v, 0, k)) for k, v in kwargs.items()]))
        except ClosedArgumentError:
            return with_opened(run, callee, args, kwargs, result)
        args = (*args, *kwargs.values())
    if result is not None and result.__class__ is not Tensor:
        returns, result = destinations(result, args)
        key = (key, returns)
    try:
        known = callee.programs.get(key)
        program = _compiled(callee, key, args, kwargs, returns) if known is None else known
        if result is NESTED:
            return into_parts(run, callee, given, kwargs, asked, program.recording)
        if program.undecided and result is not None:
            targets: Any = result if result.__class__ is tuple else (result,)  # no helper, which would be a call more for each
            for target in targets:
                target = target.value if target.__class__ is Mapped else target
                if target.__class__ in _MEMORY and target.device is not program.device and CHOSEN.get() is None:
                    return _run_on(target.device, callee, given, kwargs, asked)
        if known is not None:
            program.device.counters.plan_hits += 1
        if result is not None and returns is None and (word := getattr(program, "narrow", None)) is not None:
            key, returns = (key, word), word
            program = callee.programs.get(key) or _compiled(callee, key, args, kwargs, returns)
        leaves = flat(args) if program.nested else args
        if program.open:
            if isinstance(program, Tracked):
                if program.applies():
                    return program.apply(callee, args, kwargs, asked)
                program = cast("Program", program.plain)
            if isinstance(program, SizedByResult):
                return run(callee, *program.sized(args, result), asked)
            if isinstance(program, ByExtents):
                program = program.of(leaves, lambda: compile_call(callee, args, kwargs, returns))
        recorder = RECORDER.get()
        if recorder is not None:
            return recorder(callee, program, args, kwargs, asked)
        if PENDING and (result is not None or program.writes):
            program.before(args, result)
        if callee.setup is None:
            if program.follows is not None and not kwargs and not callee.config.structs:
                return callee.programs.fast.run(program, leaves, result, asked)
            return program(leaves, result)
        return run_program(callee.setup, callee, program, args, kwargs, result)
    except CompileError:  # kept, and raised again from other lines
        raise
    except Spreadable as error:
        if result.__class__ is not Tensor or any(map(follows, args)) or _writes(callee, given, kwargs):
            raise error.here() from None
        return spread(run, callee, given, kwargs, cast("Tensor", result))
    except FusepyError as error:
        raise error.here() from None


def _run_on(device: Device, callee: AnyFunction, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> Any:
    """Runs a call on the device of its destination, which alone says where it runs."""
    there = callee.variant(callee.setup, programs=callee.programs.variant(device))
    with default_on(device):
        return run(there, args, kwargs, result)


def _writes(callee: AnyFunction, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """True if a call writes to arguments, so that it cannot run for a smaller grid."""
    return any(p.direction != IN for _, p in callee.tracer.parameters(args, kwargs))


def key_of(callee: AnyFunction, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Hashable:
    """Returns the key of a call without ``_result``."""
    key: Hashable = tuple([_key(callee, a, i) for i, a in enumerate(args)])
    return (key, tuple((k, _key(callee, v, 0, k)) for k, v in kwargs.items())) if kwargs else key


def _key(callee: AnyFunction, value: Any, position: int, name: str = "") -> Hashable:
    """Returns the key of one argument; an error names the argument."""
    try:
        return signature(value)
    except (FusepyError, RecursionError) as error:
        if is_encoder(value):
            raise misplaced(value, callee.__name__) from None
        names = callee.tracer.parameter_names()
        name = name or (names[position] if position < len(names) else f"#{position}")
        if isinstance(error, RecursionError):
            raise too_deep(callee.__name__, value, name) from None
        error.what = f"{callee.__name__}: argument '{name}{error.below}': {error.what}"
        raise error.here() from None


def compile_call(callee: AnyFunction, args: tuple[Any, ...], kwargs: Mapping[str, Any], returns: str | Into | None) -> Program:
    """Compiles a call; `args` end with the values of `kwargs`."""
    recording = callee.tracer.record(args[: len(args) - len(kwargs)], kwargs, callee.config)
    return compile_recording(callee, recording, returns)


def compile_recording(callee: AnyFunction, recording: Recording, returns: str | Into | None) -> Program:
    """Compiles a traced call."""
    config = callee.config
    settings = (returns or config.returns, config.strict_broadcasting, config.options)
    if recording.trace.setup is None:
        return compile_program(recording, *settings)
    return compile_program(recording, *settings, SetUpProgram, caller=callee)


def _compiled(
    callee: AnyFunction, key: Hashable, args: tuple[Any, ...], kwargs: Mapping[str, Any], returns: str | Into | None
) -> Program:
    """Compiles the program of a new key."""
    if any_tracked(args):
        recording = callee.tracer.record(args[: len(args) - len(kwargs)], kwargs, callee.config)
        program: Any = Tracked(callee, recording)
    else:
        try:
            program = compile_call(callee, args, kwargs, returns)
        except REFUSED as error:
            return _of_stacked(error, callee, key, args, kwargs, returns)
        recording = program.recording
        if program.open:
            program = SizedByResult(program, tuple(kwargs))
        elif depends_on_extents(program):
            program = ByExtents(program)
        if any(map(has_autograd, recording.trace.captures)):
            program = Tracked(callee, recording, program)
    program.device.counters.plan_misses += 1
    callee.programs.hold(key, program)
    return program


def _of_stacked(
    error: FusepyError, callee: AnyFunction, key: Hashable, args: Any, kwargs: Mapping[str, Any], returns: str | Into | None
) -> Program:
    """Compiles a call for each value of a list or component of a vector, and keeps it under the key of the arguments."""

    def compiled(given: tuple[Any, ...], named: Mapping[str, Any]) -> Program:
        inner = key_of(callee, given, named)
        return _compiled(callee, inner if returns is None else (inner, returns), (*given, *named.values()), named, returns)

    made = for_each(error, args[: len(args) - len(kwargs)], kwargs, compiled)
    program: Any = Stacked(made, tuple(kwargs), error)
    callee.programs.hold(key, program)
    return program


def bound(
    callee: AnyFunction, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any
) -> tuple[AnyFunction, tuple[Any, ...], Mapping[str, Any], Any]:
    """Binds static arguments: returns the function with their values, the other arguments, and the destination."""
    settings = {} if _SETTINGS.isdisjoint(kwargs) else {k: v for k, v in kwargs.items() if k in _SETTINGS}
    kwargs = {k: v for k, v in kwargs.items() if k not in settings} if settings else kwargs
    if isinstance(callee.tracer, PythonTracer) and (callee.config.specs or callee.config.named_specs):
        kwargs = with_declared(callee.tracer.signature, args, kwargs, callee.config.spec)
    tracer, key, args, kwargs, result = callee.tracer.bind(args, kwargs, result)
    kwargs = {**kwargs, **settings} if settings else kwargs
    if not key:
        return callee, args, kwargs, result
    return callee.variant(callee.setup, tracer=tracer, programs=callee.programs.variant(key)), args, kwargs, result

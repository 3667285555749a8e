"""A call that is traced and not run: what `ir`, `source`, `explain` and pages show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from fusepy.arguments.mapped import unmapped
from fusepy.arguments.nested import flat
from fusepy.backend.kernels.references import ClosedArgumentError
from fusepy.backend.memory.pending import describing
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import FusepyError
from fusepy.functions.call import bound, compile_call, compile_recording, key_of
from fusepy.functions.parts import AnyFunction, needs_bind
from fusepy.inspect.cache_miss import nearest
from fusepy.inspect.lowered import Lowered
from fusepy.location import at_line, user_line
from fusepy.program.destinations import NESTED, destinations
from fusepy.program.extents import ByExtents
from fusepy.program.program import Program
from fusepy.program.sized import SizedByResult
from fusepy.program.slangpy_calls import laid_flat, struct_of, with_opened
from fusepy.program.stacked import REFUSED, for_each
from fusepy.trace.recording import Recording


def lower(callee: AnyFunction, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> Lowered:
    """Traces a call without running it, and looks its key up among the compiled programs.

    A call with destinations is planned at once, so that it raises the errors of the call about them.
    """
    if needs_bind(callee.tracer, args, kwargs):
        callee, args, kwargs, result = bound(callee, args, kwargs, result)
    if callee.config.structs:
        args, kwargs = callee.config.as_structs(callee.tracer.parameter_names(), args, kwargs)
    try:
        with describing():
            key, returns = key_of(callee, args, kwargs), None
    except ClosedArgumentError:
        return with_opened(lower, callee, args, kwargs, result)
    values, line, asked = (*args, *kwargs.values()), user_line(), result
    if result is not None and result.__class__ is not Tensor:
        returns, result = destinations(result, values)
        key = (key, returns)

    @cache
    def compiled() -> tuple[Program, Sequence[Any], Mapping[str, Any]]:
        with at_line(line):  # the error names the line of the call, not the line that asks
            program, given, named = compile_recording(callee, recording, returns), args, kwargs
            if program.open:
                given, named = SizedByResult(program, tuple(kwargs)).sized(values, result)
                program = compile_call(callee, (*given, *named.values()), named, returns)
            if result is not None:
                program.check(flat((*given, *named.values())), result)
            return program, given, named

    try:
        recording = callee.tracer.record(args, kwargs, callee.config)
    except REFUSED as error:
        return for_each(error, args, kwargs, lambda given, named: lower(callee, given, named, asked))
    except FusepyError as error:
        raise error.here() from None
    if result is NESTED:
        given = laid_flat(asked, recording, []) if struct_of(recording) is None else None
        return lower(callee, args, kwargs, given)
    known = "a program for such arguments is there" if key in callee.programs else _nearest(callee, recording, values)
    if result is not None:
        compiled()
    return Lowered(callee, callee.setup, recording, known, compiled)


def _nearest(callee: AnyFunction, recording: Recording, values: Sequence[Any]) -> str:
    """Returns how the nearest compiled program differs from a call."""
    classes = [type(unmapped(v)).__name__ for v in flat(values)]
    recordings = [p.recording for p in callee.programs.values() if not p.open or isinstance(p, ByExtents)]
    return nearest(recording.graph, classes, recordings)

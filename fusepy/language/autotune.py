"""`autotune`: the thread shape of elementwise kernels, measured for one program on this device and kept in the disk cache."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

from fusepy.backend.cache.format import sealed, unsealed
from fusepy.backend.emit.region import EMITTER_VERSION
from fusepy.backend.execute.plan import Plan
from fusepy.backend.execute.timing import can_time
from fusepy.errors import ArgumentError, TraceError
from fusepy.functions.device_function import DeviceFunction
from fusepy.inspect.lowered import Lowered
from fusepy.inspect.measure import seconds_per_kernel
from fusepy.trace.trace import current_trace

SHAPES = ((32, 1), (64, 1), (128, 1), (256, 1), (512, 1), (128, 2), (256, 2), (128, 4), (256, 4))  # threads, elements a thread
GAIN = 0.97  # less than that is noise: the shape that fusepy chooses by itself stays


def autotune(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Returns `function` with the thread shape that is fastest for arguments like these, on their device.

    The call runs some hundred times, with memory of its own for results: as it is, and with other numbers of threads a group and
    elements a thread. The answer is kept in the disk cache, for this program, these extents, and this device; after that nothing
    is measured. On a device without timestamps nothing is measured, and the usual shape stays. `explain` of the returned function
    says what was chosen. Any arguments may be passed to it.

    Results do not change: only elementwise kernels are tuned, in which the shape decides which thread computes an element, and
    nothing else. Reductions, scans and rows keep their shapes, so that the same call gives the same bits, tuned or not.

    Args:
        function: a Slang function or a fused function, without a thread group of its own.
        args, kwargs: the arguments of a typical call.

    Raises:
        ArgumentError: if `function` is no function of the device, sets its thread group or writes to its arguments, or if the
            call has no elementwise kernel.
        TraceError: inside a fused function.

    Example:
        >>> import numpy as np
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_tune", "float f(float x) { return x * sin(x); }")
        >>> x = np.ones(10000, np.float32)
        >>> fast = fp.autotune(m.f, x)
        >>> bool((fast(x) == m.f(x)).all())
        True
    """
    lowered = _lowered(function, args, kwargs)
    key, device = _key(lowered), lowered.program.device
    if not can_time(device):
        return _shaped(function, 0, 0, f"autotune: not measured, since {device.name} has no timestamps")
    entry = device.cache.get(key)
    found = None if entry is None else unsealed(entry.header)
    if found is None:
        found = _measured(function, lowered, key, args, kwargs)
        device.cache.put(key, sealed(found), {})
    threads, per_thread, said = found["threads"], found["per_thread"], found["said"]
    return _shaped(function, threads, per_thread, said)


def _shaped(function: Any, threads: int, per_thread: int, said: str = "") -> Any:
    """Returns a function with this thread shape; 0 threads leave the usual one."""
    options = replace(function.config.options, numthreads=(threads,) if threads else (), per_thread=per_thread, tuned=said)
    return function.variant(function.setup, replace(function.config, options=options))


def _lowered(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Lowered:
    """Returns the call, which can be tuned."""
    if current_trace() is not None:
        raise TraceError("autotune inside a fused function", hint="tune the fused function as a whole")
    if not isinstance(function, DeviceFunction):
        hint = "pass a function of a module, or one under fp.fuse"
        raise ArgumentError("autotune: this is no function of the device", saw=type(function).__name__, hint=hint)
    name = function.__name__
    if function.config.options.numthreads:
        saw = f"numthreads={list(function.config.options.numthreads)}"
        raise ArgumentError(f"autotune: {name} sets its thread group", saw=saw, hint="tune it without options(numthreads=...)")
    lowered = function.lower(*args, **kwargs)
    program = lowered.program
    if program.acts or program.writes:
        raise ArgumentError(f"autotune: {name} writes to its arguments", hint="tune a function that returns what it computes")
    if not any(type(plan) is Plan for plan in program.executable.plans):
        hint = "call it as it is: the shapes of reductions follow from the sizes, so that results never change"
        raise ArgumentError(f"autotune: {name} has no elementwise kernel", hint=hint)
    return lowered


def _key(lowered: Lowered) -> str:
    """Returns the key of an answer: the texts of all kernels with their modules, the extents, and the device."""
    program = lowered.program
    tape = program.tape(lowered.leaves)
    texts = [
        program.lowering.source(piece.plan.region, launch.variant, plain=True).text
        for piece in tape.pieces
        for launch in piece.launches
    ]
    digest = hashlib.sha256("\n".join([*texts, *(s.closure for s in program.sources)]).encode()).hexdigest()
    shapes = [slot.shape for slot in tape.slots]
    return json.dumps(["autotune 1", EMITTER_VERSION, program.device.identity, digest, shapes, SHAPES])


def _measured(function: Any, lowered: Lowered, usual_key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Measures all shapes that change a kernel; returns the fastest, and its line in `explain`."""
    usual = _seconds(lowered)
    times = {(0, 0): usual * GAIN}
    for threads, per_thread in SHAPES:
        made = _shaped(function, threads, per_thread).lower(*args, **kwargs)
        if _key(made) != usual_key:
            times[threads, per_thread] = _seconds(made)
    best = min(times, key=lambda shape: times[shape])
    tried = f"{len(times)} shapes measured"
    if best == (0, 0):
        return {"threads": 0, "per_thread": 0, "said": f"autotune: the usual thread shape, {usual * 1e6:,.0f} µs ({tried})"}
    said = f"autotune: groups of {best[0]}, {best[1]} elements a thread, {times[best] * 1e6:,.0f} µs"
    return {"threads": best[0], "per_thread": best[1], "said": f"{said} instead of {usual * 1e6:,.0f} ({tried})"}


def _seconds(lowered: Lowered) -> float:
    """Returns the time of all kernels of a call."""
    program, given, named = lowered.compile()
    return sum(seconds_per_kernel(lowered.function, lowered.setup, program, given, named)[0])

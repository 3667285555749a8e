"""`check_nan`: a function that raises at the first operation that makes a NaN."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from keyword import iskeyword
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fusepy.backend.memory.host_arrays import contents_of
from fusepy.backend.memory.pending import RECORDER
from fusepy.errors import ArgumentError, NonFiniteError, TraceError
from fusepy.functions.function import Function
from fusepy.functions.fused import FusedFunction, fuse
from fusepy.inspect.pixel_report import shown
from fusepy.inspect.probe import ValueProbe
from fusepy.ir.graph import Node, Value
from fusepy.ir.oracle import OUT
from fusepy.language.pixel import element_at
from fusepy.location import user_line
from fusepy.pytree import flatten
from fusepy.trace.trace import current_trace

__all__ = ["check_nan"]

Mask = NDArray[np.bool_]
KIND = inspect.Parameter.POSITIONAL_OR_KEYWORD
HINT = (
    "keep its operands in range, such as fp.sqrt(fp.maximum(x, 0.0));"
    " fp.inspect_pixel(f, args, at=(y, x)) shows all values on the way to one element"
)


def check_nan(function: Callable[..., Any], *, infinite: bool = False) -> Callable[..., Any]:
    """Returns the function that calls `function` and raises if an operation makes a NaN, also one that no result shows.

    Each call of a Slang function, a fused function, a graph or a function of fusepy inside is computed once more, with every
    value of it on the host, and then run as it is; so this takes more time and memory than the call. Loops, branches and Slang
    functions count as one operation. A call that has effects, such as one that writes a buffer, is run once, and only its results
    are checked, when it has written. Draws, ray-tracing pipelines and `bwds` are run without a check.

    Args:
        function: a Slang function, a fused function, a graph, a method, or a Python function that calls such.
        infinite: true to raise for infinities too.

    Raises:
        NonFiniteError: when called; names the first operation in the order of the program that makes a NaN of elements that are
            none, its line, the index of the first such element, and the values there. If there is none, but an argument of a call
            is NaN, it names the argument.
        ArgumentError: for anything but a function.
        TraceError: when called while a fused function is traced.

    Example:
        >>> import fusepy as fp
        >>> fp.debug.check_nan(fp.fuse(lambda x: fp.sqrt(x) + 1))([4.0, 9.0])
        [3.0, 4.0]
        >>> try:
        ...     fp.debug.check_nan(fp.fuse(lambda x: fp.where(x > 0, fp.sqrt(x), 0)))([4.0, -9.0])
        ... except fp.NonFiniteError as error:
        ...     print(error.index, error.operands)
        (1,) {'x': -9.0}
    """

    if not callable(function):
        hint = "write fp.debug.check_nan(f)(x): it returns a function that checks each call of f"
        raise ArgumentError("check_nan() takes a function", saw=repr(function)[:60], hint=hint)

    @functools.wraps(function, updated=())
    def checked(*args: Any, **kwargs: Any) -> Any:
        if current_trace() is not None:
            hint = "call it outside, on the fused function"
            raise TraceError("check_nan() inside of a fused function", hint=hint)
        token = RECORDER.set(functools.partial(_checked, infinite))
        try:
            return function(*args, **kwargs)
        finally:
            RECORDER.reset(token)

    return checked


def _checked(infinite: bool, callee: Any, program: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> Any:
    """Checks a call, and then runs it. `args` end with the values of `kwargs`."""
    given, run = tuple(args[: len(args) - len(kwargs)]), callee._run
    token = RECORDER.set(None)
    try:
        if isinstance(callee, (Function, FusedFunction)):
            if program.acts:  # computing it once more would write twice
                return _checked_results(callee.__name__, run(given, kwargs, result), infinite)
            probe, given_in, named_in = _probe(callee, given, kwargs)
            arrays = [np.asarray(v) for v in fuse(probe)(*given_in, **named_in, _result="numpy")]
            _raise_first(probe, dict(zip(probe.values, arrays)), infinite)
        return run(given, kwargs, result)
    finally:
        RECORDER.reset(token)


def _checked_results(name: str, made: Any, infinite: bool) -> Any:
    """Returns the results of a call that has run; raises `NonFiniteError` if a number among them is not finite."""
    for leaf in flatten(made)[0]:
        array = contents_of(leaf)
        found: Any = np.asarray(leaf) if array is None and isinstance(leaf, (float, np.generic)) else array
        if found is not None:
            extents: Any = getattr(cast("Any", leaf), "shape", found.shape)
            mask = _mask(found, len(extents), infinite)
            if mask.any():
                index = tuple(int(i) for i in np.argwhere(mask)[0])
                raise _error(f"{name}: a result holds", found[index], index, {}, None)
    return made


def _probe(callee: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[ValueProbe, Sequence[Any], Mapping[str, Any]]:
    """Returns the probe of a call with the names of its parameters, and the arguments that are read."""
    probe = ValueProbe(callee, getattr(callee.tracer, "values", {}))
    params = [param for _, param in callee.tracer.parameters(args, kwargs)]
    placed = list(zip(params, args))
    by_name = dict(zip(kwargs, params[len(args) :]))
    named = {name: value for name, value in kwargs.items() if by_name[name].direction != OUT}
    if any(param.direction == OUT for param, _ in placed):  # what follows one is passed by name
        first = next(i for i, (param, _) in enumerate(placed) if param.direction == OUT)
        named = {**{param.name: value for param, value in placed[first:] if param.direction != OUT}, **named}
        placed = placed[:first]
    names = [*(param.name for param, _ in placed), *named]
    if len({*names}) == len(names) and not any(map(iskeyword, names)):  # overloads may have others; Slang has other keywords
        probe.__signature__ = inspect.Signature([inspect.Parameter(name, KIND) for name in names])
    return probe, [value for _, value in placed], named


def _raise_first(probe: ValueProbe, found: Mapping[Value, Any], infinite: bool) -> None:
    """Raises `NonFiniteError` for the first value that is not finite, if there is one."""
    masks = {v: _mask(array, v.rank, infinite) for v, array in found.items()}
    if not any(mask.any() for mask in masks.values()):
        return
    names = {v: v.name or "?" for v in probe.graph.inputs}
    for node in probe.graph.nodes:
        results, text = probe.named(node)
        names.update(zip(node.results, results))
        for value in node.results:
            begins = _begins(node, value, masks)
            if begins is not None and begins.any():
                index = tuple(int(i) for i in np.argwhere(begins)[0])
                at = {names[v]: element_at(found[v], index, begins.shape) for v in node.operands if v in found}
                raise _error(f"{probe.graph.name}: {_operation(node, text)} gives", found[value][index], index, at, node.loc)
    for value in probe.graph.inputs:
        if value in masks and masks[value].any():
            index = tuple(int(i) for i in np.argwhere(masks[value])[0])
            raise _error(f"{probe.graph.name}: argument {value.name!r} holds", found[value][index], index, {}, None)


def _begins(node: Node, value: Value, masks: Mapping[Value, Mask]) -> Mask | None:
    """Returns the elements of a result that are bad although the operands there are not; ``None`` for a value without numbers."""
    mask = masks.get(value)
    if mask is None:
        return None
    for operand in node.operands:
        other = masks.get(operand)
        if other is not None:
            fits = other.ndim <= mask.ndim and all(n in (1, m) for n, m in zip(other.shape[::-1], mask.shape[::-1]))
            mask = mask & ~(other if fits else other.any())
    return mask


def _mask(array: Any, rank: int, infinite: bool) -> Mask:
    """Returns the elements of an array that are NaN, or not finite, in some component."""
    if array.dtype.names is not None:
        parts = [_mask(array[name], rank, infinite) for name in array.dtype.names]
        return np.asarray(np.any(np.stack(parts), axis=0))
    if array.dtype.kind != "f":
        shape: tuple[int, ...] = array.shape[:rank]
        return np.zeros(shape, np.bool_)
    bad = ~np.isfinite(array) if infinite else np.isnan(array)
    return np.asarray(bad.any(axis=tuple(range(rank, array.ndim))))


def _operation(node: Node, text: str) -> str:
    """Returns an operation in words."""
    return f"the Slang function {node.attrs['function']}" if "function" in node.attrs else text


def _error(what: str, element: Any, index: tuple[int, ...], operands: Mapping[str, Any], loc: str | None) -> NonFiniteError:
    values = ", ".join(f"{name} = {shown(value)}" for name, value in operands.items())
    kind = "NaN" if _mask(np.asarray(element), 0, False) else "infinity"
    saw = f"{shown(element)} at {index}" + (f", of {values}" if values else "")
    error = NonFiniteError(f"{what} {kind}", place=loc or user_line(), saw=saw, hint=HINT)
    error.index = index
    error.operands = {
        name: v.item() if isinstance(v, np.generic) and v.dtype.names is None else v for name, v in operands.items()
    }
    return error

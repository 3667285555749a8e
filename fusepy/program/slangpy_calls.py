"""Calls as slangpy has them: settings among the keywords, arguments to open, destinations with more axes than the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fusepy.arguments.mapping import vcast
from fusepy.backend.kernels.references import opened
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.tensor import Tensor
from fusepy.ir.oracle import IN
from fusepy.ir.types import Type
from fusepy.program.sized import sized

Run = Callable[[Any, tuple[Any, ...], Mapping[str, Any], Any], Any]  # runs a function with arguments and a destination
_CONVERTERS: dict[Type, Any] = {}  # fused functions that convert numbers


def spread(run: Run, callee: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Tensor) -> None:
    """Runs a call whose result is repeated along more axes of its destination, or is stored as floats."""
    found: Tensor = run(callee, args, kwargs, "tensor")
    if not found.element.same(result.element):
        type = result.dtype
        convert = _CONVERTERS.get(type)
        if convert is None:
            convert = _CONVERTERS[type] = callee._traced(partial(vcast, type=type))
        found = run(convert, (found,), {}, "tensor")
    result.copy_from(found.broadcast_to(result.shape))


def with_settings(run: Run, callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    """Runs a call with slangpy's settings among its keywords: an encoder, or the number of threads."""
    encoder, count = (kwargs.pop(name, None) for name in ("_append_to", "_thread_count"))
    if count is not None:
        args = tuple([sized(a, (count,)) for a in args])
        kwargs = {k: sized(v, (count,)) for k, v in kwargs.items()}
    if encoder is not None:
        return callee.append_to(encoder, *args, _result=result, **kwargs)
    return run(callee, args, kwargs, result)


def with_opened(run: Run, callee: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> Any:
    """Runs a call after opening its arguments; references among them get what it writes."""
    after: list[Callable[[], None]] = []
    slots = [p for _, p in callee.tracer.parameters(args, kwargs)]
    loaded = getattr(callee.tracer, "loaded", None)  # the source of a Slang function
    oracle = None if loaded is None else callee.tracer.device.oracle({"module": loaded.source})
    types = [None if p.type is None or p.direction == IN else Element.of(p.type, oracle) for p in slots]
    given = [
        opened(value, element, after, p.direction != IN) for value, element, p in zip((*args, *kwargs.values()), types, slots)
    ]
    found = run(callee, tuple(given[: len(args)]), dict(zip(kwargs, given[len(args) :])), result)
    for update in after:
        update()
    return found

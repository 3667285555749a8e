"""Mappings of the arguments of fused functions that are called inside of another one: they are said of the called function.

Inside of that function they are asked as little as those of the outermost one (see `alike`). Outside, its results inherit.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

from fusepy.arguments.fields import fields_of
from fusepy.arguments.mapped import Mapped
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Value
from fusepy.pytree import container_of
from fusepy.trace.open_trace import CallScope, OpenTrace

Dims = tuple[int, ...]


@contextmanager
def said_of_call(trace: OpenTrace, args: Iterable[Any]) -> Generator[None]:
    """Surrounds a call of a fused function inside a trace; what it has computed of its mapped arguments is inherited then."""
    dims = [d for d in _mapped_dims(args) if scope_of(trace, (), (ArgMap(d),)) is None]
    if not dims:
        yield
        return
    trace.calls.append(scope := CallScope(dims, set()))
    try:
        yield
    finally:
        trace.calls.pop()
        trace.inherited.update(scope.results)


def scope_of(trace: OpenTrace, values: Iterable[Value], maps: Iterable[ArgMap]) -> CallScope | None:
    """Returns the innermost call of whose mapped arguments operands are, or are computed."""
    values, maps = list(values), list(maps)
    for scope in reversed(trace.calls):
        if not scope.results.isdisjoint(values) or any(m.dims is d for m in maps for d in scope.dims):
            return scope
    return None


def after_cast(trace: OpenTrace, said: ArgMap, dims: Dims | None) -> Dims | None:
    """Returns the dimensions of a cast operand: a tuple of its own if a vmap says them for this use, see `alike.is_said`."""
    return dims if said.dims is None or dims is None or scope_of(trace, (), (said,)) is not None else (*dims,)


def _mapped_dims(args: Iterable[Any]) -> list[Dims]:
    """Returns the dimensions of mapped arguments, and of mapped leaves of nested ones, which may contain themselves."""
    found, seen, open = list[Dims](), dict[int, Any](), [*args]
    while open:
        value = open.pop()
        if isinstance(value, Mapped):
            found += [value.map.dims] if value.map.dims else []
        elif id(value) not in seen:
            seen[id(value)] = value
            container = container_of(value) or fields_of(value)
            open += [] if container is None else container.parts(value).values()
    return found

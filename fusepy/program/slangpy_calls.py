"""Calls as slangpy has them: settings among the keywords, arguments to open, destinations with more axes than the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from fusepy.arguments.field_tensor import without_fields
from fusepy.arguments.fields import fields_of
from fusepy.arguments.mapped import unmapped
from fusepy.arguments.mapping import vcast
from fusepy.arguments.nested import leaves_of
from fusepy.backend.device.recorder import check_encoder
from fusepy.backend.kernels.references import opened
from fusepy.backend.marshals.registry import host_array
from fusepy.backend.marshals.result_kinds import is_writable
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.recast import reinterpret
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ArgumentError, did_you_mean
from fusepy.ir.oracle import IN
from fusepy.ir.types import Kind, Type
from fusepy.program.sized import sized
from fusepy.trace.setup import CallContext

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


def into_fields(run: Run, callee: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    """Runs a call whose result is a struct, or a dict, with a dict of destinations; single values in it stay as they are.

    Raises:
        ArgumentError: if the result is neither, has no result of a name, or nothing in the dict can be written to.
    """
    after: list[Callable[[], None]] = []
    targets = [(path.split(".")[1:], t) for path, t in leaves_of(opened(result, None, after, fields_of), "_result")]
    targets = [(names, unmapped(t)) for names, t in targets if is_writable(unmapped(t))]
    found: Any = run(callee, args, kwargs, "tensor")
    type = getattr(found, "dtype", found.__class__.__name__)  # several results have none
    known = list(cast("Mapping[str, Any]", found)) if isinstance(cast("object", found), Mapping) else None
    wrong = [] if known is None else [names[0] for names, _ in targets if names[0] not in known]
    if wrong:
        raise ArgumentError(
            f"{callee.__name__}: _result: there is no result {wrong[0]!r}", saw=wrong[0], hint=did_you_mean(wrong[0], known or ())
        )
    if not targets or (known is None and getattr(type, "kind", None) is not Kind.NAMED):
        raise ArgumentError(
            f"{callee.__name__}: _result: a dict receives the members of a struct, or the results in a dict",
            saw=f"{type}, and {len(targets)} members that can be written",
            hint="give a tensor or an array for each member that is wanted; for several results, a tuple of destinations",
        )
    for names, target in targets:
        part = found
        for name in names:
            part = part[name]
        if host_array(target) is None:
            part = part.flatten_dtype() if target.element.scalar and part.element.shape else part
            seen = None if part.element.same(target.element) else reinterpret(part.contiguous(), target.element)
            target.copy_from((part if seen is None else seen).broadcast_to(target.shape))
        else:
            target[...] = part.to_numpy()
    for update in after:
        update()


def with_settings(run: Run, callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    """Runs a call with slangpy's settings among its keywords: an encoder, or the number of threads."""
    encoder, count = (kwargs.pop(name, None) for name in ("_append_to", "_thread_count"))
    if count is not None:
        args = tuple([sized(a, (count,)) for a in args])
        kwargs = {k: sized(v, (count,)) for k, v in kwargs.items()}
    if encoder is not None:
        check_encoder(encoder, callee.__name__)
        callee = callee._into(encoder)
    return run(callee, args, kwargs, result)


def with_opened(run: Run, callee: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> Any:
    """Runs a call after opening its arguments; references among them get what it writes."""
    after: list[Callable[[], None]] = []
    slots = [p for _, p in callee.tracer.parameters(args, kwargs)]
    loaded = getattr(callee.tracer, "loaded", None)  # the source of a Slang function
    oracle = None if loaded is None else callee.tracer.device.oracle({"module": loaded.source})
    types = [None if p.type is None or p.direction == IN else Element.of(p.type, oracle) for p in slots]
    values = zip(map(without_fields, (*args, *kwargs.values())), types, slots)
    given = [opened(value, element, after, fields_of, p.direction != IN) for value, element, p in values]
    found = run(callee, tuple(given[: len(args)]), dict(zip(kwargs, given[len(args) :])), result)
    for update in after:
        update()
    return found


class GlobalsCursor:
    """The cursor that ``Function.write`` hands to a writer: it sets the globals of the call, like slangpy's ``ShaderCursor``.

    ``cursor.write({"params": {"k": 2}})``, ``cursor["params"]["k"] = 2`` and ``cursor.params.k = 2`` mean the same.
    """

    __slots__ = ("_context", "_path")

    def __init__(self, context: CallContext, path: tuple[str, ...] = ()):
        object.__setattr__(self, "_context", context)
        object.__setattr__(self, "_path", path)

    def write(self, values: Any) -> None:
        """Sets what the cursor stands at; of the globals and of structs, a dict of some or all members."""
        for name in reversed(self._path):
            values = {name: values}
        self._context.set(values)

    def __getitem__(self, name: str) -> GlobalsCursor:
        return GlobalsCursor(self._context, (*self._path, name))

    def __setitem__(self, name: str, value: Any) -> None:
        self[name].write(value)

    def __getattr__(self, name: str) -> GlobalsCursor:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self[name].write(value)

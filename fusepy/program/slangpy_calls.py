"""Calls as slangpy has them: settings among the keywords, arguments to open, destinations in containers or with more axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from fusepy.arguments.field_tensor import without_fields
from fusepy.arguments.fields import fields_of
from fusepy.arguments.mapped import unmapped
from fusepy.arguments.mapping import vcast
from fusepy.arguments.nested import leaves_of
from fusepy.backend.device.recorder import check_encoder
from fusepy.backend.kernels.references import opened
from fusepy.backend.marshals.registry import batch_extents
from fusepy.backend.marshals.result_kinds import is_writable
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ArgumentError, did_you_mean
from fusepy.ir.oracle import IN
from fusepy.ir.types import Kind, Type
from fusepy.program.destinations import nests
from fusepy.program.sized import sized
from fusepy.pytree import ENTRIES, ITEMS, LEAF, Structure, container_of
from fusepy.trace.recording import Recording
from fusepy.trace.setup import CallContext

Run = Callable[[Any, tuple[Any, ...], Mapping[str, Any], Any], Any]  # runs a function with arguments and a destination
_CONVERTERS: dict[Type, Any] = {}  # fused functions that convert numbers
_ALIKE = "give one destination for each result, in the same containers; None for one that is to be returned, or has its own"


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


def into_parts(run: Run, callee: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any, recording: Recording) -> Any:
    """Runs a call whose destinations lie in a container: one like that of the results, or the members of a struct by name.

    Raises:
        ArgumentError: for a container that is not like the results.
    """
    after: list[Callable[[], None]] = []
    struct = struct_of(recording)
    if struct is not None:
        members = dict(leaves_of(opened(result, None, after, fields_of), "_result"))
        members = {path: unmapped(t) for path, t in members.items() if is_writable(unmapped(t))}
        found = _into_members(run, callee, args, kwargs, members, Element.of(struct, recording.trace.oracle))
    else:
        found = run(callee, args, kwargs, laid_flat(result, recording, after))
    for update in after:
        update()
    return found


def struct_of(recording: Recording) -> Type | None:
    """Returns the struct that is the only result of a call, whose members may have destinations; ``None`` for other results."""
    type = recording.graph.outputs[list(recording.kept()).index(True)].type if recording.structure is LEAF else None
    return type if type is not None and type.kind is Kind.NAMED else None


def laid_flat(result: Any, recording: Recording, after: list[Callable[[], None]]) -> tuple[Any, ...]:
    """Returns the destinations in a container like that of the results, as a tuple in the order of the results.

    Args:
        after: gets what is to be done after the call, for references among them.

    Raises:
        ArgumentError: for a container that is not like the results.
    """
    given = iter(_matched(recording.structure, result, f"{recording.graph.name}: _result"))
    flat = [next(given) if kept else None for kept in recording.kept()]
    outs = recording.outs or [None] * len(flat)
    for path, target, out in zip(recording.paths(), flat, outs):
        if target is not None and out is not None:
            said = f"{recording.graph.name}: {path} is argument {recording.names[out]!r}, which has its destination"
            raise ArgumentError(said, saw=f"a {target.__class__.__name__}", hint=_ALIKE)
    return tuple([opened(target, None, after, fields_of) for target, out in zip(flat, outs) if out is None])


def _matched(like: Structure, given: Any, path: str) -> list[Any]:
    """Returns the destination of each leaf of the results; ``None`` for those that have none."""
    if given is None or (like is LEAF and not nests(given)):
        return [given] * like.leaves
    if like.container is None and like is not LEAF and given == like.like:  # the name of a struct
        return []
    container = container_of(given) if nests(given) else None
    parts = {} if container is None else dict(container.parts(given))
    ordered = container is ITEMS
    if container is None or like is LEAF or (ordered and (like.container is ENTRIES or len(parts) != len(like.keys))):
        count = f" of {len(parts)}" if ordered else ""
        raise ArgumentError(
            f"{path} is not like the result",
            saw=f"a {type(given).__name__}{count}",
            expected=f"destinations as in {like}" if like is not LEAF else "one destination",
            hint=_ALIKE,
        )
    found = dict(zip(like.keys, parts.values())) if ordered else parts
    for key in found:
        if key not in like.keys:
            near = did_you_mean(str(key), map(str, like.keys))
            raise ArgumentError(f"{path}: there is no result {key!r}", saw=repr(key), expected=list(like.keys), hint=near)
    step = "" if like.container is None else like.container.step
    inner = [_matched(part, found.get(key), path + step.format(key)) for key, part in zip(like.keys, like.parts)]
    return [target for part in inner for target in part]


def _into_members(
    run: Run, callee: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], targets: Mapping[str, Any], element: Element
) -> Tensor:
    """Runs a call that returns structs, and writes members of them to destinations, which may have more axes in front."""
    for path in targets:
        dtype = element.dtype
        for name in path.split(".")[1:]:
            known = dtype.names or ()
            if name not in known:
                raise ArgumentError(f"{callee.__name__}: there is no {path}", saw=name, hint=did_you_mean(name, known))
            dtype = dtype[name]
    if not targets:
        raise ArgumentError(
            f"{callee.__name__}: _result has nothing that can be written",
            saw=f"no tensor or array for a member of {element.type}",
            hint="give a tensor or an array for each member that is wanted",
        )
    found = run(callee, args, kwargs, "tensor")
    parts: list[Any] = []
    for path, target in targets.items():
        part = found
        for name in path.split(".")[1:]:
            part = part[name]
        shape = tuple(batch_extents(target, len(part.element.shape)))
        parts.append(part.broadcast_to(shape) if shape[len(shape) - part.ndim :] == part.shape else part)
    paths, copies = tuple(targets), callee.programs.copies
    copy = copies.get(paths)
    if copy is None:
        copy = copies[paths] = callee._traced(_named_parts(callee.__name__, paths))
    encoder = None if callee.setup is None else callee.setup.encoder
    (copy if encoder is None else copy._into(encoder))(*parts, _result=tuple(targets.values()))
    return found


def _named_parts(name: str, paths: Sequence[str]) -> Callable[..., Any]:
    """Returns a function of this name that returns its arguments under the last parts of these paths."""

    def members(*parts: Any) -> Any:
        return {path.removeprefix("_result."): part for path, part in zip(paths, parts)}

    members.__name__ = name
    return members


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

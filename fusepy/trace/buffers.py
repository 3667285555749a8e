"""Buffers of the graphics layer as arrays of elements, for parameters that take one element per thread.

A buffer has a size of its elements (``struct_size``), but no type. So each type of that size that a parameter has, or could
have, is tried as the element type, and the whole buffer too. Without a size it is each type that a parameter states. Slang says
which of these it takes. The choice becomes an input of its own over the same memory, like arrays of numbers that are read as
structs (`fusepy.backend.memory.structs`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fusepy.backend.device.device import Device
from fusepy.backend.marshals.resource import adopt_buffer, wrong_size
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.structs import ArgumentView
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import AmbiguousCallError, FusepyError, UnsupportedArgumentError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.arrivals import TENSOR
from fusepy.ir.graph import Value
from fusepy.ir.oracle import OUT
from fusepy.ir.resolve.ambiguity import MOST_SHOWN
from fusepy.ir.resolve.resolve import resolve_call
from fusepy.ir.resolve.spelling import python_name, python_type
from fusepy.ir.types import SCALARS, Kind, Type
from fusepy.trace.inputs import add_input
from fusepy.trace.open_trace import OpenTrace

_WHOLE = (Kind.RESOURCE, Kind.POINTER)
_WRITTEN_BYTES = Type.parse("RWByteAddressBuffer")
_MOST = 4096  # combinations of several buffers that are tried


@dataclass(frozen=True)
class _Way:
    """One way to pass a buffer: as elements of a type, as a whole of a type, or as a whole of the parameter's type."""

    type: Type | None
    whole: bool


_PLAIN = _Way(None, True)


@dataclass(frozen=True)
class BufferView(ArgumentView):
    """An argument that is a buffer, read as an array of elements."""

    device: Device
    element: Element
    name: str

    def of(self, value: Any) -> Tensor:
        """Returns the elements of a buffer.

        Raises:
            UnsupportedArgumentError: for a buffer with elements of another size, or one that cannot be read.
        """
        return _adopted(value, self.element, self.device, self.name)


def _adopted(value: Any, element: Element, device: Device, name: str) -> Tensor:
    """Returns the elements of the buffer that is passed as `name`."""
    try:
        return adopt_buffer(value, element, device)
    except FusepyError as error:
        error.what = f"argument {name!r}: {error.what}"
        raise


def elements_of(trace: OpenTrace, value: Value, type: Type) -> Value | None:
    """Returns a buffer as an input of elements of `type`; ``None`` if `value` is no buffer.

    Raises:
        UnsupportedArgumentError: for a type that cannot be in memory, or has another size than the buffer's elements.
    """
    behind = trace.behind(value)
    if behind is not None:  # in the body of a loop or branch
        found = elements_of(*behind, type)
        return None if found is None else trace.standing_in(found)
    owner, given = _origin(trace, value)
    if owner is None:
        return None
    known = owner.struct_inputs.get((value, type))
    if known is not None:
        return known
    element = Element.of(type, trace.oracle)
    made = _adopted(given, element, owner.device, value.name or "")
    if value in owner.given:
        found = add_input(owner, value.name or "", made)
        found.name, value.name = value.name, found.name  # messages name the elements
        owner.captures.append(BufferView(owner.given[value][0], owner.device, element, found.name or ""))
    else:
        found = owner.capture(made, value.name or "")
    owner.struct_inputs[value, type] = found
    if value in owner.maps:
        owner.maps[found] = ArgMap(owner.maps[value].dims)
    return found


def chosen(
    trace: OpenTrace,
    module: str,
    function: str,
    operands: Sequence[Value],
    maps: Sequence[ArgMap],
    slots: Sequence[Sequence[Type | None]],
    dirs: tuple[str, ...] | None,
) -> tuple[list[Value], list[ArgMap]]:
    """Chooses for each buffer among the operands of a call: the whole buffer, or its elements.

    Args:
        slots: for each operand the types of its parameter, one per overload.

    Raises:
        AmbiguousCallError: if Slang takes it in several ways.
        UnsupportedArgumentError: if the elements of the buffer have another size.
    """
    values, said = list(operands), list(maps)
    free: dict[int, list[_Way]] = {}
    for i, (value, map) in enumerate(zip(operands, maps)):
        if _origin(trace, value)[0] is None:
            continue
        if map.type is None:
            free[i] = list(_ways(trace, slots[i], _size(trace, value), map))
        elif map.type.kind not in _WHOLE:
            values[i] = elements_of(trace, value, map.type) or value
    if not any(ways != [_PLAIN] for ways in free.values()):
        _refuse_sizes(trace, function, operands, slots, free)
        return values, said
    found: dict[tuple[_Way, ...], list[Type | None]] = {}
    for choice in itertools.islice(itertools.product(*free.values()), _MOST):
        tried, typed = list(values), list(said)
        for i, way in zip(free, choice):
            if not way.whole and way.type is not None:
                tried[i] = Value(way.type, (None,), arrival=TENSOR, name=values[i].name)
            if way.type is not None:
                typed[i] = ArgMap(said[i].dims, way.type)
        try:
            answer = resolve_call(trace.oracle, module, function, tried, typed, None, dirs, trace.strict)
        except AmbiguousCallError:
            raise
        except FusepyError:  # Slang does not take this choice
            continue
        taken = [p.type for p in answer.params if p.direction != OUT]
        # an element that is taken as a pointer or structured buffer is the whole buffer, which is another choice
        if all(way.whole or (t := taken[i]) is None or t.kind not in _WHOLE for i, way in zip(free, choice)):
            found[choice] = taken
    if len(found) > 1:
        raise _ambiguous(function, values, list(free), found)
    if not found:
        _refuse_sizes(trace, function, operands, slots, free)
    for choice in found:
        for i, way in zip(free, choice):
            if not way.whole and way.type is not None:
                values[i] = elements_of(trace, values[i], way.type) or values[i]
            if way.type is not None:
                said[i] = ArgMap(said[i].dims, way.type)
    return values, said


def member_elements(trace: OpenTrace, value: Value, said: ArgMap, member: Type | None) -> tuple[Value, ArgMap]:
    """Returns a buffer for a member of a struct, as elements of the member's type, unless the member holds a whole buffer."""
    type = member if said.type is None else said.type
    if type is None or type.kind in _WHOLE:
        return value, said
    return elements_of(trace, value, type) or value, ArgMap(said.dims)


def check_elements(what: str, value: Value, loc: str | None) -> None:
    """Raises `UnsupportedArgumentError` for a buffer in an operation on elements, where no parameter gives their type."""
    if value.arrival.raw:
        raise UnsupportedArgumentError(
            f"{what}: {value.name!r} is a buffer, which does not say what its elements are",
            place=loc,
            hint=f"say it: fp.vcast({value.name}, type), with the type that one element has, such as m.float",
        )


def _origin(trace: OpenTrace, value: Value) -> tuple[OpenTrace | None, Any]:
    """Returns the trace that has a buffer among its inputs, and the buffer itself."""
    if not value.arrival.raw:
        return None, None
    behind = trace.behind(value)
    if behind is not None:
        return _origin(*behind)
    for owner in trace.chain:
        if value in owner.given:
            return owner, owner.given[value][1]
        if value in owner.buffers:
            return owner, owner.buffers[value]
    return None, None


def _size(trace: OpenTrace, value: Value) -> int:
    return int(getattr(_origin(trace, value)[1], "struct_size", 0))  # `resolve` has types instead of buffers


def _ways(trace: OpenTrace, types: Sequence[Type | None], size: int, said: ArgMap) -> Iterator[_Way]:
    """Yields the ways to pass a buffer to parameters of these types; its elements have `size` bytes, 0 if unknown."""
    known = list(dict.fromkeys(t for type in types for t in _elements(trace, type)))
    fitting = [t for t in known if not size or _stride(trace, t) == size]
    if not said.dims:
        yield _PLAIN
        if None in types:  # only Slang knows the parameter
            for type in (_WRITTEN_BYTES, *(w for t in fitting for w in _wholes(t))):
                yield _Way(type, True)
    stated = [t for t in fitting if t in types]
    yield from (_Way(t, False) for t in (fitting if size else stated))


def _wholes(element: Type) -> tuple[Type, ...]:
    buffers = (Type.resource(head, element) for head in ("StructuredBuffer", "RWStructuredBuffer"))
    return (*buffers, Type.pointer(element))


def _elements(trace: OpenTrace, type: Type | None) -> Iterator[Type]:
    """Yields the element types that a parameter could take: its own type, or all types if it is not known before the call."""
    if type is not None and type.kind is Kind.WHOLE and type.element is not None:
        yield type.element
    elif type is not None and type.kind in _WHOLE:
        return
    elif type is not None and _stride(trace, type) is not None:
        yield type
    else:
        for scalar in map(Type.parse, SCALARS):
            yield from (Type.vector(scalar, n) for n in range(1, 5))
        names = dict.fromkeys(n for alias in trace.sources for n in trace.oracle.symbols(alias)["types"])
        yield from (t for name in names if _stride(trace, t := Type.parse(name)) is not None)


def _stride(trace: OpenTrace, type: Type) -> int | None:
    try:
        return Element.of(type, trace.oracle).nbytes
    except UnsupportedArgumentError:  # e.g. an interface
        return None


def _refuse_sizes(
    trace: OpenTrace, function: str, operands: Sequence[Value], slots: Sequence[Sequence[Type | None]], free: Iterable[int]
) -> None:
    """Raises `UnsupportedArgumentError` if every overload takes elements of another size than the buffer's."""
    for i in free:
        wanted = [(t, s) for t in slots[i] if t is not None and (s := _stride(trace, t)) is not None]
        size = _size(trace, operands[i])
        if wanted and len(wanted) == len(slots[i]) and size and all(size != s for _, s in wanted):
            error = wrong_size(size, *wanted[0])
            error.what = f"{function}: argument {operands[i].name!r}: {error.what}"
            raise error


def _ambiguous(
    function: str, operands: Sequence[Value], free: Sequence[int], found: Mapping[tuple[_Way, ...], Sequence[Type | None]]
) -> AmbiguousCallError:
    """Returns the error for several ways; its hint shows a Python call for each."""
    differ = [i for k, i in enumerate(free) if len({choice[k] for choice in found}) > 1]
    names = [v.name or f"arg{i}" for i, v in enumerate(operands)]
    shown: list[str] = []
    for taken in list(found.values())[:MOST_SHOWN]:
        typed = [
            f"fp.vcast({n}, {_python(t)})" if i in differ and t is not None else n for i, (n, t) in enumerate(zip(names, taken))
        ]
        shown.append(f"{python_name(function)}({', '.join(typed)})")
    return AmbiguousCallError(
        f"{function}: a buffer can be passed in {len(found)} ways",
        saw=" or ".join(", ".join(str(taken[i]) for i in differ) for taken in list(found.values())[:MOST_SHOWN]),
        expected="one",
        hint="\n            ".join(["choose:", *shown]),
    )


def _python(type: Type) -> str:
    return python_type(type.name) if type.kind is not Kind.RESOURCE else f'm["{type.name}"]'

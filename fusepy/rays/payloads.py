"""Checks of payloads and recursion depths: no compiler looks across the stages of a ray-tracing pipeline."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from fusepy.backend.device.device import Device
from fusepy.backend.rays.stage import MAX_RECURSION
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import ArgumentError
from fusepy.ir.oracle import Layout
from fusepy.ir.pipelines.rays import TRIANGLE
from fusepy.ir.types import Kind, Type
from fusepy.rays.stages import StageFunction


def check_payloads(
    name: str, handed: Sequence[str], stages: Sequence[StageFunction], groups: Mapping[str, Sequence[StageFunction]]
) -> None:
    """Raises `ArgumentError` if two functions that one ray may run have payloads of different types.

    Args:
        handed: the types that the ray generation passes to ``TraceRay``, see `handed_over` of ``TraceRay``.

    All functions of a hit group must have the same payload; if there are miss functions, one of them must have it too. The ray
    generation must pass a payload that some function takes; the types of its variables are read from the text.
    """
    for group, functions in groups.items():
        payloads = {s.types[0]: s.name for s in functions if s.kind != "intersection"}
        attributes = {s.types[1]: s.name for s in functions if s.kind != "intersection"}
        for what, types in (("payloads", payloads), ("attributes", attributes)):
            if len(types) > 1:
                (first, a), (second, b), *_ = types.items()
                raise _mismatch(name, f"{what} of hit group {group!r}", f"{a} takes {first}, and {b} takes {second}")
    missed = {s.types[0]: s.name for s in stages if s.kind == "miss"}
    hit = {s.types[0]: s.name for s in stages if s.kind in ("closesthit", "anyhit")}
    for type, function in hit.items():
        if missed and type not in missed:
            other, by = next(iter(missed.items()))
            raise _mismatch(name, "payloads of miss and hit", f"{by} takes {other}, and {function} takes {type}")
    taken = {**missed, **hit}
    for type in handed:
        if taken and type not in taken:
            other, by = next(iter(taken.items()))
            raise _mismatch(name, "payloads", f"{name} traces a ray with {type}, and {by} takes {other}")


def check_layouts(name: str, device: Device, types: Sequence[tuple[str, ModuleSource]]) -> None:
    """Raises `ArgumentError` if structs of one name, which stages of different modules pass on, have different members."""
    seen: dict[str, tuple[Layout, str]] = {}
    for type, source in types:
        layout = device.oracle({"module": source}).layout(Type.parse(type)) if type != TRIANGLE else None
        if layout is None:
            continue
        first, alias = seen.setdefault(type, (layout, source.alias))
        if first != layout:
            (a, b) = (", ".join(f"{f.type} {f.name}" for f in one.fields) for one in (first, layout))
            raise _mismatch(name, f"structs {type} of two modules", f"{alias} has {a}; {source.alias} has {b}")


def _mismatch(name: str, what: str, saw: str) -> ArgumentError:
    return ArgumentError(
        f"{name}: the {what} do not match",
        saw=saw,
        expected="one type along the way of a ray",
        hint="give all functions that a ray may run the same struct",
    )


def recursion_of(name: str, deeper: Sequence[str], given: int | None) -> int:
    """Returns the greatest recursion of a pipeline; `deeper` are the hit and miss functions that trace rays.

    Raises:
        ArgumentError: if hit or miss functions trace rays, and `given` forbids it; or for more than any device can do.
    """
    if given is None:
        given = 2 if deeper else 1
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MAX_RECURSION:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"{name}: max_recursion is out of range",
            saw=repr(given),
            expected=f"an integer from 1 to {MAX_RECURSION}",
            hint="trace the path in a loop of the ray generation, which needs a recursion of 1",
        )
    if deeper and given < 2:
        raise ArgumentError(
            f"{name}: {deeper[0]} traces rays, past the recursion of this pipeline",
            saw=f"max_recursion={given}",
            expected="2 or more",
            hint="write options(max_recursion=2), and let the payload count how deep a ray is",
        )
    return given


def bytes_of(device: Device, stages: Sequence[StageFunction], kinds: Collection[str], place: int) -> int:
    """Returns the bytes of the largest parameter at a place of functions of these kinds."""
    return max((_size(device, s, s.types[place]) for s in stages if s.kind in kinds), default=0)


def _size(device: Device, stage: StageFunction, name: str) -> int:
    if name == TRIANGLE:
        return 8
    type = Type.parse(name)
    if type.kind in (Kind.SCALAR, Kind.VECTOR, Kind.MATRIX) and type.dtype is not None:
        size = type.dtype.itemsize
        for extent in type.shape:
            size *= extent
        return size
    layout = device.oracle({"module": stage.loaded.source}).layout(type)
    return layout.size if layout is not None else 0


def payload_of(name: str, needed: int, given: int | None) -> int:
    """Returns the bytes of the payload.

    Raises:
        ArgumentError: if `given` is less than a function needs.
    """
    if given is None:
        return needed
    if isinstance(given, bool) or not isinstance(given, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"{name}: max_payload_size is a number of bytes",
            saw=repr(given),
            expected=f"{needed} or more",
            hint="leave max_payload_size out, and the largest payload decides",
        )
    if given < needed:
        raise ArgumentError(
            f"{name}: a payload is larger than max_payload_size",
            saw=given,
            expected=f"{needed} bytes or more",
            hint="leave max_payload_size out, and the largest payload decides",
        )
    return given

"""`Launch`: one dispatch of a program as data; and the barriers between launches.

Two launches without a barrier between them may overlap on the device, so memory is freed only behind a barrier.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from fusepy.backend.device.device import Device
from fusepy.backend.emit.operand import Operand
from fusepy.backend.emit.variant import Variant
from fusepy.backend.execute.numbers import ShownNumbers
from fusepy.backend.execute.recipe import Recipe
from fusepy.backend.kernels.kernel import Kernel
from fusepy.backend.memory.element import Element

Read = Callable[[Any], Any] | None
_NONE: Mapping[str, int] = MappingProxyType({})


class LaunchedRegion(Protocol):
    """The part of a `Plan` that its launches use."""

    passes: bool
    name: str
    operands: list[Operand]
    positions: tuple[int, ...]
    out_dims: list[tuple[int, ...]]

    def kernel(self, variant: Variant) -> Kernel:
        """Returns the compiled kernel of a variant."""
        ...

    def elements_of(self, launch: Launch, kernel: Kernel) -> int:
        """Returns the number of elements that the groups of a launch cover, if `Launch.groups` is None."""
        ...


class Clearable(Protocol):
    """An owner of kernels beside the plans."""

    def clear(self) -> None:
        """Drops them."""
        ...


class Owner(Protocol):
    """The part of an `Executable` that its tapes use."""

    @property
    def device(self) -> Device: ...

    @property
    def between(self) -> frozenset[int]: ...

    @property
    def outputs(self) -> Sequence[tuple[int, tuple[int, ...]]]: ...

    @property
    def numbers(self) -> ShownNumbers: ...

    @property
    def users(self) -> set[Clearable]: ...

    def destination(self, j: int, target: Any) -> Any: ...

    def texture(self, slot: int, shape: tuple[int, ...]) -> Any: ...

    def register(self) -> None: ...


@dataclass(frozen=True)
class Launch:
    """One dispatch of a region.

    Attributes:
        recipe: the grid and the strides.
        groups: the number of groups along each axis; None if it follows from the number of elements.
        sizes: the values of the fields that hold the amount of work, by name: of a stage of a fold, or of an index space.
        partials: for a stage of a fold, the slots of the accumulators that it reads, and that it fills; ``-1`` is none.
        made: the slots of accumulators that it is the first to fill, with their lengths.
        reads: the slots that it reads.
        results: the slots that it fills.
        acts: true if it writes memory beside its own slots.
        idle: true if there is nothing to run because the results are empty.
        barrier: true if it waits for earlier launches.
        release: slots that no later launch reads.
    """

    plan: LaunchedRegion
    variant: Variant
    recipe: Recipe
    groups: Sequence[int] | None = None
    sizes: Mapping[str, int] = dataclasses.field(default_factory=lambda: _NONE)
    partials: tuple[int, int] = (-1, -1)
    made: tuple[tuple[int, int], ...] = ()
    reads: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    acts: bool = False
    idle: bool = False
    barrier: bool = True
    release: tuple[int, ...] = ()

    @property
    def touched(self) -> tuple[int, ...]:
        """All slots that it fills, with those of accumulators, which a stage may overwrite."""
        return (*self.results, *(slot for slot in self.partials if slot >= 0))


def place_barriers(launches: Sequence[Launch], kept: frozenset[int]) -> list[tuple[bool, tuple[int, ...]]]:
    """Returns for each launch whether it needs a barrier before it, and the slots that are free from it on.

    A launch waits if it touches a slot that was filled since the last barrier, or if it or a launch since then writes memory
    beside its own slots.

    Args:
        kept: slots of arguments and results of the program, which are not freed.
    """
    last = {slot: i for i, one in enumerate(launches) for slot in (*one.reads, *one.touched)}
    filled: set[int] = set()
    unsafe = False
    free_from = 0  # slots whose last use is before this launch are not in use any more
    pending = sorted((i, slot) for slot, i in last.items() if slot not in kept)
    placed: list[tuple[bool, tuple[int, ...]]] = []
    for i, one in enumerate(launches):
        barrier = i == 0 or unsafe or one.acts or not filled.isdisjoint(one.reads) or not filled.isdisjoint(one.touched)
        if barrier:
            free_from = i
            filled.clear()
            unsafe = False
        placed.append((barrier, tuple(slot for at, slot in pending if at < free_from)))
        pending = [(at, slot) for at, slot in pending if at >= free_from]
        filled.update(one.touched)
        unsafe = unsafe or one.acts
    return placed


def ordered(launches: Sequence[Launch], kept: frozenset[int]) -> tuple[Launch, ...]:
    """Returns the launches with their barriers and the slots that they release; see `place_barriers`."""
    placed = place_barriers(launches, kept)
    return tuple(dataclasses.replace(one, barrier=barrier, release=release) for one, (barrier, release) in zip(launches, placed))


class Make(NamedTuple):
    """The memory of a slot: its size in bytes; its element and shape if a tensor of it is needed.

    Attributes:
        tensor: makes the tensor on a block of memory.
        part: its place in a block that small results of one launch share, and the size of that block, which the first one takes.
    """

    slot: int
    nbytes: int
    element: Element | None
    shape: tuple[int, ...]
    tensor: Callable[[Any], Any] | None = None
    part: tuple[int, int] | None = None


class Row(NamedTuple):
    """One launch with its kernel and the template of its parameter block; some fields change from call to call.

    Attributes:
        beside: true if it may run concurrently with the last one.
        frees: slots whose memory no later launch reads, also not as the memory of another slot that takes it over.
        makes: the memory to allocate, for slots that take over none.
        addresses: fields that hold the lowest address of a slot plus an offset in bytes: field, slot, offset.
        numbers: fields that hold a number read from the arguments: field, index of the number.
        reads: fields that are read from the value in a slot after it is made.
        bound: resources bound by name: a slot, and the function that reads the resource from its value.
    """

    kernel: Kernel
    values: list[Any]
    elements: int
    groups: Sequence[int] | None
    beside: bool
    more: bool
    frees: tuple[int, ...]
    makes: tuple[Make, ...]
    addresses: Sequence[tuple[int, int, int]]
    numbers: Sequence[tuple[int, int]]
    reads: Sequence[tuple[int, int, Read]]
    bound: Sequence[tuple[int, Read]]
    plan: LaunchedRegion

"""`Launch`: one dispatch of a program as data, and where barriers stand between launches.

Two launches without a barrier in between may overlap on the device, so memory is given back only behind one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from fusepy.backend.emit.operand import Field, Variant
    from fusepy.backend.execute.layouts import Layout
    from fusepy.backend.execute.recipe import Recipe
    from fusepy.backend.kernels.kernel import Kernel
    from fusepy.backend.memory.element import Element
    from fusepy.errors import FusepyError

Read = Callable[[Any], Any] | None
_NONE: Mapping[str, int] = MappingProxyType({})


class LaunchedRegion(Protocol):
    """A plan, as far as its launches need it."""

    positions: tuple[int, ...]

    def kernel(self, variant: Variant) -> Kernel:
        """The compiled kernel of a variant."""
        ...

    def elements_of(self, launch: Launch, kernel: Kernel) -> int:
        """How many elements the groups of a launch cover, where not `Launch.groups` says how many there are."""
        ...

    def constant(self, field: Field, launch: Launch, slots: Sequence[Layout]) -> Any:
        """The value of a field that follows from the layouts alone."""
        ...

    def bad_number(self, args: Sequence[Any], error: Exception) -> FusepyError:
        """Which Python number did not fit its parameter."""
        ...


@dataclass(frozen=True)
class Launch:
    """One dispatch of a region.

    Attributes:
        recipe: the grid and the strides.
        groups: how many groups it takes along each axis, where not the number of elements decides.
        sizes: of a stage of a fold, the fields that say how much work there is.
        partials: of a stage of a fold, the slots of accumulators that it reads, and that it fills; ``-1`` is none.
        made: the slots of accumulators that it is the first to fill, with their lengths.
        reads: the slots that it reads; `results` those that it fills.
        acts: whether it writes memory that is no slot of its own.
        idle: whether there is nothing to run, since the results are empty.
        barrier: whether it waits for what was launched before.
        release: slots that nobody reads any more when it starts.
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
        """All slots that it fills, with those of accumulators, which a stage may replace."""
        return (*self.results, *(slot for slot in self.partials if slot >= 0))


class Touching(Protocol):
    """A launch, as far as its order is concerned."""

    @property
    def reads(self) -> tuple[int, ...]: ...

    @property
    def touched(self) -> tuple[int, ...]: ...

    @property
    def acts(self) -> bool: ...


def place_barriers(launches: Sequence[Touching], kept: frozenset[int]) -> list[tuple[bool, tuple[int, ...]]]:
    """For each launch whether it needs a barrier before it, and which slots are free from it on.

    A launch waits where it touches a slot that was filled since the last barrier, and where it or one since then writes memory
    that others might see.

    Args:
        kept: slots that are arguments or results of the program, which are not given back.
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


class Make(NamedTuple):
    """Memory for a slot, and what makes a tensor of it where somebody wants one."""

    slot: int
    nbytes: int
    element: Element | None
    shape: tuple[int, ...]


class Row(NamedTuple):
    """One launch with its kernel and a packed block, whose fields change from call to call.

    Attributes:
        beside: whether it may run beside the last one.
        moves: slots that take over the memory of another one, which nobody reads any more.
        frees: slots whose memory nobody reads any more.
        makes: the memory that is made for other slots.
        addresses: fields that are the lowest address of a slot, and some bytes.
        numbers: fields that take one of the numbers that are read from arguments.
        reads: fields that are read from what lies in a slot once that is made.
        bound: what is bound by name: a slot, and what is read from it.
    """

    kernel: Kernel
    values: list[Any]
    elements: int
    groups: Sequence[int] | None
    beside: bool
    more: bool
    moves: tuple[tuple[int, int], ...]
    frees: tuple[int, ...]
    makes: tuple[Make, ...]
    addresses: Sequence[tuple[int, int, int]]
    numbers: Sequence[tuple[int, int]]
    reads: Sequence[tuple[int, int, Read]]
    bound: Sequence[tuple[int, Read]]
    plan: LaunchedRegion


class Linked(NamedTuple):
    """A tape with its kernels.

    Attributes:
        makes: memory for results that no launch fills, since they are empty.
        reads: the numbers that launches take from arguments.
        tensors: the arguments whose addresses launches take.
        textures: the slots that are textures between two launches, which the program keeps from call to call.
        blank: what slots hold before anything has run.
    """

    rows: tuple[Row, ...]
    makes: tuple[Make, ...]
    reads: tuple[tuple[int, Read], ...]
    tensors: tuple[int, ...]
    textures: tuple[tuple[int, tuple[int, ...]], ...]
    blank: list[Any]

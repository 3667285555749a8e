"""`LazyTensor`: the result of a recorded call, and `Call`, which makes it when somebody needs it.

A lazy tensor knows its type and extents, but has no memory. Whatever asks for memory runs the calls behind it; from then on it is
a plain `Tensor`, its class included.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from fusepy.pending import PENDING, RECORDER
from fusepy.signature import KEYS
from fusepy.tensor import Tensor

if TYPE_CHECKING:
    from fusepy.compile import Program

# what of a tensor is known only when it lies in memory
_MEMORY = ("address", "block", "high", "linear", "low", "origin", "strides")
_serial = itertools.count()


class Output:
    """Result number `place` of a recorded call."""

    __slots__ = ("call", "place")

    def __init__(self, call: Call, place: int):
        self.call = call
        self.place = place


class Group:
    """Recorded calls that share results, by way of others too, and so run together; groups that meet become one."""

    __slots__ = ("into",)

    def __init__(self) -> None:
        self.into: Group | None = None

    def whole(self) -> Group:
        """The group that this one has become a part of."""
        group = self
        while group.into is not None:
            group = group.into
        return group


def joined(a: Group, b: Group) -> Group:
    """The one group that two become."""
    a, b = a.whole(), b.whole()
    if a is not b:
        b.into = a
    return a


class Call:
    """A call that was recorded.

    Attributes:
        program: what the call would have run by itself.
        leaves: its arguments, nested ones as their leaves, and what the function has captured; an `Output` for the result of
            another call.
        results: weak references to the tensors that stand for its results, once they are made.
        place: file and line of the user.
        group: the calls that it runs with.
        over: whether the results are there.
        first: the number of its first result among those of the calls that run together, while they do.
        length: operations on the longest way through the recorded calls that ends here.
    """

    __slots__ = ("__weakref__", "first", "group", "leaves", "length", "over", "place", "program", "results", "serial")

    def __init__(self, program: Program, leaves: Sequence[Any], place: tuple[str, int] | None, length: int, group: Group):
        self.program = program
        self.leaves = leaves
        self.results: list[weakref.ref[LazyTensor]] = []
        self.place = place
        self.length = length
        self.group = group
        self.over = False
        self.first = 0
        self.serial = next(_serial)
        PENDING[self.serial] = weakref.ref(self)

    def reads(self, tensor: Tensor) -> bool:
        """Whether it reads memory of `tensor`; views of the same bytes are found by their addresses."""
        return any(
            leaf.__class__ is Tensor and leaf.low < tensor.high and tensor.low < leaf.high and leaf.device is tensor.device
            for leaf in self.leaves
        )

    def run(self) -> None:
        """Runs it with what is connected to it, unless that has happened."""
        from fusepy.joint import run  # which replays calls

        run(self)

    def done(self) -> None:
        """Lets go of the arguments, once the results are there."""
        self.over = True
        self.leaves = ()
        PENDING.pop(self.serial, None)

    def __del__(self, pop: Any = PENDING.pop) -> None:  # bound here, since modules may be gone when the process ends
        pop(self.serial, None)


class LazyTensor(Tensor):
    """A tensor that is computed when somebody needs its memory."""

    __slots__ = ()  # none of its own, so that it can become a `Tensor`

    def compute(self) -> Tensor:
        """Runs the calls behind it."""
        output = self._pending()
        if output is not None:
            output.call.run()
        return self

    def _pending(self) -> Output | None:
        """What it stands for; ``None`` once it is computed, which another thread may do at any time."""
        return cast("Output | None", getattr(self, "pending", None)) if self.__class__ is LazyTensor else None

    def become(self, made: Tensor) -> None:
        """Takes over the memory of `made`, and is a plain tensor from then on."""
        for name in _MEMORY:
            setattr(self, name, getattr(made, name))
        object.__setattr__(self, "__class__", Tensor)
        del self.pending

    def __getattr__(self, name: str) -> Any:
        """For what was not set: a lazy tensor has no memory yet."""
        if name not in _MEMORY:
            raise AttributeError(f"'Tensor' object has no attribute {name!r}")
        self.compute()
        return getattr(self, name)


def _of_lazy(value: LazyTensor) -> Any:
    """The key of a lazy argument; outside of `lazy` the call runs now, and needs its memory."""
    if RECORDER.get() is None:
        value.compute()
    return value.key


KEYS[LazyTensor] = _of_lazy

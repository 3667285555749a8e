"""`LazyTensor`: the result of a recorded call, and `Call`, which makes it when somebody needs it.

A lazy tensor knows its type and extents, but has no memory. Whatever asks for memory runs the calls behind it; from then on it is
a plain `Tensor`, its class included.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fusepy.arguments.key import KEYS
from fusepy.backend.memory.pending import PENDING, RECORDER
from fusepy.backend.memory.tensor import Tensor

if TYPE_CHECKING:
    from fusepy.program.program import Program

# what of a tensor is known only when it lies in memory; see `LazyTensor.become`
_MEMORY = ("address", "block", "high", "linear", "low", "origin", "strides")


Output = tuple["Call", int]  # a recorded call, and the number of one of its results; nothing else in `Call.leaves` is a tuple


class Group:
    """Recorded calls that share results, by way of others too, and so run together; groups that meet become one."""

    into: Group | None = None

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


Runs = Callable[["Call"], None]


class Call:
    """A call that was recorded.

    Attributes:
        program: what the call would have run by itself.
        leaves: its arguments, nested ones as their leaves, and what the function has captured; an `Output` for the result of
            another call.
        results: weak references to the tensors that stand for its results.
        place: file and line of the user.
        group: the calls that it runs with.
        over: whether the results are there.
        first: the number of its first result among those of the calls that run together, while they do.
        length: operations on the longest way through the recorded calls that ends here.

    Args:
        joined: runs it with the calls that it is connected to.
    """

    __slots__ = (
        "__weakref__",
        "_joined",
        "_pending",
        "first",
        "group",
        "leaves",
        "length",
        "over",
        "place",
        "program",
        "results",
    )

    def __init__(
        self, program: Program, leaves: Sequence[Any], place: tuple[str, int] | None, length: int, group: Group, joined: Runs
    ):
        self._joined = joined
        self.program = program
        self.leaves = leaves
        self.results: list[weakref.ref[LazyTensor]] = []
        self.place = place
        self.length = length
        self.group = group
        self.over = False
        reference = self._pending = weakref.ref(self, PENDING.pop)  # it goes with this, and then nothing is called
        PENDING[reference] = None

    def reads(self, tensor: Tensor) -> bool:
        """Whether it reads memory of `tensor`; views of the same bytes are found by their addresses."""
        return any(
            leaf.__class__ is Tensor and leaf.low < tensor.high and tensor.low < leaf.high and leaf.device is tensor.device
            for leaf in self.leaves
        )

    def run(self) -> None:
        """Runs it with what is connected to it, unless that has happened."""
        self._joined(self)

    @staticmethod
    def finish(calls: Sequence[Call]) -> None:
        """Lets go of the arguments of calls whose results are there."""
        pending = PENDING
        for call in calls:
            call.over = True
            call.leaves = ()
            pending.pop(call._pending, None)
            del call._pending


class LazyTensor(Tensor):
    """A tensor that is computed when somebody needs its memory."""

    __slots__ = ()  # none of its own, so that it can become a `Tensor`

    def compute(self) -> Tensor:
        """Runs the calls behind it."""
        output = self.waiting()
        if output is not None:
            output[0].run()
        return self

    def waiting(self) -> Output | None:
        """What it stands for; ``None`` once it is computed, which another thread may do at any time."""
        output: Output | None = getattr(self, "pending", None) if self.__class__ is LazyTensor else None
        return output

    def become(self, made: Tensor) -> None:
        """Takes over the memory of `made`, and is a plain tensor from then on."""
        self.address, self.low, self.high = made.address, made.low, made.high
        self.block, self.origin = made.block, made.origin
        self.strides, self.linear = made.strides, made.linear
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

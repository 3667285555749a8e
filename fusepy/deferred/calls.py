"""`LazyTensor`: the result of a deferred call, and `Call`, which computes it on demand.

A lazy tensor has a type and extents, but no memory. The first use of its memory runs the calls that it depends on; after that
it is a plain `Tensor`, its class included.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from fusepy.arguments.key import KEYS
from fusepy.backend.memory.pending import DESCRIBING, PENDING, RECORDER
from fusepy.backend.memory.recast import flattened
from fusepy.backend.memory.storage import set_attribute
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import FusepyError
from fusepy.program.program import Program

# attributes of a tensor that need memory; see `LazyTensor.become`
_MEMORY = ("address", "block", "high", "linear", "low", "origin", "strides")


Output = tuple["Call", int]  # a recorded call, and the index of one of its results; `Call.leaves` has no other tuples


class Group:
    """A set of recorded calls that share results, directly or through others, and run together. Groups that meet are merged."""

    into: Group | None = None

    def whole(self) -> Group:
        """Returns the group that this one has been merged into."""
        group = self
        while group.into is not None:
            group = group.into
        return group


def joined(a: Group, b: Group) -> Group:
    """Merges two groups."""
    a, b = a.whole(), b.whole()
    if a is not b:
        b.into = a
    return a


Runs = Callable[["Call"], None]


class Call:
    """A recorded call.

    Attributes:
        program: the program of the call alone.
        leaves: the arguments, nested ones as their leaves, and the captures of the function; an `Output` for a result of
            another call.
        results: weak references to the tensors of its results.
        place: file and line of the user's call.
        group: the calls that run together with it.
        over: True if the results are computed, or cannot be.
        error: why they cannot be computed: each use of a result raises it.
        first: the index of its first result among all results of its group, while the group runs.
        length: the number of operations on the longest path through the recorded calls that ends here.

    Args:
        joined: runs the call together with its group.
    """

    __slots__ = (
        "__weakref__", "_joined", "_pending", "error", "first", "group", "leaves", "length", "over", "place", "program",
        "results",
    )  # fmt: skip

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
        self.error: FusepyError | None = None
        reference = self._pending = weakref.ref(self, PENDING.pop)  # removed from the table by `finish`, or when the call dies
        PENDING[reference] = None

    def reads(self, tensor: Tensor) -> bool:
        """True if the call reads memory of `tensor`; views of the same bytes are recognised by their addresses."""
        return any(
            leaf.__class__ is Tensor and leaf.low < tensor.high and tensor.low < leaf.high and leaf.device is tensor.device
            for leaf in self.leaves
        )

    def run(self) -> None:
        """Runs the call with its group, unless it has run. Raises its `error`, if it cannot run."""
        self._joined(self)

    def settle(self) -> None:
        """Runs the call with its group for the sake of something else: a call that cannot run keeps its error for its results."""
        try:
            self.run()
        except FusepyError:
            if self.error is None:
                raise

    @staticmethod
    def finish(calls: Sequence[Call]) -> None:
        """Marks calls as run, and releases their arguments."""
        pending = PENDING
        for call in calls:
            call.over = True
            call.leaves = ()
            pending.pop(call._pending, None)
            del call._pending


class LazyTensor(Tensor):
    """A tensor that is computed when its memory is first used.

    Attributes:
        as_numbers: what an eager call returns, see `Storage`; also once it is computed.
        vectors: the type of the vectors whose components it shows as numbers; ``None`` for a result as it is.
    """

    __slots__ = ()  # no slots, so that its class can become `Tensor`

    def compute(self) -> Tensor:
        """Runs the calls that it depends on."""
        output = self.waiting()
        if output is not None:
            output[0].run()
        return self

    def waiting(self) -> Output | None:
        """Returns the output that it stands for; ``None`` if it is computed, which another thread may do at any time."""
        output: Output | None = getattr(self, "pending", None) if self.__class__ is LazyTensor else None
        return output

    def become(self, made: Tensor) -> None:
        """Takes the memory of `made`, and becomes a plain tensor."""
        made = made if self.vectors is None else flattened(made)
        parts = (made.address, made.block, made.high, made.linear, made.low, made.origin, made.strides)
        for name, part in zip(_MEMORY, parts):
            set_attribute(self, name, part)
        set_attribute(self, "__class__", Tensor)
        object.__delattr__(self, "pending")  # past the class's own, which refuses users

    def __getattr__(self, name: str) -> Any:
        """Computes the tensor if an attribute of its memory is read."""
        if name not in _MEMORY:
            return Tensor.__getattr__(self, name)  # type: ignore[attr-defined]  # `vocabulary.methods` adds it
        self.compute()
        return getattr(self, name)


def _of_lazy(value: LazyTensor) -> Any:
    """Returns the key of a lazy argument; computes it if the call runs now, and so needs the memory."""
    if RECORDER.get() is None and not DESCRIBING.get():
        value.compute()
    return value.key


KEYS[LazyTensor] = _of_lazy

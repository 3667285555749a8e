"""`Tapes`: the tapes of a program by the layouts of their calls. A call with the tensors of the last one asks for no layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

from fusepy.backend.device.bound import Bound
from fusepy.backend.execute.layouts import layout_key
from fusepy.backend.execute.tape import LinkedTape
from fusepy.backend.memory.tensor import Tensor

_MISSES = 8  # calls with other tensors; then the next one is kept, which takes as long as asking for its layouts


class Tapes(dict[Any, LinkedTape]):
    """The tapes that have run, by `layout_key`."""

    __slots__ = ("_last", "_misses")

    def __init__(self) -> None:
        super().__init__()
        self._last: _Call | None = None
        self._misses = 0

    def of(self, args: Sequence[Any], outs: Sequence[Any] | None) -> LinkedTape | None:
        """Returns the tape of a call; None if no call of its layouts has run."""
        last = self._last
        if last is not None and last.is_again(args, outs):
            return last.tape
        tape = self.get(layout_key(args, outs))
        self._misses += 1
        if tape is not None and (last is None or self._misses >= _MISSES) and _is_fit(args, outs):
            self._last, self._misses = _Call(args, outs, tape), 0
        return tape

    def clear(self) -> None:
        """Drops all."""
        super().clear()
        self._last = None


class _Call:
    """A call, with weak references to its tensors. The layout of a tensor without gradients never changes."""

    __slots__ = ("_outs", "_shapes", "_tensors", "tape")

    def __init__(self, args: Sequence[Any], outs: Sequence[Any] | None, tape: LinkedTape):
        self.tape = tape
        self._tensors = [(i, ref(a)) for i, a in enumerate(args) if a.__class__ is Tensor]
        self._shapes = [(i, a.shape) for i, a in enumerate(args) if a.__class__ is not Tensor and hasattr(a, "shape")]
        self._outs = None if outs is None else [ref(out) for out in outs]

    def is_again(self, args: Sequence[Any], outs: Sequence[Any] | None) -> bool:
        """True for a call of the same program with the same tensors, and other values of the same shapes."""
        for i, known in self._tensors:
            if args[i] is not known():
                return False
        for i, shape in self._shapes:
            if args[i].shape != shape:
                return False
        if outs is None or self._outs is None:
            return outs is self._outs
        return all([out is known() for out, known in zip(outs, self._outs)])  # noqa: C419  # half of the time


def _is_fit(args: Sequence[Any], outs: Sequence[Any] | None) -> bool:
    """True for tensors without gradients, values without memory, and destinations that are such tensors or none."""
    if outs is not None and not all(out.__class__ is Tensor for out in outs):
        return False
    if any(isinstance(a, (Bound, Tensor)) and a.__class__ is not Tensor for a in args):
        return False
    return all(t.grads is None for t in (*args, *(outs or ())) if t.__class__ is Tensor)

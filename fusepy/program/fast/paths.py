"""The table of fast paths: one for each kind of call that comes again.

A launch by the driver takes 5 µs, and an operation of torch 8. The ordinary way takes ten more, for it asks what each value is.
A fast path knows: it compares the values with those of an earlier call, writes addresses and numbers into the parameter blocks,
and launches. A call that it does not take goes the ordinary way, which also raises the errors.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, cast

from fusepy.backend.execute.tape import LinkedTape
from fusepy.backend.torch import place_of, span_of
from fusepy.program.fast.call import FastCall, FastCallMaker, same_memory
from fusepy.program.program import Program

CALLS = 64  # of one function
SAME_SHAPE = 16  # of these with one shape of the first argument: a call that none takes tries all of them
_AGAIN = 4096  # ordinary calls; then other calls may have become usual
_NUMBERS = (float, int, bool)


class FastPaths:
    """The fast paths of one table of programs.

    Attributes:
        calls: what to try for a call, in order: the last two, then all. Each is a function of the arguments and ``_result=``
            that returns None for a call that it does not take.
    """

    __slots__ = ("_by_shape", "_lock", "_ordinary", "_seen", "calls")

    def __init__(self) -> None:
        self.calls: tuple[FastCall, ...] = ()
        self._by_shape: dict[Any, tuple[FastCall, ...]] = {}  # the shape of the first argument
        self._seen: dict[Any, bool] = {}  # kinds of calls; true for those that have come again
        self._ordinary = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return sum(map(len, self._by_shape.values()))

    def again(self, args: Sequence[Any], result: Any) -> Any:
        """Runs a call that has come before; returns None if no fast path takes it."""
        for call in self.calls:
            if (made := call(args, result)) is not None:
                return made
        return None

    def _any(self, args: Sequence[Any], result: Any) -> Any:
        """Runs a call by the one that takes it, and returns what it returns; None if none does."""
        shape = getattr(args[0], "shape", None) if args else None
        try:
            found = self._by_shape.get(shape, ())
        except TypeError:  # a shape that is a list
            return None
        for call in found:
            made = call(args, result)
            if made is not None:
                with self._lock:
                    if call in self._by_shape.get(shape, ()):  # nobody has dropped it meanwhile
                        self.calls = (call, *self.calls[:1], self._any)
                return made
        return None

    def run(self, program: Program, args: Sequence[Any], result: Any, asked: Any) -> Any:
        """Runs a program for a call without keywords, and makes a fast path when a call of this kind comes the second time.

        Args:
            result, asked: ``_result=`` as the program takes it, and as the user gave it.
        """
        made = program(args, result)
        state = program.state
        if state.fast is None:
            state.fast = _is_fit(program)
        if state.fast:
            self._ordinary += 1
            if self._ordinary > _AGAIN:
                self.clear()
            self._watch(program, args, asked)
        return made

    def clear(self) -> None:
        """Drops all, and the kernels that they hold."""
        with self._lock:
            self.calls, self._by_shape = (), {}
            self._seen.clear()
            self._ordinary = 0

    def _watch(self, program: Program, args: Sequence[Any], asked: Any) -> None:
        """Makes a fast path if a call of this kind came once before."""
        targets = () if asked is None else cast("Sequence[Any]", asked) if isinstance(asked, (tuple, list)) else (asked,)
        shown = tuple([(v.__class__, (v.shape, place_of(v)) if hasattr(v, "is_cuda") else None) for v in (*args, *targets)])
        onto = tuple([i for t in targets for i, v in enumerate(args) if v is t])
        key: Any = program, cast("type[Any]", asked.__class__), shown, onto, program.device.queue.stream
        again = self._seen.get(key)
        if again is not None or len(self._seen) < CALLS:
            self._seen[key] = again is not None
        if again is not False:
            return
        with program.device.lock:
            linked = _tape_of(program, args, targets)
            first = getattr(args[0], "shape", None) if args else None
            if linked is not None and len(self._by_shape.get(first, ())) < SAME_SHAPE:
                made = FastCallMaker(program, args, targets, asked, linked).call()
                with self._lock:
                    self._by_shape[first] = (*self._by_shape.get(first, ()), made)
                    self.calls = (made, *self.calls[:1], self._any)
                linked.tape.owner.users.add(self)


def _is_fit(program: Program) -> bool:
    """True if a program may have fast paths: it computes results of torch, on torch's stream, and nothing else."""
    inputs, recording, written = program.inputs, program.recording, program.destinations
    if program.__class__ is not Program or program.maker is None or program.device.queue.driver is None:
        return False
    if program.returns != "torch" or program.acts or program.waits or program.detours or program.nested or program.readback:
        return False
    if inputs.captures or inputs.narrows or inputs.moved or recording.prints or recording.grads or recording.trace.held:
        return False
    if any(o is not None for o in written.outs) or written.said or written.targets or not all(recording.keep):
        return False
    return all(e.dtype.names is None and e.stored == e.dtype for e in program.elements)


def _tape_of(program: Program, args: Sequence[Any], targets: Sequence[Any]) -> LinkedTape | None:
    """Returns the launches of a call; None if it can have no fast path."""
    tensors = [v for v in args if place_of(v) is not None]
    numbers = [i for i, v in enumerate(args) if v.__class__ in _NUMBERS]
    if not tensors or len(tensors) + len(numbers) != len(args) or any(program.inputs.places[i] is not None for i in numbers):
        return None
    if any(args[i].__class__ is int and not -0x80000000 <= args[i] < 0x80000000 for i in numbers):
        return None
    if any(place_of(t) is None for t in targets) or len(targets) not in (0, len(program.elements)):
        return None
    if any(t.device != tensors[0].device for t in (*tensors, *targets)):
        return None
    if any(_meet(x, y) for k, y in enumerate(targets) for x in (*tensors, *targets[:k])):
        return None
    placed = program.inputs.placed(args)
    outs, arrays = program.destinations.memory([*targets], lambda: program.out_shapes(placed)) if targets else ((), None)
    if arrays or any(out.low != y.data_ptr() for out, y in zip(outs, targets)):
        return None
    if any(not out.element.same(element) for out, element in zip(outs, program.elements)):
        return None  # such results are copied to their destinations
    linked = program.executable.tape(placed, outs or None)
    if any(placed[i].low != args[i].data_ptr() for i in linked.tensors):  # a copy: bools have four bytes in fusepy
        return None
    tape, slots = linked.tape, [slot for slot, _ in linked.tape.owner.outputs]
    if tape.late or tape.writing or linked.makes or linked.textures or len({*slots}) != len(slots) or min(slots) < len(args):
        return None
    if linked.packed or not linked.rows or any(not row.kernel.direct or row.reads or row.bound for row in linked.rows):
        return None
    return linked if all(slot in numbers for slot, _ in linked.reads) else None


def _meet(x: Any, y: Any) -> bool:
    """True if the memory of two tensors lies in one range, and is not the same: rows or columns in turns are not compared."""
    (a, b), (m, n) = (x.data_ptr(), y.data_ptr()), (span_of(x), span_of(y))
    return a < b + n and b < a + m and not same_memory(x, y)

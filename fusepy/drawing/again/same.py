"""Draws with the tensors of the last call: they go to their only launch, and nothing is asked but the numbers."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any
from weakref import ref

from fusepy.arguments.key import signature
from fusepy.backend.device.bound import Bound
from fusepy.backend.execute.layouts import layout_key
from fusepy.backend.memory.storage import Storage
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.raster.repeat import Repeat
from fusepy.errors import FusepyError
from fusepy.program.program import Program
from fusepy.pytree import LEAF
from fusepy.trace.setup import Setup

_NUMBERS = (float, int, bool)


class SameTensors:
    """A call of a program, with weak references to its tensors."""

    __slots__ = ("_numbers", "_others", "_outs", "_program", "_repeat", "_size", "_tensors", "_tuple")

    def __init__(self, program: Program, args: Sequence[Any], placed: Sequence[Any], outs: Sequence[Any], repeat: Repeat):
        self._program, self._repeat, self._size = program, repeat, placed[0]
        self._tensors = [(i, ref(a)) for i, a in enumerate(args) if a.__class__ is Tensor]
        others = [
            (i, signature(a), place, None if p.__class__ in _NUMBERS else _shape(p))
            for i, (a, p, place) in enumerate(zip(args, placed, program.inputs.places))
            if i and a.__class__ is not Tensor
        ]
        self._numbers = [i for i, _, place, _ in others if args[i].__class__ is float and place is None]  # all have one key
        self._others = [other for other in others if other[0] not in self._numbers]
        structure = program.recording.structure  # a tuple of results is returned as it was given
        self._tuple = structure is not LEAF and structure.flat and structure.cls is tuple
        self._outs = [(j, None if out.__class__ is Bound else ref(out)) for j, out in enumerate(outs)]

    @staticmethod
    def fits(program: Program, outs: Sequence[Any]) -> bool:
        """True if calls of a program need nothing but its launches."""
        inputs, told = program.inputs, program.recording
        if program.__class__ is not Program or inputs.checks or inputs.captures or inputs.narrows or program.waits:
            return False
        if program.detours is not None or program.destinations.outs or program.destinations.said or told.prints or told.grads:
            return False
        return bool(outs) or program.simple or program.several

    @staticmethod
    def of(program: Program, args: Sequence[Any], outs: Sequence[Any]) -> tuple[SameTensors | None, Sequence[Any]] | None:
        """Returns a call like one that has run, and its arguments as its launch takes them.

        The call is None if none has run with such layouts, and the result is None if later calls need more than one launch.

        Args:
            args: the arguments of the program, the size of the image first; it is the same in all calls.
            outs: the destinations of all results, placed, or none.
        """
        placed = program.inputs.placed(args)
        stored = [(i, p) for i, (p, a) in enumerate(zip(placed, args)) if isinstance(p, Storage) and a.__class__ is not Tensor]
        if any(p is args[i] or p.__class__ is not Tensor or not p.linear for i, p in stored):  # other frameworks' memory
            return None
        if any(t.grads is not None for t in (*args, *outs) if t.__class__ is Tensor):
            return None
        tape = program.executable.tapes.get(layout_key(placed, outs or None))
        if tape is None:
            return None, placed
        repeat = Repeat.of(tape, placed, outs, [i for i, _ in stored])
        if repeat is None:
            return None
        program.executable.users.add(repeat)
        return SameTensors(program, args, placed, outs, repeat), placed

    def run(self, args: Sequence[Any], outs: Sequence[Any], result: Any, setup: Setup | None) -> Any:
        """Runs a call if it has the same tensors, and returns its results; None if it has not, and nothing has run then.

        Args:
            args, outs: as in `of`.
            result: the destinations as the caller gave them.
        """
        for i, known in self._tensors:
            if args[i] is not known():
                return None
        if len(outs) != len(self._outs):
            return None
        for j, known in self._outs:
            if known is not None and outs[j] is not known():
                return None
        for i in self._numbers:
            if args[i].__class__ is not float:
                return None
        placed = [*args]
        placed[0] = self._size
        if not self._others:
            return self.launch(placed, outs, result, setup)
        try:
            for i, key, place, shape in self._others:
                value = args[i]
                if signature(value) != key:
                    return None
                if place is not None:
                    placed[i] = value = place(value)
                if shape is not None and _shape(value) != shape:
                    return None
        except (FusepyError, RecursionError):  # a value that no call takes: the ordinary way tells
            return None
        return self.launch(placed, outs, result, setup)

    def launch(self, placed: Sequence[Any], outs: Sequence[Any], result: Any, setup: Setup | None) -> Any:
        """Runs a call whose arguments are placed, and returns its results; None if nothing has run."""
        program = self._program
        sink = program.device.queue
        try:
            made = self._repeat.run(placed, outs, sink, setup)
        except (struct.error, OverflowError, TypeError):  # a number does not fit: the ordinary way tells
            return None
        except FusepyError:  # about a global
            sink.flush()
            raise
        if made is None:
            return None
        structure = program.recording.structure
        if outs:
            return result if structure is LEAF or (self._tuple and result.__class__ is tuple) else structure.fill(result)
        convert = program.convert
        handed = made if convert is None else map(convert, made)
        return next(iter(handed)) if structure is LEAF else structure.fill(handed)


def _shape(value: Any) -> Any:
    """Returns the extents of an argument that is no tensor: a launch depends on them."""
    return getattr(value, "shape", None)

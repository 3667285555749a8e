"""The work that runs while a profile is open: calls with their launches, and the kernel of each launch."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import Capturing, Enclosed, Sink
from fusepy.backend.execute.launch import Launch
from fusepy.backend.execute.layouts import Layout
from fusepy.backend.execute.tape import Tape
from fusepy.backend.execute.timing import can_time
from fusepy.backend.execute.traffic import bytes_moved
from fusepy.backend.kernels.profiling import ProfileSink, Stamps, TimedWork, time_replay
from fusepy.inspect.reasons import work_of
from fusepy.ir.ops.region import spec_of
from fusepy.program.delivery import laid_out
from fusepy.program.program import Program

UNNAMED = {"dispatch": "copy", "pass": "pass", "copy": "copy", "replay": "replay"}


class ProfiledCall:
    """A call with its launches.

    Attributes:
        work: the program, or the name of what runs instead; None for a copy by itself.
        layouts: of the arguments; known with the first launch.
        at: when it began, by the clock of the host.
    """

    def __init__(self, device: Device, work: Program | str | None, args: Sequence[Any]):
        self.device, self.work, self.at = device, work, time.perf_counter()
        self.entries: list[TimedWork] = []
        self.layouts: tuple[Layout, ...] = ()
        self._args: Sequence[Any] | None = args

    def add(self, entry: TimedWork) -> None:
        """Adds a launch. The first one reads the layouts: the call has checked its arguments by then."""
        if self._args is not None:
            if isinstance(self.work, Program):
                self.layouts = tuple(laid_out(v) for v in self.work.inputs.values(self._args))
            self._args = None
        self.entries.append(entry)

    def name(self, entry: TimedWork, number: int | None) -> str:
        """Returns the name of a launch: that of the function for a kernel; otherwise what is known."""
        if isinstance(self.work, Program):
            return UNNAMED[entry.kind] if number is None else self.work.graph.name
        return UNNAMED[entry.kind] if self.work is None or entry.kind == "copy" else self.work

    def of(self, entry: TimedWork, number: int | None) -> tuple[Device, Hashable]:
        """Returns the key of all launches that are counted together with this one."""
        return self.device, self.name(entry, number) if number is None else self.work


class Watch(Enclosed):
    """Gives the calls of a thread sinks that note their launches, and notes them for the profiles around it as well.

    Args:
        outer: the capture or profile that is open already.
    """

    def __init__(self, outer: Capturing | None):
        super().__init__(outer)
        self.calls: list[ProfiledCall] = []
        self.closed = False
        self._stamps: dict[Device, Stamps] = {}

    def sink_on(self, device: Device, work: Any = None, args: Sequence[Any] = ()) -> Sink:
        if self.closed or (self._outer is not None and not isinstance(self._outer, Watch)):
            return super().sink_on(device, work, args)
        return ProfileSink(self._stamps_of(device), self._noter(device, work, args))

    def replays(self, device: Device, launches: int) -> Callable[[], None]:
        if self.closed:
            return super().replays(device, launches)
        return time_replay(self._stamps_of(device), launches, self._noter(device, "replay of a capture", ()))

    def close(self) -> None:
        """Reads the timestamps. Later work in a copy of this context is not noted."""
        self.closed = True
        for stamps in self._stamps.values():
            stamps.read()
        self._stamps.clear()

    def _stamps_of(self, device: Device) -> Stamps:
        if device not in self._stamps:
            self._stamps[device] = Stamps(device, can_time(device))
        return self._stamps[device]

    def _noter(self, device: Device, work: Any, args: Sequence[Any]) -> Callable[[TimedWork], None]:
        """Adds a call, and returns the function that adds its launches."""
        call = ProfiledCall(device, work, args)
        watch: Capturing | None = self
        while isinstance(watch, Watch):
            if not watch.closed:
                watch.calls.append(call)
            watch = watch._outer
        return call.add


class KernelLookup:
    """Finds the kernels of launches.

    A program is lowered once for each layout of arguments; its launches run in the order of the tape.
    """

    def __init__(self) -> None:
        self._tapes: dict[tuple[Program, tuple[Layout, ...]], Tape] = {}
        self._bytes: dict[tuple[Tape, int], int] = {}

    def of(self, call: ProfiledCall) -> Iterator[tuple[TimedWork, int | None, int | None]]:
        """Yields each launch with the number of its kernel, if it is one of a program, and the bytes known to be moved by it.

        The bytes of a kernel of several launches are those of its first.
        """
        numbers = self._numbers(call)
        seen: set[int] = set()
        for entry, number in zip(call.entries, numbers):
            if number is None:
                yield entry, None, entry.nbytes or None
            else:
                yield entry, number, 0 if number in seen else self._moved(call, number)
                seen.add(number)

    def nodes(self, call: ProfiledCall, number: int) -> tuple[str, ...]:
        """Returns the functions and operations of a kernel."""
        region = self._tape(call).pieces[number].plan.region
        found = Counter(work_of(node) for body in region.bodies for node in body.nodes if node.op.name != "const")
        if not region.op.standalone:
            found.update(fold.function or fold.kind for fold in spec_of(region).folds)
        return tuple(name if count == 1 else f"{name} ×{count}" for name, count in found.items())

    def _tape(self, call: ProfiledCall) -> Tape:
        assert isinstance(call.work, Program)
        key = call.work, call.layouts
        if key not in self._tapes:
            self._tapes[key] = call.work.executable.lower(call.layouts)
        return self._tapes[key]

    def _moved(self, call: ProfiledCall, number: int) -> int:
        tape = self._tape(call)
        if (tape, number) not in self._bytes:
            assert isinstance(call.work, Program)
            self._bytes[tape, number] = bytes_moved(tape.pieces[number], tape, call.work.oracle)
        return self._bytes[tape, number]

    def _numbers(self, call: ProfiledCall) -> Sequence[int | None]:
        if not isinstance(call.work, Program) or not call.entries:
            return [None] * len(call.entries)
        pieces = enumerate(self._tape(call).pieces)
        launches = [(i, launch) for i, piece in pieces for launch in piece.launches if not launch.idle]
        in_order = sum(entry.kind != "copy" for entry in call.entries) == len(launches)
        numbers: list[int | None] = []
        for entry in call.entries:  # copies of strided arrays are dispatches, too
            found = None if entry.kind == "copy" else 0 if in_order else _first(entry, launches)
            numbers.append(None if found is None else launches[found][0])
            launches = launches if found is None else launches[found + 1 :]
        return numbers


def _first(entry: TimedWork, launches: Sequence[tuple[int, Launch]]) -> int | None:
    """Returns the first of these launches that may be this entry."""
    return next((at for at, (_, launch) in enumerate(launches) if _fits(entry, launch)), None)


def _fits(entry: TimedWork, launch: Launch) -> bool:
    plan: Any = launch.plan
    if entry.kind == "pass":
        return bool(plan.region.op.standalone)
    return any(kernel.pipeline is entry.pipeline for kernel in plan.kernels.values())

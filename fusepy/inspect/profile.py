"""`profile`: what ran inside a block, kernel by kernel, with times and bytes."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any

from fusepy.backend.device.counters import all_counters
from fusepy.backend.device.sink import CAPTURED
from fusepy.backend.device.stats import stats
from fusepy.backend.execute.traffic import scaled
from fusepy.backend.kernels.profiling import TimedWork
from fusepy.backend.sealed import Sealed
from fusepy.inspect.profiled import KernelLookup, ProfiledCall, Watch
from fusepy.inspect.profiled_kernels import ProfiledKernel, ProfiledLaunch, counted, table, trace_events

_COUNTED = ("kernels_compiled", "plan_hits", "plan_misses", "disk_hits", "disk_misses")


class Profile(Sealed):
    """The work that ran inside a block; made by `profile`. Everything is zero or empty until the block ends.

    Attributes:
        seconds: the time on the host from the start to the end of the block, without the wait for the timestamps.
        calls: the calls inside: of functions, of entry points, draws, replays. Connected calls of `lazy` are one.
        kernels: the kernels, those that took most time first.
        launches: all launches, in the order of recording; `kernel` is an index of `kernels`.
        kernels_compiled, compile_seconds: kernels that were in no cache, and the time in Slang and in the driver for them.
        plan_hits, plan_misses, disk_hits, disk_misses: as in `stats`, during the block, by all threads.
    """

    def __init__(self) -> None:
        self.seconds = self.compile_seconds = 0.0
        self.calls = 0
        self.kernels: list[ProfiledKernel] = []
        self.launches: list[ProfiledLaunch] = []
        self.kernels_compiled = self.plan_hits = self.plan_misses = self.disk_hits = self.disk_misses = 0

    @property
    def device_seconds(self) -> float | None:
        """The sum of the times of all kernels; None if one of them is not known."""
        known = [k.seconds for k in self.kernels if k.seconds is not None]
        return sum(known) if len(known) == len(self.kernels) else None

    def to_dict(self) -> dict[str, Any]:
        """Returns the numbers of the block and a dict for each kernel, ready for JSON."""
        kernels = [{**dataclasses.asdict(k), "nodes": [*k.nodes], "bandwidth": k.bandwidth} for k in self.kernels]
        counted = {name: getattr(self, name) for name in _COUNTED}
        own = {"seconds": self.seconds, "device_seconds": self.device_seconds, "calls": self.calls}
        return {**own, "compile_seconds": self.compile_seconds, **counted, "kernels": kernels}

    def to_chrome_trace(self, path: str | PathLike[str]) -> None:
        """Writes the launches as a JSON file for Perfetto or ``chrome://tracing``.

        The host and each device have a track. The clocks of host and device differ: the first launch of a device is drawn where
        the host has recorded it.
        """
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": trace_events(self.kernels, self.launches, self.seconds), "displayTimeUnit": "ms"}, file)

    def __str__(self) -> str:
        launches = sum(k.launches for k in self.kernels)
        lines = [
            f"{scaled(self.seconds, 's')} on the host, {scaled(self.device_seconds, 's')} in kernels"
            f"; {counted(self.calls, 'call')}, {counted(launches, 'launch', 'launches')}",
            f"{counted(self.kernels_compiled, 'kernel')} compiled in {scaled(self.compile_seconds, 's')}"
            f"; programs: {self.plan_hits} found, {self.plan_misses} made",
        ]
        return "\n".join([*lines, *table(self.kernels)])

    def __repr__(self) -> str:
        return f"Profile({self.calls} calls, {len(self.launches)} launches of {len(self.kernels)} kernels, {self.seconds:.3g} s)"


@contextmanager
def profile() -> Generator[Profile]:
    """Measures what runs inside the block, on this thread: each kernel by timestamps of the device, and the block on the host.

    Results do not change. Kernels run one after the other, each between two timestamps, so that the block takes longer than
    without a profile. At its end, the profile waits for the devices. A profile may be opened inside of another; both have what
    runs in the inner one. Work that runs after the block is not counted: calls of `lazy` whose results are read later, and
    `append_to`. Nor is work of other threads. Transfers between host and device count as time of the host only.

    Yields:
        the `Profile`, which is filled when the block ends, also by an exception.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_profile", "float twice(float x) { return 2 * x; }")
        >>> x = fp.Tensor([1, 2, 3])
        >>> with fp.profile() as p:
        ...     y = m.twice(m.twice(x))
        >>> p.calls, [(str(kernel), kernel.launches, kernel.nbytes) for kernel in p.kernels]
        (2, [('twice kernel 0', 2, 48)])
    """
    made, watch = Profile(), Watch(CAPTURED.get())
    before, compiling, start = stats(), _compile_seconds(), time.perf_counter()
    token = CAPTURED.set(watch)
    try:
        yield made
    finally:
        CAPTURED.reset(token)
        made.seconds = time.perf_counter() - start
        now = stats()
        for name in _COUNTED:
            setattr(made, name, now[name] - before[name])
        made.compile_seconds = _compile_seconds() - compiling
        watch.close()
        _fill(made, watch.calls, start)
        watch.calls.clear()


def _compile_seconds() -> float:
    return sum(counters.compile_seconds for counters in all_counters())


class _Sum:
    """The launches of one kernel, added up."""

    def __init__(self, name: str, number: int | None, nodes: tuple[str, ...], device: str):
        self.facts = name, number, nodes, device
        self.launches, self.seconds, self.nbytes = 0, 0.0, 0
        self.timed = self.sized = True

    def add(self, entry: TimedWork, nbytes: int | None) -> None:
        self.launches += entry.launches
        self.sized = self.sized and nbytes is not None
        self.nbytes += nbytes or 0
        self.timed = self.timed and entry.begin is not None
        if entry.begin is not None and entry.end is not None:
            self.seconds += max(entry.end - entry.begin, 0.0)

    def record(self) -> ProfiledKernel:
        return ProfiledKernel(
            *self.facts, self.launches, self.seconds if self.timed else None, self.nbytes if self.sized else None
        )


def _fill(profile: Profile, calls: Sequence[ProfiledCall], start: float) -> None:
    """Adds the launches of the calls to a profile."""
    lookup, sums = KernelLookup(), dict[Any, _Sum]()
    launches: list[tuple[_Sum, TimedWork]] = []
    for call in calls:
        profile.calls += call.work is not None
        for entry, number, nbytes in lookup.of(call):
            key = (*call.of(entry, number), number)
            if key not in sums:
                nodes = () if number is None else lookup.nodes(call, number)
                sums[key] = _Sum(call.name(entry, number), number, nodes, call.device.name)
            one = sums[key]
            one.add(entry, nbytes)
            launches.append((one, entry))
    ordered = sorted(sums.values(), key=lambda one: (-one.seconds, -one.launches))
    index = {id(one): i for i, one in enumerate(ordered)}
    profile.kernels = [one.record() for one in ordered]
    profile.launches = [ProfiledLaunch(index[id(one)], e.at - start, e.begin, e.end) for one, e in launches]

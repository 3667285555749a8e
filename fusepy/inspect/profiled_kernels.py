"""The kernels of a profile: records, as a table, and as the events of a Chrome trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fusepy.backend.execute.traffic import scaled

HEAD = ("kernel", "launches", "time", "share", "bytes", "bandwidth", "")
NAMED = 6  # nodes in a row
HOST = 0  # the track of the host; devices have the next ones


@dataclass(frozen=True)
class ProfiledKernel:
    """A kernel of a program, or other work: a copy on the device, a dispatch of an entry point, a replay.

    Attributes:
        name: the function of the user.
        number: the number of the kernel, as `explain` names it; None for other work.
        nodes: the functions and operations that it computes.
        launches: how often something was launched for it.
        seconds: the time on the device, of all launches; None if the device has no timestamps.
        nbytes: the bytes of the arrays that it reads and writes, each counted once a call; None if they are not known.
    """

    name: str
    number: int | None
    nodes: tuple[str, ...]
    device: str
    launches: int
    seconds: float | None
    nbytes: int | None

    @property
    def bandwidth(self) -> float | None:
        """The bytes per second; None without bytes or time."""
        return self.nbytes / self.seconds if self.nbytes is not None and self.seconds else None

    def __str__(self) -> str:
        return self.name if self.number is None else f"{self.name} kernel {self.number}"


@dataclass(frozen=True)
class ProfiledLaunch:
    """One launch: when the host recorded it, and when the device ran it; in seconds, each by a clock of its own."""

    kernel: int
    recorded: float
    begin: float | None
    end: float | None


def table(kernels: Sequence[ProfiledKernel]) -> list[str]:
    """Returns the lines of a table with a row for each kernel; none without kernels."""
    total = sum(k.seconds or 0.0 for k in kernels)
    rows = [HEAD, *(_row(k, total) for k in kernels)] if kernels else []
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines: list[str] = []
    for name, *numbers, nodes in rows:
        cells = [name.ljust(widths[0]), *(text.rjust(width) for text, width in zip(numbers, widths[1:])), nodes]
        lines.append("  ".join(cells).rstrip())
    return lines


def _row(kernel: ProfiledKernel, total: float) -> tuple[str, ...]:
    share = f"{kernel.seconds / total:.0%}" if kernel.seconds is not None and total else "-"
    times = scaled(kernel.seconds, "s"), share, scaled(kernel.nbytes, "B"), scaled(kernel.bandwidth, "B/s")
    more = len(kernel.nodes) - NAMED
    nodes = kernel.nodes if more <= 1 else (*kernel.nodes[:NAMED], f"and {more} more")
    return (str(kernel), f"{kernel.launches:,}", *times, ", ".join(nodes))


def counted(n: int, one: str, many: str = "") -> str:
    """Returns a number with its noun."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def trace_events(kernels: Sequence[ProfiledKernel], launches: Sequence[ProfiledLaunch], seconds: float) -> list[dict[str, Any]]:
    """Returns the events of a Chrome trace of a block of so many seconds; times are in microseconds from its start."""
    devices = list(dict.fromkeys(k.device for k in kernels))
    names = {HOST: "host", **dict(enumerate(devices, HOST + 1))}
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "thread_name", "pid": 0, "tid": i, "args": {"name": name}} for i, name in names.items()
    ]
    events.append({"ph": "X", "name": "block", "pid": 0, "tid": HOST, "ts": 0.0, "dur": seconds * 1e6})
    shifts: dict[str, float] = {}  # from the clock of a device to that of the host
    for launch in launches:
        kernel = kernels[launch.kernel]
        common = {"name": str(kernel), "pid": 0}
        events.append({**common, "ph": "i", "s": "t", "tid": HOST, "ts": launch.recorded * 1e6})
        if launch.begin is None or launch.end is None:
            continue
        shift = shifts.setdefault(kernel.device, launch.recorded - launch.begin)
        times = {"ts": (launch.begin + shift) * 1e6, "dur": max(launch.end - launch.begin, 0.0) * 1e6}
        events.append(
            {**common, "ph": "X", "tid": devices.index(kernel.device) + HOST + 1, **times, "args": {"nodes": [*kernel.nodes]}}
        )
    return events

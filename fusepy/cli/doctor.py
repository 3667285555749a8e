"""``fusepy doctor``: a report of devices and packages on this machine, with hints for missing ones."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import metadata

from fusepy.backend.device.probe import TYPES, Probe, best, probe_all
from fusepy.cli import drivers
from fusepy.cli.cache import CacheFacts, cache_facts, held_text
from fusepy.cli.version import version

# the extra of fusepy-slang that installs each distribution
_EXTRAS = {"torch": "torch", "jax": "jax", "rich": "demo", "pillow": "demo", "scikit-image": "demo"}
_SETTINGS = (
    *("FUSEPY_DEVICE", "FUSEPY_CACHE", "FUSEPY_CACHE_DIR"),
    *("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "CUDA_PATH", "LD_LIBRARY_PATH"),
)


@dataclass
class Diagnosis:
    """The findings of doctor; `device` is the device type that fusepy would open, None if none works."""

    ok: bool
    device: str | None
    versions: dict[str, str]
    devices: list[Probe]
    settings: dict[str, str]
    cache: CacheFacts
    extras: dict[str, str | None]
    hints: list[str]


@dataclass(frozen=True)
class Section:
    """One table of the report."""

    title: str
    rows: list[tuple[str, ...]]


def diagnose() -> Diagnosis:
    """Examines the machine. It takes about a second, because every device type is opened and runs a kernel."""
    wanted = os.environ.get("FUSEPY_DEVICE", "")
    probes = probe_all(TYPES)
    working = next((p for p in probes if p.ok and p.type == wanted), None) if wanted else best(probes)
    cache = cache_facts()
    return Diagnosis(
        ok=working is not None,
        device=working.type if working else None,
        versions=_versions(probes),
        devices=probes,
        settings={name: os.environ[name] for name in _SETTINGS if name in os.environ},
        cache=cache,
        extras={name: _installed(name) for name in _EXTRAS},
        hints=_hints(probes, wanted, working, cache),
    )


def _versions(probes: Sequence[Probe]) -> dict[str, str]:
    return {
        "fusepy": version(),
        "slangpy": _installed("slangpy") or "missing",
        "Slang": next((p.slang for p in probes if p.slang), None) or "unknown",
        "numpy": _installed("numpy") or "missing",
        "Python": f"{platform.python_version()} ({sys.executable})",
        "platform": f"{platform.platform()}, {drivers.this_system().name}",
    }


def _installed(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _hints(probes: Sequence[Probe], wanted: str, working: Probe | None, cache: CacheFacts) -> list[str]:
    """Returns hints for missing parts, the most important first."""
    hints: list[str] = []
    system = drivers.this_system()
    broken = all(p.broken_install for p in probes)
    if broken:
        lacking = drivers.lacks_library(probes[0].error)
        hint = drivers.advice_on_library(system) if lacking else "reinstall it: pip install slangpy"
        hints.append(f"slangpy cannot be imported ({probes[0].error}); {hint}")
    elif wanted and working is None:
        known = "does not work here" if wanted in TYPES else "is no device type of this platform"
        usable = ", ".join(p.type for p in probes if p.ok) or "none"
        hints.append(f"FUSEPY_DEVICE={wanted} {known}: unset it, or set it to one that works ({usable})")
    if best(probes) is None and not broken:
        hints.append(f"no graphics device: {drivers.environment_problem() or drivers.advice(system)}")
    if any(p.type == "cuda" and p.stage == "compile" for p in probes):
        hints.append(drivers.nvrtc_advice())
    if cache.folder and not cache.writable:
        hints.append(f"the disk cache {cache.folder} cannot be written, so every process compiles anew: set FUSEPY_CACHE_DIR")
    return hints


def sections(found: Diagnosis) -> list[Section]:
    """Returns the report as tables of text."""
    cache = found.cache
    return [
        Section("Versions", list(found.versions.items())),
        Section("Devices", [(p.type, _mark(p, found.device), p.adapter or "-", _remark(p)) for p in found.devices]),
        Section("Settings", list(found.settings.items()) or [("none", "FUSEPY_DEVICE and FUSEPY_CACHE_DIR are not set")]),
        Section(
            "Disk cache",
            [
                ("folder", str(cache.folder or "none, FUSEPY_CACHE=0 turns it off")),
                ("holds", held_text(cache)),
                ("writable", "yes" if cache.writable else "no"),
            ],
        ),
        Section("Extras", [(n, v or f'missing: pip install "fusepy-slang[{_EXTRAS[n]}]"') for n, v in found.extras.items()]),
    ]


def _mark(probe: Probe, chosen: str | None) -> str:
    if not probe.ok:
        return "no"
    return "used" if probe.type == chosen else "works"


def _remark(probe: Probe) -> str:
    if probe.type == "cpu" and probe.stage == "compile":
        return "fallback only; needs a C++ compiler such as g++"
    if probe.error:
        return f"failed at '{probe.stage}': {probe.error}"
    kind = "fallback only, no atomics or textures" if probe.type == "cpu" else "software" if probe.software else "hardware"
    return f"{probe.api}, {kind}; a kernel ran and was right ({probe.seconds:.1f} s)"


def verdict(found: Diagnosis) -> str:
    """Returns the verdict, in one line."""
    if found.ok:
        return f"Ready: fusepy can use {found.device}."
    fallback = any(p.ok and p.type == "cpu" for p in found.devices)
    return "Not ready: " + ("only the cpu fallback works." if fallback else "there is no device that fusepy can use.")


def print_plain(found: Diagnosis) -> None:
    """Prints the report with the standard library only."""
    for section in sections(found):
        print(section.title)
        columns = list(zip(*section.rows))
        widths = [max(map(len, column)) for column in columns]
        for row in section.rows:
            print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        print()
    print(verdict(found))
    for hint in found.hints:
        print(f"- {hint}")


def print_rich(found: Diagnosis) -> None:
    """Prints the report as tables; needs rich."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    for section in sections(found):
        table = Table(title=section.title, title_justify="left", title_style="bold", show_header=False, box=None, padding=(0, 2))
        for column, _ in enumerate(section.rows[0]):
            table.add_column(no_wrap=column == 0, overflow="fold")
        for row in section.rows:
            table.add_row(*map(Text, row))
        console.print(table)
        console.print()
    console.print(verdict(found), style="bold green" if found.ok else "bold red")
    for hint in found.hints:
        console.print(Text(f"- {hint}"))


def run(arguments: argparse.Namespace) -> int:
    """Prints the report. The exit code is 0 if a usable device exists, else 1."""
    found = diagnose()
    if arguments.json:
        print(json.dumps(asdict(found), indent=2, default=str))
        return 0 if found.ok else 1
    # a pipe or a file gets plain text, because rich would wrap its lines at 80 columns
    if sys.stdout.isatty() and found.extras["rich"]:
        print_rich(found)
    else:
        print_plain(found)
    return 0 if found.ok else 1

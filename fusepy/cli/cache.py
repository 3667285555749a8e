"""``fusepy cache``: shows the folder and size of the disk cache, and empties it."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

from fusepy.backend.cache.disk import DiskCache


@dataclass(frozen=True)
class CacheFacts:
    """The state of the disk cache, read without creating it; `folder` is None if the cache is off."""

    folder: Path | None
    entries: int
    bytes: int
    writable: bool


def cache_facts() -> CacheFacts:
    """Reads the state of the disk cache that this process would use."""
    cache = DiskCache.from_environment()
    stats, folder = cache.stats, cache.folder
    return CacheFacts(folder, stats.entries, stats.bytes, folder is not None and _writable(folder))


def _writable(folder: Path) -> bool:
    nearest = next(place for place in (folder, *folder.parents) if place.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def size_text(count: int) -> str:
    """Returns a number of bytes as text.

    Example:
        >>> size_text(1_536_000)
        '1.5 MB'
    """
    size, unit = float(count), "bytes"
    for larger in ("kB", "MB", "GB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"


def held_text(facts: CacheFacts) -> str:
    """Returns the contents of the cache as text."""
    return f"{facts.entries} {'entry' if facts.entries == 1 else 'entries'}, {size_text(facts.bytes)}"


def run(arguments: argparse.Namespace) -> int:
    """Shows the cache, or empties it with ``--clear``. The exit code is 1 if entries could not be removed."""
    before = cache_facts()
    if before.folder is None:
        print("the disk cache is off (FUSEPY_CACHE=0)")
        return 0
    if not arguments.clear:
        print(f"{before.folder}: {held_text(before)}")
        return 0
    DiskCache.from_environment().clear()
    left = cache_facts().entries
    print(f"{before.folder}: {held_text(before)}; " + (f"{left} could not be removed" if left else "now empty"))
    return 1 if left else 0

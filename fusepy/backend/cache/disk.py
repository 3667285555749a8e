"""The disk cache: one file per entry, shared by processes.

A damaged or foreign file is a cache miss and is replaced; see `backend.cache.files`.

Processes need no lock: a file is written under a temporary name in the same folder and renamed, so a reader sees a whole file or
none. It is not synced, because a file that is incomplete after a power failure does not match its digest.
"""

from __future__ import annotations

import atexit
import json
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fusepy.backend.cache.files import ENTRY, Files
from fusepy.backend.cache.format import Entry
from fusepy.backend.cache.writer import EntryWriter


@dataclass(frozen=True, slots=True)
class CacheStats:
    """The `hits` and `misses` of one `DiskCache`, and the number of `entries` in its folder with their size in `bytes`."""

    hits: int
    misses: int
    entries: int
    bytes: int


def default_folder() -> Path:
    """Returns the default folder of the cache.

    It is ``FUSEPY_CACHE_DIR``, else ``fusepy`` below ``XDG_CACHE_HOME``, else ``~/.cache/fusepy``. A relative ``XDG_CACHE_HOME``
    is ignored, as the XDG base directory specification requires.
    """
    if chosen := os.environ.get("FUSEPY_CACHE_DIR"):
        return Path(chosen).absolute()
    bases = (os.environ.get("XDG_CACHE_HOME", ""), os.path.expanduser("~/.cache"))
    # In a container a user ID may have no home folder. Its path cannot be created, which gives one warning.
    return Path(next(filter(os.path.isabs, bases), "/nonexistent"), "fusepy")


class DiskCache:
    """A store of compiled kernels between processes. Several threads and several processes may use it.

    Args:
        folder: the folder of the files, created with mode 0700; None turns the cache off.
        max_bytes: the maximum size of the folder. Before the first write the least recently used entries are removed, once.
            Entries that this process then adds may exceed it until the next process starts.

    If the folder cannot be written, there is one `CacheWarning` per process and writing is turned off. Nothing raises.

    Example:
        >>> import tempfile
        >>> cache = DiskCache(Path(tempfile.mkdtemp()) / "kernels")
        >>> cache.put("key", {"threads": 32}, {"spirv": b"..."})
        >>> entry = cache.get("key")
        >>> entry.header, entry.payload["spirv"]
        ({'threads': 32}, b'...')
        >>> cache.get("another key") is None
        True
    """

    def __init__(self, folder: Path | None, *, max_bytes: int = 512 << 20):
        self._files = None if folder is None else Files(folder.absolute(), max_bytes)
        self._lock = threading.Lock()
        self._hits = self._misses = 0
        self._in_flight: dict[bytes, Entry] = {}
        self._writer = EntryWriter()
        self._at_exit = False

    @classmethod
    def from_environment(cls) -> DiskCache:
        """Returns the cache in `default_folder`, or one that is off if ``FUSEPY_CACHE=0``."""
        return cls(None if os.environ.get("FUSEPY_CACHE") == "0" else default_folder())

    @property
    def folder(self) -> Path | None:
        """The folder of the files, or None if the cache is off."""
        return self._files and self._files.folder

    @property
    def stats(self) -> CacheStats:
        """The counts of this object, and of the folder's present contents."""
        self._writer.drain()
        sizes = [size for _, size, _ in self._files.scan(ENTRY)] if self._files else []
        return CacheStats(self._hits, self._misses, len(sizes), sum(sizes))

    def get(self, key: bytes | str) -> Entry | None:
        """Returns the entry of `key`, also while its `put_async` is in flight, or None if there is no valid one."""
        key = _encoded(key)
        with self._lock:
            entry = self._in_flight.get(key)
        if entry is None and self._files:
            entry = self._files.read(key)
        with self._lock:
            self._hits += entry is not None
            self._misses += entry is None
        return entry

    def put(self, key: bytes | str, header: dict[str, Any], payload: Mapping[str, bytes]) -> None:
        """Writes an entry, replaces an older one, and returns when it is stored.

        Raises:
            TypeError, ValueError: if `header` is not JSON data.
        """
        self.put_async(key, header, payload)
        self.flush()

    def put_async(self, key: bytes | str, header: dict[str, Any], payload: Mapping[str, bytes]) -> None:
        """Writes an entry on a thread, which takes 4-35 µs; a `put` of 100 KB takes 160. The arguments may be changed at once.

        Raises:
            TypeError, ValueError: if `header` is not JSON data.
        """
        # a round trip through JSON: an entry in flight equals the one that will be read from the file
        header = json.loads(json.dumps(header))
        if self._writable():
            key = _encoded(key)
            entry = Entry(header, {name: bytes(blob) for name, blob in payload.items()})
            with self._lock:
                self._in_flight[key] = entry
            self._writer.submit(lambda: self._store(key, entry))

    def put_later(self, key: bytes | str, make: Callable[[], Entry | None]) -> None:
        """Calls `make` on a thread and writes the entry that it returns, if any. `get` finds the entry once it is written."""
        if self._writable():
            self._writer.submit(lambda: self._store(_encoded(key), made) if (made := make()) is not None else None)

    def has(self, key: bytes | str) -> bool:
        """True if there is a file for this entry, valid or not."""
        return self._files is not None and self._files.has(_encoded(key))

    def remove(self, key: bytes | str) -> None:
        """Removes an entry that is not usable, so that it is written again."""
        if self._files is not None:
            self._files.remove(_encoded(key))

    def _writable(self) -> bool:
        if self._files is None or not self._files.writable():
            return False
        if not self._at_exit:
            # Entries in flight at exit are still written. This is registered here and not in the constructor, because exit
            # functions run last to first: those that remove files for a function given to `put_later` were registered before the
            # first `put`.
            self._at_exit = True
            atexit.register(_flush_if_alive, weakref.ref(self))
        return True

    def flush(self) -> None:
        """Waits until no entry is in flight."""
        self._writer.drain()
        if self._files:
            self._files.report()

    def clear(self) -> None:
        """Removes all entries from the folder. Other files in it stay."""
        self._writer.drain()
        if self._files:
            self._files.clear()

    def _store(self, key: bytes, entry: Entry) -> None:
        if self._files:
            self._files.write(key, entry)
        with self._lock:
            if self._in_flight.get(key) is entry:
                del self._in_flight[key]


def _flush_if_alive(cache: weakref.ref[DiskCache]) -> None:
    if (alive := cache()) is not None:  # a cache that is gone had nothing in flight, because jobs refer to theirs
        alive.flush()


def _encoded(key: bytes | str) -> bytes:
    return key.encode() if isinstance(key, str) else key

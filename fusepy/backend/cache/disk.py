"""The disk cache: one file per entry, safe between processes, and healing.

A damaged or foreign file is a miss that heals; see `backend.cache.files`.

Processes need no lock: a file is written under a temporary name in the same folder and renamed, so a reader sees a whole file or
none. It is not synced, because what a power failure leaves behind fails its digest.
"""

from __future__ import annotations

import atexit
import json
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fusepy.backend.cache.files import ENTRY, Entry, Files


@dataclass(frozen=True, slots=True)
class CacheStats:
    """The `hits` and `misses` of one `DiskCache`, and the `entries` in its folder with their size in `bytes`."""

    hits: int
    misses: int
    entries: int
    bytes: int


def default_folder() -> Path:
    """Where entries go unless the program says otherwise.

    ``FUSEPY_CACHE_DIR``, else ``fusepy`` below ``XDG_CACHE_HOME``, else ``~/.cache/fusepy``. A relative ``XDG_CACHE_HOME`` is
    ignored, as the XDG base directory specification asks.
    """
    if chosen := os.environ.get("FUSEPY_CACHE_DIR"):
        return Path(chosen).absolute()
    bases = (os.environ.get("XDG_CACHE_HOME", ""), os.path.expanduser("~/.cache"))
    # A user ID without a home folder, as containers have them, gets a path that cannot be created, hence the one warning.
    return Path(next(filter(os.path.isabs, bases), "/nonexistent"), "fusepy")


class DiskCache:
    """Keeps compiled kernels between processes; safe to use from several threads and several processes.

    Args:
        folder: where the files lie, created with mode 0700; None makes a cache that is off.
        max_bytes: the bound on the folder. It is applied once, before the first entry is written, by removing the entries that
            were not used for the longest time; what this process adds afterwards may exceed it until the next process comes.

    A folder that cannot be written gives one `CacheWarning` per process and turns writing off; nothing raises.

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
        self._writer = _Writer()
        self._at_exit = False

    @classmethod
    def from_environment(cls) -> DiskCache:
        """The cache in `default_folder`, or one that is off where ``FUSEPY_CACHE=0`` says so."""
        return cls(None if os.environ.get("FUSEPY_CACHE") == "0" else default_folder())

    @property
    def folder(self) -> Path | None:
        """Where the files lie; None where the cache is off."""
        return self._files and self._files.folder

    @property
    def stats(self) -> CacheStats:
        """Counts of this object, and of what lies in the folder now."""
        self._writer.drain()
        sizes = [size for _, size, _ in self._files.scan(ENTRY)] if self._files else []
        return CacheStats(self._hits, self._misses, len(sizes), sum(sizes))

    def get(self, key: bytes | str) -> Entry | None:
        """The entry of `key`, also while its `put_async` is in flight; None if there is no good one."""
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
        """Writes an entry, over the one that `key` may have, and returns when it is in its place.

        Raises:
            TypeError, ValueError: `header` is not JSON data.
        """
        self.put_async(key, header, payload)
        self.flush()

    def put_async(self, key: bytes | str, header: dict[str, Any], payload: Mapping[str, bytes]) -> None:
        """As `put`, but a thread writes: 4-35 µs where a `put` of 100 KB takes 160. The arguments may be changed at once.

        Raises:
            TypeError, ValueError: `header` is not JSON data.
        """
        # Through JSON and back, so that an entry in flight equals the one that will be read from the file.
        header = json.loads(json.dumps(header))
        if self._writable():
            key = _encoded(key)
            entry = Entry(header, {name: bytes(blob) for name, blob in payload.items()})
            with self._lock:
                self._in_flight[key] = entry
            self._writer.submit(lambda: self._store(key, entry))

    def put_later(self, key: bytes | str, make: Callable[[], Entry | None]) -> None:
        """Writes the entry that `make` returns, if any, on a thread that calls it: `get` finds the entry once it is written."""
        if self._writable():
            self._writer.submit(lambda: self._store(_encoded(key), made) if (made := make()) is not None else None)

    def has(self, key: bytes | str) -> bool:
        """Whether there is a file in the place of this entry, good or not."""
        return self._files is not None and self._files.has(_encoded(key))

    def remove(self, key: bytes | str) -> None:
        """Removes an entry that turned out to be of no use, so that it is written anew."""
        if self._files is not None:
            self._files.remove(_encoded(key))

    def _writable(self) -> bool:
        if self._files is None or not self._files.writable():
            return False
        if not self._at_exit:
            # What is in flight at exit is still written. Registered here and not in the constructor, because exit functions run
            # last to first: those that remove what a function given to `put_later` reads were registered before the first `put`.
            self._at_exit = True
            atexit.register(_flush_if_alive, weakref.ref(self))
        return True

    def flush(self) -> None:
        """Waits until nothing is in flight."""
        self._writer.drain()
        if self._files:
            self._files.report()

    def clear(self) -> None:
        """Removes all entries from the folder; files of others in it stay."""
        self._writer.drain()
        if self._files:
            self._files.clear()

    def _store(self, key: bytes, entry: Entry) -> None:
        if self._files:
            self._files.write(key, entry)
        with self._lock:
            if self._in_flight.get(key) is entry:
                del self._in_flight[key]


class _Writer:
    """Runs jobs in order on a thread that lives only while there are some."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: deque[Callable[[], None]] = deque()
        self._thread: threading.Thread | None = None

    def submit(self, job: Callable[[], None]) -> None:
        with self._lock:
            self._jobs.append(job)
            if self._thread is not None and self._thread.is_alive():
                return
            # A daemon, because the interpreter joins other threads before it runs what is registered with atexit.
            thread = threading.Thread(target=self._run, name="fusepy-cache", daemon=True)
            try:
                thread.start()
                self._thread = thread
                return
            except RuntimeError:  # No thread can be started while the interpreter shuts down.
                pass
        self._run()

    def drain(self) -> None:
        """Waits until all jobs submitted so far are done."""
        if (thread := self._thread) is not None:
            thread.join()
        self._run()  # What a thread has left behind that an error in a job or a fork has ended.

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    if self._thread is threading.current_thread():
                        self._thread = None
                    return
                job = self._jobs.popleft()
            job()


def _flush_if_alive(cache: weakref.ref[DiskCache]) -> None:
    if (alive := cache()) is not None:  # A cache that is gone had nothing in flight: jobs keep theirs alive.
        alive.flush()


def _encoded(key: bytes | str) -> bytes:
    return key.encode() if isinstance(key, str) else key

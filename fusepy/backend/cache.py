"""The disk cache: one file per entry, safe between processes, and healing.

The file of an entry is named by the hex SHA-256 of its key. Its layout, little-endian and without padding::

    magic "FUSEPYC\\0" | SHA-256 of the rest | u32 version | u64 key size | u64 JSON size | u64 payload size
    full key echo | JSON {"header": ..., "blobs": [[name, size], ...]} | the blobs, one after the other

A file that is cut short, changed, of another version or of another key is a miss: it is removed, and the next `put` writes it
anew. There is no pickle: reading a foreign file runs nothing.

Processes need no lock: a file is written under a temporary name in the same folder and renamed, so a reader sees a whole file or
none. It is not synced, because what a power failure leaves behind fails its digest.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import re
import struct
import tempfile
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fusepy.errors import CacheWarning

_MAGIC = b"FUSEPYC\0"
_VERSION = 1
_NUMBERS = struct.Struct("<IQQQ")
_DIGEST_BYTES = 32
_ENTRY = re.compile(r"[0-9a-f]{64}")
_TEMPORARY = re.compile(r"\.fusepy-.*")
_TOUCH_AFTER_S = 86400.0  # A hit renews the file's time at most once a day, so that reads stay reads.
_STALE_AFTER_S = 3600.0  # A temporary file this old belongs to a process that died while it wrote.
_warned = False


@dataclass(frozen=True, slots=True)
class Entry:
    """What is stored under a key: `header` is JSON data, `payload` maps names to bytes."""

    header: dict[str, Any]
    payload: Mapping[str, bytes]


Payload = Mapping[str, bytes] | Callable[[], Mapping[str, bytes]]


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
        >>> cache = DiskCache(Path(tempfile.mkdtemp()) / "kernels")
        >>> cache.put("key", {"threads": 32}, {"spirv": b"..."})
        >>> entry = cache.get("key")
        >>> entry.header, entry.payload["spirv"]
        ({'threads': 32}, b'...')
        >>> cache.get("another key") is None
        True
    """

    def __init__(self, folder: Path | None, *, max_bytes: int = 512 << 20):
        self._files = None if folder is None else _Files(folder.absolute(), max_bytes)
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
        sizes = [size for _, size, _ in self._files.scan(_ENTRY)] if self._files else []
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

    def put(self, key: bytes | str, header: dict[str, Any], payload: Payload) -> None:
        """Writes an entry, over the one that `key` may have, and returns when it is in its place.

        Raises:
            TypeError, ValueError: `header` is not JSON data.
        """
        self.put_async(key, header, payload)
        self.flush()

    def put_async(self, key: bytes | str, header: dict[str, Any], payload: Payload) -> None:
        """As `put`, but a thread writes: 4-35 µs where a `put` of 100 KB takes 160. The arguments may be changed at once.

        A `payload` that is a function is called on that thread. `get` finds the entry once it has returned; where it returns an
        empty mapping, there is no entry.

        Raises:
            TypeError, ValueError: `header` is not JSON data.
        """
        # Through JSON and back, so that an entry in flight equals the one that will be read from the file.
        header = json.loads(json.dumps(header))
        if self._files is None or not self._files.writable():
            return
        if not self._at_exit:
            # What is in flight at exit is still written. Registered here and not in the constructor, because exit functions run
            # last to first: those that remove what a payload function reads were registered before the first `put`.
            self._at_exit = True
            atexit.register(_flush_if_alive, weakref.ref(self))
        key = _encoded(key)
        if callable(payload):
            make = payload
            self._writer.submit(lambda: self._store(key, Entry(header, made)) if (made := make()) else None)
            return
        entry = Entry(header, {name: bytes(blob) for name, blob in payload.items()})
        with self._lock:
            self._in_flight[key] = entry
        self._writer.submit(lambda: self._store(key, entry))

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


class _Files:
    """The files of one folder. No method raises OSError: the first one that a write meets is kept, and ends the writing."""

    def __init__(self, folder: Path, max_bytes: int):
        self.folder = folder
        self.max_bytes = max_bytes
        self._failure: OSError | None = None
        self._tried = self._evicted = False

    def writable(self) -> bool:
        """Whether there is a folder to write in; the first call creates it and tries it out, so that it is what warns."""
        if not self._tried:
            self._tried = True
            try:
                os.unlink(self._temporary([]))
            except OSError as error:
                self._failure = error
        self.report()
        return self._failure is None

    def report(self) -> None:
        if self._failure is not None:
            _warn_once(self.folder, str(self._failure))

    def scan(self, name: re.Pattern[str]) -> list[tuple[float, int, Path]]:
        """The time of last use, the size and the path of each file that is called so, the oldest first."""
        found: list[tuple[float, int, Path]] = []
        with suppress(OSError), os.scandir(self.folder) as items:
            for item in items:
                with suppress(FileNotFoundError):  # Other processes remove files while we look.
                    stat = item.stat(follow_symlinks=False)
                    found.append((stat.st_mtime, stat.st_size, Path(item.path)))
        return sorted(file for file in found if name.fullmatch(file[2].name))

    def read(self, key: bytes) -> Entry | None:
        path = self._path(key)
        try:
            with path.open("rb") as file:
                data = file.read()
                used = os.fstat(file.fileno()).st_mtime
        except OSError:
            return None
        entry = _unpack(data, key)
        if entry is None:
            _remove(path)  # If another process has healed it in the meantime, that costs one more compilation.
        elif time.time() - used > _TOUCH_AFTER_S:
            with suppress(OSError):
                os.utime(path)
        return entry

    def write(self, key: bytes, entry: Entry) -> None:
        parts = _pack(key, entry)
        if self._failure is not None or sum(map(len, parts)) > self.max_bytes:
            return
        if not self._evicted:
            self._evicted = True
            self._evict()
        try:
            temporary = self._temporary(parts)
            try:
                os.replace(temporary, self._path(key))
            except OSError:
                _remove(temporary)
                raise
        except OSError as error:
            self._failure = error

    def _temporary(self, parts: list[bytes]) -> Path:
        """Writes a file under a name of its own. The folder is created if need be: it may also be removed while we run."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, path = tempfile.mkstemp(dir=self.folder, prefix=".fusepy-")
        try:
            with open(descriptor, "wb") as file:
                file.writelines(parts)
        except OSError:
            _remove(Path(path))
            raise
        return Path(path)

    def clear(self) -> None:
        for _, _, path in self.scan(_ENTRY) + self.scan(_TEMPORARY):
            _remove(path)

    def _evict(self) -> None:
        entries = self.scan(_ENTRY)
        total = sum(size for _, size, _ in entries)
        # Down to 3/4 of the bound, so that not every process has to evict.
        target = self.max_bytes if total <= self.max_bytes else self.max_bytes * 3 // 4
        for _, size, path in entries:
            if total > target:
                _remove(path)
                total -= size
        for written, _, path in self.scan(_TEMPORARY):
            if time.time() - written > _STALE_AFTER_S:
                _remove(path)

    def _path(self, key: bytes) -> Path:
        return self.folder / hashlib.sha256(key).hexdigest()


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


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def _pack(key: bytes, entry: Entry) -> list[bytes]:
    """The parts of an entry's file, in order."""
    blobs = list(entry.payload.values())
    sizes = [[name, len(blob)] for name, blob in entry.payload.items()]
    text = json.dumps({"header": entry.header, "blobs": sizes}, separators=(",", ":")).encode()
    numbers = _NUMBERS.pack(_VERSION, len(key), len(text), sum(map(len, blobs)))
    digest = hashlib.sha256()
    for part in (numbers, key, text, *blobs):
        digest.update(part)
    return [_MAGIC, digest.digest(), numbers, key, text, *blobs]


def _unpack(data: bytes, key: bytes) -> Entry | None:
    """The entry in a file's bytes; None unless each of them is as `_pack` wrote it for this key."""
    hashed = memoryview(data)[len(_MAGIC) + _DIGEST_BYTES :]
    if len(hashed) < _NUMBERS.size or not data.startswith(_MAGIC + hashlib.sha256(hashed).digest()):
        return None
    version, key_size, text_size, payload_size = _NUMBERS.unpack_from(hashed)
    rest = bytes(hashed[_NUMBERS.size :])
    start = key_size + text_size
    if version != _VERSION or rest[:key_size] != key or len(rest) != start + payload_size:
        return None
    payload: dict[str, bytes] = {}
    try:
        described = json.loads(rest[key_size:start])
        for name, size in described["blobs"]:
            payload[name] = rest[start : start + size]
            start += size
        return Entry(described["header"], payload)
    except (ValueError, LookupError, TypeError):  # Another layout that forgot to change its version.
        return None


def _warn_once(path: Path | str, reason: str) -> None:
    global _warned
    if _warned:
        return
    _warned = True
    warnings.warn(
        f"the kernel cache in {path} cannot be written ({reason}); it is off for this process, which compiles what it needs: set "
        "FUSEPY_CACHE_DIR to a folder that can be written, or FUSEPY_CACHE=0 to do without",
        CacheWarning,
        stacklevel=3,
    )

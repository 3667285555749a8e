"""The files of the disk cache: how an entry lies in one, and the folder that holds them.

The file of an entry is named by the hex SHA-256 of its key. Its layout, little-endian and without padding::

    magic "FUSEPYC\\0" | SHA-256 of the rest | u32 version | u64 key size | u64 JSON size | u64 payload size
    full key echo | JSON {"header": ..., "blobs": [[name, size], ...]} | the blobs, one after the other

A file that is cut short, changed, of another version or of another key is a miss, and so is whatever else lies in its place (a
folder, a pipe, a device, a link to itself): it is removed, and the next `write` puts it anew. An entry that cannot be read for
now, because too many files are open for instance, is a miss and stays. There is no pickle: reading a
foreign file runs nothing.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import stat
import struct
import tempfile
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from fusepy.errors import CacheWarning

_MAGIC = b"FUSEPYC\0"
_VERSION = 1
_NUMBERS = struct.Struct("<IQQQ")
_DIGEST_BYTES = 32
ENTRY = re.compile(r"[0-9a-f]{64}")
_TEMPORARY = re.compile(r"\.fusepy-.*")
_TOUCH_AFTER_S = 86400.0  # A hit renews the file's time at most once a day, so that reads stay reads.
_STALE_AFTER_S = 3600.0  # A temporary file this old belongs to a process that died while it wrote.
_FOREIGN = (  # what opening says of a folder, a link to itself, a socket or a lost device, a file of somebody else
    *(errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP),
    *(errno.EACCES, errno.EPERM),
)
_warned = False


@dataclass(frozen=True, slots=True)
class Entry:
    """What is stored under a key: `header` is JSON data, `payload` maps names to bytes."""

    header: dict[str, Any]
    payload: Mapping[str, bytes]


class Files:
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
            warn_once(self.folder, str(self._failure))

    def scan(self, name: re.Pattern[str]) -> list[tuple[float, int, Path]]:
        """The time of last use, the size and the path of each file that is called so, the oldest first."""
        found: list[tuple[float, int, Path]] = []
        with suppress(OSError), os.scandir(self.folder) as items:
            for item in items:
                with suppress(FileNotFoundError):  # Other processes remove files while we look.
                    seen = item.stat(follow_symlinks=False)
                    found.append((seen.st_mtime, seen.st_size, Path(item.path)))
        return sorted(file for file in found if name.fullmatch(file[2].name))

    def read(self, key: bytes) -> Entry | None:
        path = self._path(key)
        try:
            # what is no file of ours must not be waited for (a pipe), nor read without end (a device)
            with open(path, "rb", opener=lambda path, flags: os.open(path, flags | getattr(os, "O_NONBLOCK", 0))) as file:
                found = os.fstat(file.fileno())
                ours = stat.S_ISREG(found.st_mode) and found.st_size <= self.max_bytes
                data = file.read() if ours else b""
                used = found.st_mtime
        except OSError as error:
            if error.errno in _FOREIGN:
                _remove(path)
            return None  # any other failure is of the moment, such as too many open files, and says nothing of the entry
        entry = _unpack(data, key)
        if entry is None:
            _remove(path)  # If another process has healed it in the meantime, that costs one more compilation.
        elif time.time() - used > _TOUCH_AFTER_S:
            with suppress(OSError):
                os.utime(path)
        return entry

    def has(self, key: bytes) -> bool:
        return self._path(key).is_file()

    def remove(self, key: bytes) -> None:
        _remove(self._path(key))

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
                if self._path(key).is_dir() and not self._path(key).is_symlink():
                    _remove(self._path(key))
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
        for _, _, path in self.scan(ENTRY) + self.scan(_TEMPORARY):
            _remove(path)

    def _evict(self) -> None:
        entries = self.scan(ENTRY)
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


def _remove(path: Path) -> None:
    """Removes what lies there, a folder too: the names are ours."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
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
        header: Any = described["header"]
        return Entry(cast("dict[str, Any]", header), payload) if isinstance(header, dict) else None
    except (ValueError, LookupError, TypeError):  # Another layout that forgot to change its version.
        return None


def sealed(data: dict[str, Any]) -> dict[str, Any]:
    """A header that holds `data`, and by which `unsealed` knows it again."""
    return {"data": data, "seal": _seal(data)}


def unsealed(header: dict[str, Any]) -> Any:
    """What `sealed` was given; ``None`` for any other header, so a reader can trust each part of what it gets."""
    data: Any = header.get("data")
    if not isinstance(data, dict) or header.get("seal") != _seal(cast("dict[str, Any]", data)):
        return None
    return cast("dict[str, Any]", data)


def _seal(data: dict[str, Any]) -> str:
    return hashlib.sha256(f"fusepy {_VERSION} {json.dumps(data, sort_keys=True)}".encode()).hexdigest()


def warn_once(path: Path | str, reason: str) -> None:
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

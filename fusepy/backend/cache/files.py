"""The files of the disk cache in their folder. `backend.cache.format` is the layout of one.

The file of an entry is named by the hex SHA-256 of its key. A file without an entry of this key is a miss. So is anything else in
its place (a folder, a pipe, a device, a link to itself). It is removed, and the next `write` stores the entry again. The first
one that is damaged, or no file, gives a `CacheWarning`; an entry of another version, or of another user, does not. An entry that
cannot be read at the moment, for instance because too many files are open, is a miss and stays.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fusepy.backend.cache.format import Entry, intact, pack, unpack
from fusepy.errors import CacheWarning

ENTRY = re.compile(r"[0-9a-f]{64}")
_TEMPORARY = re.compile(r"\.fusepy-.*")
_TOUCH_AFTER_S = 86400.0  # a hit renews the file's time at most once a day, so that most reads write nothing
_STALE_AFTER_S = 3600.0  # a temporary file of this age belongs to a process that died while it wrote
_ATTEMPTS = 5  # of a write whose file is removed in the middle of it
_NO_FILE = (errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP)  # a folder, a link to itself, a socket, …
_OTHERS = (errno.EACCES, errno.EPERM)  # a file of another user
_UNWRITABLE = (
    "the kernel cache in {} cannot be written ({}); it is off for this process, which compiles what it needs: set "
    "FUSEPY_CACHE_DIR to a folder that can be written, or FUSEPY_CACHE=0 to do without"
)
_DAMAGED = (
    "an entry of the kernel cache is damaged: {}. It was removed and is compiled again; results are not affected. Other damaged "
    "entries are replaced without a warning; fusepy.clear_cache(disk=True) removes all entries"
)
_warned: set[str] = set()


class Files:
    """The files of one folder. No method raises OSError: the first error of a write is kept and stops all writing."""

    def __init__(self, folder: Path, max_bytes: int):
        self.folder = folder
        self.max_bytes = max_bytes
        self._failure: OSError | None = None
        self._tried = self._evicted = False

    def writable(self) -> bool:
        """True if there is a folder to write in. The first call creates the folder and tests it, and may warn."""
        if not self._tried:
            self._tried = True
            try:
                _again_if_removed(lambda: os.unlink(self._temporary([])))
            except OSError as error:
                self._failure = error
        self.report()
        return self._failure is None

    def report(self) -> None:
        if self._failure is not None:
            _warn_once(_UNWRITABLE, self.folder, self._failure)

    def scan(self, name: re.Pattern[str]) -> list[tuple[float, int, Path]]:
        """Returns time of last use, size and path of each file whose name matches, the oldest first."""
        found: list[tuple[float, int, Path]] = []
        with suppress(OSError), os.scandir(self.folder) as items:
            for item in items:
                with suppress(FileNotFoundError):  # other processes remove files at the same time
                    seen = item.stat(follow_symlinks=False)
                    found.append((seen.st_mtime, seen.st_size, Path(item.path)))
        return sorted(file for file in found if name.fullmatch(file[2].name))

    def read(self, key: bytes) -> Entry | None:
        path = self._path(key)
        try:
            # a foreign pipe must not block the read, and a foreign device must not be read without end
            with open(path, "rb", opener=lambda path, flags: os.open(path, flags | getattr(os, "O_NONBLOCK", 0))) as file:
                found = os.fstat(file.fileno())
                ours = stat.S_ISREG(found.st_mode) and found.st_size <= self.max_bytes
                data = file.read() if ours else b""
                used = found.st_mtime
        except OSError as error:
            if error.errno in _NO_FILE:
                _warn_once(_DAMAGED, path)
            if error.errno in (*_NO_FILE, *_OTHERS):
                _remove(path)
            return None  # any other failure, such as too many open files, is temporary
        entry = unpack(data, key)
        if entry is None:
            if not intact(data):
                _warn_once(_DAMAGED, path)
            _remove(path)  # if another process has replaced it meanwhile, that costs one more compilation
        elif time.time() - used > _TOUCH_AFTER_S:
            with suppress(OSError):
                os.utime(path)
        return entry

    def has(self, key: bytes) -> bool:
        return self._path(key).is_file()

    def remove(self, key: bytes) -> None:
        _remove(self._path(key))

    def write(self, key: bytes, entry: Entry) -> None:
        parts = pack(key, entry)
        if self._failure is not None or sum(map(len, parts)) > self.max_bytes:
            return
        if not self._evicted:
            self._evicted = True
            self._evict()
        try:
            _again_if_removed(lambda: self._replace(self._path(key), parts))
        except OSError as error:
            self._failure = error

    def _replace(self, path: Path, parts: list[bytes]) -> None:
        temporary = self._temporary(parts)
        try:
            if path.is_dir() and not path.is_symlink():
                _remove(path)
            os.replace(temporary, path)
        except OSError:
            _remove(temporary)
            raise

    def _temporary(self, parts: list[bytes]) -> Path:
        """Writes a file under a unique name. Creates the folder if necessary: it may be removed while we run."""
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
        # down to 3/4 of the maximum, so that not every process has to evict
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


def _again_if_removed(write: Callable[[], None]) -> None:
    """Calls `write`, again if its file or the folder is gone: another process may clear the cache in the middle of a write."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(FileNotFoundError):
            write()
            return
    write()


def _remove(path: Path) -> None:
    """Removes a file or folder in the place of an entry: these names are ours."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _warn_once(text: str, *parts: object) -> None:
    """Gives a warning of this text, the first time in this process."""
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text.format(*parts), CacheWarning, stacklevel=4)

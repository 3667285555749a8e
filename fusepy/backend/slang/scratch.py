"""`Scratch`: the folder of Slang's files of one device, which is removed with it.

Slang reads a parsed module again if the session has the same options, and the paths of its folders are options. So the path must
be one that later processes have too: folders are numbered, and a device takes the first that is free. A lock shows which are not,
and goes with its process.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

FOLDERS = 256  # with numbers; a device beyond them has a folder of another name
_BASE = "fusepy-slang"


class Scratch:
    """A folder with the parts ``source``, ``binary``, ``loaded`` and ``code``, which no other device uses.

    Attributes:
        root: its path.

    Example:
        >>> scratch = Scratch()
        >>> (scratch.root / "binary").is_dir(), scratch.is_open
        (True, True)
        >>> scratch.remove()
        >>> scratch.root.exists(), scratch.is_open
        (False, False)
    """

    def __init__(self) -> None:
        self.root, lock = _free_folder()
        for part in ("source", "binary", "loaded", "code"):
            (self.root / part).mkdir()
        self.remove = weakref.finalize(self, _remove, self.root, lock, os.getpid())

    @property
    def is_open(self) -> bool:
        """True until it is removed."""
        return self.remove.alive


def _free_folder() -> tuple[Path, int | None]:
    """Creates the first numbered folder that nobody uses. Returns it with the descriptor of its lock, if it has one."""
    base = Path(tempfile.gettempdir()) / f"{_BASE}-{os.getuid()}" if fcntl is not None else None
    if base is not None and _is_ours(base):
        for folder, lock in _locked(base):
            shutil.rmtree(folder, ignore_errors=True)  # what a process left that was killed
            try:
                folder.mkdir(0o700)
            except OSError:
                os.close(lock)
                break
            return folder, lock
    return Path(tempfile.mkdtemp(prefix=f"{_BASE}-")), None


def _is_ours(base: Path) -> bool:
    """Creates `base`, unless it exists. True if this user owns it, and nobody else can write into it."""
    try:
        base.mkdir(0o700, exist_ok=True)
        found = base.lstat()
    except OSError:
        return False
    return base.is_dir() and not base.is_symlink() and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _locked(base: Path) -> Iterator[tuple[Path, int]]:
    """Yields each folder whose lock could be taken, with the lock's descriptor."""
    assert fcntl is not None
    for number in range(FOLDERS):
        try:
            lock = os.open(base / f"{number}.lock", os.O_CREAT | os.O_RDWR, 0o600)
        except OSError:
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            continue
        yield base / str(number), lock


def _remove(folder: Path, lock: int | None, owner: int) -> None:
    """Removes a device's folder, then gives its number back. The child of a fork does not touch its parent's."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)

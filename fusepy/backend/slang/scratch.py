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
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

FOLDERS = 256  # with numbers; a device beyond them has a folder of another name
_BASE = "fusepy-slang"
_OWNER = "owner"  # the file in a folder that says which lock is its own


class Scratch:
    """A folder with the parts ``source``, ``binary``, ``loaded`` and ``code``, which no other device uses.

    Attributes:
        root: its path.
        numbered: later processes may have this path too.

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
        self.numbered = lock is not None
        self.remove = weakref.finalize(self, _remove, self.root, lock, os.getpid())
        for part in ("source", "binary", "loaded", "code"):
            (self.root / part).mkdir()

    @property
    def is_open(self) -> bool:
        """True until it is removed."""
        return self.remove.alive


def _free_folder() -> tuple[Path, int | None]:
    """Creates the first numbered folder that nobody uses. Returns it with the descriptor of its lock, if it has one."""
    base = Path(tempfile.gettempdir()) / f"{_BASE}-{os.getuid()}" if fcntl is not None else None
    found = _taken(base) if base is not None and _is_ours(base) else None
    return (Path(tempfile.mkdtemp(prefix=f"{_BASE}-")), None) if found is None else found


def _is_ours(base: Path) -> bool:
    """Creates `base`, unless it exists. True if this user owns it, and nobody else can write into it."""
    try:
        base.mkdir(0o700, exist_ok=True)
        found = base.lstat()
    except OSError:
        return False
    return base.is_dir() and not base.is_symlink() and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _taken(base: Path) -> tuple[Path, int] | None:
    """Takes the first number that is free, and removes what killed processes have left in others."""
    taken: tuple[Path, int] | None = None
    try:
        left = {int(path.name) for path in base.iterdir() if path.name.isdigit()}
        for number in range(max([FOLDERS, *(n + 1 for n in left)])):
            if taken is not None and number not in left:
                continue
            folder, lock = base / str(number), _lock(base / f"{number}.lock")
            if lock is None:
                continue
            if _clear(folder, lock) and taken is None and _make(folder, lock):
                taken = folder, lock
            else:
                os.close(lock)
    except OSError:  # no files or no locks here
        pass
    return taken


def _lock(path: Path) -> int | None:
    """Returns the descriptor of a lock, or None if another process has it.

    Raises:
        OSError: if the file system has no locks.
    """
    assert fcntl is not None
    lock = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return lock


def _make(folder: Path, lock: int) -> bool:
    try:
        folder.mkdir(0o700)
        (folder / _OWNER).write_text(_name(lock))
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        return False
    return True


def _clear(folder: Path, lock: int) -> bool:
    """Removes what the last owner of this lock has left, if this is its folder.

    False if it is not: somebody has removed the file of another lock, whose owner may live.
    """
    try:
        if (folder / _OWNER).read_text() != _name(lock):
            return False
    except OSError:
        return not folder.exists()
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def _name(lock: int) -> str:
    return str(os.fstat(lock).st_ino)


def _remove(folder: Path, lock: int | None, owner: int) -> None:
    """Removes a device's folder, then gives its number back. The child of a fork does not touch its parent's."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None and fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_UN)  # for children of a fork too, which have the descriptor
            os.close(lock)

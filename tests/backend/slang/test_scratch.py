"""Folders of Slang's files: of one path for processes after each other, and never of two devices at once."""

from __future__ import annotations

import errno
import os
import tempfile
import time
from pathlib import Path

import pytest

from fusepy.backend.slang.scratch import Scratch
from tests.support import child

pytestmark = pytest.mark.skipif(os.name == "nt", reason="folders have no numbers there")


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"fusepy-slang-{os.getuid()}"


def test_a_number_is_used_again_once_it_is_free(base: Path) -> None:
    first, second = Scratch(), Scratch()
    assert (first.root, second.root) == (base / "0", base / "1")
    first.remove()
    assert not first.is_open
    assert second.is_open
    third, fourth = Scratch(), Scratch()
    assert (third.root, fourth.root) == (base / "0", base / "2")
    del second  # with the device that has it
    assert not (base / "1").exists()


def test_what_a_killed_process_left_is_removed(base: Path) -> None:
    killed = child.run(f"""
import os, tempfile
tempfile.tempdir = {str(base.parent)!r}
from fusepy.backend.slang.scratch import Scratch
made = Scratch(), Scratch()
(made[0].root / "binary" / "left").write_text("")
os._exit(3)
""")
    assert killed.returncode == 3, killed.stderr
    assert (base / "0" / "binary" / "left").exists()
    made = Scratch()
    assert made.root == base / "0"
    assert not list((made.root / "binary").iterdir())
    assert not (base / "1").exists()


def test_a_live_folder_stays_if_somebody_removes_the_file_of_its_lock(base: Path) -> None:
    first = Scratch()
    (base / "0.lock").unlink()
    second = Scratch()
    assert second.root == base / "1"
    assert (first.root / "binary").is_dir()
    first.remove()
    assert (second.root / "binary").is_dir()


def test_a_child_of_a_fork_leaves_its_parents_folder(base: Path) -> None:
    made = Scratch()
    ends, end = os.pipe()
    if (pid := os.fork()) == 0:
        right = False
        try:
            made.remove()
            own = Scratch()  # kept, so that the parent sees it
            right = own.root == base / "1" and made.root.exists()
            os.close(end)
            os.read(ends, 1)  # until the parent has its folder again
        finally:
            os._exit(0 if right else 1)
    os.close(ends)
    while not (base / "1" / "code").exists() and os.waitpid(pid, os.WNOHANG) == (0, 0):
        time.sleep(0.01)
    made.remove()
    assert Scratch().root == base / "0"  # although the child has the descriptor of the lock
    os.write(end, b"x")
    assert os.waitpid(pid, 0)[1] == 0


def test_a_folder_of_another_name_where_there_are_no_locks(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(lock: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("fusepy.backend.slang.scratch.fcntl.flock", flock)
    made = Scratch()
    assert made.root.parent == base.parent
    assert not made.numbered
    assert [path.name for path in base.iterdir()] == ["0.lock"]


@pytest.mark.parametrize("spoilt", ["for all", "a file", "a link"])
def test_a_folder_that_others_can_write_is_not_used(base: Path, spoilt: str) -> None:
    if spoilt == "for all":
        base.mkdir()
        base.chmod(0o777)
    elif spoilt == "a file":
        base.write_text("")
    else:
        base.symlink_to(base.parent)
    made = Scratch()
    assert made.root.parent == base.parent
    assert made.root.stat().st_mode & 0o077 == 0

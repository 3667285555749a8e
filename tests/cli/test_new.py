"""`fusepy new`: the project that it makes, run as its user would, and what it refuses."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

import fusepy.__main__
from fusepy.cli import main
from fusepy.cli.new import CommandError, check_name
from fusepy.cli.project_files import project_files

FILES = ["README.md", "glow.png", "glow.slang", "main.py", "test_glow.py"]


def test_the_project_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """Its program writes a picture with one kernel, and its tests pass, without pytest in the way."""
    assert main(["new", "glow", "--dir", str(tmp_path / "made")]) == 0
    folder = tmp_path / "made" / "glow"
    assert f"python {folder / 'main.py'}" in capsys.readouterr().out
    runpy.run_path(str(folder / "main.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert said.startswith("glow.png: 240 x 240 pixels\npicture: 1 kernel\n")
    assert (folder / "glow.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.syspath_prepend(folder)
    tests = runpy.run_path(str(folder / "test_glow.py"))
    monkeypatch.delitem(sys.modules, "main")  # the next test may make a project, too
    run = [function() for name, function in tests.items() if name.startswith("test_")]
    assert len(run) == 2
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == FILES


def test_the_page_has_three_commands():
    commands = [line.split("#")[0].strip() for line in project_files("glow")["README.md"].splitlines() if line.startswith("    ")]
    assert commands == ["python main.py", "python -m pytest", "fusepy stubs glow.slang"]


def test_a_folder_that_exists_stays_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "glow").mkdir()
    assert main(["new", "glow", "--dir", str(tmp_path)]) == 1
    assert "already\n  hint:     choose another NAME" in capsys.readouterr().err
    assert list((tmp_path / "glow").iterdir()) == []


def test_a_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "file").touch()
    assert main(["new", "glow", "--dir", str(tmp_path / "file")]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"fusepy new: cannot make the folder {tmp_path / 'file' / 'glow'}\n")
    assert "--dir DIR" in said


@pytest.mark.parametrize(
    ("name", "instead"),
    [("my-look", "my_look"), ("class", "class_1"), ("3d", "look_3d"), ("", "look"), ("../x", "x"), ("_a", "a")],
)
def test_names_that_files_cannot_have(name: str, instead: str):
    with pytest.raises(CommandError, match="cannot be the name of a project") as refused:
        check_name(name)
    assert refused.value.hint == f"write fusepy new {instead}"
    assert check_name(instead) == instead


def test_python_m_fusepy_is_the_command():
    assert fusepy.__main__.main is main

"""The command line as a module of Python."""

from __future__ import annotations

import runpy
import sys
from importlib.metadata import PackageNotFoundError, version

import pytest

import fusepy as fp


def _installed() -> bool:
    try:
        return bool(version("fusepy-slang"))
    except PackageNotFoundError:
        return False


@pytest.mark.skipif(not _installed(), reason="the command says that it runs from source")
def test_the_module_is_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["fusepy", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("fusepy", run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"fusepy {fp.__version__}\n"

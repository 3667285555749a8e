"""tools/setup_browser.py: what is looked for, what is installed, and what is said where neither is possible."""

from __future__ import annotations

import pytest
import setup_browser
from aptget import SetupError


class FakeApt:
    """Installs nothing, and knows this version of the package."""

    def __init__(self, version: str | None):
        self.done: list[str] = []
        self._version = version

    def update(self) -> None:
        self.done.append("update")

    def candidate(self, package: str) -> str | None:
        return self._version if "update" in self.done else None

    def install(self, *packages: str) -> None:
        self.done += packages


def test_it_is_installed_after_a_look_at_what_there_is() -> None:
    apt = FakeApt("156.0")
    setup_browser.install(apt)  # type: ignore[arg-type]
    assert apt.done == ["update", setup_browser.PACKAGE]
    with pytest.raises(SetupError, match="knows no package chromium-headless-shell"):
        setup_browser.install(FakeApt(None))  # type: ignore[arg-type]


def test_a_browser_that_is_there_is_taken(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(setup_browser.shutil, "which", lambda name: f"/opt/{name}" if name == "chromium" else None)
    monkeypatch.setattr(setup_browser, "Apt", lambda: pytest.fail("nothing is to be installed"))
    assert setup_browser.find_browser() == "/opt/chromium"
    assert setup_browser.main() == 0
    assert "/opt/chromium" in capsys.readouterr().out


def test_without_apt_the_rest_of_the_tests_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse() -> None:
        raise SetupError("this system has no apt-get")

    monkeypatch.setattr(setup_browser.shutil, "which", lambda name: None)
    monkeypatch.setattr(setup_browser, "Apt", refuse)
    assert setup_browser.main() == 0
    said = capsys.readouterr()
    assert "no apt-get" in said.err
    assert "google-chrome" in said.err
    assert "none" in said.out

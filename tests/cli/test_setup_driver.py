"""tools/setup_driver.py and tools/setup_venv.py: what is installed, where the driver comes from, what other systems are told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import aptget
import pytest
import setup_driver
import setup_venv

ROOT = Path(__file__).resolve().parents[2]
drivers = setup_driver.drivers
Probe = setup_driver.probing.Probe

BOOKWORM = drivers.system_from({"ID": "debian", "VERSION_CODENAME": "bookworm", "PRETTY_NAME": "Debian GNU/Linux 12"})
UBUNTU = drivers.system_from({"ID": "ubuntu", "ID_LIKE": "debian", "VERSION_CODENAME": "noble", "PRETTY_NAME": "Ubuntu 24.04"})
FEDORA = drivers.system_from({"ID": "fedora", "PRETTY_NAME": "Fedora Linux 42"})
NO_DEVICE = [Probe("vulkan", "open", "layer: Failed to create Vulkan instance."), Probe("cuda", "open", "no driver")]
NO_LIBRARY = [Probe("vulkan", "start", "ImportError: libatomic.so.1: cannot open shared object file: No such file or directory")]
DEVICE = [Probe("vulkan", "done", None, "llvmpipe", "Vulkan", True)]


def test_suite_follows_the_version_on_offer():
    assert setup_driver.choose_suite(BOOKWORM, "22.3.6-1+deb12u2") == "bookworm-backports"
    assert setup_driver.choose_suite(BOOKWORM, "25.0.7-2~bpo12+1") is None
    assert setup_driver.choose_suite(UBUNTU, "24.0.5-1ubuntu1") is None
    with pytest.raises(aptget.SetupError, match=r"22\.0\.1-1ubuntu2, which is too old"):
        setup_driver.choose_suite(UBUNTU, "22.0.1-1ubuntu2")
    with pytest.raises(aptget.SetupError, match="knows no package mesa-vulkan-drivers"):
        setup_driver.choose_suite(UBUNTU, None)


class FakeApt:
    """Installs nothing and remembers what it was asked for."""

    def __init__(self, candidate: str = "22.3.6-1"):
        self.done: list[tuple[object, ...]] = []
        self._candidate = candidate

    def update(self) -> None:
        self.done.append(("update",))

    def candidate(self, package: str) -> str:
        return self._candidate

    def add_suite(self, codename: str, suite: str) -> None:
        self.done.append(("add", suite))

    def install(self, *packages: str, suite: str | None = None) -> None:
        self.done.append((suite, *packages))


def run(monkeypatch: pytest.MonkeyPatch, system: object, looks: list[list[object]], apt: object = None, *arguments: str) -> int:
    """Runs main() on a made-up system, whose probes answer as given, one list a look."""
    monkeypatch.delenv("VK_DRIVER_FILES", raising=False)
    monkeypatch.delenv("VK_ICD_FILENAMES", raising=False)
    answers = iter(looks)
    monkeypatch.setattr(setup_driver, "look", lambda: next(answers))
    monkeypatch.setattr(drivers, "this_system", lambda: system)
    monkeypatch.setattr(setup_driver, "Apt", lambda: apt)
    return setup_driver.main(arguments)


def test_bookworm_gets_mesa_from_backports(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    apt = FakeApt()
    assert run(monkeypatch, BOOKWORM, [NO_DEVICE, DEVICE], apt) == 0
    suite = "bookworm-backports"
    assert apt.done == [("update",), ("add", suite), (suite, "mesa-vulkan-drivers", "libvulkan1")]
    assert capsys.readouterr().out.endswith("Graphics device: llvmpipe (Vulkan, software)\n")


def test_a_bare_image_gets_libraries_first_and_a_driver_only_if_still_needed(monkeypatch: pytest.MonkeyPatch):
    apt = FakeApt("25.0.7-2")
    assert run(monkeypatch, BOOKWORM, [NO_LIBRARY, DEVICE], apt) == 0
    assert apt.done == [("update",), (None, "libatomic1", "libx11-6")]
    apt = FakeApt("25.0.7-2")
    assert run(monkeypatch, BOOKWORM, [NO_LIBRARY, NO_DEVICE, DEVICE], apt) == 0
    assert apt.done[2:] == [(None, "mesa-vulkan-drivers", "libvulkan1")]


def test_a_driver_that_does_not_help_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    assert run(monkeypatch, UBUNTU, [NO_DEVICE, NO_DEVICE], FakeApt("25.0")) == 1
    assert "still no device works" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("system", "words"),
    [
        (FEDORA, "dnf install mesa-vulkan-drivers vulkan-loader"),
        (drivers.system_from({"ID": "manjaro", "ID_LIKE": "arch"}), "pacman -S vulkan-swrast vulkan-icd-loader"),
        (drivers.system_from({"ID": "opensuse-leap", "ID_LIKE": "suse opensuse"}), "zypper install libvulkan_lvp libvulkan1"),
        (drivers.system_from({"ID": "nixos"}), "Mesa's software Vulkan driver, newer than 22.3"),
        (drivers.System("darwin", "Darwin 23"), "macOS 14"),
        (drivers.System("win32", "Windows 11"), "graphics driver of your GPU's maker"),
    ],
)
def test_other_systems_are_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], system: object, words: str
):
    assert run(monkeypatch, system, [NO_DEVICE]) == 1
    said = capsys.readouterr().err
    assert words in said
    assert "Failed to create Vulkan instance" in said


def test_check_only_looks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    assert run(monkeypatch, BOOKWORM, [NO_LIBRARY], None, "--check") == 1
    said = capsys.readouterr().err
    assert "apt-get install libatomic1 libx11-6" in said
    assert "-t bookworm-backports mesa-vulkan-drivers libvulkan1" in said


def test_a_broken_environment_is_not_cured_with_drivers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    assert run(monkeypatch, BOOKWORM, [[Probe("vulkan", "import", "No module named 'slangpy'")]]) == 1
    assert "slangpy cannot even be imported" in capsys.readouterr().err


@pytest.mark.long  # `make test` runs the program itself, and tests/cli/test_doctor.py the same probes
def test_on_this_machine_a_device_is_found_at_once():
    done = subprocess.run([sys.executable, "tools/setup_driver.py"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Graphics device: ")


@pytest.mark.long  # like the one above
def test_hidden_drivers_are_named_and_nothing_is_installed():
    # CUDA would be a device too, where there is one: hide it as well.
    hidden = {**os.environ, "VK_DRIVER_FILES": "/nonexistent/icd.json", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "tools/setup_driver.py"], cwd=ROOT, env=hidden, capture_output=True, text=True)
    assert done.returncode == 1
    assert "VK_DRIVER_FILES names no file that exists (/nonexistent/icd.json)" in done.stderr
    assert "Installing" not in done.stdout


def test_old_python_gets_a_clear_message(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "version_info", (3, 8, 10, "final", 0))
    monkeypatch.setattr(setup_venv.shutil, "which", lambda name: None)
    with pytest.raises(SystemExit, match=r"needs Python 3\.10 or later; this is 3\.8"):
        setup_venv.use_new_enough_python()


def test_installs_once_and_again_when_something_changed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    pips: list[str] = []

    def fake_run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        pips.append(command[-1])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(setup_venv, "ROOT", tmp_path)
    monkeypatch.setattr(setup_venv, "STAMP", tmp_path / "stamp.json")
    monkeypatch.setattr(setup_venv, "works", lambda python: True)
    monkeypatch.setattr(setup_venv.subprocess, "run", fake_run)
    (tmp_path / "pyproject.toml").write_text("a = 1")
    for extras in ({"demo"}, {"demo"}, {"demo", "dev"}, {"demo"}, {"dev"}):
        setup_venv.main(extras)
    torch = setup_venv.TORCH
    assert pips == [f"{tmp_path}[demo]", f"{tmp_path}[demo,dev]", torch]
    (tmp_path / "pyproject.toml").write_text("a = 2")
    setup_venv.main({"demo"})
    assert pips[3:] == [f"{tmp_path}[demo,dev]", torch]
    (tmp_path / "stamp.json").write_text("garbage")
    setup_venv.main({"demo"})
    assert pips[5:] == [f"{tmp_path}[demo]"]

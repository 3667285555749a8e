"""`fusepy doctor`, `fusepy cache`, the command line, and the probe in its process of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from fusepy import cli
from fusepy.backend.cache.disk import DiskCache
from fusepy.backend.device import probe as probing
from fusepy.backend.device.probe import Probe, best, probe
from fusepy.cli import cache, doctor, main
from fusepy.errors import DeviceError
from tests.support import child

SOFTWARE = Probe("vulkan", "done", None, "llvmpipe", "Vulkan", software=True)
HARDWARE = Probe("cuda", "done", None, "GPU", "CUDA")
CPU = Probe("cpu", "done", None, "CPU", "CPU", software=True)
DEAD = Probe("vulkan", "open", "layer: Failed to create Vulkan instance.")


def pretend(monkeypatch: pytest.MonkeyPatch, *probes: Probe) -> doctor.Diagnosis:
    monkeypatch.setattr(doctor, "probe_all", lambda types: list(probes))
    return doctor.diagnose()


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name in ("FUSEPY_DEVICE", "FUSEPY_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FUSEPY_CACHE_DIR", str(tmp_path / "kernels"))


@pytest.fixture(params=["the device under test", pytest.param("all types", marks=pytest.mark.long)])
def types(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, device: Any) -> None:
    """The types that are tried: each is a process of its own that imports everything."""
    if request.param != "all types":
        monkeypatch.setattr(doctor, "TYPES", (device.raw.info.type.name,))


@pytest.mark.usefixtures("types")
def test_finds_a_device_on_this_machine_and_runs_a_kernel(capsys: pytest.CaptureFixture[str]):
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    used = next(d for d in found["devices"] if d["type"] == found["device"])
    assert (used["stage"], used["error"]) == ("done", None)
    assert used["adapter"]
    assert used["api"]
    assert used["adapter"] in used["adapters"]
    assert found["versions"]["slangpy"].startswith("0.")
    assert found["versions"]["Slang"] != "unknown"
    assert set(found["extras"]) == {"torch", "jax", "rich", "pillow", "scikit-image"}
    assert found["cache"]["writable"]
    assert not Path(found["cache"]["folder"]).exists()  # looking creates nothing


@pytest.mark.rest  # a process that imports everything
def test_hidden_drivers_give_exit_1_and_a_hint(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv("VK_DRIVER_FILES", "/nonexistent/icd.json")
    monkeypatch.setattr(doctor, "TYPES", ("vulkan",))  # a machine with CUDA would be well without Vulkan
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "failed at 'open'" in said
    assert "VK_DRIVER_FILES names no file that exists (/nonexistent/icd.json)" in said
    assert "unset it" in said


def test_hardware_comes_before_software_and_the_cpu_never(monkeypatch: pytest.MonkeyPatch):
    assert best([SOFTWARE, HARDWARE, CPU]) is HARDWARE
    assert best([SOFTWARE, CPU]) is SOFTWARE
    found = pretend(monkeypatch, DEAD, CPU)
    assert (found.ok, found.device) == (False, None)
    assert "only the cpu fallback works" in doctor.verdict(found)
    assert found.hints[0].startswith("no graphics device: ")


def test_the_device_asked_for_decides(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FUSEPY_DEVICE", "cpu")
    assert pretend(monkeypatch, SOFTWARE, CPU).device == "cpu"
    monkeypatch.setenv("FUSEPY_DEVICE", "cuda")
    found = pretend(monkeypatch, SOFTWARE, Probe("cuda", "open", "no driver"))
    assert not found.ok
    assert "set it to one that works (vulkan)" in found.hints[0]
    monkeypatch.setenv("FUSEPY_DEVICE", "voodoo")
    assert "FUSEPY_DEVICE=voodoo is no device type" in pretend(monkeypatch, SOFTWARE).hints[0]


def test_cuda_without_its_compiler_is_told_where_to_get_it(monkeypatch: pytest.MonkeyPatch):
    found = pretend(monkeypatch, SOFTWARE, Probe("cuda", "compile", "pass-through compiler not found", "GPU", "CUDA"))
    assert found.ok
    assert "nvidia-cuda-nvrtc" in found.hints[0]


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        ("ImportError: libatomic.so.1: cannot open shared object file: No such file or directory", "libatomic"),
        ("ModuleNotFoundError: No module named 'slangpy'", "pip install slangpy"),
    ],
)
def test_a_broken_install_is_no_matter_of_drivers(monkeypatch: pytest.MonkeyPatch, error: str, remedy: str):
    found = pretend(monkeypatch, Probe("vulkan", "start", error))
    assert not found.ok
    [hint] = found.hints
    assert remedy in hint


def test_plain_and_rich_say_the_same(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("rich")
    monkeypatch.setenv("COLUMNS", "400")
    found = pretend(monkeypatch, SOFTWARE, Probe("cuda", "open", "no [bold] driver"), CPU)
    doctor.print_plain(found)
    plain = capsys.readouterr().out.split()
    doctor.print_rich(found)
    assert capsys.readouterr().out.split() == plain
    assert "[bold]" in plain  # a driver's words are never taken for markup


def stand_in(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    """Makes the probe start a shell script in the place of Python."""
    fake = folder / "python"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))


def test_a_driver_that_crashes_is_a_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    opening = '{"type": "vulkan", "stage": "open", "slang": "1"}'
    stand_in(monkeypatch, tmp_path, f"echo '{opening}'; kill -SEGV $$")
    answer = probe("vulkan")
    assert (answer.ok, answer.stage, answer.broken_install) == (False, "open", False)
    assert answer.error == "the process was ended by SIGSEGV"


def test_a_driver_that_hangs_is_a_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    stand_in(monkeypatch, tmp_path, "exec sleep 20")
    assert probe("vulkan", timeout=0.2).error == "no answer within 0.2 s"


def test_a_driver_that_chatters_is_understood(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    verdict = json.dumps({"type": "vulkan", "stage": "done", "adapter": "x"})
    stand_in(monkeypatch, tmp_path, f"echo hello; echo '{verdict}'; echo bye; echo warning >&2")
    assert probe("vulkan").ok


def test_an_install_that_cannot_start_says_its_last_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    stand_in(monkeypatch, tmp_path, "echo Traceback >&2; echo 'ImportError: libX11.so.6' >&2; exit 1")
    answer = probe("vulkan")
    assert answer.broken_install
    assert answer.error == "ImportError: libX11.so.6"


@pytest.mark.rest
def test_the_child_prints_one_verdict_and_rejects_unknown_types():
    dead = child.run(probing._CHILD, "metal" if sys.platform != "darwin" else "d3d12")
    assert dead.returncode == 1
    assert json.loads(dead.stdout.splitlines()[-1])["error"]
    assert child.run(probing._CHILD, "voodoo").returncode == 2


def test_types_fit_the_platform():
    assert probing.TYPES[-1] == "cpu"
    assert ("metal" in probing.TYPES) == (sys.platform == "darwin")


def test_cache_is_shown_and_emptied(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    DiskCache(tmp_path / "kernels").put("key", {}, {"code": b"x" * 2000})
    (tmp_path / "kernels" / "notes.txt").write_text("someone else's")
    assert main(["cache"]) == 0
    assert ": 1 entry, 2." in capsys.readouterr().out
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out.endswith("now empty\n")
    assert [path.name for path in (tmp_path / "kernels").iterdir()] == ["notes.txt"]


def test_cache_that_is_off_or_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("FUSEPY_CACHE_DIR", str(tmp_path / "file" / "kernels"))
    assert not cache.cache_facts().writable
    found = pretend(monkeypatch, SOFTWARE)
    assert found.ok
    assert "set FUSEPY_CACHE_DIR" in found.hints[0]
    monkeypatch.setenv("FUSEPY_CACHE", "0")
    assert main(["cache"]) == 0
    assert "off" in capsys.readouterr().out
    assert pretend(monkeypatch, SOFTWARE).hints == []


def test_an_error_of_ours_is_one_message_and_exit_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def fail(_: object) -> int:
        raise DeviceError("no device", hint="run fusepy doctor")

    monkeypatch.setattr(doctor, "run", fail)
    assert main(["doctor"]) == 1
    assert capsys.readouterr().err == "fusepy doctor: no device\n  hint:     run fusepy doctor\n"


def test_command_line():
    demo = cli.parser().parse_args(["demo", "photo.jpg", "--device", "cpu"])
    assert (demo.image, demo.output, demo.device) == ("photo.jpg", "demo.png", "cpu")
    assert cli.parser().parse_args(["demo"]).image is None
    with pytest.raises(SystemExit, match="2"):
        main([])

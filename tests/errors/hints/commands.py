"""Programs after hints of the command line, which runs in this process: `fusepy demo` on small pictures, `fusepy new`, `doctor`.

What this machine has no lack of is kept from the command: permissions, devices, drivers.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import tempfile
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import fusepy as fp
from fusepy import cli
from fusepy.backend.device.probe import Probe
from fusepy.cli import doctor
from fusepy.cli.new import write_text
from tests.errors.hints.support import Program

GREYS = np.repeat(np.linspace(20, 200, 24, dtype=np.uint8).reshape(4, 6, 1), 3, 2)
SIZE = (6, 4)
SOFTWARE = Probe("vulkan", "done", None, "llvmpipe", "Vulkan", software=True)
DEAD = Probe("vulkan", "open", "layer: Failed to create Vulkan instance.")
HIDDEN = {"VK_DRIVER_FILES": "/nonexistent/icd.json"}


def picture() -> Any:
    """The module that reads and writes pictures, where all that it needs is installed."""
    for name in ("rich", "skimage", "PIL.Image"):
        pytest.importorskip(name)
    from fusepy.cli import picture

    return picture


def folder() -> Path:
    """A new folder with a picture, eye.png, and a folder."""
    made = Path(tempfile.mkdtemp())
    picture().Image.fromarray(GREYS).save(made / "eye.png")
    (made / "folder").mkdir()
    return made


def file(name: str, content: bytes) -> Path:
    path = folder() / name
    path.write_bytes(content)
    return path


def tiff(planes: str) -> Path:
    path = folder() / "deep.tif"
    colours = (GREYS[..., ::-1] * np.uint16(257)).astype(np.uint16)
    array = np.moveaxis(colours, 2, 0) if planes == "separate" else colours
    pytest.importorskip("tifffile").imwrite(path, array, photometric="rgb", planarconfig=planes)
    return path


def demo(source: Path, out: Path) -> tuple[int, int]:
    """The size of what ``fusepy demo`` has written. Its errors are not printed but raised."""
    picture()
    from fusepy.cli import demo, timing

    arguments = cli.parser().parse_args(["demo", str(source), "-o", str(out)])
    here = mock.patch.object(demo.fp, "init_device", return_value=fp.default_device())
    with here, mock.patch.object(timing, "ROUNDS", 1), contextlib.redirect_stdout(io.StringIO()):
        assert arguments.run(arguments) == 0
    return picture().Image.open(out).size


def eye(out: Callable[[Path], Path]) -> tuple[int, int]:
    """What demo makes of the picture, written to a place in its folder."""
    where = folder()
    return demo(where / "eye.png", out(where))


def shown(source: Path) -> tuple[int, int]:
    """What demo makes of a picture, written beside it."""
    return demo(source, source.with_name("out.png"))


def where(access: Any, call: Callable[[], Any]) -> Any:
    with mock.patch.object(picture().os, "access", access):
        return call()


def locked(path: Path, call: Callable[[], Any]) -> Any:
    """A call to which the system refuses one file."""
    opened = picture().Image.open

    def opening(given: Any, *args: Any, **kwargs: Any) -> Any:
        if Path(given) == path:
            raise PermissionError(13, "Permission denied")
        return opened(given, *args, **kwargs)

    with mock.patch.object(picture().Image, "open", opening):
        return call()


def limit(pixels: int, call: Callable[[], Any]) -> Any:
    with mock.patch.object(picture().Image, "MAX_IMAGE_PIXELS", pixels):
        return call()


def smaller() -> Path:
    path = folder() / "eye.png"
    image = picture().Image.open(path)
    image.resize((3, 2)).save(path)
    return path


def copied(path: Path) -> Path:
    copy = path.with_name("copy.png")
    copy.write_bytes(path.read_bytes())
    return copy


def damaged() -> Path:
    path = folder() / "eye.png"
    path.write_bytes(path.read_bytes()[:-30])
    return path


def diagnosed(probes: Sequence[Probe], **environment: str) -> doctor.Diagnosis:
    """What ``fusepy doctor`` finds on a machine with these devices and variables."""
    kept = {n: v for n, v in os.environ.items() if n not in ("FUSEPY_DEVICE", "FUSEPY_CACHE", *HIDDEN)}
    probing = mock.patch.object(doctor, "probe_all", return_value=list(probes))
    with probing, mock.patch.dict(os.environ, {**kept, **environment}, clear=True):
        return doctor.diagnose()


def told(*probes: Probe, **environment: str) -> Any:
    """Raises the first hint of doctor, if it has any. Returns whether a device can be used."""
    found = diagnosed(probes, **environment)
    if found.hints:
        raise fp.FusepyError("fusepy doctor", hint=found.hints[0])
    return found.ok


def advised(*args: Any) -> Any:
    """Raises as init_device does where no device opens, or runs the command that it names."""
    from fusepy.backend.device import open as opening

    with mock.patch.object(opening, "_open", mock.Mock(side_effect=RuntimeError("no driver"))):
        return fp.init_device("vulkan")


def report(*probes: Probe) -> str:
    probing = mock.patch.object(doctor, "probe_all", return_value=list(probes))
    with probing, contextlib.redirect_stdout(io.StringIO()) as out:
        assert cli.main(["doctor"]) == 1
    return "failed at 'open': layer: Failed to create Vulkan instance." in out.getvalue()


def command(*line: str) -> int:
    """The exit status of a command. Its errors are not printed but raised."""
    arguments = cli.parser().parse_args(line)
    with contextlib.redirect_stdout(io.StringIO()):
        return arguments.run(arguments)


def new(name: str, *options: str, beside: str = "") -> int:
    """The exit status of ``fusepy new`` in a new folder, where there may be something."""
    where = Path(tempfile.mkdtemp())
    if beside:
        (where / beside).touch()
    return command("new", name, "--dir", str(where.joinpath(*options)))


def full_disk() -> Path:
    out = folder() / "out.png"
    out.symlink_to("/dev/full")
    return out


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    # what is read
    "a folder for a picture": (
        lambda m: shown(folder() / "folder"),
        "name one picture file",
        lambda m: shown(folder() / "eye.png"),
        SIZE,
    ),
    "a text for a picture": (
        lambda m: shown(file("text.png", b"hello, I am text")),
        "give a PNG, JPEG, TIFF, WebP or BMP file",
        lambda m: shown(folder() / "eye.png"),
        SIZE,
    ),
    "half a picture": (
        lambda m: shown(damaged()),
        "export or download it again",
        lambda m: shown(folder() / "eye.png"),
        SIZE,
    ),
    "a picture of too many pixels": (
        lambda m: limit(8, lambda: shown(folder() / "eye.png")),
        "give a smaller version of it",
        lambda m: limit(8, functools.partial(shown, smaller())),
        (3, 2),
    ),
    "a picture in planes": (
        lambda m: shown(tiff("separate")),
        "save it interleaved",
        lambda m: shown(tiff("contig")),
        SIZE,
    ),
    "a picture that may not be read": (
        lambda m: locked((path := folder() / "eye.png"), lambda: shown(path)),
        "change its permissions or copy it",
        lambda m: locked((path := folder() / "eye.png"), lambda: shown(copied(path))),
        SIZE,
    ),
    # what is written
    "a folder to write": (
        lambda m: eye(lambda at: at / "folder"),
        "give a file name, e.g. -o ",
        lambda m: eye(lambda at: at / "folder" / "demo.png"),
        SIZE,
    ),
    "a format that is not written": (
        lambda m: eye(lambda at: at / "out.doc"),
        "end it in .png, .jpg, .webp or .tif",
        lambda m: [eye(lambda at, e=e: at / f"out{e}") for e in (".png", ".jpg", ".webp", ".tif")],
        [SIZE] * 4,
    ),
    "a folder that is not there": (
        lambda m: eye(lambda at: at / "no" / "out.png"),
        "make it, or choose another OUT",
        lambda m: eye(lambda at: (at / "no").mkdir() or at / "no" / "out.png"),
        SIZE,
    ),
    "a file that may not be written": (
        lambda m: where(lambda path, mode: False, lambda: eye(lambda at: at / "out.png")),
        "choose another OUT",
        lambda m: where(lambda path, mode: Path(path).name != "folder", lambda: eye(lambda at: at / "out.png")),
        SIZE,
    ),
    "the picture itself": (
        lambda m: eye(lambda at: at / "eye.png"),
        "choose another OUT, so that it is not lost",
        lambda m: eye(lambda at: at / "out.png"),
        SIZE,
    ),
    "a full disk": (
        lambda m: picture().write(full_disk(), picture().Image.fromarray(GREYS)),
        "choose another OUT, or another format",
        lambda m: picture().write((path := folder() / "b.png"), picture().Image.fromarray(GREYS)) or picture().read(path).rgb,
        GREYS,
    ),
    # new
    "a project that is there already": (
        lambda m: new("glow", beside="glow"),
        "choose another NAME, or another folder with --dir",
        lambda m: [new("glowing", beside="glow"), new("glow", "inner")],
        [0, 0],
    ),
    "a project of another name than an identifier": (
        lambda m: new("my-look"),
        "write fusepy new my_look",
        lambda m: new("my_look"),
        0,
    ),
    "a project named as a word of Python": (
        lambda m: new("class"),
        "write fusepy new class_1",
        lambda m: new("class_1"),
        0,
    ),
    "a project below a file": (
        lambda m: new("glow", "file", beside="file"),
        "name a folder that you may change: --dir DIR",
        lambda m: new("glow", beside="file"),
        0,
    ),
    "a text below a file": (
        lambda m: write_text(Path(__file__) / "a.txt", "words"),
        "name a file in a folder that exists and that you may change",
        lambda m: write_text(Path(tempfile.mkdtemp()) / "a.txt", "words") is None,
        True,
    ),
    # doctor
    "no device": (
        advised,
        "run 'fusepy doctor' to see what is missing",
        lambda m: report(DEAD),
        True,
    ),
    "slangpy that is not there": (
        lambda m: told(Probe("vulkan", "start", "ModuleNotFoundError: No module named 'slangpy'")),
        "reinstall it: pip install slangpy",
        lambda m: [bool(metadata.version("slangpy")), told(SOFTWARE)],
        [True, True],
    ),
    "a variable that names no driver": (
        lambda m: told(DEAD, **HIDDEN),
        "which hides every Vulkan driver: unset it",
        lambda m: told(SOFTWARE),
        True,
    ),
    "a device that does not work": (
        lambda m: told(SOFTWARE, FUSEPY_DEVICE="cuda"),
        "unset it, or set it to one that works (vulkan)",
        lambda m: [told(SOFTWARE), told(SOFTWARE, FUSEPY_DEVICE="vulkan")],
        [True, True],
    ),
    "a cache that cannot be written": (
        lambda m: told(SOFTWARE, FUSEPY_CACHE_DIR=f"{__file__}/kernels"),
        "set FUSEPY_CACHE_DIR",
        lambda m: told(SOFTWARE, FUSEPY_CACHE_DIR=tempfile.mkdtemp()),
        True,
    ),
}

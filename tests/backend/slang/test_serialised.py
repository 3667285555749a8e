"""A later process parses nothing: neither the modules of a kernel nor what they import, and it asks no questions."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from fusepy.backend.cache.disk import DiskCache
from fusepy.backend.device import device as device_module
from fusepy.backend.slang import comparisons, serialised
from fusepy.backend.slang.compiler import Compiler
from fusepy.backend.slang.session import Sessions
from fusepy.backend.sources.source import ModuleSource
from tests.support import child
from tests.support.slang_functions import F32

FILES = {
    "main.slang": 'import "outer.slang"; import sub.inner; import fusepy_double; float f(float x) {return outer(x) + inner(x); }',
    "outer.slang": '#include "part.slangh"\nimport sub.inner;\npublic float outer(float x) { return inner(x) + PART; }',
    "part.slangh": "#define PART 10",
    "sub/inner.slang": "import deep;\npublic float inner(float x) { return deep(x) * SCALE; }",
    "sub/deep.slang": "public float deep(float x) { return x + 1; }",
}
COLD = """
import sys
import numpy as np
import fusepy as fp
m = fp.Module.load_from_file(fp.default_device(), sys.argv[1], defines={"SCALE": 2})
assert (m.f(np.ones(3, "f4")) == 18).all()
assert fp.default_device().counters.kernels_compiled == 1
"""  # the process ends with its last call: facts and binaries reach the disk all the same


@pytest.fixture(scope="module")
def main(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("imports")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSEPY_CACHE_DIR", str(folder / "cache"))
        patch.delenv("FUSEPY_CACHE", raising=False)
        cold = child.run(COLD, str(folder / "main.slang"))
        assert cold.returncode == 0, cold.stderr
        yield folder / "main.slang"


def call(main: Path) -> tuple[float, int, int]:
    """What a device that was just opened answers, and how many kernels came from disk and how many from Slang."""
    device = fp.init_device()
    try:
        found = fp.Module.load_from_file(device, str(main), defines={"SCALE": 2}).f(np.ones(3, F32))
        return found[0], device.counters.disk_hits, device.counters.kernels_compiled
    finally:
        device.close()


def test_a_warm_call_parses_no_import_and_asks_nothing(main: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: Any, **__: Any) -> None:
        raise AssertionError("Slang's front end is asked in a warm process")

    loading = Sessions.loading

    def without_sources(self: Sessions, sources: Any, *others: Any) -> Any:
        return loading(self, [replace(s, include_dirs=()) for s in sources], *others)

    for name in ("module", "probe", "compile", "beside", "linked"):
        monkeypatch.setattr(Compiler, name, asked)
    monkeypatch.setattr(Sessions, "loading", without_sources)  # what is not serialised is not found
    assert call(main) == (18, 1, 0)


def test_imports_are_those_of_the_contents_that_the_files_have(main: Path) -> None:
    inner = main.parent / "sub" / "inner.slang"
    before = inner.read_text()
    assert call(main) == (18, 1, 0)
    inner.write_text(before.replace("deep(x) *", "deep(x) * 3 *"))
    assert call(main) == (34, 0, 1)
    assert call(main) == (34, 1, 0)
    inner.write_text(before)
    assert call(main) == (18, 1, 0)


def test_a_kernel_whose_imports_are_gone_or_broken_is_a_miss_that_heals(main: Path) -> None:
    folder = main.parent / "cache"
    imports = [path for path in folder.iterdir() if b'["import ' in path.read_bytes()[:200]]
    assert len(imports) >= 4  # outer, inner, deep and fusepy's
    imports[0].unlink()
    data = bytearray(imports[1].read_bytes())
    data[-5] ^= 1
    imports[1].write_bytes(data)
    assert call(main) == (18, 0, 1)
    assert call(main) == (18, 1, 0)


@pytest.mark.rest
def test_a_new_kernel_takes_the_imports_that_were_parsed_before(
    main: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """sgl writes a module that Slang has parsed, and leaves one that Slang has taken."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    placed: dict[str, tuple[Path, int]] = {}

    def placing(cache: Any, identity: str, session: Any, binaries: Path, sources: Any) -> None:
        serialised.place(cache, identity, session, binaries, sources)
        if not session.modules:
            placed.update({path.stem: (path, path.stat().st_ino) for path in binaries.rglob("*.slang-module")})

    monkeypatch.setattr(device_module, "place", placing)

    def call(number: int) -> tuple[float, dict[str, bool]]:
        """Returns a result of a new function, and which imports were placed, with whether they were taken."""
        placed.clear()
        file = main.parent / f"new_{number}.slang"
        file.write_text(f'import "outer.slang"; import sub.inner; float f(float x) {{ return outer(x) + inner(x) + {number}; }}')
        device = fp.init_device()
        try:
            found = fp.Module.load_from_file(device, str(file), defines={"SCALE": 2}).f(np.ones(3, F32))
            assert (device.counters.disk_hits, device.counters.kernels_compiled) == (0, 1)
            device.cache.flush()
            return found[0], {name: path.stat().st_ino == before for name, (path, before) in placed.items()}
        finally:
            device.close()

    every = {"outer": True, "inner": True, "deep": True}
    assert call(1) == (19, {})
    assert call(2) == (20, every)
    deep = main.parent / "sub" / "deep.slang"
    before = deep.read_text()
    deep.write_text(before.replace("+ 1", "+ 2"))
    assert call(3) == (25, {})
    assert call(4) == (26, every)
    deep.write_text(before)
    assert call(5) == (23, every)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(serialised, "_write", full)
    assert call(6) == (24, {})


def test_libraries_are_not_tried_in_a_process_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """slangpy's modules compare matrices by themselves; each new kernel of a module that imports them took 5 s."""
    monkeypatch.setattr(comparisons.subprocess, "run", lambda *_, **__: pytest.fail("a process is started"))
    source = ModuleSource.make("libraries", "import slangpy; float next(float x) { return x + 1; }")
    assert len(source.files) > 10
    comparisons.check_comparisons(spy.DeviceType.vulkan, [source], (), "next(x)")


def test_a_folder_that_goes_with_its_device_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread of the disk cache ended with a traceback, and what it still had to write waited."""
    module = tmp_path / "options" / "0" / "k.slang-module"
    module.parent.mkdir(parents=True)
    module.write_bytes(b"binary")
    read = Path.read_bytes

    def late(path: Path) -> bytes:
        path.unlink()
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", late)
    session: Any = SimpleNamespace(binaries=tmp_path, searched=(), folder=SimpleNamespace(numbered=False, is_open=True))
    assert serialised.entry_of(DiskCache(None), "", {}, lambda: serialised.collect(session, ["k"], []), []) is None

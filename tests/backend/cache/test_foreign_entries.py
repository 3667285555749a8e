"""Whatever lies in the place of a cache entry is a miss that heals."""

from __future__ import annotations

import json
import os
import socket
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.cache import files
from fusepy.backend.cache.format import _DIGEST_BYTES, _MAGIC, _NUMBERS, Entry, pack, unsealed
from tests.support.slang_functions import F32

SOURCE = "struct R { float3 a; int b; }; float g(R r) { return r.a.x + r.b; } float3 f(float3 x) { return x + 1; }"


class Cold:
    """Opens the device anew, calls two functions, and says how many kernels came from disk and how many from Slang."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __call__(self) -> tuple[int, int]:
        device = fp.init_device()
        try:
            m = fp.Module.load_from_source(device, "foreign", SOURCE)
            assert (m.f(np.ones((2, 3), F32)) == 2).all()
            assert m.g({"a": [1, 2, 3], "b": 4}) == 5
            device.cache.flush()
            return device.counters.disk_hits, device.counters.kernels_compiled
        finally:
            device.close()

    def entries(self) -> list[Path]:
        return sorted(p for p in self.folder.iterdir() if len(p.name) == 64)


@pytest.fixture
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cold:
    monkeypatch.setenv("FUSEPY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("FUSEPY_CACHE", raising=False)
    return Cold(tmp_path / "cache")


def parts(path: Path) -> tuple[bytes, Any, dict[str, bytes]]:
    data, at = path.read_bytes(), len(_MAGIC) + _DIGEST_BYTES
    _, key, text, _ = _NUMBERS.unpack_from(data, at)
    at += _NUMBERS.size
    described, start = json.loads(data[at + key : at + key + text]), at + key + text
    blobs: dict[str, bytes] = {}
    for name, size in described["blobs"]:
        blobs[name], start = data[start : start + size], start + size
    return data[at : at + key], described["header"], blobs


def put(path: Path, key: bytes, header: Any, blobs: dict[str, bytes]) -> None:
    path.write_bytes(b"".join(pack(key, Entry(header, blobs))))


def deep(value: Any, depth: int, junk: Any) -> Any:
    if depth and isinstance(value, dict):
        return {k: deep(v, depth - 1, junk) for k, v in value.items()}
    return [deep(v, depth - 1, junk) for v in value] if depth and isinstance(value, list) else junk


JUNK: list[Any] = [None, -1, "x", {}]


def resized(header: Any) -> Any:
    return {**header, "data": {**header["data"], "size": 1 << 40, "offsets": [-4]}}


HEADERS: dict[str, Callable[[Any], Any]] = {
    **{f"{junk!r} {depth} deep": lambda h, j=junk, d=depth: deep(h, d, j) for junk in JUNK for depth in (0, 1, 3)},
    "another size and offsets": resized,
    "data without a seal": lambda h: h["data"],
}


@pytest.mark.req("F12")
def test_entries_with_a_good_digest_and_a_foreign_header(cold: Cold) -> None:
    assert cold() == (0, 2)
    assert cold() == (2, 0)
    good = {path: parts(path) for path in cold.entries()}
    assert len(good) == 3  # the facts and two kernels
    for name, change in HEADERS.items():  # each of them is no header at all to who reads it
        for path, (_, header, _) in good.items():
            assert unsealed(header) is not None
            assert not isinstance(change(header), dict) or unsealed(change(header)) is None, (path, name)
    for name in ("None 0 deep", "{} 1 deep", "another size and offsets", "data without a seal"):
        change = HEADERS[name]
        for path, (key, header, blobs) in good.items():
            put(path, key, change(header), blobs)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert sum(cold()) == 2, name
    assert cold() == (2, 0)
    for path, (key, header, _) in good.items():
        put(path, key, header, {})
    assert cold() == (0, 2)
    assert cold() == (2, 0)


def bound(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def full(path: Path) -> None:
    path.mkdir()
    (path / "x").write_text("y")


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


PLACES: dict[str, Callable[[Path], Any]] = {
    "a pipe": lambda p: os.mkfifo(p),
    "a folder": lambda p: p.mkdir(),
    "a folder with a file": full,
    "a link to itself": lambda p: p.symlink_to(p),
    "a link to nothing": lambda p: p.symlink_to("/nonexistent/x"),
    "a link to a folder": lambda p: p.symlink_to("/"),
    "a device without end": lambda p: p.symlink_to("/dev/zero"),
    "a socket": bound,
    "a file without end": huge,
    "an empty file": lambda p: p.touch(),
    "a file that may not be read": lambda p: (p.write_text("x"), p.chmod(0)),
}


@pytest.mark.skipif(os.name == "nt", reason="pipes and links are those of POSIX")
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_file_in_the_place_of_an_entry(place: str, cold: Cold, tmp_path: Path) -> None:
    from fusepy.backend.cache.disk import DiskCache

    folder = tmp_path / "cache"
    cache = DiskCache(folder)
    cache.put("key", {"a": 1}, {"b": b"c"})
    (path,) = cold.entries()
    path.unlink()
    PLACES[place](path)
    files._warned.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert DiskCache(folder).get("key") is None
    # a file of another user is no damage; the superuser reads it
    damaged = place != "a link to nothing" and (place != "a file that may not be read" or os.getuid() == 0)
    assert [str(path) in str(w.message) for w in caught] == [True] * damaged
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if not path.is_symlink() and not path.exists():
            PLACES[place](path)  # one that stays until it is written over
        writing = DiskCache(folder)
        writing.put("key", {"a": 2}, {"b": b"d"})
    found = DiskCache(folder).get("key")
    assert found is not None
    assert found.header == {"a": 2}

"""The disk cache: what is stored comes back, and nothing that happens to the folder does more than cost a compilation."""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
import threading
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusepy.backend.cache import files as cachefile
from fusepy.backend.cache import format as entryfile
from fusepy.backend.cache.disk import DiskCache, Entry, default_folder
from fusepy.errors import CacheWarning
from tests.support import child
from tests.support.examples import examples

pytestmark = pytest.mark.req("S3")

HEADER = {"threads": [32, 1, 1], "name": "tonemap", "exact": True, "rate": 0.5}
PAYLOAD = {"spirv": bytes(range(256)) * 3, "reflection": b"{}", "empty": b""}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kernels"


@pytest.fixture
def no_warning_yet() -> None:
    cachefile._warned.clear()


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def test_what_is_put_comes_back_in_another_process_too(folder: Path):
    DiskCache(folder).put("key", HEADER, PAYLOAD)
    assert DiskCache(folder).get("key") == Entry(HEADER, PAYLOAD)
    code = (
        f"from pathlib import Path; from fusepy.backend.cache.disk import DiskCache; e = "
        f"DiskCache(Path({str(folder)!r})).get('key')"
    )
    out = child.run(f"{code}; print(e.header, len(e.payload['spirv']))")
    assert (out.stdout, out.stderr) == (f"{HEADER} 768\n", "")


@pytest.mark.rest
@given(
    key=st.one_of(st.binary(), st.text(st.characters(exclude_categories=["Cs"]))),
    header=st.dictionaries(
        st.text(), st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5)
    ),
    payload=st.dictionaries(st.text(), st.binary()),
)
@examples(50)
def test_any_key_header_and_payload_come_back(key: bytes | str, header: dict, payload: dict):
    with tempfile.TemporaryDirectory() as folder:
        DiskCache(Path(folder)).put(key, header, payload)
        assert DiskCache(Path(folder)).get(key) == Entry(header, payload)


def test_another_key_is_a_miss_and_a_second_put_replaces(folder: Path):
    cache = DiskCache(folder)
    assert cache.get("key") is None
    cache.put("key", {"n": 1}, {})
    cache.put(b"key", {"n": 2}, {"a": b"b"})
    assert cache.get("key") == Entry({"n": 2}, {"a": b"b"})
    assert cache.get("kez") is None
    stats = cache.stats
    assert (stats.hits, stats.misses, stats.entries, stats.bytes) == (1, 2, 1, files_in(folder)[0].stat().st_size)


def test_the_folder_and_its_files_are_private(folder: Path):
    DiskCache(folder).put("key", {}, {})
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in files_in(folder)] == [0o600]


def test_reading_makes_no_folder(folder: Path):
    cache = DiskCache(folder)
    assert cache.get("key") is None
    assert cache.stats.entries == 0
    assert not folder.exists()


def test_the_file_is_named_by_the_key_and_holds_it_in_full(folder: Path):
    DiskCache(folder).put("the whole key", {}, {})
    (path,) = files_in(folder)
    assert path.name == hashlib.sha256(b"the whole key").hexdigest()
    assert b"the whole key" in path.read_bytes()


@given(position=st.integers(0, 10**6), flip=st.integers(1, 255), cut=st.booleans())
@examples(300, least=30)
def test_a_changed_or_cut_file_is_a_miss_that_heals(position: int, flip: int, cut: bool):
    with tempfile.TemporaryDirectory() as folder:
        cache = DiskCache(Path(folder))
        cache.put("key", HEADER, PAYLOAD)
        (path,) = files_in(Path(folder))
        data = bytearray(path.read_bytes())
        position %= len(data)
        if cut:
            del data[position:]
        else:
            data[position] ^= flip
        path.write_bytes(data)
        assert cache.get("key") is None
        assert not path.exists()
        cache.put("key", HEADER, PAYLOAD)
        assert cache.get("key") == Entry(HEADER, PAYLOAD)


@given(junk=st.binary(max_size=300), tail=st.booleans())
@examples(50)
def test_a_foreign_file_is_a_miss_that_heals(junk: bytes, tail: bool):
    with tempfile.TemporaryDirectory() as folder:
        cache = DiskCache(Path(folder))
        cache.put("key", HEADER, PAYLOAD)
        (path,) = files_in(Path(folder))
        path.write_bytes(path.read_bytes() + junk + b"\0" if tail else junk)
        assert cache.get("key") is None
        cache.put("key", {}, {})
        assert cache.get("key") == Entry({}, {})


def test_another_version_or_layout_is_a_miss(folder: Path, monkeypatch: pytest.MonkeyPatch):
    cache = DiskCache(folder)
    with monkeypatch.context() as patch:
        patch.setattr(entryfile, "_VERSION", 2)
        cache.put("key", HEADER, PAYLOAD)
    assert cache.get("key") is None
    assert files_in(folder) == []
    with monkeypatch.context() as patch:  # another layout that kept the version: the digest is right, the JSON is not ours
        patch.setattr(entryfile.json, "dumps", lambda *args, **kwargs: '{"header":{}}')
        cache.put("key", HEADER, PAYLOAD)
    assert cache.get("key") is None
    assert files_in(folder) == []


def test_a_file_of_another_key_is_a_miss(folder: Path):
    cache = DiskCache(folder)
    cache.put("b", {}, {})
    (b_path,) = files_in(folder)
    cache.clear()
    cache.put("a", HEADER, PAYLOAD)
    files_in(folder)[0].rename(b_path)
    assert cache.get("b") is None
    assert files_in(folder) == []


def test_a_damaged_entry_warns_once_and_another_version_does_not(folder: Path, no_warning_yet: None, monkeypatch):
    cache = DiskCache(folder)
    for key in ("a", "b", "c"):
        cache.put(key, HEADER, PAYLOAD)
    monkeypatch.setattr(entryfile, "_VERSION", 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.get("a") is None  # of an older version
    for path in files_in(folder):
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.warns(CacheWarning, match="is damaged") as caught:
        assert (cache.get("b"), cache.get("c"), cache.get("d")) == (None, None, None)
    assert len(caught) == 1
    assert str(cache._files._path(b"b")) in str(caught[0].message)
    assert files_in(folder) == []


def test_a_folder_in_the_place_of_an_entry_is_a_miss(folder: Path):
    cache = DiskCache(folder)
    cache.put("key", {}, {})
    (path,) = files_in(folder)
    path.unlink()
    path.mkdir()
    opened = len(os.listdir("/dev/fd")) if os.path.exists("/dev/fd") else 0
    assert cache.get("key") is None
    assert not path.exists()
    assert not opened or len(os.listdir("/dev/fd")) == opened


@pytest.mark.parametrize("reason", ["EMFILE", "ENFILE", "EIO", "ENOMEM", "EINTR", "EAGAIN"])
def test_an_entry_that_cannot_be_read_for_now_stays(reason: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
    DiskCache(folder).put("key", HEADER, PAYLOAD)
    failure = OSError(getattr(errno, reason), reason)
    with monkeypatch.context() as failing:
        failing.setattr(cachefile.os, "open", lambda *_: (_ for _ in ()).throw(failure))
        assert DiskCache(folder).get("key") is None
    assert DiskCache(folder).get("key") == Entry(HEADER, PAYLOAD)


def test_an_entry_in_flight_is_found_and_the_last_one_wins(folder: Path):
    cache = DiskCache(folder)
    gate = threading.Event()
    cache._writer.submit(gate.wait)
    blob = bytearray(b"abc")
    cache.put_async("key", {"shape": (1, 2)}, {"x": bytearray(b"old")})
    cache.put_async("key", {"shape": (1, 2)}, {"x": blob})
    blob[:] = b"xyz"  # the arguments may be changed at once
    expected = Entry({"shape": [1, 2]}, {"x": b"abc"})
    assert not files_in(folder)
    assert cache.get("key") == expected
    gate.set()
    cache.flush()
    assert cache.get("key") == DiskCache(folder).get("key") == expected


def test_an_entry_may_be_made_by_the_writer(folder: Path):
    cache = DiskCache(folder)
    seen: list[str] = []

    def make() -> Entry:
        seen.append(threading.current_thread().name)
        return Entry({}, {"x": b"1"})

    cache.put_later("key", make)
    cache.put_later("none", lambda: None)
    cache.flush()
    assert (cache.has("key"), cache.has("none")) == (True, False)
    assert (seen, cache.get("key"), cache.get("none")) == (["fusepy-cache"], Entry({}, {"x": b"1"}), None)


def test_what_is_in_flight_at_exit_is_written(folder: Path):
    code = f"""
import atexit, shutil, tempfile, time
from pathlib import Path
from fusepy.backend.cache.disk import DiskCache
from fusepy.backend.cache.format import Entry
cache = DiskCache(Path({str(folder)!r}))
scratch = Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, scratch)
(scratch / "binary").write_bytes(b"code")
cache.put_later("late", lambda: time.sleep(0.2) or Entry({{}}, {{"x": (scratch / "binary").read_bytes()}}))
for i in range(50):
    cache.put_async(str(i), {{"i": i}}, {{"x": bytes(100_000)}})
"""
    out = child.run(code)
    assert (out.returncode, out.stdout, out.stderr) == (0, "", "")
    reader = DiskCache(folder)
    assert [reader.get(str(i)).header for i in range(50)] == [{"i": i} for i in range(50)]
    assert reader.get("late").payload == {"x": b"code"}


def test_a_header_that_is_not_json_is_the_callers_error(folder: Path):
    cache = DiskCache(folder)
    with pytest.raises(TypeError):
        cache.put_async("key", {"x": object()}, {})
    assert cache.get("key") is None


def test_eviction_takes_what_was_not_used_for_the_longest_time(folder: Path):
    first = DiskCache(folder)
    for i in range(10):
        first.put(str(i), {}, {"x": bytes(1000)})
    size = files_in(folder)[0].stat().st_size
    now = time.time()
    for i in range(10):
        os.utime(first._files._path(str(i).encode()), (now - 1e6 + i, now - 1e6 + i))
    assert DiskCache(folder).get("0") is not None  # a hit renews the time
    (folder / "foreign.txt").write_text("stays")
    for name, age in (("stale", 1e4), ("fresh", 0)):
        (folder / f".fusepy-{name}").write_text("")
        os.utime(folder / f".fusepy-{name}", (now - age, now - age))
    bounded = DiskCache(folder, max_bytes=8 * size)
    bounded.put("new", {}, {"x": bytes(1000)})
    for name in ("newer", "newest"):  # only the first put evicts
        bounded.put(name, {}, {"x": bytes(1000)})
    assert [i for i in range(10) if bounded.get(str(i))] == [0, 5, 6, 7, 8, 9]
    assert bounded.stats.entries == 9
    assert (folder / "foreign.txt").exists()
    assert (folder / ".fusepy-fresh").exists()
    assert not (folder / ".fusepy-stale").exists()
    bounded.put("huge", {}, {"x": bytes(9 * size)})
    assert bounded.get("huge") is None
    bounded.clear()
    assert files_in(folder) == [folder / "foreign.txt"]


def test_a_hit_renews_the_time_once_a_day(folder: Path):
    cache = DiskCache(folder)
    cache.put("key", {}, {})
    (path,) = files_in(folder)
    for age, renewed in ((3600, False), (2 * 86400, True)):
        os.utime(path, (time.time() - age, time.time() - age))
        before = path.stat().st_mtime
        assert cache.get("key") is not None
        assert (path.stat().st_mtime > before) == renewed


def test_a_folder_that_cannot_be_made_warns_once_and_does_no_harm(tmp_path: Path, no_warning_yet: None):
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "kernels"
    cache = DiskCache(folder)
    assert cache.get("key") is None
    with pytest.warns(CacheWarning) as caught:
        cache.put_async("key", HEADER, PAYLOAD)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put("key", HEADER, PAYLOAD)
        DiskCache(folder).put("key", HEADER, PAYLOAD)
    assert len(caught) == 1
    for part in (str(folder), "it is off", "FUSEPY_CACHE_DIR"):
        assert part in str(caught[0].message)
    assert cache.get("key") is None
    assert (cache.stats.entries, cache.stats.bytes) == (0, 0)


def test_a_disk_that_runs_full_warns_once_and_leaves_nothing_behind(folder: Path, no_warning_yet: None, monkeypatch):
    cache = DiskCache(folder)
    cache.put("before", HEADER, PAYLOAD)
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(cachefile.os, "replace", lambda *paths: (_ for _ in ()).throw(full))
    with pytest.warns(CacheWarning, match="No space left"):
        cache.put("0", HEADER, PAYLOAD)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(5):
            cache.put_async(str(i), HEADER, PAYLOAD)
        cache.flush()
    assert len(files_in(folder)) == 1
    assert cache.get("before") == Entry(HEADER, PAYLOAD)  # what is there is still read
    assert cache.get("0") is None


def test_a_folder_that_disappears_is_made_again(folder: Path):
    cache = DiskCache(folder)
    cache.put("a", {}, {})
    cache.clear()
    folder.rmdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put("b", {}, {})
    assert cache.get("b") == Entry({}, {})


@pytest.mark.usefixtures("no_warning_yet")
@pytest.mark.parametrize("removed", ["file", "folder"])
def test_a_file_that_is_removed_while_it_is_written_is_written_again(monkeypatch: pytest.MonkeyPatch, folder: Path, removed: str):
    """Another process clears the cache: before the new file has its name, or before there is a file."""
    mkstemp, rest = tempfile.mkstemp, [None] * 2

    def mkstemp_and_remove(dir: Path, prefix: str) -> tuple[int, str]:
        if removed == "folder" and rest and rest.pop() is None:
            folder.rmdir()
        descriptor, path = mkstemp(dir=dir, prefix=prefix)
        if removed == "file" and rest and rest.pop() is None:
            os.unlink(path)
        return descriptor, path

    monkeypatch.setattr(tempfile, "mkstemp", mkstemp_and_remove)
    cache = DiskCache(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put("a", HEADER, PAYLOAD)  # both tests that the folder can be written, and the first write, meet it
    assert not rest
    assert DiskCache(folder).get("a") == Entry(HEADER, PAYLOAD)


def test_a_cache_that_is_off_is_always_a_miss(monkeypatch: pytest.MonkeyPatch, folder: Path):
    monkeypatch.setenv("FUSEPY_CACHE_DIR", str(folder))
    monkeypatch.setenv("FUSEPY_CACHE", "0")
    cache = DiskCache.from_environment()
    cache.put("key", HEADER, PAYLOAD)
    cache.clear()
    assert (cache.folder, cache.get("key"), cache.stats.misses) == (None, None, 1)
    assert not folder.exists()
    monkeypatch.setenv("FUSEPY_CACHE", "1")
    assert DiskCache.from_environment().folder == folder


def test_the_default_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("FUSEPY_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for base, expected in (("", tmp_path / ".cache"), ("relative", tmp_path / ".cache"), (str(tmp_path / "x"), tmp_path / "x")):
        monkeypatch.setenv("XDG_CACHE_HOME", base)
        assert default_folder() == expected / "fusepy"
    monkeypatch.setenv("FUSEPY_CACHE_DIR", str(tmp_path / "chosen"))
    assert default_folder() == tmp_path / "chosen"
    monkeypatch.setenv("FUSEPY_CACHE_DIR", "chosen")
    assert default_folder() == Path.cwd() / "chosen"


def content(i: int) -> dict[str, bytes]:
    return {"x": bytes([i]) * (10_000 + i)}


def work(arguments: tuple[str, int]) -> list[str]:
    """One of several processes on one folder: writes, reads, clears often, and reports what was wrong."""
    folder, seed = arguments
    cache = DiskCache(Path(folder), max_bytes=300_000)
    wrong: list[str] = []
    for step in range(100):
        i = (step * 7 + seed * 13) % 20
        if step % 5 == 4:
            cache.clear()
        if (step + seed) % 3 == 0:
            cache.put_async(str(i), {"i": i}, content(i))
        entry = cache.get(str(i))
        if entry is not None and entry != Entry({"i": i}, content(i)):
            wrong.append(f"entry {i} at step {step}")
    cache.flush()
    return wrong


SHARING = """
import os, sys
from tests.backend.cache.test_disk import work
children = []
for seed in range(4):
    children.append(os.fork())
    if not children[-1]:
        wrong = work((sys.argv[1], seed))
        print(*wrong, sep="\\n", end="", flush=True)
        os._exit(len(wrong) > 0)
sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
"""


def test_processes_share_a_folder(folder: Path):
    done = child.run(SHARING, str(folder))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert all(len(path.name) == 64 for path in files_in(folder))


def test_threads_share_a_cache(folder: Path):
    cache = DiskCache(folder)
    wrong: list[str] = []

    def run(seed: int) -> None:
        for step in range(60):
            i = (step + seed) % 7
            cache.put_async(str(i), {"i": i}, content(i))
            if cache.get(str(i)) != Entry({"i": i}, content(i)):
                wrong.append(f"{seed}: {i}")

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cache.flush()
    assert wrong == []
    assert (cache.stats.hits, cache.stats.misses) == (240, 0)
    assert cache._in_flight == {}

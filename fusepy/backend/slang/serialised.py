"""Serialised modules: the files where Slang stores a kernel's modules and their imports.

Each process parses an import again unless it finds the module serialised: 5 s for slangpy's own module, whose 13 MB load in 0.3
s. Imports have disk cache entries of their own, shared by all kernels. Their keys cover their contents and their imports.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from fusepy.backend.cache.disk import DiskCache
from fusepy.backend.cache.format import Entry, sealed
from fusepy.backend.slang.session import Session
from fusepy.backend.sources.source import ModuleSource

_MODULE = "module"  # name of the payload in an import's entry
_SUFFIX = ".slang-module"


@dataclass(frozen=True)
class Import:
    """An import of a kernel's modules.

    Attributes:
        folder: the number of the include folder that contains it; the order of folders decides between files of one name.
        file: its path in the folder, as Slang looks for it.
        key: the key of its entry in the disk cache.
    """

    folder: int
    file: str
    key: str


@dataclass(frozen=True)
class Binaries:
    """The serialised modules of a kernel by file name, and those of its imports.

    Attributes:
        imports: the number of the include folder, the path in it, the module, and its source.
        options: the session's folder, which sessions with equal options have; empty if no later process has this path.
    """

    modules: dict[str, bytes]
    imports: list[tuple[int, str, Path, Path]]
    options: str


def collect(session: Session, modules: Sequence[str], sources: Sequence[ModuleSource]) -> Binaries | None:
    """Returns the serialised modules of a kernel; None if there are none. Waits for sgl's background writer.

    sgl writes the module of ``name.slang``, found in the third include folder, to ``digest of the options/2/name.slang-module``.
    """
    if session.binaries is None:  # it writes none
        return None
    wanted = [f"{name}{_SUFFIX}" for name in modules]
    for _ in range(500):
        found = {path.name: path for name in wanted for path in session.binaries.glob(f"*/0/{name}")}
        if len(found) == len(wanted):
            content = {name: path.read_bytes() for name, path in found.items()}
            options = str(session.binaries) if session.folder.numbered else ""
            return Binaries(content, _imported(session, found[wanted[0]].parents[1], sources), options)
        if not session.folder.is_open:  # its device is closed
            break
        time.sleep(0.01)
    return None


def _imported(session: Session, written: Path, sources: Sequence[ModuleSource]) -> list[tuple[int, str, Path, Path]]:
    """Returns the imports of `sources` that a session has written: number of the include folder, path in it, module, source."""
    files = {path for source in sources for path, _ in source.files}
    found: list[tuple[int, str, Path, Path]] = []
    for number, folder in enumerate(session.searched, 1):
        for module in sorted((written / str(number)).rglob(f"*{_SUFFIX}")):
            name = module.relative_to(written / str(number))
            path = (Path(folder) / name).with_suffix(".slang").resolve()
            if str(path) in files:
                found.append((number, name.as_posix(), module, path))
    return found


def _keyed(
    identity: str, imports: Sequence[tuple[int, str, Path, Path]], sources: Sequence[ModuleSource]
) -> list[tuple[Import, Path]]:
    """Returns the imports with the keys of their entries, or none if a file has changed since the compilation."""
    known = frozenset(pair for source in sources for pair in source.files)
    dirs = tuple(folder for source in sources for folder in source.include_dirs)
    defines = tuple(pair for source in sources for pair in source.defines)
    options = tuple(pair for source in sources for pair in source.options)
    found: list[tuple[Import, Path]] = []
    for folder, file, module, path in imports:
        try:
            text = path.read_text(encoding="utf-8", errors="surrogateescape")
            closure = _closure(str(path), text, known, dirs, defines, options)
        except (OSError, LookupError):
            return []
        found.append((Import(folder, file, json.dumps(["import 1", identity, file, closure])), module))
    return found


@lru_cache(256)  # all kernels of a module have the same imports, and to read those of slangpy or fusepy takes 5 ms
def _closure(path: str, text: str, known: frozenset[Any], dirs: tuple[str, ...], *settings: tuple[Any, ...]) -> str:
    """Returns the digest of an import and all that it imports.

    Raises:
        LookupError: if one of these files is not `known` with its contents.
    """
    made = ModuleSource.make(Path(path).stem, text, path, dirs, *map(dict, settings))
    digest = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
    if not known.issuperset([(path, digest), *made.files]):
        raise LookupError(path)
    return made.closure


def entry_of(
    cache: DiskCache,
    identity: str,
    header: dict[str, Any],
    binaries: Callable[[], Binaries | None],
    sources: Sequence[ModuleSource],
) -> Entry | None:
    """Returns a kernel's entry for the disk cache. Also stores the imports of its modules, unless another kernel did.

    ``None`` if there is nothing to store, or a session's folder goes with its device meanwhile.
    """
    with suppress(FileNotFoundError):
        if (made := binaries()) is not None:
            return _entry(cache, identity, header, made, sources)
    return None


def _entry(cache: DiskCache, identity: str, header: dict[str, Any], made: Binaries, sources: Sequence[ModuleSource]) -> Entry:
    imports = _keyed(identity, made.imports, sources)
    for part, path in imports:
        _store(cache, part.key, part, path)
    for source in sources if made.options else ():
        files = {path for path, _ in source.files}
        for part, path in _keyed(identity, [found for found in made.imports if str(found[3]) in files], [source]):
            _store(cache, _parsed_key(part, made.options), part, path)
    return Entry(sealed({**header, "imports": [[p.folder, p.file, p.key] for p, _ in imports]}), made.modules)


def _store(cache: DiskCache, key: str, part: Import, path: Path) -> None:
    if not cache.has(key):
        cache.put_async(key, sealed({"file": part.file}), {_MODULE: path.read_bytes()})


def _parsed_key(part: Import, options: str) -> str:
    """Returns the key of an import that Slang takes in place of its source in a session with these `options`."""
    return json.dumps(["parsed 1", part.key, options])


def place(cache: DiskCache, identity: str, session: Session, binaries: Path, sources: Sequence[ModuleSource]) -> None:
    """Writes the imports of `sources` that another process has parsed to where `session` looks for them.

    Slang takes them if no source has changed and the session that has written them had the same options. A library of 2,000 lines
    takes half a second to parse, and 30 ms to load.

    Args:
        binaries: the session's folder.
    """
    for source in sources if cache.folder is not None and session.folder.numbered else ():
        if source.closure in session.placed:
            continue
        session.placed.add(source.closure)
        with suppress(OSError):  # the disk is full, say: Slang parses the sources
            for key, module in _places(identity, session, binaries, source):
                if not module.exists() and cache.has(key) and (entry := cache.get(key)) and _MODULE in entry.payload:
                    _write(module, entry.payload[_MODULE])


def _write(module: Path, content: bytes) -> None:
    """Writes a file of which Slang never finds a part."""
    module.parent.mkdir(parents=True, exist_ok=True)
    part = module.with_suffix(".part")
    try:
        part.write_bytes(content)
        part.rename(module)
    finally:
        part.unlink(missing_ok=True)


def _places(identity: str, session: Session, binaries: Path, source: ModuleSource) -> list[tuple[str, Path]]:
    """Returns the keys of parsed imports of a module, with the files where a session looks for them."""
    known = _modules_of(session, source)
    folders = list(binaries.iterdir()) if known else []  # one, named by sgl
    wanted = [(number, file, folder / str(number) / file, path) for folder in folders for number, file, path in known]
    return [(_parsed_key(part, str(binaries)), module) for part, module in _keyed(identity, wanted, [source])]


def _modules_of(session: Session, source: ModuleSource) -> list[tuple[int, str, Path]]:
    """Returns what a module imports: number of the include folder, path of the serialised module in it, and the source."""
    sources = [Path(path) for path, _ in source.files if path.endswith(".slang")]
    folders = [(number, Path(folder).resolve()) for number, folder in enumerate(session.searched, 1)]
    return [
        (number, path.relative_to(folder).with_suffix(_SUFFIX).as_posix(), path)
        for number, folder in folders
        for path in sources
        if path.is_relative_to(folder)
    ]


def imports_from(
    cache: DiskCache, in_place: Callable[[Sequence[Import]], bool], header: dict[str, Any]
) -> list[tuple[Import, bytes | None]] | None:
    """Returns the imports of a kernel with this header. None if one is missing: the kernel is then compiled and stored again.

    Args:
        in_place: returns true if these can be loaded without their bytes.
    """
    imports = [Import(*described) for described in header["imports"]]
    if in_place(imports):
        return [(part, None) for part in imports]
    found = [(part, entry.payload.get(_MODULE)) for part in imports if (entry := cache.get(part.key)) is not None]
    return None if len(found) < len(imports) or any(content is None for _, content in found) else found


def folder_of(root: Path, imports: Sequence[Import]) -> Path:
    """Returns the folder of these modules, with one folder for each include folder, so that relative imports work."""
    return root / hashlib.sha256(repr(list(imports)).encode()).hexdigest()[:20]


def unpack(root: Path, imports: Sequence[tuple[Import, bytes | None]]) -> list[Path]:
    """Writes serialised modules for sessions to load, unless they exist. Returns the folders to search, in order."""
    folder = folder_of(root, [part for part, _ in imports])
    if imports and not folder.is_dir():
        whole = Path(tempfile.mkdtemp(dir=root))
        for part, content in imports:
            if content is not None and ".." not in PurePosixPath(part.file).parts:
                path = whole / str(part.folder) / part.file.lstrip("/")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        whole.rename(folder)
    return [folder / str(number) for number in sorted({part.folder for part, _ in imports})]

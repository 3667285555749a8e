"""Copies of modules together with the files that they import and include, in a folder of their own.

The copies have the folders of the originals below that folder, so that imports find them by the same ways.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from fusepy.backend.sources.closure import files_of, imports
from fusepy.backend.sources.libraries import INCLUDE_DIRS
from fusepy.backend.sources.source import ModuleSource, line_directive
from fusepy.errors import CompileError

_PREFIX = "fusepy-copies-"
_MARK = "#define FZ_MODULE\n"


def is_copy(folder: str) -> bool:
    """True for a folder of copies."""
    return f"{os.sep}{_PREFIX}" in folder


def reached(source: ModuleSource) -> dict[str, str]:
    """Returns the files of users that a module imports and includes, with their texts.

    Raises:
        CompileError: if one of them is gone.
    """
    texts: dict[str, str] = {}
    for path in (path for path, _ in source.files if not path.startswith(INCLUDE_DIRS)):
        try:
            texts[path] = Path(path).read_text(encoding="utf-8", errors="surrogateescape").removeprefix("\ufeff")
        except FileNotFoundError:
            raise CompileError(
                f"a file that {source.label} imports is gone", saw=path, hint="put it back, or load the module again without it"
            ) from None
    return texts


def copied(source: ModuleSource, change: Callable[[str], str], added: str) -> ModuleSource:
    """Returns a module whose text and files are changed, or the same one if `change` leaves all as they are.

    Args:
        added: what changed texts need behind their last line. It is not added to files that are taken in by ``#include``.
    """
    before = reached(source)
    after = {path: change(text) for path, text in before.items()}
    own = change(source.text)
    if before == after:
        return source if own == source.text else source.with_text(own + added)
    places = [(source.text, None), *((text, Path(path).parent) for path, text in before.items())]
    if not all(imports(text)[1] for text, _ in places):  # a macro hides a file, which the folder of copies would lack
        return source.with_text(own + added) if own != source.text else source
    inside, modules = (set[str]().union(*(files_of(*p, source.include_dirs, way) for p in places)) for way in (True, False))
    marked = _MARK if inside & modules else ""
    texts = {path: _placed(path, text, added, path in inside, path in modules, marked) for path, text in after.items()}
    folder = _folder(tuple(sorted(texts.items())), tuple(_spelled(source, before)))
    dirs = [*(_below(folder, Path(d).resolve()) for d in source.include_dirs if d not in INCLUDE_DIRS), *source.include_dirs]
    path = _below(folder, Path(source.path).resolve()) if source.path else ""
    for text, own_dir in places:  # "../a.slangh" is found if the folder before ".." exists
        for where in filter(None, (own_dir, *(Path(d).resolve() for d in source.include_dirs if d not in INCLUDE_DIRS))):
            for name in (name for name in imports(text)[0] if ".." in name):
                if os.path.normpath(where / name) in texts:
                    Path(f"{_below(folder, where)}/{name}").parent.mkdir(parents=True, exist_ok=True)
    text = f"{marked}{line_directive(1, source.label)}\n{_moved(folder, own, before)}{added}"
    made = ModuleSource.make(source.alias, text, path, dirs, dict(source.defines), dict(source.options))
    return replace(made, cacheable=made.cacheable and source.cacheable)


def _placed(path: str, text: str, added: str, included: bool, imported: bool, marked: str) -> str:
    """Returns the text of a copy with `added` where it is a module. `marked` stands in modules if one of them is included."""
    lined = f"{line_directive(1, path)}\n{text}"
    if included and imported:
        own = f"FZ_MODULE_{hashlib.sha256(path.encode(errors='surrogateescape')).hexdigest()[:12]}"
        return f"#ifndef FZ_MODULE\n{_MARK}#define {own}\n#endif\n{lined}\n#ifdef {own}{added}#endif\n"
    return lined if included else f"{marked}{lined}{added}"


def _spelled(source: ModuleSource, texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Returns the places where imports find a file behind a symbolic link, each with that file."""
    found: dict[str, str] = {}
    places = [(source.text, None), *((text, Path(path).parent) for path, text in texts.items())]
    for text, own in places:
        for name in imports(text)[0]:
            for folder in filter(None, (own, *(Path(d).resolve() for d in source.include_dirs))):
                place = Path(os.path.normpath(folder / name))
                file = str(place.resolve())
                if file in texts and file != str(place):
                    found[str(place)] = file
    return sorted(found.items())


def _below(folder: Path, path: Path) -> str:
    """Returns the place of the copy of a path."""
    return str(folder.joinpath(*path.parts[1:]))


def _moved(folder: Path, text: str, files: Mapping[str, str]) -> str:
    """Returns a text that names copies where it names files by their whole paths."""
    for name in imports(text)[0]:
        if name.startswith("/") and str(Path(name).resolve()) in files:
            text = text.replace(f'"{name}"', f'"{_below(folder, Path(name).resolve())}"')
    return text


@functools.lru_cache(maxsize=64)
def _folder(texts: tuple[tuple[str, str], ...], links: tuple[tuple[str, str], ...]) -> Path:
    """Writes the texts of files below a folder and returns it."""
    known = dict(texts)
    content = {**known, **{place: known[file] for place, file in links}}
    name = hashlib.sha256(repr(sorted(content.items())).encode(errors="surrogateescape")).hexdigest()[:20]
    folder = _root(os.getpid()) / name
    for path, text in content.items():
        target = Path(_below(folder, Path(path)))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_moved(folder, text, known), encoding="utf-8", errors="surrogateescape")
    return folder


@functools.lru_cache(maxsize=1)
def _root(process: int) -> Path:
    return Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()


def _remove(process: int) -> None:
    if os.getpid() == process and _root.cache_info().currsize:
        shutil.rmtree(_root(process), ignore_errors=True)


atexit.register(_remove, os.getpid())  # registered first, it runs behind the writer of the disk cache, which reads these files

"""A Slang source with all its imports: the identity of a module, for caching.

The content key covers the text of every file that an import or include can reach, so an edited file is a new module. sgl does not
report Slang's own list of dependencies. Imports are therefore read from the text, and a source that hides one behind a macro is
marked as not cacheable.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from fusepy.backend.sources.libraries import INCLUDE_DIRS
from fusepy.errors import ArgumentError, CompileError, InvalidNameError
from fusepy.ir.names import check_identifier

_NO_TEXT = re.compile("[\0\ud800-\udfff]")  # surrogates stand for bytes that are not UTF-8
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\])*")', re.S)
_IMPORT = re.compile(r"\b(?:import|__include|implementing|__exported\s+import)\s+([\w.]+|\"[^\"]+\")\s*;")
_IMPORTED = re.compile(r"(?<!__exported )\bimport\s+([\w.]+|\"[^\"]+\")\s*;")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]+(\S.*)$", re.M)
_EXTENSION = re.compile(r"\bextension\b")
_MACRO_IMPORT = re.compile(r"^[ \t]*#[ \t]*define\b[^\n]*\b(?:import|__include)\b", re.M)


@dataclass(frozen=True)
class ModuleSource:
    """One Slang module for the compiler.

    Attributes:
        name: an identifier, unique by content: nothing in a session can be loaded twice under one name.
        alias: the user's name for it, e.g. the stem of the file.
        text: its source. `path` is its file, for diagnostics and for resolving its imports; empty for a string.
        defines: preprocessor defines; `options` further compiler options; both as sorted pairs.
        closure: hex digest of the text and all its imports.
        cacheable: true if the closure is known to be complete.
        files: the files that it imports, with digests of their contents.
        extends: digests of the texts that extend types, among its own and those of `files`.
    """

    alias: str
    text: str
    path: str
    include_dirs: tuple[str, ...]
    defines: tuple[tuple[str, str], ...] = ()
    options: tuple[tuple[str, object], ...] = ()
    closure: str = ""
    cacheable: bool = True
    name: str = field(default="", compare=False)
    files: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    extends: tuple[str, ...] = field(default=(), compare=False)

    @staticmethod
    def make(
        alias: str,
        text: str,
        path: str = "",
        include_dirs: Sequence[str] = (),
        defines: Mapping[str, str | int | float] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> ModuleSource:
        """Returns a source with its closure computed.

        Raises:
            InvalidNameError: if a define is not an identifier, or has a line break in its value.
            ArgumentError: for a define or option that Slang does not have.
            CompileError: if a text is not Unicode.
        """
        text = text.removeprefix("\ufeff")  # a byte order mark, which Slang skips only at the start: a directive comes before
        _check_text(text, path or alias)
        own = [str(Path(path).resolve().parent)] if path else []
        dirs = tuple(dict.fromkeys([*own, *include_dirs, *INCLUDE_DIRS]))
        pairs = tuple(sorted(_define(k, v) for k, v in (defines or {}).items()))
        extra = tuple(sorted(_option(k, v) for k, v in (options or {}).items()))
        digest, cacheable, files, extends = _closure(text, dirs, Path(path).parent if path else None)
        digest.update(repr((alias, pairs, extra)).encode())
        closure = digest.hexdigest()
        stem = re.sub(r"\W", "_", alias)
        if not re.match(r"[A-Za-z_]", stem):
            stem = f"m_{stem}"
        name = f"{stem[:40]}_{closure[:12]}"  # it becomes a file name
        return ModuleSource(alias, text, path, dirs, pairs, extra, closure, cacheable, name, files, extends)

    @property
    def label(self) -> str:
        """The file or name that diagnostics show."""
        return self.path or f"{self.alias}.slang"

    def imported(self) -> list[str]:
        """Returns the direct imports, as spelled. Users of this module do not see them."""
        found: list[str] = []
        pending, seen = [self.text], set[Path]()
        own_dir = Path(self.path).parent if self.path else None
        while pending:
            plain = bare(pending.pop())
            for operand in _IMPORTED.findall(plain):
                if operand not in found and _find(_file_of(operand), own_dir, self.include_dirs) is not None:
                    found.append(operand)
            for name in _INCLUDE.findall(plain):  # included files are part of the text
                file = _find(name.strip('"<> '), own_dir, self.include_dirs)
                if file is not None and file not in seen:
                    seen.add(file)
                    pending.append(file.read_text(encoding="utf-8", errors="surrogateescape"))
        return found


def _define(name: Any, value: Any) -> tuple[str, str]:
    """Checks a preprocessor define. Slang writes it as a line of source."""
    check_identifier(name if isinstance(name, str) else repr(name), "name of a define")
    if not isinstance(value, (str, bool, int, float)) and not np.isscalar(value):
        raise ArgumentError(
            f"the define {name!r} cannot be this", saw=repr(value)[:60], expected="a string or number", hint="write it as text"
        )
    text = str(int(value)) if isinstance(value, (bool, np.bool_)) else str(value)
    if any(c in text for c in "\n\r\0\v\f\x1c\x1d\x1e\x85\u2028\u2029"):
        raise InvalidNameError(
            f"the value of the define {name!r} has more than one line", saw=repr(text)[:60], hint="give it in one line"
        )
    return name, text


def _option(name: Any, value: Any) -> tuple[str, object]:
    """Checks a compiler option of slangpy. Lists become tuples, because options are part of keys."""
    if not isinstance(name, str) or name in ("defines", "include_paths"):
        hints = {"defines": "write defines={…}, beside options", "include_paths": "give them to init_device(include_paths=…)"}
        raise ArgumentError(
            f"{name!r} is not an option of a module", saw=repr(value)[:60], hint=hints.get(name, "options are given by name")
        )
    listed: Any = value
    return name, tuple(listed) if isinstance(value, (list, tuple)) else value


def line_directive(number: int | str, file: str) -> str:
    """Returns ``#line 12 "file"`` for any file name: characters that would end the quoted text are replaced."""
    shown = "".join("'" if c == '"' else c if c.isprintable() else "?" for c in file)
    return f'#line {number} "{shown}"'


def _check_text(text: str, what: str) -> None:
    """Raises `CompileError` for a text that Slang would not receive or not read to its end."""
    found = _NO_TEXT.search(text)
    if found is not None:
        line = text.count("\n", 0, found.start()) + 1
        hint = "save it as UTF-8" if found[0] != "\0" else "remove the NUL character"
        raise CompileError(f"the source of {what} is not text", saw=f"{found[0]!r} in line {line}", hint=hint)


def _file_of(operand: str) -> str:
    """Returns the file that an import names."""
    name = operand.strip('"')
    if not operand.startswith('"'):
        name = name.replace(".", "/")
    return name if name.endswith(".slang") else f"{name}.slang"


_Closure: TypeAlias = "tuple[hashlib._Hash, bool, tuple[tuple[str, str], ...], tuple[str, ...]]"  # pyright: ignore


def _closure(text: str, dirs: Sequence[str], own_dir: Path | None) -> _Closure:
    """Returns a digest of `text` and all that it reaches, true if all imports were read, the files, and digests of extensions."""
    own = hashlib.sha256(text.encode(errors="surrogateescape"))
    digest, extends = own.copy(), [own.hexdigest()] if _EXTENSION.search(bare(text)) else []
    cacheable = True
    seen: dict[Path, str] = {}
    pending: list[tuple[str, Path | None]] = [(text, own_dir)]
    while pending:
        current, where = pending.pop()
        names, readable = imports(current)
        cacheable &= readable
        for name in names:
            found = _find(name, where, dirs)
            if found is None:
                digest.update(f"missing {name}\n".encode())  # a file that appears later changes the closure
                continue
            if found in seen:
                continue
            content = found.read_text(encoding="utf-8", errors="surrogateescape")
            seen[found] = hashlib.sha256(content.encode(errors="surrogateescape")).hexdigest()
            if _EXTENSION.search(bare(content)):
                extends.append(seen[found])
            digest.update(f"{name}\n{len(content)}\n".encode())
            digest.update(content.encode(errors="surrogateescape"))
            pending.append((content, found.parent))
    return digest, cacheable, tuple((str(path), content) for path, content in seen.items()), tuple(extends)


def bare(text: str, in_place: bool = False) -> str:
    """Removes the comments of a source; `in_place` keeps its line numbers."""
    return _COMMENT.sub(lambda m: m[1] or (in_place and "\n" * m[0].count("\n")) or " ", text)


def imports(text: str) -> tuple[list[str], bool]:
    """Returns the relative file names that a source imports or includes, and true if no macro can hide another one.

    Example:
        >>> imports('import a.b; // import c;\\n#include "d.slangh"')
        (['a/b.slang', 'd.slangh'], True)
    """
    plain = bare(text)
    readable = not _MACRO_IMPORT.search(plain)
    found: list[str] = []
    for match in _IMPORT.finditer(plain):
        found.append(_file_of(match[1]))
    for match in _INCLUDE.finditer(plain):
        operand = match[1].strip()
        if operand[0] in '"<' and len(operand) > 2:
            found.append(operand.strip('"<>'))
        else:
            readable = False
    return found, readable


def _find(name: str, own_dir: Path | None, dirs: Sequence[str]) -> Path | None:
    """Returns the file behind an import, or None. Slang also tries hyphens for underscores."""
    for folder in [own_dir, *map(Path, dirs)]:
        if folder is None:
            continue
        for spelling in dict.fromkeys((name, name.replace("_", "-"))):
            path = folder / spelling
            if path.is_file():
                return path.resolve()
    return None

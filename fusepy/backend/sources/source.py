"""A Slang source with all its imports: the identity of a module, for caching.

The content key covers the closure of the text (`closure`), so an edited file is a new module.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from fusepy.backend.sources.closure import closure_of, direct_imports
from fusepy.backend.sources.libraries import INCLUDE_DIRS
from fusepy.backend.sources.provided import with_arrays
from fusepy.errors import ArgumentError, CompileError, InvalidNameError
from fusepy.ir.names import check_identifier

_NO_TEXT = re.compile("[\0\ud800-\udfff]")  # surrogates stand for bytes that are not UTF-8


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
        pairs = tuple(sorted(_define(k, v) for k, v in _named("defines", defines)))
        extra = tuple(sorted(_option(k, v) for k, v in _named("options", options)))
        home = Path(path).parent if path else None
        digest, cacheable, files, extends = closure_of(text, dirs, home)
        given, text = text, with_arrays(text, home, dirs, [file for file, _ in files], [word for pair in pairs for word in pair])
        if text != given:
            digest, cacheable, files, extends = closure_of(text, dirs, home)
        digest.update(repr((alias, pairs, extra)).encode())
        closure = digest.hexdigest()
        stem = re.sub(r"\W", "_", alias)
        if not re.match(r"[A-Za-z_]", stem):
            stem = f"m_{stem}"
        name = f"{stem[:40]}_{closure[:12]}"  # it becomes a file name
        return ModuleSource(alias, text, path, dirs, pairs, extra, closure, cacheable, name, files, extends)

    def with_text(self, text: str) -> ModuleSource:
        """Returns a source with another text and the same settings."""
        made = ModuleSource.make(self.alias, text, self.path, self.include_dirs, dict(self.defines), dict(self.options))
        return replace(made, cacheable=made.cacheable and self.cacheable)

    @property
    def label(self) -> str:
        """The file or name that diagnostics show."""
        return self.path or f"{self.alias}.slang"

    @cached_property  # asked for each kernel; to resolve the paths of all imports takes a millisecond
    def home(self) -> Path | None:
        """Its file, if one of its imports imports it again: Slang knows by the path that it is the same module."""
        own = Path(self.path).resolve() if self.path else None
        return own if own is not None and any(Path(file).resolve() == own for file, _ in self.files) else None

    def imported(self) -> list[str]:
        """Returns the direct imports, as spelled. Users of this module do not see them."""
        return direct_imports(self.text, Path(self.path).parent if self.path else None, self.include_dirs)


def _named(what: str, given: Any) -> list[tuple[Any, Any]]:
    """Returns the items of a dict, or none for ``None``; anything else is an error."""
    if given is not None and not isinstance(given, Mapping):
        raise ArgumentError(f"{what} are no dict", saw=repr(given)[:60], hint=f"write {what}={{name: value}}")
    return list(cast("Mapping[Any, Any]", given or {}).items())


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
    if text.endswith("\\") or "/*" in re.sub(r"/\*.*?\*/", "", text):
        raise InvalidNameError(
            f"the value of the define {name!r} would go on in the next line", saw=repr(text)[:60], hint="end it in its line"
        )
    rest = re.sub(r"""(["'])(?:\\.|(?!\1)[^\\])*\1|//.*|/\*.*?\*/""", "", text)  # without its strings, characters and comments
    if '"' in rest or "'" in rest:
        raise InvalidNameError(
            f"the value of the define {name!r} has a string that does not end",
            saw=repr(text)[:60],
            hint="write the text with both quotes, or without any for a name or number",
        )
    return name, text


def _option(name: Any, value: Any) -> tuple[str, object]:
    """Checks a compiler option of slangpy. Lists become tuples, because options are part of keys."""
    if not isinstance(name, str) or name in ("defines", "include_paths"):
        hints = {"defines": "write defines={…}, beside options", "include_paths": "give them to init_device(include_paths=…)"}
        raise ArgumentError(
            f"{name!r} is not an option of a module", saw=repr(value)[:60], hint=hints.get(name, "options are given by name")
        )
    if name == "fast_math" and not isinstance(value, bool):
        raise ArgumentError(
            "the option fast_math is True or False", saw=repr(value)[:60], hint='write options={"fast_math": True}'
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

"""The closure of a Slang source: a digest of its text and of every file that an import or include can reach.

sgl does not report Slang's own list of dependencies. Imports are therefore read from the text, and a source that hides one behind
a macro is marked as not cacheable.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\])*")', re.S)
_STAGE = re.compile(
    r'\[\s*shader\s*\(\s*"(?:vertex|fragment|pixel|raygeneration|miss|closesthit|anyhit|intersection|callable)"\s*\)\s*\]'
)
_BETWEEN = r"(?:\s|//[^\n]*\n|/\*.*?\*/)*"
_MESH = re.compile(  # the attributes of one function, the stage among them
    rf'(?:\[[^\[\]]*\]{_BETWEEN})*\[\s*shader\s*\(\s*"(?:mesh|amplification)"\s*\)\s*\](?:{_BETWEEN}\[[^\[\]]*\])*', re.S
)
_MESH_MARK = re.compile(r"\[\s*(?:shader|numthreads|outputtopology)\s*\([^()]*\)\s*\]", re.I)
_IMPORT = re.compile(r"\b(?:import|__include|implementing|__exported\s+import)\s+([\w.]+|\"[^\"]+\")\s*;")
_IMPORTED = re.compile(r"(?<!__exported )\bimport\s+([\w.]+|\"[^\"]+\")\s*;")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]+(\S.*)$", re.M)
_EXTENSION = re.compile(r"\bextension\b")
_MACRO_IMPORT = re.compile(r"^[ \t]*#[ \t]*define\b[^\n]*\b(?:import|__include)\b", re.M)


def _file_of(operand: str) -> str:
    """Returns the file that an import names."""
    name = operand.strip('"')
    if not operand.startswith('"'):
        name = name.replace(".", "/")
    return name if name.endswith(".slang") else f"{name}.slang"


_Closure: TypeAlias = "tuple[hashlib._Hash, bool, tuple[tuple[str, str], ...], tuple[str, ...]]"  # pyright: ignore


def closure_of(text: str, dirs: Sequence[str], own_dir: Path | None) -> _Closure:
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


@lru_cache(64)  # of libraries, again for each module that imports them
def bare(text: str, in_place: bool = False) -> str:
    """Removes the comments of a source; `in_place` keeps its line numbers."""
    return _COMMENT.sub(lambda m: m[1] or (in_place and "\n" * m[0].count("\n")) or " ", text)


def without_stages(text: str) -> str:
    """Returns a text in which entry points of draws and rays are functions that other functions can call.

    Slang ends the process where an entry point is called.

    Example:
        >>> without_stages('[shader("vertex")] V vs() {}').strip()
        'V vs() {}'
        >>> without_stages('[shader("mesh")] [numthreads(3, 1, 1)] void ms() {}').strip()
        'void ms() {}'
    """
    text = _MESH.sub(lambda m: _MESH_MARK.sub(_blank, m[0]), text) if "shader" in text else text
    return _STAGE.sub(_blank, text)


def _blank(found: re.Match[str]) -> str:
    """Returns spaces in place of a text, with the same lines."""
    return re.sub(r"[^\n]", " ", found[0])


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


def direct_imports(text: str, own_dir: Path | None, dirs: Sequence[str]) -> list[str]:
    """Returns the imports of a text and of the files that it includes, as spelled, if their files exist."""
    found: list[str] = []
    for part in (text, *included(text, own_dir, dirs)):
        for operand in _IMPORTED.findall(bare(part)):
            if operand not in found and _find(_file_of(operand), own_dir, dirs) is not None:
                found.append(operand)
    return found


def files_of(text: str, own_dir: Path | None, dirs: Sequence[str], included: bool) -> set[str]:
    """Returns the files that a text takes in by ``#include``, or those that it imports."""
    plain = bare(text)
    named = _INCLUDE.findall(plain) if included else map(_file_of, _IMPORT.findall(plain))
    return {str(file) for name in named if (file := _find(name.strip('"<> '), own_dir, dirs)) is not None}


def included(text: str, own_dir: Path | None, dirs: Sequence[str]) -> list[str]:
    """Returns the texts of the files that a text takes in by ``#include``."""
    found: dict[Path, str] = {}
    pending = [text]
    while pending:
        for name in _INCLUDE.findall(bare(pending.pop())):
            file = _find(name.strip('"<> '), own_dir, dirs)
            if file is not None and file not in found:
                found[file] = file.read_text(encoding="utf-8", errors="surrogateescape")
                pending.append(found[file])
    return list(found.values())


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

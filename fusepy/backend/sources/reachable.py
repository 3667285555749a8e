"""Names that a kernel can reach through its calls, read from the text of its modules.

Slang's reflection lists all globals of all modules, and sgl does not report which ones the compiled code uses. This module serves
one error message only (a global that is read and was never set). A global that it misses, behind a macro for instance, reads
zero.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.declarations import NAME, SCOPE, Declared, closing, declared, flat, heads, last_name
from fusepy.backend.sources.free_names import declared_in, free_names
from fusepy.backend.sources.libraries import INCLUDE_DIRS
from fusepy.backend.sources.source import ModuleSource

_TYPE = re.compile(r"\b(?:struct|class|interface)\s+(\w+)([^;{}()]*)\{")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:\\\n|[^\n])*)", re.M)
# functions that the use of a type can call without naming them
_IMPLICIT = frozenset(["__init", "__subscript", "operator"])
_NOTHING: tuple[set[str], set[str]] = (set(), set())


def reachable(text: str, modules: Iterable[str], libraries: Iterable[str] = ()) -> set[str]:
    """Returns all names in `text` and in every function or type of `modules` that it reaches; see `reached_from`.

    Example:
        >>> sorted(reachable("void k() { f(); }", ["float f() { return g * 2; } float h() { return other; }"]) & {"g", "other"})
        ['g']
    """
    starts = NAME.findall(bare(text))
    return {*starts, *reached_from(starts, modules, libraries)}


def reached_from(starts: Iterable[str], modules: Iterable[str], libraries: Iterable[str] = ()) -> set[str]:
    """Returns all names in the functions and types of `modules` called `starts`, and in everything that these reach.

    Args:
        libraries: texts that the modules call, and that see nothing of them but the methods of their types.

    Example:
        >>> sorted(reached_from(["f"], ["float f(float k) { return g * k; } float g;"]) & {"g", "k", "f"})
        ['g']
        >>> modules, library = ["float f(float k) { return h(k); } float g;"], "float h(float k) { return g * k; } float g;"
        >>> sorted(reached_from(["f"], modules, [library]) & {"g", "k", "h"})
        ['h']
    """
    own, theirs = _bodies(modules), _bodies(libraries)
    found: set[str] = set()
    entered: set[tuple[str, bool, bool]] = set()
    pending = [*((name, True, True) for name in starts), ("operator", True, False)]  # a name, and where it may be declared
    while pending:
        name, in_own, in_theirs = place = pending.pop()
        if place in entered:
            continue
        entered.add(place)
        free, members = own.get(name, _NOTHING) if in_own else _NOTHING
        found.update(free)
        implicit = free <= _IMPLICIT  # a type of the modules
        pending += [*((n, True, not implicit) for n in free), *((m, True, True) for m in members)]
        free, members = theirs.get(name, _NOTHING) if in_theirs else _NOTHING
        pending += [*((n, False, True) for n in free), *((m, True, True) for m in members)]
    return found


def _bodies(modules: Iterable[str]) -> dict[str, tuple[set[str], set[str]]]:
    """Returns for each function and type of these texts the names from outside of it, and the members that it names."""
    bodies: dict[str, tuple[set[str], set[str]]] = {}
    for module in modules:
        for name, free, members in _parsed(module):
            known = bodies.setdefault(name, (set(), set()))
            known[0].update(free)
            known[1].update(members)
    return bodies


def reaches(starts: Iterable[str], modules: Sequence[str], *words: str) -> bool:
    """True if functions reach one of these words, also through macros.

    Example:
        >>> reaches(["f"], ["#define GO(x) trace(x)", "void f() { GO(1); }"], "trace")
        True
    """
    macros = [(m[1], {*NAME.findall(m[2])}) for text in modules for m in _MACRO.finditer(text)]
    found: set[str] = set()
    new = {*map(last_name, starts)}
    while new:
        found |= reached_from(new, modules)
        new = {word for name, body in macros if name in found for word in body} - found
        found |= new
    return not found.isdisjoint(words)


def texts_of(sources: Sequence[ModuleSource]) -> list[str]:
    """Returns the texts of modules and of all their imports."""
    files = dict.fromkeys(path for s in sources for path, _ in s.files)
    return [*(s.text for s in sources), *(t for t in map(_read, files) if t)]


def texts_apart(sources: Sequence[ModuleSource]) -> tuple[list[str], list[str]]:
    """Returns the texts of modules and of all their imports: those of users, and those of fusepy and slangpy."""
    texts = {s.path or s.closure: s.text for s in sources}
    texts |= {path: text for path in dict.fromkeys(p for s in sources for p, _ in s.files) if (text := _read(path))}
    own = [text for path, text in texts.items() if not path.startswith(INCLUDE_DIRS)]
    return own, [text for path, text in texts.items() if path.startswith(INCLUDE_DIRS)]


def mentions(sources: Sequence[ModuleSource], word: str) -> bool:
    """True if the text of a module has this word, or that of an import, but for those of fusepy and slangpy."""
    return any(word in s.text or (s.files != () and _imports_mention(s.files, word)) for s in sources)


@functools.lru_cache(maxsize=256)
def _imports_mention(files: tuple[tuple[str, str], ...], word: str) -> bool:
    return any(word in _read(path) for path, _ in files if not path.startswith(INCLUDE_DIRS))


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:  # removed since the compilation: the error message is then left out
        return ""


@functools.lru_cache(maxsize=64)
def _parsed(text: str) -> tuple[tuple[str, frozenset[str], frozenset[str]], ...]:
    """Returns functions and types, with the outside names and the members that their bodies name."""
    text = bare(text)
    fields = dict(_fields(text))
    scopes = {s.rpartition("::")[2] for s in SCOPE.findall(text)}
    found: list[tuple[str, frozenset[str], frozenset[str]]] = []
    for name, head, body, owner, _ in declared(text):
        if body is None:
            found.append((name, _IMPLICIT, frozenset()))
        else:
            free, members = free_names(body, _parameters(head) | _inherited(owner, fields), scopes)
            found.append((name, frozenset(free), frozenset(members)))
    return tuple(found)


def _fields(text: str) -> Iterator[tuple[str, tuple[set[str], list[str]]]]:
    """Yields the types of a text, with their fields and the names after their colons."""
    for match in _TYPE.finditer(text):
        end = closing(text, match.end() - 1)
        yield match[1], (set(declared_in(text[match.end() : end])), NAME.findall(match[2]))


def _inherited(type: str, fields: Mapping[str, tuple[set[str], list[str]]]) -> set[str]:
    """Returns the fields of a type and of its bases. They hide globals in its methods."""
    found: set[str] = set()
    pending, seen = [type], set[str]()
    while pending:
        name = pending.pop()
        if name in fields and name not in seen:
            seen.add(name)
            found |= fields[name][0]
            pending += fields[name][1]
    return found


def _parameters(head: str) -> set[str]:
    """Returns the names of a function's parameters, which hide globals inside of it."""
    listed = flat(head.partition("(")[2].rpartition(")")[0])  # commas of generic arguments do not separate parameters
    return {names[-1] for part in listed.split(",") if len(names := NAME.findall(re.split("[=:]", part)[0])) > 1}


def reached_heads(function: str, texts: Iterable[str]) -> Iterator[Declared]:
    """Yields a function and those that it reaches, for texts without comments."""
    reached = {last_name(function), *reached_from([last_name(function)], texts)}
    return (found for text in texts for found in heads(text) if found.name in reached)

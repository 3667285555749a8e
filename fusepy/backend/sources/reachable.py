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
from typing import NamedTuple

from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.free_names import declared_in, free_names
from fusepy.backend.sources.libraries import INCLUDE_DIRS
from fusepy.backend.sources.source import ModuleSource

_NAME = re.compile(r"[A-Za-z_]\w*")
_ATTRIBUTE = re.compile(r"\[[^\]]*\]")
_SCOPE = re.compile(r"\b(?:struct|class|extension|interface|namespace|enum)\b\s*([\w:]*)")
_TYPE = re.compile(r"\b(?:struct|class|interface)\s+(\w+)([^;{}()]*)\{")
_INNER = re.compile(r"<[^<>]*>|\([^()]*\)")
_GENERIC = re.compile(r"<[^()]*>\s*$")
# functions that the use of a type can call without naming them
_IMPLICIT = frozenset(["__init", "__subscript", "operator"])


class Declared(NamedTuple):
    """A function or method in a text.

    Attributes:
        attributes: with their brackets.
        head: the text before the body, without the attributes.
    """

    name: str
    attributes: str
    head: str
    body: str

    @property
    def derived(self) -> bool:
        """True if an attribute says that it has a derivative."""
        return "Differentiable" in self.attributes or "Derivative" in self.attributes


def last_name(function: str) -> str:
    """Returns the name of a function without its namespaces, its type and its generic arguments.

    Example:
        >>> last_name("scenes::Ray<hot::Kind>::at<float>")
        'at'
    """
    return _flat(function).rpartition("::")[2].rpartition(".")[2]


def reachable(text: str, modules: Iterable[str]) -> set[str]:
    """Returns all names in `text` and in every function or type of `modules` that it reaches.

    Example:
        >>> sorted(reachable("void k() { f(); }", ["float f() { return g * 2; } float h() { return other; }"]) & {"g", "other"})
        ['g']
    """
    starts = _NAME.findall(bare(text))
    return {*starts, *reached_from(starts, modules)}


def reached_from(starts: Iterable[str], modules: Iterable[str]) -> set[str]:
    """Returns all names in the functions and types of `modules` called `starts`, and in everything that these reach.

    Example:
        >>> sorted(reached_from(["f"], ["float f(float k) { return g * k; } float g;"]) & {"g", "k", "f"})
        ['g']
    """
    bodies: dict[str, tuple[set[str], set[str]]] = {}
    for module in modules:
        for name, free, members in _parsed(module):
            known = bodies.setdefault(name, (set(), set()))
            known[0].update(free)
            known[1].update(members)
    found: set[str] = set()
    entered: set[str] = set()
    pending = [*starts, "operator"]
    while pending:
        name = pending.pop()
        if name not in entered:
            entered.add(name)
            free, members = bodies.get(name, ((), ()))
            found.update(free)
            pending += (*free, *members)
    return found


def texts_of(sources: Sequence[ModuleSource]) -> list[str]:
    """Returns the texts of modules and of all their imports."""
    files = dict.fromkeys(path for s in sources for path, _ in s.files)
    return [*(s.text for s in sources), *(t for t in map(_read, files) if t)]


def mentions(sources: Sequence[ModuleSource], word: str) -> bool:
    """True if the text of a module has this word, or that of an import, but for those of fusepy and slangpy."""
    found = False
    for source in sources:
        found = found or word in source.text or (source.files != () and _imports_mention(source.files, word))
    return found


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
    scopes = {s.rpartition("::")[2] for s in _SCOPE.findall(text)}
    found: list[tuple[str, frozenset[str], frozenset[str]]] = []
    for name, head, body, owner, _ in _declared(text):
        if body is None:
            found.append((name, _IMPLICIT, frozenset()))
        else:
            free, members = free_names(body, _parameters(head) | _inherited(owner, fields), scopes)
            found.append((name, frozenset(free), frozenset(members)))
    return tuple(found)


def _fields(text: str) -> Iterator[tuple[str, tuple[set[str], list[str]]]]:
    """Yields the types of a text, with their fields and the names after their colons."""
    for match in _TYPE.finditer(text):
        end = _closing(text, match.end() - 1)
        yield match[1], (set(declared_in(text[match.end() : end])), _NAME.findall(match[2]))


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


def functions(text: str) -> Iterator[tuple[str, str | None]]:
    """Yields functions, methods and properties of a text without comments, with their bodies; types have None."""
    return ((name, body) for name, _, body, *_ in _declared(text))


def spans(text: str) -> Iterator[tuple[str, int, int, int]]:
    """Yields the functions of a text without comments, outside of types and namespaces: name, start, opening brace, end."""
    start = at = 0
    while (at := _next(text, at)) < len(text):
        if text[at] != "{":
            start = at = at + 1
            continue
        end, head = _closing(text, at), _ATTRIBUTE.sub(" ", text[start:at])
        if _SCOPE.search(head) is None:
            yield from ((name, start, at, end) for name in _named(head))
        start = at = end + 1


def heads(text: str) -> Iterator[Declared]:
    """Yields the functions and methods of a text without comments."""
    for name, head, body, _, attributes in _declared(text):
        if body is not None:
            yield Declared(name, attributes, head, body)


def reached_heads(function: str, texts: Iterable[str]) -> Iterator[Declared]:
    """Yields a function and those that it reaches, for texts without comments."""
    reached = {last_name(function), *reached_from([last_name(function)], texts)}
    return (found for text in texts for found in heads(text) if found.name in reached)


def _declared(text: str, owner: str = "") -> Iterator[tuple[str, str, str | None, str, str]]:
    """Yields the same with the text before the braces, the type or namespace around them, and the attributes."""
    start = at = 0
    while (at := _next(text, at)) < len(text):
        if text[at] != "{":
            start = at = at + 1
            continue
        end = _closing(text, at)
        head, body = _ATTRIBUTE.sub(" ", text[start:at]), text[at + 1 : end]
        attributes = " ".join(_ATTRIBUTE.findall(text[start:at]))
        scope = _SCOPE.search(head)
        if scope is not None:
            name = scope[1].rpartition("::")[2]
            yield name, head, None, owner, attributes
            yield from _declared(body, name)
        else:
            yield from ((n, head, body, owner, attributes) for n in _named(head))
        start = at = end + 1


def parameters_in(text: str, start: int = 0) -> list[str]:
    """Returns the parts of a list between commas, up to the bracket that closes it; commas in brackets do not separate.

    Example:
        >>> parameters_in("f(V<a, b> v, int i = g(1, 2)) { }", 2)
        ['V<a, b> v', 'int i = g(1, 2)']
    """
    parts, depth = [""], 0
    for c in text[start:]:
        depth += (c in "([{<") - (c in ")]}>")
        if depth < 0:
            break
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def _named(head: str) -> list[str]:
    """Returns the names of a block: the name of a function, or every name before a property."""
    before, bracket, _ = head.partition("(")
    if "operator" in before:
        return ["operator"]
    names = _NAME.findall(_GENERIC.sub("", before))
    return names[-1:] if bracket else names


def _parameters(head: str) -> set[str]:
    """Returns the names of a function's parameters, which hide globals inside of it."""
    listed = _flat(head.partition("(")[2].rpartition(")")[0])  # commas of generic arguments do not separate parameters
    return {names[-1] for part in listed.split(",") if len(names := _NAME.findall(re.split("[=:]", part)[0])) > 1}


def _flat(text: str) -> str:
    """Removes all that stands in brackets."""
    inner = ""
    while text != inner:
        text, inner = _INNER.sub("", text), text
    return text


def _next(text: str, at: int) -> int:
    """Returns the position where the next declaration ends or opens its braces."""
    found = [i for i in (text.find(";", at), text.find("{", at)) if i >= 0]
    return min(found, default=len(text))


def _closing(text: str, at: int) -> int:
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, at):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    return len(text)

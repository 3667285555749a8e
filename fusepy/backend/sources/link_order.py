"""Derivatives that Slang (2026.12) loses by the order in which it links functions of imported modules, found in the text.

The first reference decides how a function of an imported module is linked. Behind a function without derivative it is linked
without its own, and a later call gets a gradient of 0. A differentiable function of an imported module that calls it prevents
that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.declarations import heads, last_name
from fusepy.backend.sources.source import ModuleSource

_IMPORT = re.compile(r"\bimport\s+\"?([\w./-]+)\"?\s*;")
_CALL = re.compile(r"([A-Za-z_]\w*)\s*(?:<[^;(){}]*>)?\s*\(")


@dataclass(frozen=True)
class _Function:
    calls: tuple[str, ...]
    derived: bool  # it has a derivative
    imported: bool


def lost_derivative(function: str, source: ModuleSource) -> tuple[str, str] | None:
    """Returns words and a hint about a call in `function` of which Slang loses the derivative; ``None`` without any."""
    files = {path: Path(path).read_text(encoding="utf-8", errors="replace") for path, _ in source.files if Path(path).is_file()}
    imported = {_stem(name.replace(".", "/")) for text in (source.text, *files.values()) for name in _IMPORT.findall(bare(text))}
    others = ((text, _stem(path) in imported) for path, text in files.items() if text != source.text)
    return lost_in(function, [(source.text, False), *others])


def lost_in(function: str, texts: Iterable[tuple[str, bool]]) -> tuple[str, str] | None:
    """Returns the same for texts, each with whether it is that of an imported module.

    A name that several functions have, such as methods of two structs, tells nothing: the text does not show which one is called.

    Example:
        >>> other = "[Differentiable] float f(float x) { return x; } float plain(float x) { return f(x); }"
        >>> mine = "[Differentiable] float late(float x) { return no_diff plain(x) * f(x); }"
        >>> lost_in("late", [(mine, False), (other, True)])[1]
        'in late, call f before plain, or give plain a derivative: [Differentiable]'
    """
    known: dict[str, list[_Function]] = {}
    for text, imported in texts:
        for found in heads(bare(text)):
            known.setdefault(found.name, []).append(_Function(tuple(_calls(found.body)), found.derived, imported))
    start = last_name(function)
    first = dict(_first_calls(start, known))
    kept = {c for found in known.values() for f in found if f.derived and f.imported for c in f.calls}
    for caller in (start, *first):
        if not all(f.derived for f in known.get(caller, ())) or not _certain(caller, start, first, known):
            continue
        for called in (c for f in known.get(caller, ()) for c in f.calls):
            plain = first.get(called)
            if plain is None or called in kept or not _certain(called, start, first, known):
                continue
            if known[called][0].derived and known[plain][0].imported and not known[plain][0].derived:
                words = f"Slang loses the derivative of {called}, which is called in {plain} of an imported module first"
                above = plain
                while not all(f.derived for f in known.get(first.get(above, start), ())):
                    above = first[above]
                return words, f"in {start}, call {called} before {above}, or give {plain} a derivative: [Differentiable]"
    return None


def _certain(name: str, start: str, first: Mapping[str, str], known: Mapping[str, list[_Function]]) -> bool:
    """True if `name` and all names by which `start` reaches it first are of one function each."""
    while len(known.get(name, ())) == 1 and name != start:
        name = first[name]
    return len(known.get(name, ())) == 1


def _calls(body: str) -> list[str]:
    """Returns the calls in the order in which they are compiled: arguments first."""
    closed: list[str] = []
    opened: list[str] = []
    heads_at = {match.end() - 1: match[1] for match in _CALL.finditer(body)}
    for at, letter in enumerate(body):
        if letter == "(":
            opened.append(heads_at.get(at, ""))
        elif letter == ")" and opened:
            closed.append(opened.pop())
    return [name for name in closed if name]


def _stem(path: str) -> str:
    return Path(path).stem.replace("-", "_")


def _first_calls(name: str, known: dict[str, list[_Function]]) -> Iterator[tuple[str, str]]:
    """Yields each function that is reached, with the function that calls it first in the order of linking."""
    seen = {name}
    stack = [(name, c) for f in known.get(name, ()) for c in f.calls][::-1]
    while stack:
        caller, called = stack.pop()
        if called in known and called not in seen:
            seen.add(called)
            yield called, caller
            stack += [(called, c) for f in known[called] for c in f.calls][::-1]

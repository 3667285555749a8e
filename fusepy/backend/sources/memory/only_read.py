"""Functions that only read what they get as pointers, or as buffers and textures that can be written, found in the text.

What the text does not show counts as a write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.declarations import closing, heads
from fusepy.backend.sources.libraries import INCLUDE_DIRS
from fusepy.backend.sources.reachable import reachable, reached_from, texts_of
from fusepy.backend.sources.source import ModuleSource

_WRITABLE = re.compile(r"\bRW\w+|\bRasterizerOrdered\w+|\w\s*\*\s*\w+\s*[,)]|\bPtr\s*<")
_MACRO = re.compile(r"#\s*define\s+\w+(?:\(|[^\n]*(?:=|\+\+|--))")
_OUT = re.compile(r"\b(?:inout|out|__ref)\b")
_CALLED = re.compile(r"\b(?:Interlocked\w*|[Ss]tore\w*|Append|Consume|\w*Counter|set|add|[Ww]rite\w*|sincos|modf|frexp)\s*\(")
_CHANGES = re.compile(r"(?<![=!<>+\-*/%&|^])=(?!=)|(?:[-+*/%&|^]|<<|>>)=(?!=)|\+\+|--")
_CONTROL = re.compile(r"\b(?:for|if|while|switch)\s*\(")
_VARIABLE = re.compile(r"(?:[\w<>,:]+\s+)*\w+")  # also where it is declared
_DECLARED = re.compile(r"(?:[\w<>,:]+\s+)+\w+\s*\[[^\[\]]*\]")
_PART = re.compile(r"(\w+)\s*[.\[]")
_KEYWORDS = re.compile(r"(?:(?:return|else|do)\b|case\b[^:]*:(?!:)|default\s*:|\w+\s*:(?!:))\s*")  # and labels: no declarations
_HELD = re.compile(r"[{;]\s*(?:[\w<>:]+\s*\*|(?:RW|RasterizerOrdered|Ptr\s*<)[^;(){}]*[\w>])\s*\w+\s*;")  # memory in a struct


def effects_of(function: str, sources: Sequence[ModuleSource], writable: Sequence[str]) -> list[str]:
    """Returns ``writes`` if a function can reach one of the `writable` globals, and ``reads`` if `only_reads`."""
    texts = texts_of(sources)
    writes = bool(writable) and not reachable(function, texts).isdisjoint(writable)
    own = [replace(s, files=tuple(file for file in s.files if not file[0].startswith(INCLUDE_DIRS))) for s in sources]
    return ["writes"] * writes + ["reads"] * only_reads(function, texts_of(own), writes)


def only_reads(function: str, modules: Iterable[str], takes: bool = False) -> bool:
    """True for a function that takes memory which it may write, and does not, nor do the functions that it reaches.

    Args:
        takes: the memory is a global.

    Example:
        >>> only_reads("f", ["float f(float* t, int i) { float a[2]; a[0] = t[i]; return a[0]; }"])
        True
        >>> only_reads("f", ["void g(float* t) { t[0] = 1; } float f(float* t, int i) { g(t); return t[i]; }"])
        False
    """
    texts = [bare(text) for text in modules]
    held = any(_HELD.search(text) for text in texts)
    name = function.rpartition("::")[2].partition("<")[0]
    reached = {name, *reached_from([name], texts)}
    for text in texts:
        found = [(n, head, body) for n, _, head, body in heads(text) if n in reached]
        takes |= any(n == name and _WRITABLE.search(head) for n, head, _ in found)
        if _MACRO.search(text) or any(_writes(head, body, n == name, held) for n, head, body in found):
            return False
    return takes


def _writes(head: str, body: str, first: bool, held: bool) -> bool:
    """True unless a function certainly writes its own variables only; `held` if structs may have pointers or buffers in them."""
    if _CALLED.search(body) or (not first and _OUT.search(head)):
        return True
    targets = [*_targets(_flat(body))]
    return (held and any("." in target for target in targets)) or not all(_is_variable(target, body) for target in targets)


def _flat(body: str) -> str:
    """Returns a body in which the brackets behind ``for``, ``if`` and ``while`` separate statements."""
    signs = list(body)
    for match in _CONTROL.finditer(body):
        signs[match.end() - 1] = signs[min(closing(body, match.end() - 1), len(body) - 1)] = ";"
    return "".join(signs)


def _targets(body: str) -> Iterator[str]:
    """Yields what stands before or behind each operator that changes something."""
    for match in _CHANGES.finditer(body):
        before = _before(body, match.start())
        behind = re.compile(r"\s*([^;,)]*)").match(body, match.end())
        yield before if before or behind is None else behind[1].strip()


def _before(body: str, end: int) -> str:
    """Returns the expression that ends at a place, back to the statement, argument or declaration before it."""
    depth, at = 0, end
    while at > 0:
        sign = body[at - 1]
        depth += {")": 1, "]": 1, "(": -1, "[": -1}.get(sign, 0)
        if depth < 0 or (not depth and sign in ";{},"):
            break
        at -= 1
    found = body[at:end].strip()
    while keyword := _KEYWORDS.match(found):
        found = found[keyword.end() :]
    return found


def _is_variable(target: str, body: str) -> bool:
    if _VARIABLE.fullmatch(target) or _DECLARED.fullmatch(target):
        return True
    part = _PART.match(target)
    if part is None or "->" in target:
        return False
    name = re.escape(part[1])
    if re.search(rf"[*&]\s*{name}\s*[=;,]|\b(?:var|let|auto)\s+{name}\b|\bPtr\s*<[^;]*>\s+{name}\b", body):
        return False
    declared = rf"\b(?!(?:return|else|do|case|default)\b)[A-Za-z_](?:[\w<>,:]*[\w>])?\s+{name}\s*[\[=;,]"
    return re.search(declared, body) is not None

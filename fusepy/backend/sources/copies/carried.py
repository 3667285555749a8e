"""Scalars that a loop changes and that are factors behind it.

Slang (2026.12) gives NaN for the gradient of ``v * s`` and ``v / s``, with a vector or matrix v, where s is the variable of a
loop. It is right for a value that a call has returned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from fusepy.backend.sources.declarations import closing, parameters_in

_LOOP = re.compile(r"\b(?:for|while)\s*(\()|\bdo\b")
_HEADED = re.compile(r"(?:\[[^\]]*\]\s*)*(for|while|if|switch)\s*(\()")
_ELSE = re.compile(r"\s*else\b")
_SPACE = re.compile(r"\s*(?:\[[A-Za-z_][^\]]*\]\s*)*")


def carried_factors(text: str, start: int, end: int, types: Iterable[str], others: Iterable[str]) -> set[tuple[int, int]]:
    """Returns the places of the names of such scalars, in the body of a function.

    Args:
        text: without comments. The body is between `start` and `end`.
        types: of scalars; `others` are the names of parameters of these types.

    Example:
        >>> text = "float s = 1; for (int i = 0; i < 3; ++i) s *= a; return v * s;"
        >>> carried_factors(text, 0, len(text), ["float"], [])
        {(60, 61)}
    """
    loops = [(m.start(), _after_loop(text, m)) for m in _LOOP.finditer(text, start, end)]
    if not loops:
        return set()
    found: set[tuple[int, int]] = set()
    for name in {*others, *_declared(text, start, end, types)}:
        changed = re.compile(rf"(?<![.\w]){name}\s*(?:[-+*/]=|=(?!=))")
        behind = min((last for first, last in loops if changed.search(text, first, last)), default=end)
        factor = re.compile(rf"(?<![.\w]){name}(?=\s*[*/](?!=))|(?:(?<=[*/])|(?<=[*/]=))\s*\b({name})\b(?!\s*[\[.(=])")
        for m in factor.finditer(text, behind, end):
            found.add(m.span(1) if m[1] else m.span())
    return found


def _declared(text: str, start: int, end: int, types: Iterable[str]) -> Iterator[str]:
    """Yields the names of local scalars."""
    for m in re.finditer(rf"\b(?:{'|'.join(types)})\s+(?=[A-Za-z_])", text[start:end]):
        stop = text.find(";", start + m.end())
        for part in parameters_in(text[start + m.end() : stop]):
            name = re.match(r"([A-Za-z_]\w*)\s*(?:=(?!=)|\Z)", part)
            if name is not None:
                yield name[1]


def _after_loop(text: str, found: re.Match[str]) -> int:
    """Returns the place behind a loop."""
    return _after(text, found.end() if found[1] is None else closing(text, found.start(1)) + 1)


def _after(text: str, at: int) -> int:
    """Returns the place behind the statement that begins at `at`."""
    space = _SPACE.match(text, at)
    at = space.end() if space is not None else at
    headed = _HEADED.match(text, at)
    if headed is not None:
        at = _after(text, closing(text, headed.start(2)) + 1)
        more = _ELSE.match(text, at) if headed[1] == "if" else None
        return at if more is None else _after(text, more.end())
    stop = closing(text, at) if text[at : at + 1] == "{" else text.find(";", at)
    return len(text) if stop < 0 else stop + 1

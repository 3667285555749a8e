"""Scalars that a loop changes and that are factors behind it.

Slang (2026.12) gives NaN for the gradient of ``v * s`` and ``v / s``, with a vector or matrix v, where s is the variable of a
loop. It is right for a value that a call has returned.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from fusepy.backend.sources.declarations import NO_TYPES, closing, parameters_in

_LOOP = re.compile(r"\b(?:for|while)\s*(\()|\bdo\b")
_HEADED = re.compile(r"(?:\[[^\]]*\]\s*)*(for|while|if|switch)\s*(\()")
_ELSE = re.compile(r"\s*else\b")
_SPACE = re.compile(r"\s*(?:\[[A-Za-z_][^\]]*\]\s*)*")
_DECLARED = re.compile(r"(?<![.\w])([A-Za-z_]\w*(?:\s*<[\w\s,:<>]*>)?)(?:\s+|(?<=>))(?=[A-Za-z_]\w*\s*[\[=,;):](?!=))")
_NAME = re.compile(r"([A-Za-z_]\w*)\s*(?:[\[:]|=(?!=)|\Z)")
_CHANGED = (  # also by a call that it is passed to
    r"(?<![.\w])%(name)s\s*(?:[-+*/]=|=(?!=)|\+\+|--)|(?:\+\+|--)\s*%(name)s\b(?!\s*\.)|[(,]\s*%(name)s\s*[,)]"
)
_FACTOR = (  # k * v, (k) * v, v * k and v * (k), and its copies, x = k;
    r"(?<![.\w])(?<!\+\+)(?<!--)%(name)s(?=\s*[*/](?!=))|(?:\breturn|[-+*/=,(])\s*\(\s*\b(%(name)s)\s*\)\s*[*/](?!=)"
    r"|(?:(?<=[*/])|(?<=[*/]=))[\s(]*\b(%(name)s)\b(?!\s*(?:[\[.(=]|[-+*/%%]=|\+\+|--))|(?<![-=!<>+*/])=\s*\b(%(name)s)\s*[,;]"
)


def carried_factors(text: str, start: int, end: int, types: Collection[str], others: Iterable[str]) -> set[tuple[int, int]]:
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
    declared = list(_declared(text, text.rfind(";", 0, start) + 1, end))  # with the parameters
    vague = {name for type, name in declared if type not in types}  # they mean something else in another scope
    for name in {*others, *(name for _, name in declared)} - vague:
        changed = re.compile(_CHANGED % {"name": name})
        behind = min((last for first, last in loops if changed.search(text, first, last)), default=end)
        for m in re.compile(_FACTOR % {"name": name}).finditer(text, behind, end):
            found.add(m.span(m.lastindex or 0))
    return found


def _declared(text: str, start: int, end: int) -> Iterator[tuple[str, str]]:
    """Yields the types and names of parameters and local variables."""
    for m in _DECLARED.finditer(text, start, end):
        if m[1] not in NO_TYPES:
            stop = text.find(";", m.end())
            for part in parameters_in(text[m.end() : stop]):
                name = _NAME.match(part)
                if name is not None:
                    yield m[1], name[1]


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

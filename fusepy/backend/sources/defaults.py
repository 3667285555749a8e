"""Default arguments that a call skips: ``f(1.0, c=5.0)`` for ``f(float a, float b = 2, float c = 3)``.

Slang fills in trailing defaults only and has no named arguments, and reflection does not report defaults. If a default is a plain
number, the declaration in the source gives it; anything else must be passed. Overload resolution is not affected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.reachable import parameters_in

_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?:[fFhH]|lf|LF|[uU]|[lL]{1,2}|[uU][lL]{1,2})?\Z")
_WORDS = {"true": True, "false": False}


def default_number(texts: Iterable[str], function: str, parameters: Sequence[str], name: str) -> float | bool | None:
    """Returns the default of one parameter, if all declarations with these parameters agree on a plain number.

    Args:
        texts: sources that may declare the function.
        function: the last part of its name; ``__init`` for a constructor.

    Example:
        >>> default_number(["float f(float a, float b = -2.5f /* two */, int c = 3) { return a; }"], "f", "abc", "b")
        -2.5
    """
    found: set[str] = set()
    for text in texts:
        text = bare(text)
        for match in re.finditer(rf"\b{re.escape(function)}\s*(?:<[^;(){{}}]*>\s*)?\(", text):  # declarations, and calls
            split = [_split(p) for p in parameters_in(text, match.end())]
            if [n for n, _ in split] == list(parameters):
                found.update(value for n, value in split if n == name)
    return _number(found.pop()) if len(found) == 1 else None


def _number(text: str) -> float | bool | None:
    if text in _WORDS:
        return _WORDS[text]
    match = _NUMBER.match(text)
    if match is None:
        return None
    return float(match[1]) if re.search(r"[.eEfFhH]", text) else int(match[1])


def _split(parameter: str) -> tuple[str, str]:
    """Returns name and default of ``float b[2] = {1, 2}``; the default may be empty."""
    head, _, default = parameter.partition("=")
    names = re.findall(r"[A-Za-z_]\w*", re.sub(r"\[[^\]]*\]", "", head))
    return (names[-1] if names else ""), default.strip()

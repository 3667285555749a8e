"""Tests of ``while`` that branch: ``while (a && b)``, ``a || b``, ``c ? a : b``.

Slang (2026.12) ends the process where it differentiates such a loop. It does differentiate ``for (; a && b; )``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fusepy.backend.sources.declarations import closing

_WHILE = re.compile(r"\bwhile\s*(\()")
_BRANCHES = re.compile(r"&&|\|\||\?")
_TAIL = re.compile(r"\)\s*;")  # of do { } while (…);


def branching_tests(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Yields the changes that make a ``for`` of each such ``while``: first place, last place, new text.

    Args:
        text: without comments. The body of a function is between `start` and `end`.

    Example:
        >>> list(branching_tests("while (y < 3 && n < 9) ++n;", 0, 27))
        [(0, 7, 'for (;'), (21, 21, ';')]
    """
    for m in _WHILE.finditer(text, start, end):
        last = closing(text, m.start(1))
        if _BRANCHES.search(text, m.end(), last) is not None and _TAIL.match(text, last) is None:
            yield from ((m.start(), m.end(), "for (;"), (last, last, ";"))

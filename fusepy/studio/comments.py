"""Notes for people in the text of a Slang file: a function's comment, the ranges of its numbers, the line of its definition.

Types and overloads come from Slang; nothing here decides whether a call fits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from fusepy.backend.sources.declarations import closing

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_INTERVAL = rf"\[\s*({_NUMBER})\s*(?:,|to|\.\.)\s*({_NUMBER})\s*\]"
_ATTRIBUTE = re.compile(rf"\[\s*Range\s*\(\s*({_NUMBER})f?\s*,\s*({_NUMBER})f?\s*\)\s*\]\s*(?:\w+\s+)+?(\w+)\s*[=,)]")
_TAG = re.compile(rf"[@\\]param(?:\[\w+\])?\s+(\w+)\s*:?\s*(?:{_INTERVAL}\s*)?(.*)")
_VECTOR = re.compile(rf"\b(\w+)\s*=\s*\w+[234]\s*\(\s*({_NUMBER}f?(?:\s*,\s*{_NUMBER}f?)*)\s*\)")


@dataclass(frozen=True)
class FunctionNotes:
    """The notes on one function.

    Attributes:
        line: the number of the line with its name, and the text of it; 0 if the text does not define it.
        ranges: by parameter, from ``[Range(0, 4)] float x`` or ``/// @param x [0, 4] words``.
        words: by parameter, the words behind ``@param``.
        vectors: by parameter, the numbers of a default such as ``float3(1, 2, 3)``.
    """

    line: int = 0
    text: str = ""
    doc: str = ""
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    words: dict[str, str] = field(default_factory=dict[str, str])
    vectors: dict[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])


def notes_on(text: str, function: str) -> FunctionNotes:
    """Returns the notes on the first definition of a function in a text.

    Example:
        >>> notes = notes_on("/// Brightens.\\n/// @param stops [-4, 4] in powers of two\\nfloat f(float stops) { }", "f")
        >>> notes.doc, notes.ranges, notes.words, notes.line
        ('Brightens.', {'stops': (-4.0, 4.0)}, {'stops': 'in powers of two'}, 3)
    """
    name = re.escape(function.rpartition("::")[2].partition("<")[0])
    match = re.search(rf"^[^\n/]*?[\w>\]]\s+{name}\s*(?:<[^;(){{}}]*>\s*)?\(", text, re.M)
    if match is None:
        return FunctionNotes()
    lines = text[: match.start()].split("\n")
    head = text[match.end() - 1 : closing(text, match.end() - 1) + 1]
    doc: list[str] = []
    ranges = {n: (float(low), float(high)) for low, high, n in _ATTRIBUTE.findall(head)}
    words: dict[str, str] = {}
    for line in _comment_above(lines[:-1]):
        tag = _TAG.match(line)
        if tag is None:
            doc.append(line)
            continue
        words[tag[1]] = tag[4].strip()
        if tag[2] is not None:
            ranges[tag[1]] = float(tag[2]), float(tag[3])
    vectors = {n: tuple(float(x.rstrip("f")) for x in numbers.split(",")) for n, numbers in _VECTOR.findall(head)}
    first = text[match.start() :].split("\n", 1)[0]
    ordered = {n: (low, high) for n, (low, high) in ranges.items() if low < high}
    return FunctionNotes(len(lines), first.strip(), " ".join(filter(None, doc)), ordered, words, vectors)


def _comment_above(lines: Sequence[str]) -> list[str]:
    """Returns the comment that ends in the last of these lines, attributes left out."""
    found: list[str] = []
    for line in reversed(lines):
        bare = line.strip()
        if bare.startswith("["):
            continue
        if not bare.startswith(("//", "/*", "*")) and not bare.endswith("*/"):
            break
        found.append(bare.removesuffix("*/").lstrip("/*").strip())
    return found[::-1]

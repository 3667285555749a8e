"""Writes of elements of arrays of vectors, structs and arrays.

Slang (2026.12) has wrong gradients, or ends the process, where a function writes one element of such an array as a whole,
``d[1] = v``, and a part of one, ``d[0].x = a``. It is right where a call writes the element.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from fusepy.backend.sources.copies.indexed import ROOT, behind, changed, read_by, variables_of
from fusepy.backend.sources.copies.values import Ranked, Values, part
from fusepy.backend.sources.declarations import closing

_ELEMENT = re.compile(r"(?<![.\w])(?<!::)([A-Za-z_]\w*)\s*(\[)")
_BEGIN = re.compile(r"(?:[;{}):]|\belse|\bdo)\s*\Z")
_ASSIGNED = re.compile(r"\s*([-+*/]?)=(?!=)\s*")
_COUNTS = re.compile(r"\+\+|--")
WRITE = "fz_put"


def element_writes(
    text: str, span: tuple[int, int, int], scopes: list[str], scalars: Collection[str], known: Values
) -> list[tuple[int, int, str]]:
    """Returns changes of a text, after which a call makes such writes: first place, last place, new text.

    Args: as those of `indexed_reads`.

    Example:
        >>> text = "void f(float a) { float2 d[2]; d[0].x = a; d[1] = d[0]; }"
        >>> element_writes(text, (0, 16, len(text) - 1), [], ["float"], Values())
        [(43, 43, 'fz_put('), (44, 45, ', '), (46, 50, ', '), (54, 54, ')')]
    """
    start, opening, end = span
    places = list(_ELEMENT.finditer(text, opening, end))
    names, declared = variables_of(text, start, end, scopes, known) if places else ({}, set[int]())
    whole: dict[str, list[tuple[int, int, str]]] = {}
    by_parts: set[str] = set()
    for m in places:
        if m.start() in declared or not _of_elements(names, m[1], scalars, known):
            continue
        last, behind_all = closing(text, m.start(2)), behind(text, m.end(1))[0]
        if behind_all > last + 1:
            by_parts |= {m[1]} if changed(text, m.start(), m.end(1), opening, known) else set()
        else:
            whole.setdefault(m[1], []).extend(_called(text, m, last, opening))
    return [change for name in sorted(by_parts & set(whole)) for change in whole[name]]


def compound_writes(
    text: str, span: tuple[int, int, int], scopes: list[str], scalars: Collection[str], known: Values
) -> list[tuple[int, int, str]]:
    """Returns changes of a text, after which ``x[k] += a;`` is written ``x[k] = x[k] + (a);``, for an index of run time.

    Such a statement reads the element. What reads is then seen by `indexed_reads`, and what writes by `element_writes`.

    Args: as those of `indexed_reads`.

    Example:
        >>> text = "void f(float x[4], int k) { x[k] += x[0]; }"
        >>> compound_writes(text, (0, 26, len(text) - 1), [], ["float"], Values())
        [(32, 36, ' = x[k] + ('), (40, 40, ')')]
    """
    start, opening, end = span
    written = [(m, w) for m in ROOT.finditer(text, opening, end) if (w := _ASSIGNED.match(text, behind(text, m.end())[0]))]
    names = variables_of(text, start, end, scopes, known)[0] if any(w[1] for _, w in written) else {}
    types = scalars, " ".join([*scopes, text[start:opening]])
    found: list[tuple[int, int, str]] = []
    for m, w in written:
        target, stop = text[m.start() : w.start()], _end(text, m, w, opening)
        if not w[1] or m[0] not in names or stop < 0 or _COUNTS.search(target):
            continue
        if any(read_by(text, m.end(), names[m[0]], types, known)):
            found += [(w.start(), w.end(), f" = {target} {w[1]} ("), (stop, stop, ")")]
    return found


def _of_elements(names: Mapping[str, Ranked], name: str, scalars: Collection[str], known: Values) -> bool:
    """True if a name is that of an array whose elements have parts and may have gradients."""
    if name not in names or not known.plain(names[name]).rank:
        return False
    found = known.element(names[name], scalars, "")
    if found is None or not found[1]:
        return False
    return known.element(found[0], scalars, "") is not None or bool(known.members_of(found[0]))


def _called(text: str, found: re.Match[str], last: int, start: int) -> list[tuple[int, int, str]]:
    """Returns the changes that make a call of ``d[i] = v;``, or none if this is no such statement."""
    written = _ASSIGNED.match(text, last + 1)
    stop = -1 if written is None else _end(text, found, written, start)
    if written is None or stop < 0 or (written[1] and _COUNTS.search(text[found.end() : last])):
        return []
    before, after = (f"{text[found.start() : last + 1]} {written[1]} (", "))") if written[1] else ("", ")")
    opened = (found.start(), found.start(), f"{WRITE}("), (found.start(2), found.end(2), ", ")
    return [*opened, (last, written.end(), f", {before}"), (stop, stop, after)]


def _end(text: str, found: re.Match[str], written: re.Match[str], start: int) -> int:
    """Returns the place of the semicolon behind an assignment, or -1 if it is no statement by itself."""
    stop = part(text, written.end(), len(text))
    return stop if text[stop : stop + 1] == ";" and _BEGIN.search(text, start, found.start()) is not None else -1

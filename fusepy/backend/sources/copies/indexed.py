"""Reads of arrays, vectors and matrices by an index that is known at run time only.

Slang (2026.12) loses a gradient of two reads whose indices are equal at run time, ``x[k] * x[l]``. It keeps both where a call
makes the read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from fusepy.backend.sources.copies.values import Ranked, Values, variables
from fusepy.backend.sources.declarations import closing, parameters_in

_INDEXED = re.compile(r"[\w)\]>]\s*\[")
ROOT = re.compile(r"(?<![.\w])(?<!::)[A-Za-z_]\w*\b(?=\s*[\[.(<])")
_LITERAL = re.compile(r"\s*\d+[uU]?\s*\Z")
_STEP = re.compile(r"\s*(?:\.\s*([A-Za-z_]\w*)|(\[))")
_ARGUMENTS = re.compile(r"\s*(?:<[\w\s,:<>]*>\s*)?(\()")
_WRITTEN = re.compile(r"\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)")
_POINTED = re.compile(r"(?:\+\+|--|(?<!&)&|\bno_diff)\s*\Z")  # Slang ignores no_diff before a call
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[\w\s,:<>]*>\s*)?\Z")
_OWNER = re.compile(r"\b(?:struct|class|extension)\s*(?:<[^{}();]*>\s*)?([\w:]+(?:\s*<[^{}();:]*>)?)")
READ = "fz_item"


def indexed_reads(
    text: str, span: tuple[int, int, int], scopes: list[str], scalars: Collection[str], known: Values
) -> list[tuple[int, int, str]]:
    """Returns changes of a text, after which calls make such reads in a function: first place, last place, new text.

    Args:
        text: without comments.
        span: where the function, its body and its end are.
        scopes: the heads of the types around it, the innermost one last.
        scalars: the names of floating types.

    Example:
        >>> text = "float f(float x[4], int k) { x[k] = 2; return x[k] * x[0]; }"
        >>> indexed_reads(text, (0, 27, len(text) - 1), [], ["float"], Values())
        [(46, 46, 'fz_item('), (47, 48, ', '), (49, 50, ')')]
    """
    start, opening, end = span
    if _INDEXED.search(text, opening, end) is None:
        return []
    names, places = variables_of(text, start, end, scopes, known)
    generics = " ".join([*scopes, text[start:opening]])
    parts: list[tuple[int, int, str]] = []
    for m in ROOT.finditer(text, opening, end):
        if m.start() in places or not (m[0] in names or m[0] in known.returned):
            continue
        of, at = names.get(m[0]), m.end()
        if of is None and (called := _ARGUMENTS.match(text, at)) is not None:
            of, at = known.returned[m[0]], closing(text, called.start(1)) + 1
        changes = list(read_by(text, at, of, (scalars, generics), known))
        if changes and not changed(text, m.start(), at, opening, known):
            parts += [(m.start(), m.start(), f"{READ}(" * (len(changes) // 2)), *changes]
    return parts


def variables_of(text: str, start: int, end: int, scopes: list[str], known: Values) -> tuple[dict[str, Ranked], set[int]]:
    """Returns the types of the variables that a function may index, and the places where names are declared."""
    found: dict[str, Ranked | None] = {}
    places: set[int] = set()
    for place, name, of in variables(text, start, end):
        if isinstance(of, str):  # var x = f(y)
            made = _CALLED.match(of.partition("(")[0])
            whole = made is not None and "(" in of and closing(of, of.index("(")) == len(of) - 1
            of = known.returned.get(made[1]) or Ranked(made[0]) if whole and made is not None else found.get(of)
        found[name] = of if found.get(name, of) == of else None  # it means something else in another scope
        places.add(place)
    owners = [m[1] for m in map(_OWNER.search, scopes) if m is not None]
    if owners:
        members = known.members_of(Ranked(owners[-1]))
        found = {"this": Ranked(owners[-1]), **members, **{n: v for n, v in found.items() if members.get(n, v) == v}}
    return {name: of for name, of in found.items() if of is not None}, places


def read_by(
    text: str, at: int, of: Ranked | None, types: tuple[Collection[str], str], known: Values
) -> Iterator[tuple[int, int, str]]:
    """Yields the changes of the brackets behind a name or a call."""
    while of is not None and (step := _STEP.match(text, at)) is not None:
        at = step.end()
        if step[1] is not None:
            called = _ARGUMENTS.match(text, at)
            at = at if called is None else closing(text, called.start(1)) + 1
            of = known.members_of(of).get(step[1]) if called is None else known.result(of, step[1])
            continue
        found, last = known.element(of, *types), closing(text, step.start(2))
        if found is not None and found[1] and _LITERAL.match(text, at, last) is None:
            yield from ((step.start(2), at, ", "), (last, last + 1, ")"))
        of, at = None if found is None else found[0], last + 1


def behind(text: str, at: int) -> tuple[int, set[str]]:
    """Returns the place behind all members, indices and calls of methods that follow, and the names of the methods."""
    methods: set[str] = set()
    while (step := _STEP.match(text, at)) is not None:
        at = step.end() if step[1] is not None else closing(text, step.start(2)) + 1
        called = _ARGUMENTS.match(text, at) if step[1] is not None else None
        if called is not None:
            methods.add(step[1])
            at = closing(text, called.start(1)) + 1
    return at, methods


def changed(text: str, first: int, at: int, start: int, known: Values) -> bool:
    """True if what begins with a name may be written: by an operator, a method or a function that it is passed to.

    Args:
        at: the place behind the name.
        start: where the function begins.
    """
    last, methods = behind(text, at)
    if methods & known.mutating or _WRITTEN.match(text, last) is not None or _POINTED.search(text, start, first) is not None:
        return True
    while text[start:first].rstrip()[-1:] in ("(", ",") and text[last:].lstrip()[:1] in (")", ","):
        at = _around(text, first, start)
        if at < 0:
            return False
        called = _CALLED.search(text, start, at)
        if called is not None:
            places = {place for name in (called[1], "operator", "__init") for place in known.changed.get(name, ())}
            vague = re.search("[<>]", text[at + 1 : closing(text, at)])  # a comma may stand in a list of types
            return bool(places) and (vague is not None or len(parameters_in(text[at + 1 : first])) - 1 in places)
        first, last = at, closing(text, at) + 1
    return False


def _around(text: str, at: int, start: int) -> int:
    """Returns the place of the round bracket around a place, or -1."""
    depth = 0
    for i in range(at - 1, start, -1):
        depth += (text[i] in ")]}") - (text[i] in "([{")
        if depth < 0 or text[i] == ";":
            return i if text[i] == "(" else -1
    return -1

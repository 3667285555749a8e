"""Functions and types in the text of modules: their names, attributes, parameters, defaults and bodies.

Slang fills in trailing defaults only and has no named arguments, and reflection reports no defaults. If a default that a call
skips, ``f(1.0, c=5.0)``, is a plain number, the declaration gives it; anything else must be passed. Overload resolution is not
affected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fusepy.backend.sources.closure import bare

NAME = re.compile(r"[A-Za-z_]\w*")
SCOPE = re.compile(r"\b(?:struct|class|extension|interface|namespace|enum)\b\s*([\w:]*)")
NO_TYPES = frozenset(  # words that stand where the type of a declaration stands
    ("return", "else", "do", "case", "goto", "in", "out", "inout", "const", "import", "typealias", "typedef", "no_diff")
)
_ATTRIBUTE = re.compile(r"\[[^\]]*\]")
_INNER = re.compile(r"<[^<>]*>|\([^()]*\)")
_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?:[fFhH]|lf|LF|[uU]|[lL]{1,2}|[uU][lL]{1,2})?\Z")
_PAIRS = {pair[0]: re.compile(f"[{re.escape(pair)}]") for pair in ("{}", "()", "[]")}
_WORDS = {"true": True, "false": False}


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
    return flat(function).rpartition("::")[2].rpartition(".")[2]


def functions(text: str) -> Iterator[tuple[str, str | None]]:
    """Yields functions, methods and properties of a text without comments, with their bodies; types have None."""
    return ((name, body) for name, _, body, *_ in declared(text))


def spans(text: str, nested: bool = False, offset: int = 0) -> Iterator[tuple[str, int, int, int]]:
    """Yields the functions of a text without comments: name, start, opening brace, end.

    Args:
        nested: those in types and namespaces as well.
        offset: the place of the text in a larger one.
    """
    for head, start, at, end in _blocks(text):
        if SCOPE.search(head) is None:
            yield from ((name, offset + start, offset + at, offset + end) for name in _named(head))
        elif nested:
            yield from spans(text[at + 1 : end], nested, offset + at + 1)


def heads(text: str) -> Iterator[Declared]:
    """Yields the functions and methods of a text without comments."""
    for name, head, body, _, attributes in declared(text):
        if body is not None:
            yield Declared(name, attributes, head, body)


def declared(text: str, owner: str = "") -> Iterator[tuple[str, str, str | None, str, str]]:
    """Yields the same with the text before the braces, the type or namespace around them, and the attributes."""
    for head, start, at, end in _blocks(text):
        body, attributes = text[at + 1 : end], " ".join(_ATTRIBUTE.findall(text[start:at]))
        scope = SCOPE.search(head)
        if scope is not None:
            name = scope[1].rpartition("::")[2]
            yield name, head, None, owner, attributes
            yield from declared(body, name)
        else:
            yield from ((n, head, body, owner, attributes) for n in _named(head))


def _blocks(text: str) -> Iterator[tuple[str, int, int, int]]:
    """Yields the outermost blocks: the text before one, without attributes, its start, the opening brace and the closing one."""
    start = at = 0
    while (at := _next(text, at)) < len(text):
        if text[at] != "{":
            start = at = at + 1
            continue
        end = closing(text, at)
        yield _ATTRIBUTE.sub(" ", text[start:at]), start, at, end
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
    """Returns the names of a block: the name of a function, or every name before a property.

    The parameters are the last brackets: a macro may stand before a function.
    """
    if ")" not in head:
        return NAME.findall(head)
    before = head[: _opening(head, head.rindex(")"), "()")].rstrip()
    if re.search(r"\boperator\b[^;{}\n]*\Z", before):
        return ["operator"]
    before = before[: _opening(before, len(before) - 1, "<>")] if before.endswith(">") else before
    return NAME.findall(before)[-1:]


def _opening(text: str, at: int, pair: str) -> int:
    """Returns the position of the bracket that the one at `at` closes, or 0."""
    depth = 0
    for i in range(at, -1, -1):
        depth += (text[i] == pair[1]) - (text[i] == pair[0])
        if not depth:
            return i
    return 0


def flat(text: str) -> str:
    """Removes all that stands in brackets."""
    inner = ""
    while text != inner:
        text, inner = _INNER.sub("", text), text
    return text


def _next(text: str, at: int) -> int:
    """Returns the position where the next declaration ends or opens its braces."""
    found = [i for i in (text.find(";", at), text.find("{", at)) if i >= 0]
    return min(found, default=len(text))


def closing(text: str, at: int) -> int:
    """Returns the position of the bracket that closes the one at `at`, or the length of the text."""
    depth = 0
    for match in _PAIRS[text[at]].finditer(text, at):
        depth += 1 if match[0] == text[at] else -1
        if depth == 0:
            return match.start()
    return len(text)


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

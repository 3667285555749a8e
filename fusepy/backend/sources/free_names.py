"""Free names of a function's body: names from outside, without locals, parameters and members of values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|\d[\w.]*|::|->|\S')
_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_QUALIFIERS = (
    r"(?:(?:const|static|in|out|inout|ref|borrow|uniform|groupshared|precise|nointerpolation|row_major|column_major)\s+)*"
)
# A type before a name. At the start of a statement it may be generic or a pointer; elsewhere `<` compares and `*` multiplies.
_PLAIN = re.compile(_QUALIFIERS + r"([A-Za-z_][\w.:]*)(?:\s*\[[^\[\]]*\])*\s+([A-Za-z_]\w*)\s*(?=[=;,\[:)])")
_ANY = re.compile(
    _QUALIFIERS
    + r"([A-Za-z_][\w.:]*\s*(?:<[^;{}()=]*>)?(?:\s*\[[^\[\]]*\])*)(?:\s*\*+\s*|\s+|(?<=[>\]]))([A-Za-z_]\w*)\s*(?=[=;,\[:)])"
)
_NO_TYPE = re.compile(r"(?:return|else|case|goto|new|throw|discard|in|is|as|typedef|using|typealias|do|not|no_diff)\b")
_DECLARATOR = re.compile(r"\s*([A-Za-z_]\w*)\s*(?=[=;,\[])")
_HEADS = ("for", "if", "while", "catch", "switch")


class _Scope:
    """The declarations in one pair of brackets. `kind` is the bracket, or ``;`` for a statement without braces after a head."""

    def __init__(self, kind: str, names: Iterable[str] = ()):
        self.kind = kind
        self.names = set(names)
        self.waiting: list[str] = []  # declared but not visible yet: an initial value does not see its own variable
        self.listing = False  # more declarators may follow

    def settle(self) -> None:
        self.names.update(self.waiting)
        self.waiting.clear()


def free_names(body: str, hidden: Iterable[str] = (), scopes: Iterable[str] = ()) -> tuple[set[str], set[str]]:
    """Returns the free names of a body, and the names of members, which may be methods.

    A local is visible from its declaration to the end of its block. In doubt a name counts as free.

    Args:
        hidden: parameters, and fields of the type that the function belongs to.
        scopes: namespaces, types and enums, whose members (``a.b``) are names from outside.

    Example:
        >>> free, members = free_names("float gain = scale; for (int i = 0; i < 3; ++i) gain += p.step;")
        >>> sorted(free & {"gain", "scale", "i", "step"}), sorted(members)
        (['scale'], ['step'])
    """
    return _Walk(body, hidden, frozenset(scopes)).run()


def declared_in(body: str) -> Iterator[str]:
    """Yields the names that a type's body declares outside of its methods: its fields.

    Example:
        >>> list(declared_in("float a, b = 2; int c[3]; float twice() { float d = a; return d; }"))
        ['a', 'b', 'c']
    """
    depth, flat = 0, ""
    for piece in re.split(r"([{}])", body):
        depth += (piece == "{") - (piece == "}")
        if not depth and piece not in "{}":
            flat += piece + ";"
    for statement in flat.split(";"):
        match = _ANY.match(statement.strip() + ";")
        if match is not None and not _NO_TYPE.match(match[1]):
            yield match[2]
            rest = re.sub(r"<[^<>]*>|\([^()]*\)", "", statement.strip()[match.end(2) :])
            yield from re.findall(r",\s*([A-Za-z_]\w*)", rest)


class _Walk:
    def __init__(self, body: str, hidden: Iterable[str], scopes: frozenset[str]):
        self._body = body
        self._outer = scopes
        self._stack = [_Scope("{", hidden)]
        self._free: set[str] = set()
        self._members: set[str] = set()

    def run(self) -> tuple[set[str], set[str]]:
        body, at, before, start = self._body, 0, ["", ""], True
        while (token := _TOKEN.search(body, at)) is not None:
            text, at = token[0], token.end()
            if start and _NAME.match(text):
                at = self._declaration(token.start(), generic=self._stack[-1].kind != "(" or before[0] in _HEADS) or at
                if at != token.end():
                    before, start = ["", ""], False
                    continue
            if _NAME.match(text):
                self._name(text, before)
            elif text in "{(":
                self._open(text)
            elif text in ")}":
                self._close(text)
            elif text == ";":
                self._end()
            elif text == ",":
                at = self._comma(at)
            start = text in ("{", "}", ";", "(") or (text == "," and self._stack[-1].kind == "(")
            before = [before[1], text]
        return self._free, self._members

    def _declaration(self, at: int, generic: bool) -> int | None:
        """Reads a declaration that begins here. Returns the position after its name, or None."""
        match = (_ANY if generic else _PLAIN).match(self._body, at)
        if match is None or _NO_TYPE.match(match[1]):
            return None
        self._free.update(re.findall(r"[A-Za-z_]\w*", match[1]))
        scope = self._stack[-1]
        scope.waiting.append(match[2])
        scope.listing = scope.kind != "(" or self._body[match.end() :].lstrip()[:1] == "="
        return match.end(2)

    def _name(self, name: str, before: list[str]) -> None:
        if before[1] in (".", "->") and before[0] not in self._outer:
            self._members.add(name)
        elif before[1] in (".", "::") or not any(name in scope.names for scope in self._stack):
            self._free.add(name)

    def _open(self, bracket: str) -> None:
        self._stack.append(_Scope(bracket))

    def _close(self, bracket: str) -> None:
        if len(self._stack) == 1:
            return
        scope = self._stack.pop()
        scope.settle()
        if bracket == "}":
            self._leave()
        elif scope.names:  # they are visible in the statement after the head, too
            self._stack.append(_Scope(";", scope.names))

    def _end(self) -> None:
        scope = self._stack[-1]
        scope.settle()
        scope.listing = False
        self._leave()

    def _leave(self) -> None:
        """Ends the statements whose last part has just ended."""
        while self._stack[-1].kind == ";":
            self._stack.pop()

    def _comma(self, at: int) -> int:
        scope = self._stack[-1]
        scope.settle()
        if scope.listing and (match := _DECLARATOR.match(self._body, at)) is not None:
            scope.waiting.append(match[1])
            return match.end(1)
        return at

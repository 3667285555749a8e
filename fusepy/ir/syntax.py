"""Syntax tree of textual IR: lark's tree for the grammar in ``text.lark``, errors with line and column, access to the tree."""

from __future__ import annotations

import functools
from collections.abc import Collection
from importlib.resources import files
from typing import Protocol

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import PatternStr, TerminalDef
from lark.tree import Meta

from fusepy.errors import IRSyntaxError

Syntax = Tree[Token]
At = Token | Meta

_SPOKEN = {
    "_NL": "the end of the line",
    "COMMENT": "a comment",
    "VALUE": "a %value",
    "NAME": "a name",
    "OP": "an operation",
    "STRING": 'a "string"',
    "NUMBER": "a number",
    "DIM": "a dimension such as d0",
    "INPUT": "an operand's place such as x0",
    "$END": "the end",
}


def read(text: str) -> Syntax:
    """Returns the tree of `text`.

    Raises:
        IRSyntaxError: naming line and column.
    """
    try:
        return _parser().parse(text)
    except UnexpectedInput as error:
        raise _unexpected(text, error) from None


class _Parser(Protocol):
    """The used part of `Lark`, whose own annotations are incomplete."""

    terminals: Collection[TerminalDef]

    def parse(self, text: str) -> Tree[Token]: ...


@functools.cache
def _parser() -> _Parser:
    grammar = files("fusepy.ir").joinpath("text.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=False)


def _unexpected(text: str, error: UnexpectedInput) -> IRSyntaxError:
    """Returns lark's error as one of fusepy's."""
    expected: set[str] = set()
    saw, line, column = "", error.line, error.column
    if isinstance(error, UnexpectedToken):
        expected = set(error.accepts or error.expected)
        token: Token = vars(error)["token"]  # lark declares no type for it
        saw = str(token)
        if token.type == "$END":  # lark gives it the place of the token before
            line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
    elif isinstance(error, UnexpectedCharacters):
        expected = set(error.allowed or ())
        saw = str(vars(error)["char"])
    literal = {t.name: repr(t.pattern.value) for t in _parser().terminals if isinstance(t.pattern, PatternStr)}
    names = sorted(_SPOKEN.get(name) or literal[name] for name in expected)
    what = f"unexpected {saw.strip()!r}" if saw.strip() else "unexpected end of the line" if "\n" in saw else "unexpected end"
    return syntax_error(text, line, column, what, hint=f"expected here: {', '.join(names)}")


def syntax_error(text: str, line: int, column: int, what: str, hint: str) -> IRSyntaxError:
    lines = text.split("\n")
    shown = lines[min(max(line, 1), len(lines)) - 1].rstrip("\r")
    # a tab under a tab keeps the caret in its column
    pad = "".join("\t" if c == "\t" else " " for c in shown[: max(column - 1, 0)])
    error = IRSyntaxError(f"line {line}, column {column}: {what}\n    {shown}\n    {pad}^", hint=hint)
    error.lineno, error.offset = line, column
    return error


def parts(tree: Syntax, rule: str) -> list[Syntax]:
    return [c for c in tree.children if isinstance(c, Tree) and c.data == rule]


def part(tree: Syntax, rule: str) -> Syntax | None:
    trees = parts(tree, rule)
    return trees[0] if trees else None


def tokens(tree: Syntax, *kinds: str) -> list[Token]:
    return [c for c in tree.children if isinstance(c, Token) and (not kinds or c.type in kinds)]


def numbers(tree: Syntax) -> tuple[int, ...]:
    """Returns the numbers of the dimensions (``d0``) or operands (``x0``) in a tree."""
    return tuple(int(token[1:]) for token in tokens(tree, "DIM", "INPUT"))

"""Syntax tree of textual IR: lark's tree for the grammar in ``text.lark``, errors with line and column, access to the tree."""

from __future__ import annotations

import functools
import json
from collections.abc import Collection
from importlib.resources import files
from typing import Protocol

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import PatternStr, TerminalDef
from lark.tree import Meta

from fusepy.errors import IRSyntaxError
from fusepy.ir.value import Attr

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
    grammar = files("fusepy.ir.grammar").joinpath("text.lark").read_text(encoding="utf-8")
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


class SourceText:
    """A text with the attributes, names and constants in its tree; errors show line and column."""

    def __init__(self, text: str):
        self.text = text

    def error(self, at: At, what: str, hint: str) -> IRSyntaxError:
        return syntax_error(self.text, at.line or 1, at.column or 1, what, hint)

    def source(self, tree: Syntax) -> str:
        return self.text[tree.meta.start_pos : tree.meta.end_pos]

    def attrs(self, tree: Syntax) -> dict[str, Attr]:
        result: dict[str, Attr] = {}
        for attrs in parts(tree, "attrs"):
            for attr in parts(attrs, "attr"):
                (key,) = tokens(attr, "NAME")
                if key in result:
                    raise self.error(key, f"attribute {str(key)!r} is given twice", "keep one of them")
                (constant,) = (c for c in attr.children if isinstance(c, Tree))
                result[str(key)] = self.constant(constant)
        return result

    def constant(self, tree: Syntax) -> Attr:
        leaves = tokens(tree)
        if tree.data == "texts":
            return tuple(self.string(t) for t in leaves)
        if tree.data in ("true", "false"):
            return tree.data == "true"
        (token,) = leaves
        if tree.data == "text":
            return self.string(token)
        if tree.data == "number":
            return int(token) if token.removeprefix("-").isdecimal() else float(token)
        special = self.string(token)
        if special not in ("nan", "inf", "-inf"):
            raise self.error(token, f"float({token}) is no constant", 'write float("nan"), float("inf") or float("-inf")')
        return float(special)

    def symbol(self, tree: Syntax) -> str:
        (token,) = tokens(tree)
        return self.string(token) if token.type == "STRING" else str(token)

    def string(self, token: Token, skip: int = 0) -> str:
        try:
            text: str = json.loads(token[skip:])
        except json.JSONDecodeError as error:
            raise self.error(token, f"not a JSON string: {error.msg}", "escape as JSON does") from None
        return text

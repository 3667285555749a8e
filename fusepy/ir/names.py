"""Names of Slang as text: identifiers, names of functions and of types, and their parts.

All names are checked here before they reach Slang's name lookup, which some malformed names crash, or generated code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from fusepy.errors import InvalidNameError

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")
_OPERATOR = re.compile(r"operator(?:[-+*/%&|^!~<>]|<<|>>|<=|>=|==|!=|&&|\|\|)\Z")
_TOKEN = re.compile(r"\s*(?:([A-Za-z_]\w*)|(\d+)|(::|\.(?=[A-Za-z_])|[<>,\[\]]))")


def is_identifier(name: str) -> bool:
    return _IDENTIFIER.match(name) is not None


def check_identifier(name: str, what: str = "name") -> str:
    """Returns `name`, if it is an identifier of Slang.

    Raises:
        InvalidNameError: otherwise.
    """
    if not is_identifier(name):
        raise InvalidNameError(
            f"{name!r} is not a valid {what}", hint="a letter or underscore, then letters, digits, underscores"
        )
    return name


def check_function_name(name: str) -> str:
    """Returns `name`, if it can name a Slang function: ``f``, ``ns::f``, ``gf<float>``, ``Ray::at``, ``operator+``.

    Raises:
        InvalidNameError: otherwise.
    """
    if _OPERATOR.match(name):
        return name
    try:
        spelling(name)
    except InvalidNameError:
        raise InvalidNameError(
            f"{name!r} is not a valid function name", hint="write an identifier, ns::name, Type::method or name<float>"
        ) from None
    if "[" in name or name != name.strip():
        raise InvalidNameError(
            f"{name!r} is not a valid function name", hint="a function name has no brackets and no space around it"
        )
    return name


def split_path(name: str) -> tuple[str, str]:
    """Returns the scope of a name, and its last part.

    Example:
        >>> split_path("ns::Pair<ns::T>::make<float>")
        ('ns::Pair<ns::T>', 'make<float>')
    """
    depth = 0
    for at in range(len(name) - 1, 0, -1):
        depth += (name[at] == ">") - (name[at] == "<")
        if depth == 0 and name[at - 1 : at + 1] == "::":
            return name[: at - 1], name[at + 1 :]
    return "", name


def spell_function_call(function: str, args: Sequence[str], method: bool = False) -> str:
    """Returns the Slang expression that calls a function, or a method of the first of `args`.

    A function is looked up in the global scope, where a generated local of its name does not hide it.

    Example:
        >>> spell_function_call("v0", ["v0", "a_x"]), spell_function_call("Ray::at", ["a_ray", "a_t"], method=True)
        ('::v0(v0, a_x)', 'a_ray.at(a_t)')
    """
    if method:
        this, *args = args
        return f"{this}.{split_path(function)[1]}({', '.join(args)})"
    scope = "" if _OPERATOR.match(function) else "::"
    return f"{scope}{function}({', '.join(args)})"


class Spelling(NamedTuple):
    """The parts of the name of a type.

    Attributes:
        parts: paths with their arguments, types and numbers; each but the last is a generic type that declares the next.
        extents: the extents of an array, as written.

    Example:
        >>> spelling("ns.Pair<float, 3>[2]")
        Spelling(parts=[('ns::Pair', [Spelling(parts=[('float', [])], extents=[]), 3])], extents=[2])
    """

    parts: list[tuple[str, list[Spelling | int]]]
    extents: list[int]


def spelling(text: str) -> Spelling:
    """Returns the parts of the name of a type.

    Raises:
        InvalidNameError: if `text` is no type name.
    """
    return _NameParser(text).parse()


class _NameParser:
    """A recursive descent parser of ``path [< args >] (:: path [< args >])* ([n])*``."""

    def __init__(self, text: str):
        self.text = text
        self.tokens: list[str] = []
        at = 0
        stripped = text.rstrip()
        while at < len(stripped):
            match = _TOKEN.match(stripped, at)
            if match is None:
                raise self.error()
            self.tokens.append(match.group().strip())
            at = match.end()
        self.at = 0

    def error(self) -> InvalidNameError:
        return InvalidNameError(
            f"{self.text!r} is not a Slang type name", hint="write it as Slang would, e.g. float3, float[4], ns::Pair<float>"
        )

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if not token or (expected is not None and token != expected):
            raise self.error()
        self.at += 1
        return token

    def number(self) -> int:
        if not self.peek().isdigit():
            raise self.error()
        return int(self.take())

    def identifier(self) -> str:
        if not is_identifier(self.peek()):
            raise self.error()
        return self.take()

    def parse(self) -> Spelling:
        parts = self.type()
        if self.at != len(self.tokens):
            raise self.error()
        return parts

    def type(self) -> Spelling:
        parts = [(self.path(), self.args())]
        while self.peek() in ("::", "."):
            self.take()
            parts.append((self.path(), self.args()))
        extents: list[int] = []
        while self.peek() == "[":
            self.take()
            extents.append(self.number())
            self.take("]")
        return Spelling(parts, extents)

    def path(self) -> str:
        names = [self.identifier()]
        while self.peek() in ("::", "."):
            self.take()
            names.append(self.identifier())
        return "::".join(names)

    def args(self) -> list[Spelling | int]:
        args: list[Spelling | int] = []
        if self.peek() == "<":
            self.take()
            args.append(self.arg())
            while self.peek() == ",":
                self.take()
                args.append(self.arg())
            self.take(">")
        return args

    def arg(self) -> Spelling | int:
        return self.number() if self.peek().isdigit() else self.type()

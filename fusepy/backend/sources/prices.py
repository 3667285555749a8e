"""Price of a call of a Slang function, estimated from its text, in bytes of memory traffic that take as long.

The estimate separates a function that is cheaper to call again than to store from one that loops over a hundred taps. It follows
calls, multiplies the bodies of loops, and is the same on every machine. docs/fusion.md has the measurements.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import replace

from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.constants import Constants
from fusepy.backend.sources.declarations import functions
from fusepy.backend.sources.libraries import INCLUDE_DIRS
from fusepy.backend.sources.reachable import texts_of
from fusepy.backend.sources.source import ModuleSource
from fusepy.ir.names import split_path

OPERATION = 0.25  # an operator, or a Slang function of one or a few instructions
DEAR = 2.0  # a transcendental function
INDEX = 1.0  # an array element, probably in a cache
SAMPLE = 8.0  # a filtered read of a texture
UNKNOWN = 8.0  # a call of a function without known text
STEPS = 32  # the number of iterations of a loop with unknown bounds
MOST = 1e6  # the price of endless code, such as a recursion

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|\d[\w.]*|\+\+|--|[-+*/%&|^<>=!]=|&&|\|\||<<|>>|->|::|\S')
_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*(?:\\\n[^\n]*)*", re.M)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+)$", re.M)
_CONSTANT = re.compile(r"\bconst(?:expr)?\s+(?:static\s+)?\w+\s+(\w+)\s*=\s*([^;{}]+);")
_DEAR = re.compile(r"(?:a?(?:sin|cos|tan)h?|atan2|sincos|exp(?:2|10)?|log(?:2|10)?|pow|fmod)\Z")
_SAMPLES = re.compile(r"(?:Sample|Gather)\w*\Z")
_OPERATOR = re.compile(r"[-+*/%&|^<>]=?|<<|>>|[=!]=|&&|\|\||\?|\+\+|--")
_WORD = re.compile(r"(?:if|else|for|while|do|switch|return|case|sizeof|alignof|static_assert)\Z")
_SLANG = re.compile(
    r"(?:abs|all|any|as(?:float|u?int)|ceil|clamp|countbits|cross|dd[xy]|degrees|determinant|distance|dot|faceforward"
    r"|firstbit(?:high|low)|floor|fma|frac|is(?:finite|inf|nan)|ldexp|length|lerp|mad|max|min|mul|normalize|radians|reflect|refract"
    r"|reversebits|round|rsqrt|saturate|select|sign|smoothstep|sqrt|step|transpose|trunc|Load|GetDimensions|detach|bit_cast"
    r"|reinterpret|f16tof32|f32tof16|load|get|set|store)\Z"
)
_TYPE = re.compile(
    r"(?:bool|u?int(?:8|16|32|64)?(?:_t)?|half|float(?:16|32|64)?(?:_t)?|double)(?:[1-4](?:x[1-4])?)?\Z|vector\Z|matrix\Z"
)


def price(function: str, source: ModuleSource) -> float | None:
    """Returns the price of one call of `function`, declared in `source` or its imports, or None if it has no text.

    The price of an overloaded function is that of its dearest overload.

    Example:
        >>> price("f", ModuleSource.make("m", "float f(float x) { for (int i = 0; i < 9; ++i) x += sin(x); return x; }"))
        24.75
    """
    name, texts = split_path(function)[1].split("<")[0], _texts(source)
    return min(texts.price(name), MOST) if texts.bodies.get(name) else None


@functools.lru_cache(maxsize=64)
def _texts(source: ModuleSource) -> _Texts:
    return _Texts(source)


class _Texts:
    """The functions of a module and of its imports."""

    def __init__(self, source: ModuleSource):
        self.bodies: dict[str, list[list[str]]] = {}
        self._types: set[str] = set()
        self._constants = Constants(source.defines)
        self._prices: dict[str, float] = {}
        # arrays of libraries are priced as memory
        own = replace(source, files=tuple(f for f in source.files if not f[0].startswith(INCLUDE_DIRS)))
        for text in map(bare, texts_of([own])):
            for name, value in (*_DEFINE.findall(text), *_CONSTANT.findall(text)):
                self._constants.texts.setdefault(name, value)
            for name, body in functions(_DIRECTIVE.sub(" ", text)):
                if body is None:
                    self._types.add(name)
                else:
                    self.bodies.setdefault(name, []).append(_TOKEN.findall(body))

    def price(self, name: str) -> float:
        """Returns the price of the dearest function of this name."""
        known = self._prices.get(name)
        if known is None:
            self._prices[name] = MOST  # its price inside a recursion
            known = self._prices[name] = max((self._block(body) for body in self.bodies[name]), default=UNKNOWN)
        return known

    def _call(self, name: str) -> float:
        if _TYPE.match(name):
            return 0.0
        if _SLANG.match(name):
            return OPERATION
        if _DEAR.match(name):
            return DEAR
        if _SAMPLES.match(name):
            return SAMPLE
        if name in self.bodies:
            return self.price(name)
        return 0.0 if name in self._types or name[:1].isupper() else UNKNOWN

    # ---- statements ---------------------------------------------------------------------------------------------

    def _block(self, tokens: list[str]) -> float:
        total, at = 0.0, 0
        while at < len(tokens):
            cost, at = self._statement(tokens, at)
            total += cost
        return total

    def _statement(self, tokens: list[str], at: int) -> tuple[float, int]:
        """Returns the price of the statement that begins at a token, and the start of the next one."""
        word = tokens[at]
        if word == "[":  # an attribute: [unroll]
            return 0.0, _closing(tokens, at) + 1
        if word == "{":
            end = _closing(tokens, at)
            return self._block(tokens[at + 1 : end]), end + 1
        if word in ("for", "while", "if", "switch") and tokens[at + 1 : at + 2] == ["("]:
            end = _closing(tokens, at + 1)
            head = tokens[at + 2 : end]
            inner, after = self._statement(tokens, end + 1) if end + 1 < len(tokens) else (0.0, end + 1)
            if word == "for":
                each = head[head.index(";") :] if ";" in head else head
                return self._count(head) * (inner + self._expression(each)), after
            once = inner + self._expression(head)
            return (once * STEPS if word == "while" else once), after
        if word == "do":
            inner, after = self._statement(tokens, at + 1)
            end = _closing(tokens, after + 1) if tokens[after : after + 2] == ["while", "("] else after
            return STEPS * (inner + self._expression(tokens[after:end])), end + 1
        if word == "else":
            return self._statement(tokens, at + 1) if at + 1 < len(tokens) else (0.0, at + 1)
        end = at
        while end < len(tokens) and tokens[end] not in (";", "}"):
            end = _closing(tokens, end) + 1 if tokens[end] in ("(", "{", "[") else end + 1
        return self._expression(tokens[at:end]), end + 1

    def _expression(self, tokens: Sequence[str]) -> float:
        """Returns the price of one expression or declaration."""
        total = 0.0
        for at, token in enumerate(tokens):
            after, before = tokens[at + 1 : at + 2], tokens[at - 1] if at else ""
            if _OPERATOR.fullmatch(token):
                total += OPERATION
            elif token == "[" and re.fullmatch(r"\w+|[)\]]", before):
                total += INDEX
            elif list(after) == ["("] and re.fullmatch(r"[A-Za-z_]\w*", token) and not _WORD.match(token):
                total += self._call(token)
        return total

    # ---- loops --------------------------------------------------------------------------------------------------

    def _count(self, head: list[str]) -> int:
        """Returns the number of iterations of a ``for`` whose bounds and step are numbers or constants."""
        parts = " ".join(head).split(" ; ") if " ; " in " ".join(head) else []
        if len(parts) != 3:
            return STEPS
        start = re.fullmatch(r"(?:\w+ )?(\w+) = (.+)", parts[0])
        while_ = re.fullmatch(r"(\w+) (<|<=|>|>=|!=) (.+)", parts[1])
        step = re.fullmatch(r"(?:(?:\+\+|--) (\w+)|(\w+) (?:\+\+|--)|(\w+) (?:\+=|-=) (.+))", parts[2])
        if start is None or while_ is None or step is None or len({start[1], while_[1], step[1] or step[2] or step[3]}) > 1:
            return STEPS
        first, last, by = (
            self._constants.number(start[2]),
            self._constants.number(while_[3]),
            self._constants.number(step[4] or "1"),
        )
        if first is None or last is None or not by:
            return STEPS
        span = abs(last - first) + ("=" in while_[2] and while_[2] != "!=")
        return max(-(-span // abs(by)), 0)


def _closing(tokens: Sequence[str], at: int) -> int:
    """Returns the position of the token that closes the bracket at `at`, or of the last token."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += (tokens[i] in ("(", "[", "{")) - (tokens[i] in (")", "]", "}"))
        if not depth:
            return i
    return len(tokens) - 1

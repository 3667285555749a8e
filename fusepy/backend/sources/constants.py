"""`Constants`: the integer constants of Slang texts, for the bounds of loops."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

_NAME = re.compile(r"\b[A-Za-z_]\w*")


class Constants:
    """The constants and defines of a module.

    Attributes:
        texts: the expression of each constant.

    Example:
        >>> Constants([("N", "4"), ("M", "N * 2")]).number("M + 1")
        9
    """

    def __init__(self, defines: Iterable[tuple[str, str]]):
        self.texts = dict(defines)
        self._values: dict[str, int | None] = {}

    def number(self, text: str) -> int | None:
        """Returns the value of an expression of integers and constants."""
        # A stack instead of a recursion, because constants may form a long chain. The value of each is None while it is computed.
        stack = self._constants_in(text)
        while stack:
            name = stack[-1]
            if name in self._values:
                self._values[name] = self._evaluated(self.texts[stack.pop()])
            else:
                self._values[name] = None
                stack += (n for n in self._constants_in(self.texts[name]) if n not in self._values)
        return self._evaluated(text)

    def _constants_in(self, text: str) -> list[str]:
        return [name for name in _NAME.findall(text) if name in self.texts]

    def _evaluated(self, text: str) -> int | None:
        """Returns the value of an expression whose constants are in `_values`."""
        if any(self._values.get(name) is None for name in _NAME.findall(text)):
            return None
        spelled = _NAME.sub(lambda m: f"({self._values[m[0]]})", text)
        try:
            return _whole(ast.parse(re.sub(r"(?<=\d)[uUlL]+\b", "", spelled).strip(), mode="eval").body)
        except (SyntaxError, ZeroDivisionError):
            return None


def _whole(node: ast.expr) -> int | None:
    """Returns the value of a Python expression of integers."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _whole(node.operand)
        return value if value is None or isinstance(node.op, ast.UAdd) else -value
    if isinstance(node, ast.BinOp):
        a, b = _whole(node.left), _whole(node.right)
        if a is None or b is None:
            return None
        known: dict[type[ast.operator], int] = {ast.Add: a + b, ast.Sub: a - b, ast.Mult: a * b}
        value = a // b if isinstance(node.op, ast.Div) else known.get(type(node.op))
        return value if value is not None and abs(value) < 1 << 64 else None  # products of products grow without end
    return None

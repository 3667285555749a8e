"""Functions that read a whole array in a way that Slang takes as a constant, found in the text of their modules.

Slang differentiates calls of functions that are not ``[Differentiable]`` as constants, silently, if they take no
differentiable value. An array is none. So a gradient would lack all that such a function reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.declarations import Declared
from fusepy.backend.sources.reachable import reached_heads

_ARRAY = re.compile(r"\bTensor\s*<\s*([A-Za-z_]\w*)[^>]*>\s*(\w+)")
_CONSTANT = re.compile(r"(u?int(8|16|32|64)?(_t)?|bool)[1-4]?(x[1-4])?$")


def constant_read(function: str, modules: Iterable[str]) -> str | None:
    """Returns a sentence about the first function that `function` reaches whose reads have no derivative; ``None`` if all have.

    Example:
        >>> constant_read("f", ["float h(Tensor<float, 1> t) { return t[0]; } [Differentiable] float f() { return h(t); }"])
        "'h' reads a Tensor and is not [Differentiable]: Slang takes what it reads as a constant"
    """
    texts = [bare(text) for text in modules]
    reads = (
        _wrong(found)
        for found in reached_heads(function, texts)
        if not any(re.search(rf"\bno_diff\s+(\w+::)*{found.name}\s*[(<]", t) for t in texts)
    )
    return next(filter(None, reads), None)


def _wrong(function: Declared) -> str | None:
    name, _, head, body = function
    before, _, params = head.partition("(")
    words = re.findall(r"[A-Za-z_]\w*", before)
    if len(words) > 1 and _CONSTANT.match(words[-2]):
        return None  # its result has no derivative
    if re.search(r"\bITensor\s*<", head):
        return f"{name!r} takes an ITensor, whose reads have no derivative; Tensor<T, N> has them"
    own = set(re.findall(r"[A-Za-z_]\w*", before.partition("<")[2]))
    for element, array in _ARRAY.findall(params):
        if _CONSTANT.match(element) or not _reads(array, body):
            continue
        if element in own and "IDifferentiable" not in head:
            return f"{name!r} reads a Tensor of a type parameter without derivative; declare it {element} : IDifferentiable"
        if not function.derived:
            return f"{name!r} reads a Tensor and is not [Differentiable]: Slang takes what it reads as a constant"
    return None


def _reads(array: str, body: str) -> Sequence[str]:
    """Returns the uses of an array that read elements, or pass it on."""
    return re.findall(rf"\b{array}\s*(?:\[|\.\s*(?:load|slice|crop|transpose)\b|[,)])", body)

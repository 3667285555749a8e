"""Parameters of interfaces that are not differentiable, found in the text of modules.

Slang (2026.12) takes what is passed to a generic parameter of such an interface as a constant, silently, also under
`S : IShape & IDifferentiable`. Where the parameter has the interface itself as its type, it ends the process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.declarations import heads, last_name, parameters_in

_INTERFACE = re.compile(r"\binterface\s+(\w+)\s*(?:<[^{;]*>)?\s*(?::\s*([^{;]*))?\{")
_MODIFIERS = re.compile(r"\b(?:in|out|inout|const|ref|constref|borrow|uniform)\b")


def undifferentiable_parameter(function: str, modules: Iterable[str], wanted: Sequence[bool]) -> tuple[str, str] | None:
    """Returns words and a hint about the first `wanted` parameter of an interface without derivative; ``None`` without any.

    Example:
        >>> text = "interface IShape { float area(); } [Differentiable] float f(IShape s) { return s.area(); }"
        >>> undifferentiable_parameter("f", [text], [True])[1]
        'declare interface IShape : IDifferentiable, and its methods [Differentiable]'
    """
    texts = [bare(text) for text in modules]
    bases = {name: re.findall(r"\w+", listed) for text in texts for name, listed in _INTERFACE.findall(text)}
    name = last_name(function)
    found: list[tuple[str, str] | None] = []
    for text in texts:
        for declared, _, head, _ in heads(text):
            if declared == name and len(params := parameters_in(head.partition("(")[2])) >= len(wanted):
                refused = (_refused(param, head, bases) for param, asked in zip(params, wanted) if asked)
                found.append(next((words for words in refused if words is not None), None))
    return found[0] if found and all(found) else None  # Slang chooses among overloads


def _refused(parameter: str, head: str, bases: dict[str, list[str]]) -> tuple[str, str] | None:
    spelled = re.findall(r"[\w:]+", _MODIFIERS.sub(" ", parameter))
    if "no_diff" in spelled or len(spelled) < 2:
        return None
    type, name = spelled[0].rpartition("::")[2], spelled[-1]
    own = [type] if type in bases else _constraints(type, head)
    if own is None:
        return None
    if not own:
        return f"parameter {name!r} is of any type: Slang takes it as a constant", f"write <{type} : IDifferentiable>"
    without = next((base for base in own if not _differentiable(base, bases)), None)
    if without is None:
        return None
    words = f"parameter {name!r} is of interface {without}, which is not differentiable: Slang takes it as a constant"
    return words, f"declare interface {without} : IDifferentiable, and its methods [Differentiable]"


def _constraints(type: str, head: str) -> list[str] | None:
    """Returns the interfaces of a generic parameter; ``None`` for other parameters."""
    generics = head.partition("(")[0].partition("<")[2]
    if type not in re.findall(r"\w+", re.sub(r":[^,>]*", "", generics)):
        return None
    return [name for listed in re.findall(rf"\b{type}\s*:\s*([\w\s&]+)", head) for name in re.findall(r"\w+", listed)]


def _differentiable(name: str, bases: dict[str, list[str]]) -> bool:
    """True for an interface that is differentiable, and for one of Slang's own."""
    return name not in bases or any(_differentiable(base, bases) for base in bases[name] if base != name)

"""Code that Slang (2026.12) silently differentiates wrongly, found in the text of modules."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.declarations import heads, last_name
from fusepy.backend.sources.reachable import reached_heads

# Slang's own differentiable functions
DIFFERENTIABLE = frozenset((
    "abs", "acos", "asin", "atan", "atan2", "clamp", "cos", "cosh", "cross", "determinant", "distance", "dot", "exp",
    "exp2", "fma", "fmod", "frac", "length", "lerp", "log", "log10", "log2", "mad", "max", "min", "mul",
    "normalize", "pow", "reflect", "refract", "rsqrt", "saturate", "sin", "sinh", "sqrt", "tan", "tanh",
    "transpose",
))  # fmt: skip
DECLARE = "declare it [Differentiable], or give it a derivative of your own with [BackwardDerivative(…)]"
INSTEAD = {  # of functions without a derivative in Slang
    "smoothstep": "float t = saturate((x - a) / (b - a)); then t * t * (3 - 2 * t)",
    "exp10": "pow(10, x)",
    "fabs": "abs(x)",
    "fmax": "max(x, y)",
    "fmin": "min(x, y)",
    "fract": "frac(x)",
    "ldexp": "x * exp2(y)",
    "max3": "max(max(x, y), z)",
    "min3": "min(min(x, y), z)",
    "powr": "pow(x, y)",
}
_OF_INTEGERS = ("max3", "min3")  # too
_CALL = re.compile(rf"(?<![\w.:])({'|'.join(name for name in INSTEAD if name not in _OF_INTEGERS)})\s*\(")
_NO_DIFF = re.compile(r"\bno_diff\b[\s(]*((?:\w+\s*(?:::|\.)\s*)*)(\w+)\s*(?:<[^;(){}]*>)?\s*\(")
_NO_DIFF_READ = re.compile(r"\bno_diff\b[\s(]*(\w+)\s*\[")
_ARRAY = re.compile(r"\bTensor\s*<[^;{}()]*>\s*(\w+)")
_OF = re.compile(r"\[\s*(Forward|Backward)DerivativeOf\s*\(\s*([\w:]+)")


def ignored_no_diff(function: str, modules: Iterable[str]) -> tuple[str, str] | None:
    """Returns words and a hint about a ``no_diff`` before a call that Slang differentiates all the same; ``None`` without any.

    Example:
        >>> ignored_no_diff("f", ["[Differentiable] float f(float x) { return x + no_diff sin(x); }"])[1]
        'write detach(sin(…)) in f'
    """
    texts = _texts(modules)
    everything = [found for text in texts for found in heads(text)]
    declared = {found.name for found in everything}
    known = {found.name for found in everything if found.derived}
    arrays = {name for text in texts for name in _ARRAY.findall(text)}
    for name, _, _, body in reached_heads(function, texts):
        for read in _NO_DIFF_READ.findall(body):
            if read in arrays:
                return f"Slang ignores the no_diff before {read}[…], an array whose reads have a derivative", _detached(
                    f"{read}[…]", name
                )
        for _, called in _NO_DIFF.findall(body):
            if called in known or (called in DIFFERENTIABLE and called not in declared):
                return f"Slang ignores the no_diff before {called}(…), which is differentiable", _detached(f"{called}(…)", name)
    return None


def underived_call(function: str, modules: Iterable[str]) -> tuple[str, str] | None:
    """Returns words and a hint about a call of a function of Slang without a derivative; ``None`` without any.

    Slang says so, but where the operand or the result is a member of a struct: then the derivative is 0 without a word.

    Example:
        >>> underived_call("f", ["[Differentiable] void f(inout S s) { s.x = smoothstep(0, 1, s.x); }"])[0]
        "'f' calls smoothstep, which has no derivative in Slang"
    """
    texts = _texts(modules)
    declared = {found.name for text in texts for found in heads(text)}
    for name, attributes, _, body in reached_heads(function, texts):
        for found in _CALL.finditer(body) if "Differentiable" in attributes else ():
            constant = re.search(r"(?:\bno_diff|\bdetach\s*\()[\s(]*\Z", body[: found.start()])
            if constant is None and found[1] not in declared:
                return f"{name!r} calls {found[1]}, which has no derivative in Slang", f"write {INSTEAD[found[1]]}"
    return None


def is_marked(function: str, modules: Iterable[str]) -> bool:
    """True if a function has an attribute that says that it has a derivative.

    Example:
        >>> is_marked("f", ["[Differentiable] float f(float x) { return x; }"])
        True
    """
    return any(found.derived for text in _texts(modules) for found in heads(text) if found.name == last_name(function))


def _detached(what: str, function: str) -> str:
    return f"write detach({what}) in {function}"


def lacking_forward(function: str, modules: Iterable[str]) -> tuple[str, str] | None:
    """Returns words and a hint about a function with a backward derivative of its own and none forwards; ``None`` without any.

    Example:
        >>> lacking_forward("f", ["[BackwardDerivative(d)] float f(float x) { return x; }"])[0]
        "'f' has a derivative of its own backwards, and none forwards"
    """
    texts = _texts(modules)
    others = [(way, name.rpartition("::")[2]) for text in texts for way, name in _OF.findall(text)]
    for name, attributes, _, _ in reached_heads(function, texts):
        backward = "BackwardDerivative(" in attributes or ("Backward", name) in others
        forward = (
            re.search(r"ForwardDerivative\(|\b(Forward|Backward)?Differentiable\b", attributes) or ("Forward", name) in others
        )
        if backward and not forward:
            words = f"{name!r} has a derivative of its own backwards, and none forwards"
            return words, f"add one: [ForwardDerivative(…)] before {name}, with a function of DifferentialPairs; or use fp.grad"
    return None


def _texts(modules: Iterable[str]) -> list[str]:
    return [text for text in map(bare, modules) if "FusepyLibrary" not in text]

"""Copies of functions that read textures, buffers and pointers, for kernels of gradients; see `fusepy.ir.resources`.

A copy is an overload of the function that it is made from: it takes a struct of `fusepy_gathers` where that takes a texture, so
that its reads have derivatives.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.declarations import last_name, spans
from fusepy.backend.sources.reachable import reached_from
from fusepy.backend.sources.source import ModuleSource
from fusepy.ir.resources import GRADED

_ELEMENT = r"\s*<\s*((?:float|half)[1-4]?)\s*>"
_REWRITES = [
    (re.compile(rf"\b(?<!RW)(Texture[123]D){_ELEMENT}"), r"_Grad\1<\2>"),
    (re.compile(r"\b(Texture[123]D)\b(?!\s*<)"), r"_Grad\1<float4>"),
    (re.compile(rf"\bStructuredBuffer{_ELEMENT}"), r"_GradBuffer<\1>"),
    (re.compile(rf"\bPtr{_ELEMENT}"), r"_GradPointer<\1>"),
    (re.compile(r"\bSamplerState\b"), "_GradSampler"),
]
_POINTER = re.compile(r"\b((?:float|half)[1-4]?)\s*\*\s*(?=\w+\s*[,)=])")  # of a parameter; in a body this would be a product


def graded_text(text: str, functions: Sequence[str]) -> str:
    """Returns the source of a module with copies of `functions` and of all that they reach.

    Example:
        >>> made = graded_text("float f(StructuredBuffer<float> b) { return b[0]; }", ["f"])
        >>> made.splitlines()[1]
        '[Differentiable] float f(_GradBuffer<float> b) { return b[0]; }'
    """
    plain = bare(text)
    names = [last_name(function) for function in functions]
    reached = {*names, *reached_from(names, [text])}
    copies: list[str] = []
    for found, start, opening, end in spans(plain):
        head = "\n".join(line for line in plain[start:opening].splitlines() if not line.lstrip().startswith("#"))
        made = _POINTER.sub(r"_GradPointer<\1> ", _rewritten(head))
        if found not in reached or made == head:
            continue
        attribute = "" if "Differentiable" in head or "Derivative" in head else "[Differentiable] "
        if found not in names:  # a call in a branch cannot keep a texture for the way back: see `fusepy_gathers`
            attribute += "[__unsafeForceInlineEarly] "
        copies.append(f"{attribute}{made.strip()} {_rewritten(plain[opening : end + 1])}")
    before = f"import {GRADED};" + ("\n#line 1\n" if text.startswith("#") else " ")  # lines keep their numbers
    return "\n".join([before + text, *copies]) + "\n"


def _rewritten(text: str) -> str:
    for pattern, into in _REWRITES:
        text = pattern.sub(into, text)
    return text


@functools.lru_cache(maxsize=64)
def graded_source(source: ModuleSource, functions: tuple[str, ...]) -> ModuleSource:
    """Returns a module with copies of functions and of those that they reach."""
    return source.with_text(graded_text(source.text, functions))

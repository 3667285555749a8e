"""Entry points on CUDA, where Slang takes two kinds of them otherwise than elsewhere.

A function that has ``[numthreads]`` and no ``[shader]`` is an entry point on every target but CUDA. One that is named ``main`` is
renamed on CUDA, and sgl, which asks for it by name, does not find it. Both are made good in copies of the module that only raw
dispatches use: Slang for CUDA ends the process where an entry point is called by another function.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import slangpy as spy

from fusepy.backend.slang.stage import COMPUTE
from fusepy.backend.sources.source import ModuleSource, bare
from fusepy.errors import CompileError

_BETWEEN = r"(?:\s|//[^\n]*\n|/\*.*?\*/)*"
_ATTRIBUTES = re.compile(rf'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|(?P<group>(?:\[[^\[\]]*\]{_BETWEEN})+)', re.S)
_NUMTHREADS = re.compile(r"\[\s*numthreads\b")
_SHADER = re.compile(r'\[\s*shader\s*\(\s*"compute"\s*\)\s*\]')
_OTHERWISE = re.compile(r"\[\s*(?:shader|outputtopology|\w*cuda\w*|\w*torch\w*)\b", re.I)  # it says itself what it is
RENAMED = "fz_main"


def marked(text: str) -> str:
    """`text` with the attribute of a compute shader in front of each ``[numthreads]`` that lacks it; lines stay where they are.

    Example:
        >>> text = "[numthreads(8, 1, 1)] void f(uint i : SV_DispatchThreadID) {}"
        >>> marked(text) == f"{COMPUTE.attribute} {text}"
        True
    """
    return _ATTRIBUTES.sub(_mark, text)


def with_entry_points(source: ModuleSource) -> ModuleSource:
    """A module with the entry points that `source` has on other targets than CUDA."""
    return _copy(source, marked(source.text))


def without_entry_points(source: ModuleSource) -> ModuleSource:
    """A module in which the entry points of `source` are functions that others can call."""
    return _copy(source, _SHADER.sub(lambda m: " " * len(m[0]), source.text))


def _copy(source: ModuleSource, text: str) -> ModuleSource:
    if text == source.text:
        return source
    return ModuleSource.make(source.alias, text, source.path, source.include_dirs, dict(source.defines), dict(source.options))


def _mark(match: re.Match[str]) -> str:
    group = match["group"]
    if group is None or _OTHERWISE.search(group):
        return match[0]
    return _NUMTHREADS.sub(f"{COMPUTE.attribute} [numthreads", group, count=1)


def renamed(module: spy.SlangModule, source: ModuleSource, numthreads: Sequence[int], exports: Sequence[str]) -> str:
    """A Slang module whose entry point `RENAMED` has the parameters of ``main`` in `source`, loaded as `module`, and calls it.

    Raises:
        CompileError: if ``main`` is in a file that the source includes.
    """
    main = module.layout.find_function_by_name("main")
    names = [main.parameters[i].name for i in range(len(main.parameters))]
    lines = [
        f"import {source.name};",
        *exports,
        *COMPUTE.attributes(numthreads),
        f"void {RENAMED}({_parameters(source.text)})",
        "{",
        f"    main({', '.join(names)});",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _parameters(text: str) -> str:
    """The parameters of ``main`` as they are written, with their semantics, which reflection does not tell."""
    plain = bare(text)
    match = re.search(r"\bvoid\s+main\s*\(", plain)
    if match is None:
        raise CompileError("an entry point named main cannot be included on CUDA", hint="give it another name: Slang renames it")
    depth, end = 1, match.end()
    while depth:
        depth += {"(": 1, ")": -1}.get(plain[end], 0)
        end += 1
    return plain[match.end() : end - 1]

"""Entry points on CUDA: Slang treats two kinds of them differently there.

A function with ``[numthreads]`` and without ``[shader]`` is an entry point on every target but CUDA. An entry point named
``main`` is renamed on CUDA, and sgl does not find it by its name. Both are corrected in copies of the module that only raw
dispatches use: on CUDA the process ends if another function calls an entry point.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import slangpy as spy

from fusepy.backend.slang.reflection import reflected
from fusepy.backend.slang.stage import COMPUTE
from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.declarations import closing
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import CompileError

_BETWEEN = r"(?:\s|//[^\n]*\n|/\*.*?\*/)*"
_ATTRIBUTES = re.compile(rf'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|(?P<group>(?:\[[^\[\]]*\]{_BETWEEN})+)', re.S)
_NUMTHREADS = re.compile(r"\[\s*numthreads\b")
_SHADER = re.compile(r'\[\s*shader\s*\(\s*"compute"\s*\)\s*\]')
_OTHERWISE = re.compile(r"\[\s*(?:shader|outputtopology|\w*cuda\w*|\w*torch\w*)\b", re.I)  # marked already
RENAMED = "fz_main"


def marked(text: str) -> str:
    """Returns `text` with a compute shader's attribute before each ``[numthreads]`` that lacks one. Line numbers do not change.

    Example:
        >>> text = "[numthreads(8, 1, 1)] void f(uint i : SV_DispatchThreadID) {}"
        >>> marked(text) == f"{COMPUTE.attribute} {text}"
        True
    """
    return _ATTRIBUTES.sub(_mark, text)


def with_entry_points(source: ModuleSource) -> ModuleSource:
    """Returns a module for CUDA with the entry points that `source` has on other targets."""
    return _copy(source, marked(source.text))


def without_entry_points(source: ModuleSource) -> ModuleSource:
    """Returns a module in which the entry points of `source` are functions that other functions can call."""
    return _copy(source, _SHADER.sub(lambda m: " " * len(m[0]), source.text))


def _copy(source: ModuleSource, text: str) -> ModuleSource:
    return source if text == source.text else source.with_text(text)


def _mark(match: re.Match[str]) -> str:
    group = match["group"]
    if group is None or _OTHERWISE.search(group):
        return match[0]
    return _NUMTHREADS.sub(f"{COMPUTE.attribute} [numthreads", group, count=1)


def renamed(module: spy.SlangModule, source: ModuleSource, numthreads: Sequence[int], exports: Sequence[str]) -> str:
    """Returns a Slang module whose entry point `RENAMED` has the parameters of ``main`` in `source`, and calls it.

    `module` is the loaded `source`.

    Raises:
        CompileError: if ``main`` is in a file that the source includes.
    """
    main = reflected(module).find_function_by_name("main")
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
    """Returns the parameters of ``main`` as written, with their semantics, which reflection does not report."""
    plain = bare(text)
    match = re.search(r"\bvoid\s+main\s*\(", plain)
    if match is None:
        raise CompileError("an entry point named main cannot be included on CUDA", hint="give it another name: Slang renames it")
    return plain[match.end() : closing(plain, match.end() - 1)]


def groups_in(module: spy.SlangModule) -> dict[str, list[int]]:
    """Returns the compute entry points of a module, with their group sizes."""
    found = [e for e in module.entry_points if e.stage == spy.ShaderStage.compute]
    return {e.name: [*e.layout.compute_thread_group_size] for e in found}

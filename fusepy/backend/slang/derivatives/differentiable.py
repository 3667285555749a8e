"""The question whether Slang can differentiate a call, as a differentiable function with the call in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fusepy.backend.slang.compiler import Compiler
from fusepy.backend.slang.derivatives.rays import refusal_of_rays
from fusepy.backend.slang.derivatives.second_order import kernel_of, refused_twice
from fusepy.backend.sources.constant_reads import constant_read
from fusepy.backend.sources.copies.graded import graded_source
from fusepy.backend.sources.copies.queries import queried_source
from fusepy.backend.sources.derivatives import DECLARE, ignored_no_diff, lacking_forward, underived_call
from fusepy.backend.sources.interfaces import undifferentiable_parameter
from fusepy.backend.sources.libraries import FOLDER
from fusepy.backend.sources.link_order import lost_derivative
from fusepy.backend.sources.memory.overwritten import HINT, overwritten_read
from fusepy.backend.sources.reachable import texts_of
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import CompileError
from fusepy.ir.names import spell_function_call, split_path
from fusepy.ir.oracle import IN, CallTypes
from fusepy.ir.resources import GRADED, graded
from fusepy.ir.types import AS_ONE, Kind, Type
from fusepy.ir.value import declare
from fusepy.ir.whole import gathers, library, spelled, struct_in


def names_in(call: CallTypes) -> list[str]:
    """Returns the names that a call needs: its function and all structs."""
    types = [call.result, *(type for _, type, _ in call.params)]
    structs = [found.name for type in types if type is not None and (found := struct_in(type)) is not None]
    return [split_path(call.function)[0] or call.function, *structs]


READS = "read textures by Load, [] or SampleLevel, buffers and pointers by [], all in functions of one module"
_LEVEL = "write SampleLevel(s, uv, level): threads of a kernel have no neighbours that tell {0} its level"
_TEXELS = "read the texels by Load, one by one"
_INSTEAD = {
    "Sample": _LEVEL,
    "SampleBias": _LEVEL,
    "CalculateLevelOfDetail": _LEVEL,
    "SampleGrad": "write SampleLevel(s, uv, log2(max(length(ddx * size), length(ddy * size)))); size: extents of the texture",
    "mips": "write Load(int3(x, y, level))",
    "SampleLevel": "add an offset to the coordinates: SampleLevel(s, uv + offset / size, level)",
    "Load": "add an offset to the coordinates: Load(int3(x + 1, y, level))",
}
# Slang's words about what the structs that stand for textures, buffers and pointers do not have
_LACKING = re.compile(
    r"'(?P<member>\w+)' is not a member of '_Grad(?P<of>\w+)|"
    r"too many arguments to call(?s:.*?)_Grad(?P<of_more>\w+)<[^.]*>\.(?P<called>\w+)\("
)


def refusal(
    compiler: Compiler,
    source: ModuleSource,
    imports: Sequence[str],
    call: CallTypes,
    forward: bool,
    others: Sequence[ModuleSource] = (),
) -> tuple[str, str] | None:
    """Returns why a call of a function of `source` cannot be differentiated, and a hint; ``None`` if it can.

    Args:
        forward: in forward mode.
        others: modules that declare types of the call which `source` does not see.
    """
    if call.queried:
        copied = queried_source(source, call.queried)
        imports, source = [copied.name if name == source.name else name for name in imports], copied
    own = tuple(file for file in source.files if Path(file[0]).parent != FOLDER)  # fusepy's own modules have derivatives
    texts = texts_of([replace(source, files=own)])
    if call.queried and (of_rays := refusal_of_rays(compiler, source, call, texts)) is not None:
        return of_rays
    if any(wanted and gathers(type) for _, type, wanted in call.params):
        constant = constant_read(call.function, texts)
        if constant is not None:
            return constant, DECLARE
    overwritten = overwritten_read(call.function, texts)
    if overwritten is not None:
        return overwritten, HINT
    params = call.params[1:] if call.method else call.params
    structs = [wanted and type.kind is Kind.NAMED for _, type, wanted in params]
    wrong = undifferentiable_parameter(call.function, texts, structs) or ignored_no_diff(call.function, texts)
    wrong = wrong or underived_call(call.function, texts)
    wrong = wrong or lost_derivative(call.function, replace(source, files=own))
    if wrong is None and (forward or call.order > 1):
        wrong = lacking_forward(call.function, texts)
    if wrong is not None:
        return wrong
    if call.order > 1:
        return refused_twice(compiler.kind, [source, *others], kernel_of(imports, call, forward))
    if call.graded:
        return _of_copies(compiler, source, imports, call)
    words = compiler.probe(differentiable(imports, call), [source, *others])
    return None if words is None else (_told(words, call, source), DECLARE)


def _of_copies(compiler: Compiler, source: ModuleSource, imports: Sequence[str], call: CallTypes) -> tuple[str, str] | None:
    """Returns the same for a call of the copy of a function that reads textures, buffers or pointers with gradients."""
    copied = graded_source(source, (call.function,))
    named = [GRADED, *(copied.name if name == source.name else name for name in imports)]
    try:
        words = compiler.probe(differentiable(named, call), [copied])
    except CompileError as error:
        words = str(error)
    if words is None:
        return None
    found = _LACKING.search(words)
    if found is None:
        return words, READS
    kind, member = found["of"] or found["of_more"], found["member"] or found["called"]
    more = "" if found["member"] else " with further arguments"
    instead = _INSTEAD.get(member, _TEXELS) if kind.startswith("Texture") else READS
    return f"{member} of a {kind}{more} has no gradient{_declared(call, source)}", instead.format(member)


def _told(words: str, call: CallTypes, source: ModuleSource) -> str:
    """Returns Slang's message about a function that cannot be differentiated, with the user's file and line."""
    found = re.search(r"\^+ +(.+)", words) or re.search(r"error\[\w+\]: (.+)", words)
    return f"{found[1] if found else words}{_declared(call, source)}" if "probe" in words else words


def _declared(call: CallTypes, source: ModuleSource) -> str:
    """Returns where a function is declared, for a message."""
    name = split_path(call.function)[1].partition("<")[0]
    at = re.search(rf"\b{re.escape(name)}\s*(<[^;{{}}()]*>)?\s*\(", source.text)
    return f", declared at {source.label}:{source.text.count(chr(10), 0, at.start()) + 1}" if at else ""


def shown_parameter(declared: str, type: Type, direction: str = IN, wanted: bool = True) -> str:
    """Returns a parameter of a differentiable function. One without a derivative is ``no_diff``, unless its type has none."""
    if direction != IN:
        return f"{direction} {declared}"
    return declared if wanted or type.kind in AS_ONE else f"no_diff {declared}"


def differentiable(imports: Sequence[str], call: CallTypes) -> str:
    """Returns a module with a differentiable function that makes this call."""
    passed = [f"fz_a{i}" for i in range(len(call.params))]
    taken: list[str] = []
    for name, (direction, type, wanted) in zip(passed, call.params):
        shown = f"{spelled(type)} {name}" if type.kind is Kind.WHOLE else declare(type, name)
        if call.graded and (stands := graded(type)) is not None:
            shown = f"{stands} {name}"
        taken.append(shown_parameter(shown, type, direction, wanted))
    called = spell_function_call(call.function, passed, call.method)
    head = f"[Differentiable] {call.result or 'void'} probe({', '.join(taken)})"
    lines = [f"{head} {{ {'return ' if call.result else ''}{called}; }}"]
    libraries = {library(type) for _, type, _ in call.params if type.kind is Kind.WHOLE}
    return "".join(f"{line}\n" for line in [*(f"import {name};" for name in (*imports, *sorted(libraries))), *lines])

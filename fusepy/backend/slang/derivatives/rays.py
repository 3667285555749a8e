"""The question whether rays of a pipeline can be queries in a derivative, as far as the text of the functions tells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from fusepy.backend.slang.compiler import Compiler
from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.copies.candidates import any_hit
from fusepy.backend.sources.copies.queries import copy_at, statics
from fusepy.backend.sources.copies.traced import TRACE
from fusepy.backend.sources.declarations import Declared, heads, last_name, spans
from fusepy.backend.sources.derivatives import DECLARE, DIFFERENTIABLE, is_marked
from fusepy.backend.sources.handed import handed_over
from fusepy.backend.sources.reachable import reaches
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import CompileError
from fusepy.ir.oracle import CallTypes
from fusepy.ir.pipelines.queries import BY_QUERY, RayQueries
from fusepy.ir.pipelines.rays import TRIANGLE
from fusepy.ir.pipelines.written import DISPATCHED

PIXEL = "take the pixel as an argument, as fp.grid((height, width)) gives it, and the size as another"
KEPT = "hand the value on in the payload"
DECIDE = "decide in the function itself, by IgnoreHit(); or give its rays a payload that is no IDifferentiable"
PLAINLY = "trace rays in plain functions of the module"
_CONSTRUCTED = re.compile(r"(?:float|half|double|u?int|bool)\d?(?:_t)?(?:x\d)?\Z|select\Z|detach\Z")  # also what converts
_DERIVATIVE = re.compile(r"(?:Forward|Backward)Derivative\(\s*([\w:]+)")


def refusal_of_rays(compiler: Compiler, source: ModuleSource, call: CallTypes, texts: Sequence[str]) -> tuple[str, str] | None:
    """Returns why a ray generation cannot be differentiated, where Slang does not say it, and a hint; ``None`` if it can.

    Args:
        source: the copy of its module in which rays are queries; `texts` are those of users in it.
    """
    if call.order > 1:
        return "rays through a pipeline have first derivatives only", BY_QUERY
    if reaches([call.function], texts, "TraceRay"):  # in the module itself it has another name
        return "it traces rays in another file than that of its module", BY_QUERY
    declared = [found for text in texts for found in heads(bare(text))]
    if (kept := _static(call.function, texts, declared)) is not None:
        return f"it uses the static variable {kept}, which its hit functions would share in the derivative", KEPT
    for word in DISPATCHED:
        if reaches([call.function], texts, word):
            return f"it reads {word}(), which its derivative does not have", PIXEL
    queries = RayQueries.parse(call.queried)
    stages = _Stages(queries, source, texts, declared)
    for refused in (stages.of_python(), stages.recursion(), stages.functions(), stages.decisions(), stages.callables()):
        if refused is not None:
            return refused
    try:
        compiler.module(source)
    except CompileError as error:
        if "is not an l-value" in str(error) and (deciding := [name for p in queries.payloads for name in p.anys if name]):
            names = " or ".join(dict.fromkeys(deciding))
            return f"the any-hit function {names} changes its payload, which has a derivative", DECIDE
        found = re.search(r"error\[\w+\]: (.+)", str(error))
        return found[1] if found else str(error), BY_QUERY
    return None


def _static(function: str, texts: Sequence[str], declared: Sequence[Declared]) -> str | None:
    """Returns a static variable that a function reaches: of a module, or of one of the functions `declared` there."""
    shared = next((name for name in statics(texts) if reaches([function], texts, name)), None)
    if shared is not None:
        return shared
    inside = ((found.name, names[0]) for found in declared if (names := statics([found.body])))
    return next((name for owner, name in inside if owner == last_name(function) or reaches([function], texts, owner)), None)


@dataclass(frozen=True)
class _Stages:
    """The functions that rays run, each with the question why it has no derivative. A question returns words and a hint, or None.

    Attributes:
        declared: all functions in the texts; several may have one name.
    """

    queries: RayQueries
    source: ModuleSource
    texts: Sequence[str]
    declared: Sequence[Declared]

    @cached_property
    def own(self) -> dict[str, Declared]:
        """The last function of each name."""
        return {found.name: found for found in self.declared}

    def of_python(self) -> tuple[str, str] | None:
        for name in self.queries.uses:
            if name in self.own:
                return (
                    f"its Python functions call Slang's {name}, and the module has a function of that name",
                    "give it another name",
                )
            if name not in DIFFERENTIABLE and not _CONSTRUCTED.match(name) and not name.startswith("fz_"):
                return f"its Python functions call {name}, whose derivative Slang does not know", "write this function in Slang"
        return None

    def recursion(self) -> tuple[str, str] | None:
        """Asks of functions that trace further rays, which have copies for each depth."""
        starts = [name for payload in self.queries.payloads for name in payload.functions()]
        if self.queries.recursion == 1:
            return None
        for name in starts:
            first = copy_at(1, name) if copy_at(1, name) in self.own else name
            derivatives = [
                d for f in self.own.values() for d in _DERIVATIVE.findall(f.attributes) if reaches([first], self.texts, f.name)
            ]
            derivatives += _DERIVATIVE.findall(self.own[first].attributes) if first in self.own else []
            if reaches([first, *derivatives], self.texts, TRACE):
                return f"{name} traces rays in a method, a namespace, a macro, or a derivative of its own", PLAINLY
        everywhere = [found.name for found in self.declared]
        above = [name for name, *_ in spans(bare(self.source.text))]
        for name in dict.fromkeys(above):
            if copy_at(1, name) in self.own and everywhere.count(name) > above.count(name):
                return (
                    f"{name}, which traces rays, is also declared in another file, a namespace or a type",
                    "give it another name",
                )
        return None

    def functions(self) -> tuple[str, str] | None:
        """Asks of miss and closest-hit functions."""
        for payload in self.queries.payloads:
            for name in payload.functions() if payload.differentiable else ():
                if not is_marked(name, self.texts):
                    return f"{name}, which runs for its rays, has no derivative", DECLARE
        return None

    def decisions(self) -> tuple[str, str] | None:
        """Asks of any-hit and intersection functions."""
        for payload in self.queries.payloads:
            for name in filter(None, (*payload.anys, *payload.shapes)):
                copy = any_hit(name) if name in payload.anys else name
                if copy not in self.own and name in payload.anys:
                    return f"the any-hit function {name} is in a namespace, or in another file than that of its module", DECIDE
                if reaches([copy], self.texts, "IgnoreHit", "AcceptHitAndEndSearch", "ReportHit"):
                    return f"{name} decides about a hit in a function that it calls, in a macro, or in another file", DECIDE
                if name in payload.anys and payload.differentiable and "const" not in self.own[copy].head.split("(")[1].split():
                    return f"the parameters of the any-hit function {name} do not show an inout payload", DECIDE
            for name, type in zip(payload.shapes, payload.attributes):
                reported = handed_over(name, self.source, "fz_ReportHit") if name and type else ()
                if any(self._is_struct(last_name(t)) for t in reported if last_name(t) != last_name(type.removesuffix("+"))):
                    return f"{name} reports attributes of another type than its hit functions take", "let all take one type"
        return None

    def _is_struct(self, name: str) -> bool:
        return name == TRIANGLE or any(re.search(rf"\bstruct\s+{name}\b", text) for text in self.texts)

    def callables(self) -> tuple[str, str] | None:
        """Asks of callable functions."""
        for name, _ in self.queries.callables:
            if not is_marked(name, self.texts):
                return f"{name}, which its rays call, has no derivative", DECLARE
            if reaches([name], self.texts, "fz_CallShader", TRACE):
                return f"the callable function {name} traces a ray, or calls another one", PLAINLY
        return None

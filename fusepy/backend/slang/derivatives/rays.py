"""The question whether rays of a pipeline can be queries in a derivative, as far as the text of the functions tells."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fusepy.backend.slang.compiler import Compiler
from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.copies.candidates import any_hit
from fusepy.backend.sources.copies.queries import copy_at, statics
from fusepy.backend.sources.copies.traced import TRACE
from fusepy.backend.sources.declarations import heads
from fusepy.backend.sources.derivatives import DECLARE, is_marked
from fusepy.backend.sources.reachable import reaches
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import CompileError
from fusepy.ir.oracle import CallTypes
from fusepy.ir.pipelines.queries import BY_QUERY, RayQueries
from fusepy.ir.pipelines.written import DISPATCHED

PIXEL = "take the pixel as an argument, as fp.grid((height, width)) gives it, and the size as another"


def refusal_of_rays(compiler: Compiler, source: ModuleSource, call: CallTypes, texts: Sequence[str]) -> tuple[str, str] | None:
    """Returns why a ray generation cannot be differentiated, where Slang does not say it, and a hint; ``None`` if it can.

    Args:
        source: the copy of its module in which rays are queries; `texts` are those of users in it.
    """
    if call.order > 1:
        return "rays through a pipeline have first derivatives only", BY_QUERY
    if reaches([call.function], texts, "TraceRay"):  # in the module itself it has another name
        return "it traces rays in another file than that of its module", BY_QUERY
    shared = next((name for name in statics(texts) if reaches([call.function], texts, name)), None)
    if shared is not None:
        return f"it uses the static variable {shared}, which its hit functions would share in the derivative", BY_QUERY
    for word in DISPATCHED:
        if reaches([call.function], texts, word):
            return f"it reads {word}(), which its derivative does not have", PIXEL
    queries, own = RayQueries.parse(call.queried), {found.name for text in texts for found in heads(bare(text))}
    starts = [name for payload in queries.payloads for name in payload.functions()]
    deeper = {name: made for name in starts if (made := copy_at(1, name)) in own}
    looping = (name for name in starts if reaches([deeper.get(name, name)], texts, TRACE))
    if queries.recursion > 1 and (name := next(looping, None)) is not None:
        return f"{name} traces rays in a method or in a namespace", "trace them in a plain function of the module"
    if (stage := _of_stages(queries, own, texts)) is not None:
        return stage
    if (shadow := next((name for name in queries.uses if name in own), None)) is not None:
        return f"its Python functions call Slang's {shadow}, and the module has a function of that name", "give it another name"
    try:
        compiler.module(source)
    except CompileError as error:  # an any-hit function that changes the payload, for one
        return str(error), BY_QUERY
    return None


def _of_stages(queries: RayQueries, own: Collection[str], texts: Sequence[str]) -> tuple[str, str] | None:
    """Returns the same for one function that rays run; `own` are the names of the functions of users."""
    for payload in queries.payloads:
        for name in payload.functions() if payload.differentiable else ():
            if not is_marked(name, texts):
                return f"{name}, which runs for its rays, has no derivative", DECLARE
        for name in filter(None, (*payload.anys, *payload.shapes)):
            if any_hit(name) not in own and name in payload.anys:
                return f"the any-hit function {name} is in another file than that of its module", BY_QUERY
            if reaches(
                [any_hit(name) if name in payload.anys else name], texts, "IgnoreHit", "AcceptHitAndEndSearch", "ReportHit"
            ):
                return f"{name} decides about a hit in a function that it calls, or in another file", BY_QUERY
    for name, _ in queries.callables:
        if not is_marked(name, texts):
            return f"{name}, which its rays call, has no derivative", DECLARE
        if reaches([name], texts, "fz_CallShader", TRACE):
            return f"the callable function {name} traces a ray, or calls another one", BY_QUERY
    return None

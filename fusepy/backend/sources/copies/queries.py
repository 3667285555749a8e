"""Copies of modules in which the rays of a pipeline are inline queries, for gradients; see `fusepy_queries`.

Slang has no derivative of ``TraceRay``. In the copy it is a function that queries the scene and calls the hit or miss function,
whose derivative is known. What a query finds is a constant.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
from functools import partial

from fusepy.backend.sources.closure import bare, without_stages
from fusepy.backend.sources.copies.candidates import any_hit, attribute_types, reports, search
from fusepy.backend.sources.copies.counted import DEPTH
from fusepy.backend.sources.copies.files import copied
from fusepy.backend.sources.copies.traced import TRACE, PayloadFunctions, at_depth, callables, other_payloads
from fusepy.backend.sources.declarations import NAME, flat, spans
from fusepy.backend.sources.derivatives import lacking_forward
from fusepy.backend.sources.reachable import reached_from, reaches
from fusepy.backend.sources.source import ModuleSource
from fusepy.ir.pipelines.queries import RayQueries

LIBRARY = "fusepy_queries"
# of a hit or miss function; `fusepy_queries` has a function for each
VALUES = (
    *("InstanceID", "InstanceIndex", "PrimitiveIndex", "GeometryIndex", "HitKind", "RayFlags", "RayTMin", "RayTCurrent"),
    *("WorldRayOrigin", "WorldRayDirection", "ObjectRayOrigin", "ObjectRayDirection"),
    *("ObjectToWorld3x4", "ObjectToWorld4x3", "WorldToObject3x4", "WorldToObject4x3"),
)
_DECISIONS = {"IgnoreHit": "fz_ignored", "AcceptHitAndEndSearch": "fz_ended"}
_VALUE = re.compile(rf"(?<![.:\w])({'|'.join(VALUES)})(?=\s*\()")
# without the type in angle brackets, which finds its function
_NAMES = re.compile(r"(?<![.:\w])(TraceRay|ReportHit|CallShader)(?:\s*<[^();]*>)?(?=\s*\()")
_DECISION = re.compile(rf"(?:\breturn\s+)?(?<![.:\w])({'|'.join(_DECISIONS)})\s*\(\s*\)\s*;")
_STATIC = re.compile(r"\bstatic\b([^;={}()]*)[;=]")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
_IMPORT = f"\n\nimport {LIBRARY};\n"  # the empty line ends a continued one


def with_values(text: str) -> str:
    """Returns a source in which hit and miss functions ask `fusepy_queries` for what they ask the driver for.

    Example:
        >>> with_values("void hit(inout P p, A a) { p.id = InstanceID(); }")
        'void hit(inout P p, A a) { p.id = fz_InstanceID(); }'
    """
    return _renamed(_VALUE, text)


def with_queries(text: str, queries: RayQueries) -> str:
    """Returns the source of a module whose rays are queries."""
    plain = "\n".join([without_stages(_renamed(_NAMES, bare(text, in_place=True))), *queries.bodies])
    payloads, types = queries.payloads, attribute_types(queries.payloads)
    deeper = _tracing(plain, [name for p in payloads for name in p.functions()]) if queries.recursion > 1 else set[str]()
    depths = queries.recursion if deeper else 1
    traced = [
        PayloadFunctions(p, i, not any(lacking_forward(f, [text]) for f in p.functions()), types) for i, p in enumerate(payloads)
    ]
    lines = callables(queries.callables)
    lines += [*reports(payloads, types), *(line for n, each in enumerate(payloads) for line in search(each, n, types))]
    for depth in range(depths):
        called = partial(_at_depth, deeper, depth + 1)
        lines += [line for each in traced for line in each.functions(depth, called)]
        lines += other_payloads(depth) if depth else []
    if deeper:
        lines += [f"import {DEPTH};", "void fz_stop() { fz_is_too_deep = true; }", *other_payloads(depths, "no_diff fz_stop();")]
    anys = {name: payload.differentiable for payload in payloads for name in payload.anys}

    def copies(name: str, head: str, body: str) -> list[str]:
        made = [_any_hit(name, head, body, anys[name])] if name in anys else []
        return made + [_deeper(head + body, deeper, depth + 1) for depth in range(depths)] * (name in deeper)

    return "\n".join([_with_copies(plain, copies), _IMPORT, *lines]) + "\n"


def _with_copies(text: str, copies: Callable[[str, str, str], list[str]]) -> str:
    """Returns a text with copies of its functions behind them, where the same macros and branches of ``#if`` hold.

    Args:
        copies: returns those of a function, given its name, what stands before its body, and the body.
    """
    pieces, at = list[str](), 0
    for name, start, opening, end in spans(text):
        made = copies(name, _DIRECTIVE.sub("", text[start:opening]).strip() + "\n", text[opening : end + 1])
        if made:
            pieces += [text[at : end + 1], *made, f"#line {text.count(chr(10), 0, end) + 1}"]
            at = end + 1
    return "\n".join([*pieces, text[at:]])


def _tracing(text: str, starts: Sequence[str]) -> set[str]:
    """Returns the functions of a text that trace rays, among `starts` and those that they reach."""
    reached = {*starts, *reached_from(starts, [text])}
    return {name for name, *_ in spans(text) if name in reached and reaches([name], [text], TRACE)}


def _at_depth(deeper: Collection[str], depth: int, name: str) -> str:
    return copy_at(depth, name) if name in deeper else name


def copy_at(depth: int, name: str) -> str:
    """Returns the name of the copy of a function that traces rays, for rays from within `depth` others."""
    return f"fz_{depth}_{name}"


def _deeper(text: str, names: Collection[str], depth: int) -> str:
    """Returns the copy of a function that traces rays, for rays from within `depth` others."""
    pattern = re.compile(rf"(?<![.\w])(?<!\w::)({'|'.join(map(re.escape, [*names, TRACE]))})\b")
    return pattern.sub(lambda f: at_depth(TRACE, depth) if f[1] == TRACE else _at_depth(names, depth, f[1]), text)


def _any_hit(name: str, head: str, body: str, constant: bool) -> str:
    """Returns the copy of an any-hit function, which says in variables what it decides.

    Args:
        constant: it cannot change the payload, which has a derivative: Slang refuses that.
    """
    head = re.sub(rf"\b{re.escape(name)}(?=\s*\()", any_hit(name), head.replace("[Differentiable]", ""))
    head = re.sub(r"\binout\b", "const", head, count=1) if constant else head
    return head + _DECISION.sub(lambda f: f"{{ {_DECISIONS[f[1]]} = true; return; }}", body)


def _renamed(pattern: re.Pattern[str], text: str) -> str:
    """Returns a source with other names of Slang's functions; those of the user with such names stay."""
    plain = bare(text, in_place=True)
    if pattern.search(plain) is None:
        return text
    own = {name for name, *_ in spans(plain)}  # methods have other names than functions
    return pattern.sub(lambda found: found[0] if found[1] in own else f"fz_{found[1]}", plain)


def statics(texts: Sequence[str]) -> list[str]:
    """Returns the variables of modules that keep their values between functions.

    Example:
        >>> statics(["static uint seed = 1; static const float k = 2; groupshared float s[4]; float f() { return 1; }"])
        ['seed']
    """
    found = [declared for text in texts for declared in _STATIC.findall(bare(text)) if "const" not in declared.split()]
    names = [NAME.findall(flat(re.sub(r"\[[^\]]*\]", "", part))) for declared in found for part in flat(declared).split(",")]
    return [words[-1] for words in names if words and not words[-1].startswith("fz_")]


@functools.lru_cache(maxsize=64)
def queried_source(source: ModuleSource, lines: tuple[str, ...]) -> ModuleSource:
    """Returns a module with the text of `with_queries`, and with copies of files; `lines` are the text of the `RayQueries`."""
    found = copied(source, with_values, _IMPORT)
    return found.with_text(with_queries(found.text, RayQueries.parse(lines)))

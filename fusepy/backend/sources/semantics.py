"""The semantics of parameters, results and members, such as ``SV_Position``, from the text: reflection does not report them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.reachable import heads

RESULT = ""  # the name under which the semantic of a result stands
_MARKED = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)?:\s*([A-Za-z_]\w*)\s*\Z")
_AFTER = re.compile(r"\)\s*:\s*([A-Za-z_]\w*)\s*\Z")
_STRUCT = re.compile(r"\bstruct\s+([A-Za-z_]\w*)[^{;]*\{([^{}]*)\}")


def semantics_of(function: str, texts: Iterable[str]) -> dict[str, str]:
    """Returns the semantics of the parameters of a function, and of its result under `RESULT`.

    Example:
        >>> semantics_of("fs", ["float4 fs(float2 uv : TEXCOORD, float4 at : SV_Position) : SV_Target { return 0; }"])
        {'uv': 'TEXCOORD', 'at': 'SV_Position', '': 'SV_Target'}
    """
    for text in texts:
        for declared, _, head, _ in heads(bare(text)):
            if declared != function:
                continue
            inside = head.partition("(")[2]
            found = {m[1]: m[2] for part in _parts(inside.rpartition(")")[0]) if (m := _MARKED.search(part.partition("=")[0]))}
            after = _AFTER.search(head)
            return {**found, **({RESULT: after[1]} if after is not None else {})}
    return {}


def members_of(struct: str, texts: Iterable[str]) -> Mapping[str, str]:
    """Returns the semantics of the members of a struct.

    Example:
        >>> members_of("V", ["struct V { float4 position : SV_Position; float3 colour; }"])
        {'position': 'SV_Position'}
    """
    for text in texts:
        for name, inside in _STRUCT.findall(bare(text)):
            if name == struct:
                return {m[1]: m[2] for part in inside.split(";") if (m := _MARKED.search(part))}
    return {}


def _parts(text: str) -> list[str]:
    """Returns the parts of a list of parameters between commas outside of all brackets."""
    found, depth = [""], 0
    for c in text:
        depth += (c in "(<[") - (c in ")>]")
        if c == "," and not depth:
            found.append("")
        else:
            found[-1] += c
    return found

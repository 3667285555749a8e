"""The semantics of parameters, results and members, such as ``SV_Position``, from the text: reflection does not report them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.declarations import heads, parameters_in

RESULT = ""  # the name under which the semantic of a result stands
_MARKED = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)?:\s*([A-Za-z_]\w*)\s*\Z")
_AFTER = re.compile(r"\)\s*:\s*([A-Za-z_]\w*)\s*\Z")
_PAYLOAD = re.compile(r"\bpayload\s+[\w:.<>]+\s+([A-Za-z_]\w*)")
_WITH_ARGUMENTS = re.compile(r"\[\s*(\w+)\s*\(([^()]*)\)\s*\]")
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
            found = {m[1]: m[2] for part in parameters_in(inside) if (m := _MARKED.search(part.partition("=")[0]))}
            after = _AFTER.search(head)
            return {**found, **({RESULT: after[1]} if after is not None else {})}
    return {}


def payload_of(function: str, texts: Iterable[str]) -> str | None:
    """Returns the name of the parameter that is a payload; ``None`` without one.

    Example:
        >>> payload_of("ms", ["void ms(uint k : SV_GroupThreadID, in payload Part part) {}"])
        'part'
    """
    for text in texts:
        for declared, _, head, _ in heads(bare(text)):
            if declared == function and (found := _PAYLOAD.search(head)) is not None:
                return found[1]
    return None


def attributes_of(function: str, texts: Iterable[str]) -> dict[str, str]:
    """Returns the arguments of the attributes of a function by their names.

    Example:
        >>> attributes_of("ms", ['[shader("mesh")] [numthreads(3, 1, 1)] void ms() {}'])
        {'shader': '"mesh"', 'numthreads': '3, 1, 1'}
    """
    for text in texts:
        for declared, attributes, _, _ in heads(bare(text)):
            if declared == function:
                return {m[1]: m[2] for m in _WITH_ARGUMENTS.finditer(attributes)}
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

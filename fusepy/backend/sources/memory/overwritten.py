"""Functions that read and write memory through writable parameters or globals, found in the text of their modules.

The derivative of a call runs the function again. What it read is overwritten by then, and what it adds is added twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.declarations import closing, heads
from fusepy.backend.sources.reachable import reached_from

HINT = "take what is only read as Texture2D, StructuredBuffer or Tensor; write in another call: f(x), then m.put(array, i, y)"
_WRITABLE = re.compile(
    r"\b(?:RW|RasterizerOrdered)\w+\s*(?:<[^;(){}]*?>)?\s+(\w+)|\b\w+\s*\*\s*(\w+)(?=\s*[,)])|\bPtr\s*<[^;(){}]*>\s+(\w+)"
)
_ATOMIC = re.compile(r"\bInterlocked\w+\s*\(\s*$|(\+\+|--)\s*$|&\s*$")
_AFTER = re.compile(r"\s*(?:(=)(?!=)|(?:[-+*/%&|^]|<<|>>)=|\+\+|--)")
_METHOD = re.compile(r"\s*\.\s*(\w+)")


def overwritten_read(function: str, modules: Iterable[str]) -> str | None:
    """Returns a sentence about a function that `function` reaches, which writes memory that such functions read.

    Writes alone are let through: the second time they write the same.

    Example:
        >>> overwritten_read("f", ["float f(RWTexture2D<float> t, int2 p, float x) { float v = t[p]; t[p] = x; return v * x; }"])
        "'f' writes 't', and its derivative would run it again, with what it has written"
        >>> overwritten_read("f", ["float f(RWTexture2D<float> t, int2 p, float x) { return t[p] * x; }"])
    """
    texts = [bare(text) for text in modules]
    name = function.rpartition("::")[2].partition("<")[0]
    reached = {name, *reached_from([name], texts)}
    reads = False
    writer: tuple[str, str] | None = None
    for text in texts:
        declared = set(_names(re.sub(r"\([^()]*\)", "()", text)))  # globals and members
        for found, attributes, head, body in heads(text):
            if found not in reached:
                continue
            if found == name and re.search(r"\b(Backward|Forward)Derivative\b", attributes):
                return None  # the user's derivative runs instead
            for memory in (*_names(head), *sorted(declared)):
                read, written = _uses(memory, body)
                reads |= read
                writer = (found, memory) if written and writer is None else writer
    if writer is None or not reads:
        return None
    return f"{writer[0]!r} writes {writer[1]!r}, and its derivative would run it again, with what it has written"


def _names(text: str) -> list[str]:
    return [next(filter(None, found)) for found in _WRITABLE.findall(text)]


def _uses(name: str, body: str) -> tuple[bool, bool]:
    """Returns whether a function reads elements of a memory, and whether it writes some."""
    read = written = False
    for at in re.finditer(rf"(?<![.\w]){re.escape(name)}\b", body):
        end = at.end()
        method = _METHOD.match(body, end)
        if method is not None:
            changes = bool(re.match("Store|store|set|add|Interlocked|write|Append|Consume", method[1]))
            read |= not re.match("Store|store|set$|write|GetDimensions|shape|Append", method[1])
            written |= changes
            continue
        while (bracket := re.compile(r"\s*\[").match(body, end)) is not None:
            end = closing(body, bracket.end() - 1) + 1
        if end == at.end() and not re.match(r"\s*->", body[end:]) and not re.search(r"\*\s*$", body[: at.start()]):
            continue  # it is passed on
        member = re.compile(r"(?:\s*(?:->|\.)\s*\w+)+").match(body, end)
        after = _AFTER.match(body, end if member is None else member.end())
        atomic = _ATOMIC.search(body[: at.start()]) is not None
        written |= after is not None or atomic
        read |= after is None or after[1] is None or atomic
    return read, written

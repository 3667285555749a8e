"""Slang's own functions under other names, for generated code: a user's module may define its own ``select`` or ``isnan``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from fusepy.backend.emit.shims import Shims
from fusepy.ir.types import Kind, Type

PREFIX = "fz_own_"
_FLOATS, _NUMBERS = ("float", "double"), ("float", "double", "int", "uint", "int64_t", "uint64_t")
_COUNTS = ("", "2", "3", "4")


def unhidden(lines: Sequence[str], taken: Collection[str], shims: Shims) -> list[str]:
    """Returns `lines` with other names for the functions of `WRAPPED` that a user's module hides."""
    hidden = [name for name in WRAPPED if name in taken]
    if not hidden:
        return list(lines)
    calls = re.compile(rf"\b({'|'.join(hidden)})(?=[(<])")
    renamed = [calls.sub(rf"{PREFIX}\1", line) for line in lines]
    if renamed != list(lines):
        source = "\n".join(text for name in hidden for text in WRAPPED[name]) + "\n"
        shims.sources[f"shim_{hashlib.sha256(source.encode()).hexdigest()[:20]}"] = source
    return renamed


def unhidden_types(text: str, types: Iterable[Type]) -> str:
    """Returns the text of a kernel with ``::a0`` for each of the user's types that a generated local hides.

    Example:
        >>> unhidden_types("a0 v0 = make(a0); Ray r; float a0 = 1;", [Type.parse("a0"), Type.parse("Ray")])
        '::a0 v0 = make(a0); Ray r; float a0 = 1;'
    """
    for name in dict.fromkeys(re.split(r"\W", type.name)[0] for type in types if type.kind is Kind.NAMED):
        if re.search(rf"[\w>\]*] {name}\b(?!\s*::)", text):
            declares = r"(?:<[^;=]*>)? [A-Za-z_]\w*(?: =|[;,)])"
            text = re.sub(rf"(?<![\w.:]){name}(?={declares}|\*|::)|(?<=[<(]){name}(?=>)", f"::{name}", text)
    return text


def _isnan() -> Iterator[str]:
    for type in _FLOATS:
        yield from (f"public bool{n} {PREFIX}isnan({type}{n} x) {{ return isnan(x); }}" for n in _COUNTS)


def _select() -> Iterator[str]:
    for type in _NUMBERS:
        for n in _COUNTS:
            vector = f"vector<{type},{n}>" if n else type
            yield f"public {vector} {PREFIX}select(bool{n} c, {vector} a, {vector} b) {{ return select(c, a, b); }}"


def _reads() -> Iterator[str]:
    for type in _NUMBERS:
        for n in _COUNTS:
            value = f"{type}{n} x" if len(type) < 7 else f"vector<{type},{n}> x" if n else f"{type} x"
            yield f"public {value[:-2]} {PREFIX}WaveReadLaneAt({value}, uint lane) {{ return WaveReadLaneAt(x, lane); }}"


def _bits(name: str, result: str, given: str) -> Iterator[str]:
    yield from (f"public {result}{n} {PREFIX}{name}({given}{n} x) {{ return {name}(x); }}" for n in _COUNTS)


WRAPPED: dict[str, list[str]] = {
    "isnan": list(_isnan()),
    "select": list(_select()),
    "asfloat": list(_bits("asfloat", "float", "uint")),
    "asuint": [
        *_bits("asuint", "uint", "float"),
        f"public void {PREFIX}asuint(double x, out uint low, out uint high) {{ asuint(x, low, high); }}",
    ],
    "mad": [f"public float {PREFIX}mad(float a, float b, float c) {{ return mad(a, b, c); }}"],
    "WaveReadLaneAt": list(_reads()),
    "WaveGetLaneCount": [f"public uint {PREFIX}WaveGetLaneCount() {{ return WaveGetLaneCount(); }}"],
    "WaveGetLaneIndex": [f"public uint {PREFIX}WaveGetLaneIndex() {{ return WaveGetLaneIndex(); }}"],
    "countbits": [f"public uint {PREFIX}countbits(uint x) {{ return countbits(x); }}"],
    "loadAligned": [f"public T {PREFIX}loadAligned<let A : int, T>(T* at) {{ return loadAligned<A>(at); }}"],
    "storeAligned": [f"public void {PREFIX}storeAligned<let A : int, T>(T* at, T x) {{ storeAligned<A>(at, x); }}"],
    "asfloat16": [f"public half {PREFIX}asfloat16(uint16_t x) {{ return asfloat16(x); }}"],
    "asuint16": [f"public uint16_t {PREFIX}asuint16(half x) {{ return asuint16(x); }}"],
    "asdouble": [f"public double {PREFIX}asdouble(uint low, uint high) {{ return asdouble(low, high); }}"],
}

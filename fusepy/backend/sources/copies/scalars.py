"""Copies of modules in which the gradients of scalar parameters reach vectors, for kernels of gradients; see `fusepy_scalars`.

A differentiable function passes each scalar parameter through a call, and its own body reads the result under the same name.
"""

from __future__ import annotations

import functools
import re

from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.declarations import parameters_in, spans
from fusepy.backend.sources.source import ModuleSource

_SCALAR = re.compile(r"(?:(?:in|const)\s+)*(float|half|double)\s+([A-Za-z_]\w*)\s*(?:[=:].*)?\Z", re.DOTALL)
_IMPORT = "\n\nimport fusepy_scalars;\n"  # the empty line ends a continued one


def with_scalars(text: str) -> str:
    """Returns the source of a module whose differentiable functions pass their scalar parameters through a call.

    Example:
        >>> print(with_scalars("[Differentiable] float3 f(float a, float3 v) { return a * v; }").splitlines()[0])
        [Differentiable] float3 f(float a, float3 v) { float fz_p_a = fz_scalar(a); { float a = fz_p_a; { return a * v; }}}
    """
    if "Differentiable" not in text:
        return text
    plain = bare(text, in_place=True)
    parts: list[tuple[int, str]] = []
    for name, start, opening, end in spans(plain, nested=True):
        head = plain[start:opening]
        called = re.search(rf"\b{re.escape(name)}\s*(?:<[^()]*>\s*)?\(", head)
        if called is None or "Differentiable" not in head[: called.start()]:
            continue
        found = [m for p in parameters_in(head, called.end()) if (m := _SCALAR.match(p)) is not None]
        if found:
            ahead = "".join(f" {m[1]} fz_p_{m[2]} = fz_scalar({m[2]});" for m in found)
            parts.append((opening + 1, f"{ahead} {{{''.join(f' {m[1]} {m[2]} = fz_p_{m[2]};' for m in found)} {{"))
            parts.append((end, "}}"))
    if not parts:
        return text
    made, at = list[str](), 0
    for place, added in sorted(parts):
        made += [plain[at:place], added]
        at = place
    return "".join([*made, plain[at:], _IMPORT])


@functools.lru_cache(maxsize=64)
def scalar_source(source: ModuleSource) -> ModuleSource:
    """Returns a module with the text of `with_scalars`."""
    text = with_scalars(source.text)
    return source if text == source.text else source.with_text(text)

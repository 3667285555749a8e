"""Slang's words about what it cannot compile, and what to do about them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NOISE = re.compile(
    r"^(?:Failed to load slang module .* from source|.*error\[E39999\].*|.*E40003.*|--'|abort compilation.*)\n?", re.M
)


def clean(words: str) -> str:
    """Slang's diagnostics without the lines that say the same again."""
    return _NOISE.sub("", words).strip()


def advice(words: str, searched: Sequence[object]) -> str:
    """The hint for what Slang has said, where `searched` are the folders of imports and includes."""
    if "cannot open file" in words or "include file not found" in words:
        return f"paths searched: {', '.join(map(str, searched))}; add others with init_device(include_paths=[…])"
    if "is not accessible from the current context" in words:
        return "where anything in a module is public, the rest is its own: write public before what is called from Python"
    if "ambiguous reference to" in words:
        return "two modules declare this name, and a kernel can use one of them; let both import it from a third, or rename it"
    return "mend the Slang source and load it again"

"""The Slang module of transcendental functions of double, for kernels that use them and for no others."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable

from fusepy.backend.libraries import FOLDER
from fusepy.ir.ops.doubles import PREFIX


def needed(texts: Iterable[str]) -> bool:
    """Whether any of these calls one of its functions."""
    return any(PREFIX in text for text in texts)


@functools.cache
def math64() -> tuple[str, str]:
    """Its name, made from its text, and the text, which is part of a kernel's key like those of generated modules."""
    text = (FOLDER / "fusepy_math64.slang").read_text(encoding="utf-8")
    name = f"math64_{hashlib.sha256(text.encode()).hexdigest()[:20]}"
    return name, text.replace("module fusepy_math64;", f"module {name};")

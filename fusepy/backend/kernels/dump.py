"""Texts of kernels as files, for users of slangpy's `set_dump_generated_shaders`; ``f.source(…)`` gives the text of one call."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

FOLDER = ".temp"
_on = False


def set_dump_generated_shaders(value: bool) -> None:
    """Sets whether the Slang text of each kernel that is made from now on is written to the folder ``.temp``.

    Example:
        >>> import fusepy as fp
        >>> fp.set_dump_generated_shaders(False)
    """
    global _on
    _on = bool(value)


def dump(name: str, text: str) -> None:
    """Writes the text of a kernel, if users want it."""
    if not _on:
        return
    folder = Path(FOLDER)
    folder.mkdir(exist_ok=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    (folder / f"{re.sub(r'[^A-Za-z0-9_]', '_', name)[:100]}-{digest}.slang").write_text(text, encoding="utf-8")

"""Copies of modules whose imports have entry points of draws and rays: Slang (2026.12) ends the process where one is called."""

from __future__ import annotations

import functools

from fusepy.backend.sources.closure import without_stages
from fusepy.backend.sources.copies.files import copied
from fusepy.backend.sources.reachable import mentions
from fusepy.backend.sources.source import ModuleSource


def unstaged_source(source: ModuleSource) -> ModuleSource:
    """Returns a module whose imports have plain functions in place of entry points; the same one if they have none.

    The text of the module itself is changed when it is compiled.
    """
    return _copied(source) if source.files and mentions([source], "shader") else source


@functools.lru_cache(maxsize=64)
def _copied(source: ModuleSource) -> ModuleSource:
    return copied(source, without_stages, "")

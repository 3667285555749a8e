"""What Slang said about modules, kept as plain data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FACTS_VERSION = 13  # part of the key of facts on disk; raise it when what is recorded changes


class Facts:
    """What Slang said about one module: symbols, signatures, answers and layouts, as plain data that JSON can hold."""

    def __init__(self, data: dict[str, Any] | None = None, key: str | None = None):
        self.data: dict[str, Any] = data or {}
        self.changed = False
        self.key = key  # of its entry in the disk cache, where it may have one

    def get(self, kind: str, question: str, ask: Callable[[], Any]) -> Any:
        """The recorded answer to `question`, asking at most once."""
        table = self.data.setdefault(kind, {})
        if question not in table:
            table[question] = ask()
            self.changed = True
        return table[question]

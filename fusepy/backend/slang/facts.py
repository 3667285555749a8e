"""Facts about modules: Slang's answers, kept as plain data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FACTS_VERSION = 27  # part of the key of facts on disk; raise it when their content changes


class Facts:
    """Slang's answers about one module: symbols, signatures, resolutions and layouts, as plain data for JSON."""

    def __init__(self, data: dict[str, Any] | None = None, key: str | None = None):
        self.data: dict[str, Any] = data or {}
        self.changed = False
        self.key = key  # key of its entry in the disk cache, or None

    def get(self, kind: str, question: str, ask: Callable[[], Any]) -> Any:
        """Returns the stored answer to `question`. Calls `ask` at most once."""
        table = self.data.setdefault(kind, {})
        if question not in table:
            table[question] = ask()
            self.changed = True
        return table[question]

"""`Loaded`: the source of a module, which a reload replaces."""

from __future__ import annotations

from fusepy.backend.sources.source import ModuleSource


class Loaded:
    """The source that a module has now; its functions look here at each compilation."""

    __slots__ = ("globals", "source")

    def __init__(self, source: ModuleSource):
        self.replace(source)

    def replace(self, source: ModuleSource) -> None:
        """Takes another source."""
        self.source = source
        self.globals: list[str] | None = None  # their names, once they were asked for

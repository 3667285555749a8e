"""Hot reload: a module takes its changed source, and programs of the old source are compiled again when they are called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fusepy.backend.device.device import Device
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import CompileError


def reread(device: Device, source: ModuleSource, text: str | None) -> ModuleSource:
    """Reads the source again, with its imports.

    Raises:
        CompileError: if the file is gone, or Slang rejects it; the old source is not touched.
    """
    if text is None and source.path:
        try:
            text = Path(source.path).read_text(encoding="utf-8", errors="surrogateescape")
        except OSError as error:
            raise CompileError(
                f"module {source.alias!r} cannot be reloaded: its file cannot be read",
                saw=error,
                hint="the old source keeps working",
            ) from error
    text = source.text if text is None else text
    made = ModuleSource.make(source.alias, text, source.path, device.include_paths, dict(source.defines), dict(source.options))
    if made.closure != source.closure:
        device.compiler.module(made)
    return made


def forget_programs(device: Device, closures: Sequence[str]) -> None:
    """Removes programs compiled from these sources from the tables that hold them."""
    for program in list(device.programs):
        if any(s.closure in closures for s in program.sources):
            programs, key = program.state.home
            if programs.get(key) is program:
                del programs[key]

"""Hot reload: a module takes up its changed source, and whatever was compiled from the old one is compiled again when called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fusepy.backend.device.device import Device
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import CompileError


def reread(device: Device, source: ModuleSource, text: str | None) -> ModuleSource:
    """The source as it is now, with what it imports.

    Raises:
        CompileError: if its file is gone, or Slang rejects it; the old one is not touched.
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
    """Takes programs that were compiled from these sources from the functions that hold them."""
    for program in list(device.programs):
        if any(s.closure in closures for s in program.sources):
            programs, key = program.home
            if programs.get(key) is program:
                del programs[key]

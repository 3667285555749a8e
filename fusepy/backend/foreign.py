"""Modules that slangpy has loaded, as sources of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import slangpy as spy

from fusepy.errors import ArgumentError


def module_parts(module: Any) -> tuple[spy.Device, str, str, str, dict[str, Any]]:
    """Device, name, text, path and options of a ``slangpy.Module`` or ``slangpy.SlangModule``.

    Raises:
        ArgumentError: for anything else, or a module whose source is not to be had.
    """
    inner = module if isinstance(module, spy.SlangModule) else getattr(module, "device_module", None)
    if not isinstance(inner, spy.SlangModule):
        raise ArgumentError(
            "from_slangpy() takes a module of slangpy",
            saw=repr(module)[:60],
            expected="slangpy.Module or slangpy.SlangModule",
            hint="load other things with fusepy.load(path)",
        )
    options = inner.session.desc.compiler_options
    path = Path(inner.path)
    if not path.is_file():
        found = [Path(folder) / f"{inner.name}.slang" for folder in options.include_paths]
        path = next((p for p in found if p.is_file()), path)
    if not path.is_file():
        raise ArgumentError(
            f"the source of module {inner.name!r} is not in a file",
            saw=str(inner.path),
            hint="use Module.load_from_source(device, name, source)",
        )
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    kept = {"include_paths": [str(p) for p in options.include_paths], "defines": dict(options.defines)}
    return inner.session.device, path.stem, text, str(path.resolve()), kept

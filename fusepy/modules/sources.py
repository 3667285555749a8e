"""Sources of modules: a file in the include paths, or a module that slangpy has loaded."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fusepy.backend.device.device import Device
from fusepy.backend.device.open import as_device
from fusepy.backend.sources.slangpy_modules import module_parts
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import ArgumentError, CompileError, did_you_mean
from fusepy.location import user_line


def source_of_file(device: Device, path: str | os.PathLike[str], options: Mapping[str, Any]) -> ModuleSource:
    """Reads the source from a file: at an absolute path, in the working directory, or in one of the device's include paths.

    Args:
        options: ``defines`` and ``options`` of `ModuleSource.make`.

    Raises:
        ArgumentError: for other options, or what is no path.
        CompileError: if there is no such file.
    """
    if not isinstance(path, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError("load() takes a path", saw=repr(path)[:60], hint='write fp.load("look.slang")')
    found = _find(Path(path), device.include_paths)
    text = found.read_text(encoding="utf-8", errors="surrogateescape")
    return ModuleSource.make(found.stem, text, str(found), device.include_paths, **_checked(options))


def source_of_slangpy(module: Any, source: str | None = None) -> tuple[Device, ModuleSource]:
    """Returns the device and source of a slangpy module; `source` is its text if slangpy does not keep it."""
    device, name, text, path, options = module_parts(module, source)
    opened = as_device(device)
    dirs = [*dict.fromkeys([*opened.include_paths, *options["include_paths"]])]
    return opened, ModuleSource.make(name, text, path, dirs, options["defines"])


def source_of_linked(module: Any) -> ModuleSource:
    """Returns the source of a module of fusepy or slangpy that is to be linked with another one.

    Raises:
        ArgumentError: for anything else.
    """
    loaded = getattr(module, "_loaded", None)
    return source_of_slangpy(module)[1] if loaded is None else loaded.source


def _exists(path: Path, kind: Callable[[Path], bool]) -> bool:
    """True if there is such a file or folder; the system refuses to look for names that are too long."""
    try:
        return kind(path)
    except OSError:
        return False


def _find(path: Path, include_paths: tuple[str, ...]) -> Path:
    searched = [path] if path.is_absolute() else [Path.cwd() / path, *(Path(p) / path for p in include_paths)]
    for candidate in searched:
        if _exists(candidate, Path.is_file):
            return candidate.resolve()
    folders = {c.parent for c in searched if _exists(c.parent, Path.is_dir)}
    near = [p.name for folder in folders for p in folder.glob("*.slang")]
    folder = any(_exists(candidate, Path.is_dir) for candidate in searched)
    raise CompileError(
        f"{str(path)!r} is a folder, no file of Slang source" if folder else f"there is no file {str(path)!r}",
        place=user_line(),
        saw="paths searched: " + ", ".join(str(p) for p in searched),
        hint=(did_you_mean(path.name, near) + " " if near else "") + "Folders are added with init_device(include_paths=[…])",
    )


def _checked(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    known = ("defines", "options")
    for name in kwargs:
        if name not in known:
            raise ArgumentError(f"load() has no parameter {name!r}", hint=did_you_mean(name, known))
    return dict(kwargs)

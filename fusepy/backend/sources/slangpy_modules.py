"""Modules that slangpy has loaded, as sources for fusepy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import slangpy as spy

from fusepy.errors import ArgumentError

_DIGEST = re.compile(r"[0-9a-f]{40}")  # the path of a module loaded from a string, made of its name and text

# texts of modules loaded from strings, by name and digest, because slangpy does not keep them
_TEXTS: dict[tuple[str, str], str] = {}


def module_parts(module: Any, source: str | None) -> tuple[spy.Device, str, str, str, dict[str, Any]]:
    """Returns device, name, text, path and options of a ``slangpy.Module`` or ``slangpy.SlangModule``.

    Args:
        source: the text of a module that was loaded from a string. Later calls for that module do not need it.

    Raises:
        ArgumentError: for anything else, a module whose source is not available, or a text that is not the module's.
    """
    inner = _plain(module)
    options = inner.session.desc.compiler_options
    kept = {"include_paths": [str(p) for p in options.include_paths], "defines": dict(options.defines)}
    path = Path(inner.path)
    if _DIGEST.fullmatch(path.name):
        return inner.session.device, inner.name, _text(inner, source), "", kept
    if not path.is_file():
        raise ArgumentError(
            f"the file of module {inner.name!r} does not exist",
            saw=str(inner.path),
            hint="load the module again from its present path",
        )
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    if source is not None and source != text:
        raise ArgumentError(
            f"module {inner.name!r} was loaded from a file with another text",
            saw=str(path),
            hint="omit source, or use Module.load_from_source(device, name, source)",
        )
    return inner.session.device, path.stem, text, str(path.resolve()), kept


def remember(module: spy.SlangModule, text: str) -> None:
    """Keeps the text of a module that was loaded from a string."""
    _TEXTS[module.name, str(module.path)] = text


def _plain(module: Any) -> spy.SlangModule:
    """Returns the loaded module: a ``slangpy.Module`` links it with others."""
    inner = module if isinstance(module, spy.SlangModule) else getattr(module, "device_module", None)
    if not isinstance(inner, spy.SlangModule):
        raise ArgumentError(
            "from_slangpy() takes a module of slangpy",
            saw=repr(module)[:60],
            expected="slangpy.Module or slangpy.SlangModule",
            hint="load other things with fusepy.load(path)",
        )
    if not inner.is_composed:
        return inner
    return next((part for part in inner.source_modules if part.name == inner.name), inner)


def _text(module: spy.SlangModule, given: str | None) -> str:
    """Returns the text of a module that was loaded from a string."""
    key = (module.name, str(module.path))
    if given is None and key in _TEXTS:
        return _TEXTS[key]
    if given is None:
        raise ArgumentError(
            f"module {module.name!r} was loaded from a string, which slangpy does not keep",
            saw=f"{module.name!r} with the digest {module.path}",
            hint="give the text once: fp.Module.from_slangpy(module, source=text); later calls do not need it",
        )
    session = module.session.device.create_slang_session(module.session.desc.compiler_options)
    try:
        same = str(session.load_module_from_source(module.name, given).path) == key[1]
    except spy.SlangCompileError:  # the text is not the module's
        same = False
    if not same:
        raise ArgumentError(
            f"this is not the text of module {module.name!r}",
            saw=given[:60],
            expected="the string that it was loaded from",
            hint="give that string, or use Module.load_from_source(device, name, source) for another",
        )
    remember(module, given)
    return given

"""Functions that load modules by path, by source or from slangpy's objects, and reload all of them."""

from __future__ import annotations

import os
from typing import Any

from fusepy.backend.device.device import open_devices
from fusepy.backend.device.open import as_device, default_device
from fusepy.functions.function import Function
from fusepy.modules.module import Module
from fusepy.modules.sources import source_of_slangpy


def load(path: str | os.PathLike[str], **kwargs: Any) -> Module:
    """Loads a ``.slang`` file on the default device; see `Module.load_from_file`."""
    return Module.load_from_file(default_device(), path, **kwargs)


def reload_all(device: Any = None) -> list[Module]:
    """Reloads every module whose files have changed, on one device or all open ones. Either all are reloaded, or none.

    Returns:
        The modules that changed.

    Raises:
        CompileError: if Slang rejects one; then no module changes.

    Example:
        >>> import fusepy as fp
        >>> fp.reload_all()
        []
    """
    devices = open_devices() if device is None else [as_device(device)]
    modules = [m for d in devices for m in d.modules]
    fresh = [(m, m._reread()) for m in modules]  # pyright: ignore[reportPrivateUsage]
    return [m for m, source in fresh if m._take(source)]  # pyright: ignore[reportPrivateUsage]


def get_function(module: Any, name: str) -> Function:
    """Returns the function of this name, like ``module.find_function(name)``.

    Args:
        module: a `Module`, or one that slangpy has loaded.

    Raises:
        UnknownNameError: if there is none; names the nearest.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_get", "float add(float a, float b) { return a + b; }")
        >>> fp.get_function(m, "add")(1, 2)
        3.0
    """
    return as_module(module).find_function(name)


def as_module(module: Any) -> Module:
    """Returns `module` itself; for slangpy's ``Module`` or ``SlangModule``, the one fusepy module with its source and device.

    Raises:
        ArgumentError: for anything else.
    """
    if isinstance(module, Module):
        return module
    made = source_of_slangpy(module)
    for known in made[0].modules:
        if known._source.closure == made[1].closure and not known._strict:
            return known
    return Module(*made)

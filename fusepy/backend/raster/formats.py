"""Formats of images, by name."""

from __future__ import annotations

import slangpy as spy

from fusepy.errors import UnknownNameError, did_you_mean

_FORMATS = {format.name: format for format in spy.Format}


def format_named(name: str, what: str) -> spy.Format:
    """Returns the format of this name.

    Raises:
        UnknownNameError: if there is none; names the nearest.

    Example:
        >>> format_named("rgba8_unorm", "draw").name
        'rgba8_unorm'
    """
    found = _FORMATS.get(name)
    if found is None:
        raise UnknownNameError(f"{what}: there is no format {name!r}", hint=did_you_mean(name, _FORMATS))
    return found
